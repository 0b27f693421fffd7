/**
 * The bench of a tab: puts what the studio says (draft, runs, summary) into the slots Gradio laid out. Controls belong to
 * Gradio; everything around them is drawn here, again and again from the same state, so a refresh or a second tab shows the same.
 */

import { h, inside, replace, setText } from "./dom.js";
import { get, post, Refused } from "./net.js";
import { Pane, colorOf } from "./pane.js";
import { Foot } from "./foot.js";
import { SettingsTable } from "./settings.js";
import { Faults } from "./faults.js";
import { Cost } from "./cost.js";
import { openSweep } from "./sweep_dialog.js";

/** All benches; `current` is the one being looked at. */
export class Benches {
  constructor(known, router) {
    this.known = known;
    this.router = router;
    this.byTab = new Map();
    this.current = null;
    dispatchEvent(new Event("diptych:ready"));
  }

  show(place) {
    const app = document.querySelector("gradio-app");
    if (app) app.hidden = place.kind !== "bench";
    this.current = place.kind === "bench" && place.key ? this.get(place.key) : null;
    this.current?.select();
  }

  get(tab) {
    if (!this.byTab.has(tab)) this.byTab.set(tab, new Bench(tab, this.known, this.router));
    return this.byTab.get(tab);
  }
}

export class Bench {
  constructor(tab, known, router) {
    this.tab = tab;
    this.router = router;
    this.cards = new Map(known.cards.map((card) => [card.key, card]));
    this.panes = new Map();
    this.logs = new Map();
    this.state = null;
    this.summary = null;
    this.summaryKey = "";
    this.askedRevision = null;
    this.settings = new SettingsTable(this);
    this.faults = new Faults(this);
    this.cost = new Cost(this);
    this.foot = new Foot(this);
  }

  /** Element `dp-<tab>-…`. */
  el(...parts) {
    return document.getElementById(["dp", this.tab, ...parts].join("-"));
  }

  get root() {
    return document.getElementById(`dp-bench-${this.tab}`);
  }

  get letters() {
    return this.state ? this.state.panes.map((pane) => pane.pane) : [];
  }

  card(method) {
    return this.cards.get(method);
  }

  /** Open this tab in Gradio, which lays it out the first time. */
  select() {
    const tab = document.getElementById(`dp-tab-${this.tab}-button`) ?? document.querySelector(`[data-tab-id="${this.tab}"]`);
    if (tab && tab.getAttribute("aria-selected") !== "true") tab.click();
  }

  cursors() {
    return [...this.logs].map(([run, log]) => `${run}:${log.next}`).join(",");
  }

  // what the keyboard and others press ------------------------------------------------------------------------------

  run() {
    document.activeElement?.blur?.();
    this.el("run")?.click();
  }

  stop() {
    if (this.state && !this.state.finished) this.el("stop")?.click();
  }

  runPane(letter) {
    this.el(letter, "run")?.click();
  }

  toggleDifferences() {
    this.settings.toggle();
  }

  async act(path, body) {
    try {
      await post(`bench/${this.tab}/${path}`, body);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.faults.say(error.fault);
    }
    dispatchEvent(new Event("diptych:touch"));
  }

  // drawing ---------------------------------------------------------------------------------------------------------

  async apply(state) {
    this.state = state;
    this.takeEvents(state.runs);
    if (!this.root) return;
    this.select();
    this.redrawIfChangedElsewhere(state);
    this.drawShared(state);
    this.root.classList.toggle("sweeping", state.sweep);
    for (const pane of state.panes) this.drawPane(pane, state);
    for (const letter of [...this.panes.keys()]) if (!this.letters.includes(letter)) this.panes.delete(letter);
    this.settings.draw(state);
    this.faults.draw(state);
    await this.takeSummary(state);
    this.drawSweep(state);
    this.cost.draw(state, this.summary);
    this.foot.draw(state);
    this.sayWhenDone(state);
  }

  /** Tell a screen reader when a comparison is over; the page itself shows it anyway. */
  sayWhenDone(state) {
    if (this.wasRunning && state.finished) {
      const verdicts = Object.values(this.summary?.verdicts ?? {}).map((verdict) => verdict.sentence);
      this.announce(["All runs are over.", ...verdicts].join(" "));
    }
    this.wasRunning = !state.finished;
  }

  takeEvents(runs) {
    const seen = new Set(runs.map((run) => run.id));
    for (const id of [...this.logs.keys()]) if (!seen.has(id)) this.logs.delete(id);
    for (const run of runs) {
      const log = this.logs.get(run.id) ?? { events: [], next: 0, artifacts: null };
      if (run.events.length && run.next > log.next) log.events.push(...run.events);
      log.next = Math.max(log.next, run.next);
      this.logs.set(run.id, log);
    }
  }

