/**
 * A look at past runs: the bench's plate drawn read-only from what is kept. No control changes until "use these"; a running
 * run is followed like on the bench.
 */

import { button, h, replace } from "./dom.js";
import { moment, shown } from "./format.js";
import { get, Refused } from "./net.js";
import { faultBox } from "./faults.js";
import { provenance } from "./foot.js";
import { exportMenu } from "./export_menu.js";
import { colorOf, FINAL, loadArtifacts } from "./pane.js";
import { plainView } from "./plain_view.js";
import { takeOver } from "./verify.js";
import { showText, spoken } from "../views/faithful.js";

const RUNNING_MS = 250;

export class Look {
  constructor(known, router) {
    this.cards = new Map(known.cards.map((card) => [card.key, card]));
    this.router = router;
    this.contents = new Map();
    this.el = h("div", { class: "plate bench dp-look" });
  }

  show(place) {
    this.place = place;
    this.open();
  }

  hide() {
    this.place = null;
    clearTimeout(this.timer);
  }

  async open() {
    const asked = this.place;
    try {
      const summary = await this.summary(asked);
      if (asked !== this.place) return;
      if (summary.cells) this.drawSweep(summary);
      else await this.draw(summary, asked);
      if (!summary.finished) this.timer = setTimeout(() => asked === this.place && this.open(), RUNNING_MS * 4);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      replace(this.el, h("div", { style: { padding: "20px" } }, faultBox(error.fault), h("div", { class: "acts", style: { "margin-top": "12px" } }, button("Open History", () => this.router.go("history"), { class: "btn" }))));
    }
  }

  summary({ key, ids }) {
    return get(key === "comparison" ? `comparisons/${ids[0]}/summary` : `beside?runs=${ids.join(",")}`);
  }

  head(comparison, title, use) {
    const link = button("Copy link", async (event) => {
      const target = event.currentTarget;
      await navigator.clipboard.writeText(location.href).catch(() => {});
      target.textContent = "Link copied";
    });
    return h("div", { class: "dp-look-head" }, h("div", {}, h("h1", {}, spoken(title, 120)), h("span", { class: "note" }, `${comparison.created ? moment(comparison.created) : ""}, seed ${comparison.seed}. Read-only: your own controls stay as they are.`)), h("span", { class: "dp-gap" }), link, button("Back", () => history.back(), { class: "btn" }), use);
  }

  async draw(summary, asked) {
    const { comparison, panes } = summary;
    const letters = panes.map((pane) => pane.pane);
    const runs = await Promise.all(panes.map((pane) => get(`runs/${pane.run}`)));
    if (asked !== this.place) return;
    const use = button("Use these", () => this.use(comparison, panes, runs), { class: "btn go" });
    const inputs = Object.entries(comparison.inputs).filter(([, value]) => value !== "" && value !== null && value !== 0);
    const shared = h("div", { class: "dp-look-in" }, inputs.map(([name, value], place) => [place ? "\n" : "", h("span", { class: "note" }, this.inputLabel(panes[0], name)), faithful(String(value))]));
    const grid = h("div", { class: `dp-panes n${panes.length}` });
    const hinges = [];
    panes.forEach((pane, place) => {
      if (place) {
        const hinge = h("div", { class: "dp-hinge" });
        hinges.push({ pane: pane.pane, el: hinge });
        grid.append(h("div", { class: `dp-hingebox at-${pane.pane}` }, hinge));
      }
      grid.append(h("div", { class: `dp-pane at-${pane.pane} ${place ? "r" : "l"}`, dataset: { pane: pane.pane } }));
    });
    const verdict = h("div", { class: "dp-verdict" });
    const ledger = h("div", { class: "dp-ledger" });
    const cost = h("div", { class: "head" }, h("h2", {}, "What it cost"), h("span", { class: "note" }, summary.protocol));
    const foot = h("div", { class: `dp-foot n${panes.length}` });
    replace(this.el, this.head(comparison, comparison.title || panes[0].method_title, use), inputs.length ? shared : "", grid, h("div", { class: "dp-replay" }), foot, verdict, cost, ledger, this.settings(summary, panes));
    const context = { panes: panes.map((pane) => ({ pane: pane.pane, title: pane.method_title, baseline: pane.pane === comparison.baseline, color: colorOf(pane.pane, letters, comparison.baseline) })), onBaseline: () => {} };
    this.views = panes.map((pane, place) => this.pane(grid.querySelector(`[data-pane="${pane.pane}"]`), foot, pane, runs[place], summary, context));
    window.diptych.verdict?.(verdict, hinges, panes.length > 1 ? summary : null, context);
    if (panes.length === 2) foot.append(h("div", { class: "dp-hinge bare" }));
    if (panes.length < 2) replace(verdict);
    window.diptych.ledger?.(ledger, summary, context);
  }

