/** Verdict and costs: the section around the ledger, the baseline's list, and how far the measurement is. */

import { h, inside, replace, setText } from "./dom.js";
import { FINAL } from "./pane.js";

export class Cost {
  constructor(bench) {
    this.bench = bench;
    this.key = "";
  }

  draw(state, summary) {
    const verdict = this.slot("verdict", "dp-verdict");
    const cost = this.bench.el("cost");
    if (!verdict || !cost) return;
    if (!inside(cost).querySelector(".dp-ledger")) this.build(cost);
    const usable = summary && !state.sweep && summary.panes ? summary : null;
    const any = state.runs.length > 0 && !state.sweep;
    this.head.hidden = !any;
    this.ledger.hidden = !any;
    this.drawHead(state, usable);
    const key = `${this.bench.summaryKey}|${any}|${usable ? 1 : 0}|${state.baseline}`;
    if (key === this.key && this.drawn === this.ledger) return;
    this.key = key;
    this.drawn = this.ledger;
    const context = this.bench.context();
    if (any) window.diptych.verdict?.(verdict, this.bench.hinges(), usable, context);
    else for (const el of [verdict, ...this.bench.hinges().map((one) => one.el)]) replace(el);
    if (usable && window.diptych.ledger) window.diptych.ledger(this.ledger, usable, context);
    else replace(this.ledger);
  }

  slot(part, className) {
    const slot = this.bench.el(part);
    if (!slot) return null;
    const box = inside(slot);
    if (!box.firstElementChild) replace(box, h("div", { class: className }));
    return box.firstElementChild;
  }

  build(cost) {
    this.how = h("span", { class: "note" });
    this.against = h("select", { class: "sel small", "aria-label": "Baseline pane", on: { change: () => this.bench.act("baseline", { pane: this.against.value }) } });
    this.head = h("div", { class: "head" }, h("h2", {}, "What it cost"), this.how, h("span", { class: "gap" }), h("label", { class: "note" }, "ratios against ", this.against));
    this.ledger = h("div", { class: "dp-ledger" });
    replace(inside(cost), this.head, this.ledger);
    this.key = "";
  }

  drawHead(state, summary) {
    const done = state.runs.filter((run) => FINAL.includes(run.state)).length;
    const words = state.finished ? summary?.protocol ?? "" : `measuring: ${done} of ${state.runs.length} runs done${summary ? `; ${summary.protocol}` : ""}`;
    setText(this.how, words);
    const key = state.panes.map((pane) => `${pane.pane}${pane.title}`).join();
    if (this.against.dataset.key !== key) {
      this.against.dataset.key = key;
      replace(this.against, state.panes.map((pane) => h("option", { value: pane.pane }, `${pane.pane}, ${pane.title}`)));
    }
    this.against.value = state.baseline;
    this.against.parentElement.hidden = state.panes.length < 2;
  }
}
