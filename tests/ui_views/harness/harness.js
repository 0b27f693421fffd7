/**
 * Mounts the viewers as the page would, fed with a scene: ?scene=NAME&theme=dark&live=1&only=passes.
 * `window.harness` lets a test feed events step by step.
 */

import "/studio/static/views/ledger.js";
import "/studio/static/views/sweep.js";
import "/studio/static/views/text.js";
import "/studio/static/views/thumb.js";
import "/studio/static/views/verdict.js";
import { h } from "/studio/static/js/dom.js";

const query = new URLSearchParams(location.search);
document.documentElement.classList.toggle("dark", query.get("theme") === "dark");
const scene = await (await fetch(`/scene?name=${query.get("scene") ?? "pair"}`)).json();
const root = document.querySelector("#root");
const diptych = window.diptych;
const panes = new Map();

function paneBox(pane, side, bench) {
  const el = h("div", { class: "dp-view", "data-pane": pane.info.pane, "data-kind": "text" });
  const head = h("div", { class: "ph" }, h("span", { class: `key ${pane.info.color}` }, pane.info.pane), h("span", { class: "name" }, pane.info.title));
  const info = { ...pane.info, bench, peers: () => [...panes.values()] };
  panes.set(pane.info.pane, { ...pane, el, info });
  return h("article", { class: `dp-pane at-${pane.info.pane} ${side}`, "aria-label": `Pane ${pane.info.pane}` }, head, h("p", { class: "why" }, "pocket"), h("div", { class: "dp-slot dp-out" }, el));
}

function benchOf(scene) {
  const bench = h("main", { class: "plate bench" });
  const row = h("section", { class: `dp-panes n${scene.panes.length}` });
  const hinges = [];
  scene.panes.forEach((pane, index) => {
    if (index) {
      const el = h("div", { class: "dp-hinge" });
      hinges.push({ pane: pane.info.pane, el });
      row.append(h("div", { class: `dp-slot dp-hingebox at-${pane.info.pane}` }, el));
    }
    row.append(paneBox(pane, index ? "r" : "l", bench));
  });
  const rows = [row];
  const verdict = h("div", { class: "dp-verdict" });
  const ledger = h("div", { class: "dp-ledger" });
  bench.append(...rows, h("div", { class: "dp-slot" }, h("div", { class: "dp-replay" })), h("div", { class: "dp-slot" }, verdict), h("div", { class: "head" }, h("h2", {}, "What it cost"), h("span", { class: "note" }, scene.summary?.protocol ?? "")), ledger);
  root.append(bench);
  const looks = scene.panes.map((pane) => pane.info);
  const context = { panes: looks, onBaseline: () => {} };
  const summarise = (summary) => {
    diptych.verdict(verdict, hinges, summary, context);
    if (summary) diptych.ledger(ledger, summary, context);
  };
  for (const pane of panes.values()) diptych.views.text.mount(pane.el, pane.info);
  return summarise;
}

const api = {
  scene,
  panes,
  /** Feed the next `count` events of a pane. */
  feed(letter, from, count) {
    const pane = panes.get(letter);
    diptych.views.text.update(pane.el, { id: letter, state: "running" }, pane.events.slice(from, from + count));
  },
  finish(letter) {
    const pane = panes.get(letter);
    diptych.views.text.finish(pane.el, { id: letter, state: "done" }, pane.artifacts);
  },
  /** A preview as the worker sends it: the text so far in base64. */
  preview(letter, text) {
    diptych.views.text.update(panes.get(letter).el, { id: letter, state: "running" }, [{ type: "preview", artifact: { kind: "text", data: btoa(text) } }]);
  },
  outlook: (letter) => diptych.views.text.outlook(panes.get(letter).el),
};

if (scene.panes) {
  api.summarise = benchOf(scene);
  if (query.get("live")) api.summarise(null);
  else {
    for (const letter of panes.keys()) api.finish(letter);
    api.summarise(scene.summary);
  }
}
if (scene.sweep) {
  const el = h("div", { class: "dp-sweep", "data-can": "use retry" });
  root.append(h("main", { class: "plate dp-slot" }, el));
  for (const name of ["dp:pick", "dp:use", "dp:retry"]) el.addEventListener(name, (event) => (api.last = { name, ...event.detail }));
  api.sweep = () => diptych.sweep(el, scene.comparison, scene.sweep, scene.watch);
  api.sweep();
}
if (scene.thumbs) {
  const place = h("div", { class: "plate thumbs" });
  root.append(place);
  for (const each of scene.thumbs) {
    const el = h("span", { class: each.kind === "pair" ? "th wide" : "th" });
    place.append(el);
    diptych.thumb(el, each);
  }
}
window.harness = api;
document.documentElement.dataset.ready = "yes";