  inputLabel(pane, name) {
    return this.cards.get(pane.method)?.inputs.find((spec) => spec.name === name)?.label ?? name.replaceAll("_", " ");
  }

  pane(box, foot, pane, run, summary, context) {
    const letters = summary.panes.map((one) => one.pane);
    const color = colorOf(pane.pane, letters, summary.comparison.baseline);
    const kind = this.cards.get(pane.method)?.outputs.find((one) => window.diptych.views[one]) ?? "";
    const viewer = window.diptych.views[kind] ?? plainView;
    const view = h("div", { class: "dp-view", dataset: { pane: pane.pane, kind } });
    const fault = run.fault ? faultBox(run.fault) : "";
    const key = h("span", { class: `key ${color === "base" ? "" : color}` }, pane.pane);
    replace(box, h("div", { class: "dp-lookph" }, key, h("span", { class: "dp-lookname" }, pane.method_title), letters.length > 1 && pane.pane === summary.comparison.baseline ? h("span", { class: "note" }, "baseline") : ""), h("div", { class: "dp-lookwhy" }, h("span", {}, pane.checkpoint_title), h("span", {}, pane.sentence)), fault, view, h("ul", { class: "dp-notes" }, run.notes.map((note) => h("li", { class: note.level }, note.text))));
    const info = { pane: pane.pane, color, method: pane.method, title: pane.method_title, baseline: pane.pane === summary.comparison.baseline, tab: run.tab, bench: this.el, settings: run.settings, peers: () => this.views ?? [] };
    viewer.mount(view, info);
    if (FINAL.includes(run.state)) loadArtifacts(run.artifacts, this.contents).then((artifacts) => viewer.finish(view, run, artifacts));
    const line = h("div", { class: `prov ${pane.pane === letters[0] ? "l" : "r"}` }, h("span", { class: `key tiny ${color === "base" ? "" : color}` }, pane.pane), provenance(run, { determinism: pane.determinism, stale: false }, null, this.router), h("span", { class: "gap" }), run.artifacts.length ? exportMenu(run.id, run.comparison) : "");
    foot.append(line);
    return { pane: pane.pane, el: view, info };
  }

  settings(summary, panes) {
    const row = (field) => h("div", { class: "row" }, cells(field, panes).flatMap((cell, place) => (panes.length > 1 && place === 1 ? [h("b", { style: { "text-align": "center" } }, field.label), cell] : panes.length === 1 ? [h("b", {}, field.label), cell] : [cell])));
    const same = summary.same.map((field) => `${field.label.toLowerCase()} ${shown(Object.values(field.values)[0])}`).join(", ");
    const all = panes.length === 1 ? [...summary.different, ...summary.same] : summary.different;
    return h("section", { class: `dp-ro n${panes.length}` }, h("div", { class: "head" }, h("h2", {}, "Settings"), h("span", { class: "note" }, panes.length > 1 ? "what differs" : "as they were")), all.map(row), panes.length > 1 && same ? h("div", { class: "head" }, h("h2", {}, panes.length === 2 ? "Same in both" : "Same in all"), h("span", { class: "note" }, same)) : "");
  }

  drawSweep(summary) {
    const { comparison } = summary;
    let box = this.el.querySelector(".dp-sweep");
    if (!box) {
      box = h("div", { class: "dp-sweep" });
      box.addEventListener("dp:pick", (event) => event.detail.open && this.router.look("run", [event.detail.run]));
      replace(this.el, this.head(comparison, comparison.title, ""), box);
    }
    window.diptych.sweep?.(box, comparison, summary, { comparison: comparison.id, runs: [], finished: summary.finished });
  }

  async use(comparison, panes, runs) {
    const tab = runs[0].tab;
    const wanted = panes.map((pane, place) => ({ pane: "ABCD"[place], method: pane.method, checkpoint: pane.checkpoint, settings: runs[place].settings }));
    await takeOver(this.el, tab, { panes: wanted, inputs: comparison.inputs, seed: comparison.seed }, this.router);
  }
}

/** Text as it was typed, unseen characters marked. */
function faithful(text) {
  const box = h("span", { class: "dp-said-text" });
  showText(box, text);
  return box;
}

function cells(field, panes) {
  return panes.map((pane) => h("span", {}, pane.pane in field.values ? shown(field.values[pane.pane]) : "–"));
}