  /** The draft changed in another window, or by "use these": let Gradio lay the controls out again. */
  redrawIfChangedElsewhere(state) {
    const shown = this.el("revision")?.querySelector("textarea, input")?.value;
    if (shown === undefined || shown === "" || Number(shown) === state.revision) {
      this.askedRevision = null;
      return;
    }
    const now = performance.now();
    if (this.askedRevision?.revision === state.revision && now - this.askedRevision.at < 1500) return;
    this.askedRevision = { revision: state.revision, at: now };
    this.el("refresh")?.click();
  }

  drawShared(state) {
    const stop = this.el("stop");
    if (stop) stop.disabled = state.finished;
    const add = this.el("add");
    if (add) add.disabled = state.panes.length >= 4;
    const sweep = this.el("sweep");
    if (sweep && !sweep.dataset.ready) {
      sweep.dataset.ready = "1";
      sweep.addEventListener("click", () => openSweep(this));
    }
    const title = this.root.querySelector(".shared-in .textarea span[data-testid=block-info]");
    if (title && !title.querySelector("em")) title.append(h("em", {}, "every pane reads exactly this"));
    const example = this.el("example");
    const point = this.card(state.example.split("/")[0])?.examples[state.example];
    if (example && point && example.title !== point) example.title = point;
  }

  drawPane(pane, state) {
    const slot = this.el("out", pane.pane);
    if (!slot) return;
    inside(slot);
    let drawn = this.panes.get(pane.pane);
    if (!drawn || drawn.slot !== slot || !drawn.view.isConnected) {
      drawn = new Pane(this, pane.pane, slot);
      this.panes.set(pane.pane, drawn);
    }
    drawn.draw(pane, state);
    const hinge = this.el("hinge", pane.pane);
    if (hinge && !inside(hinge).firstChild) replace(inside(hinge), h("div", { class: "dp-hinge" }));
    const replay = this.el("replay");
    if (replay && !inside(replay).firstChild) replace(inside(replay), h("div", { class: "dp-replay" }));
  }

  /** Fetch the summary when a run of the bench changed its state. */
  async takeSummary(state) {
    const key = [state.comparison, state.baseline, ...state.runs.map((run) => `${run.id}:${run.state}`)].join(" ");
    if (key === this.summaryKey) return;
    if (!state.runs.some((run) => run.state !== "queued")) {
      this.summaryKey = key;
      this.summary = null;
      return;
    }
    try {
      this.summary = await get(`bench/${this.tab}/summary`);
      this.summaryKey = key;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.summary = null;
      this.summaryKey = key;
    }
  }

  drawSweep(state) {
    const slot = this.el("sweepview");
    if (!slot) return;
    if (!state.sweep) {
      replace(inside(slot));
      return;
    }
    let box = inside(slot).querySelector(".dp-sweep");
    if (!box) {
      const back = h("button", { type: "button", class: "dp-link", on: { click: () => this.act("leave-sweep") } }, "back to the panes");
      box = h("div", { class: "dp-sweep" });
      box.addEventListener("dp:pick", (event) => this.picked(event.detail));
      replace(inside(slot), h("div", { class: "head dp-sweep-head" }, h("h2", {}, "Sweep"), h("span", { class: "note" }, "everything but the axes is equal in all cells"), h("span", { class: "gap" }), back), box);
    }
    if (this.summary?.cells && window.diptych.sweep) {
      const page = { comparison: state.comparison, runs: state.runs, finished: state.finished };
      window.diptych.sweep(box, this.summary.comparison, this.summary, page);
    }
  }

  picked({ run, open }) {
    if (open && run) this.router.look("run", [run]);
  }

  /** What views are told about the panes. */
  info(letter) {
    const pane = this.state.panes.find((one) => one.pane === letter);
    const card = this.card(pane.method);
    return {
      pane: letter, color: colorOf(letter, this.letters, this.state.baseline), method: pane.method, title: card?.title ?? pane.method,
      baseline: letter === this.state.baseline, tab: this.tab, bench: this.root, settings: pane.settings,
      peers: () => [...this.panes.values()].filter((one) => one.view).map((one) => ({ pane: one.letter, el: one.view, info: one.info })),
    };
  }

  context() {
    const panes = this.state.panes.map((pane) => ({
      pane: pane.pane, title: pane.title, baseline: pane.pane === this.state.baseline, color: colorOf(pane.pane, this.letters, this.state.baseline),
    }));
    return { panes, onBaseline: (letter) => this.act("baseline", { pane: letter }) };
  }

  hinges() {
    return this.letters.slice(1).map((pane) => ({ pane, el: this.el("hinge", pane)?.querySelector(".dp-hinge") })).filter((one) => one.el);
  }

  announce(words) {
    const live = document.getElementById("dp-live") ?? document.body.appendChild(h("div", { id: "dp-live", class: "dp-hidden", "aria-live": "polite" }));
    setText(live, words);
  }
}
