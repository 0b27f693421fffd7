/** Errors in words, at the control that caused them, with the nearest legal value as a button. */

import { button, h, inside, replace } from "./dom.js";
import { setControl } from "./scales.js";
import { shown } from "./format.js";
import { spoken } from "../views/faithful.js";

/** A fault as a box: what in bold, why and the next step behind it, then actions. */
export function faultBox(fault, { more = [], actions = [] } = {}) {
  const words = [fault.why, fault.next_step, ...more].filter(Boolean).join(" ");
  return h("div", { class: "err", role: "alert" }, h("b", {}, spoken(fault.what, 400)), " ", spoken(words, 800), actions.length ? h("div", { class: "acts" }, actions) : "");
}

export class Faults {
  constructor(bench) {
    this.bench = bench;
    this.said = null;
  }

  /** A fault of an action of this page, shown until the next state of the bench brings its own. */
  say(fault) {
    this.said = fault;
    if (this.bench.state) this.draw(this.bench.state);
  }

  draw(state) {
    const places = new Map();
    const faults = [...state.faults, ...this.ofRuns(state)];
    for (const fault of faults) {
      const place = this.place(fault);
      if (place) places.set(place, [...(places.get(place) ?? []), fault]);
    }
    const general = [state.refused, this.said].filter(Boolean);
    const shared = this.sharedBox();
    if (shared && general.length) places.set(shared, [...(places.get(shared) ?? []), ...general.map((fault) => ({ ...fault, pane: null, field: null }))]);
    for (const box of this.bench.root.querySelectorAll(".dp-fault")) this.fill(box, places.get(box) ?? []);
    for (const control of this.bench.root.querySelectorAll(".dp-field")) control.classList.remove("invalid");
    for (const fault of faults) this.control(fault)?.classList.add("invalid");
  }

  /** Faults a shown run met that belong to a control, as long as the control still holds what caused them. */
  ofRuns(state) {
    const found = new Map();
    for (const pane of state.panes) {
      const fault = state.runs.find((run) => run.id === state.shown[pane.pane])?.fault;
      if (!fault?.field || pane.stale) continue;
      const own = this.bench.el(pane.pane, "set", fault.field) !== null;
      found.set(own ? `${pane.pane} ${fault.field}` : `${fault.field} ${fault.what}`, { ...fault, pane: own ? pane.pane : null });
    }
    return [...found.values()];
  }

  control(fault) {
    if (!fault.field) return null;
    if (fault.pane) return this.bench.el(fault.pane, "set", fault.field);
    return this.bench.el("in", fault.field) ?? this.bench.el(fault.field);
  }

  /** Where a fault stands: under its control, or under the shared inputs when it has none. */
  place(fault) {
    if (fault.pane && fault.field) {
      const own = this.bench.el("fault", fault.pane, fault.field);
      if (own) return own;
    }
    const control = fault.pane ? null : this.control(fault);
    return control ? this.boxAfter(control) : this.sharedBox();
  }

  /** The message box of a shared control: below its row, so that rows of numbers keep their line. */
  boxAfter(control) {
    const column = control.closest(".shared-in, .shared-run");
    return column ? this.boxIn(column) : this.sharedBox();
  }

  sharedBox() {
    const column = this.bench.root.querySelector(".shared-in");
    return column && this.boxIn(column);
  }

  boxIn(column) {
    let box = column.querySelector(":scope > .dp-fault");
    if (!box) {
      box = h("div", { class: "dp-fault dp-own" });
      column.append(box);
    }
    return box;
  }

  fill(box, faults) {
    const key = JSON.stringify(faults);
    const inner = inside(box);
    if (inner.dataset.key === key || (!faults.length && !inner.dataset.key)) return;
    inner.dataset.key = key;
    replace(inner, faults.map((fault) => this.box(fault)));
    for (const row of this.bench.root.querySelectorAll(".set")) row.classList.toggle("faulty", row.querySelector(".err") !== null);
  }

  box(fault) {
    const offered = fault.suggestion !== null && fault.suggestion !== undefined && fault.field;
    const use = offered ? button(`Use ${spoken(shown(fault.suggestion))}`, () => this.use(fault.pane, fault)) : null;
    const words = [fault.why, fault.next_step].filter(Boolean).join(" ");
    return h("div", { class: "err", role: "alert" }, h("b", {}, spoken(fault.what, 400)), " ", spoken(words, 800), use);
  }

  use(pane, fault) {
    setControl(this.control({ ...fault, pane }), fault.suggestion);
  }
}
