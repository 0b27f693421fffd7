/** The settings below the panes: names on the hinge, scales on the wings, groups that fold, and only what differs. */

import { button, h, inside, replace, setText } from "./dom.js";
import { shown } from "./format.js";
import { post, Refused } from "./net.js";
import { Scale } from "./scales.js";

const KEY = "diptych-only-differences";
const FOLDED = "diptych-folded";

export class SettingsTable {
  constructor(bench) {
    this.bench = bench;
    this.onlyDifferences = localStorage.getItem(KEY) !== "no";
    this.sameOpen = false;
    this.folded = new Set((localStorage.getItem(FOLDED) ?? "").split(",").filter(Boolean));
    this.scales = new WeakMap();
  }

  specs(letter) {
    const pane = this.bench.state.panes.find((one) => one.pane === letter);
    return new Map((this.bench.card(pane.method)?.settings ?? []).map((spec) => [spec.name, spec]));
  }

  labelOf(field) {
    for (const letter of this.bench.letters) {
      const spec = this.specs(letter).get(field);
      if (spec) return spec.label;
    }
    return field.replaceAll("_", " ");
  }

  toggle() {
    this.onlyDifferences = !this.onlyDifferences;
    localStorage.setItem(KEY, this.onlyDifferences ? "yes" : "no");
    if (this.bench.state) this.draw(this.bench.state);
  }

  /** Lead from a pane's sentence to its settings. */
  reveal() {
    const box = this.bench.el("settings");
    box?.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth", block: "start" });
    box?.querySelector(".set:not(.folded) input")?.focus({ preventScroll: true });
  }

  draw(state) {
    const root = this.bench.el("settings");
    if (!root) return;
    const fields = this.fields(state);
    this.drawHead();
    for (const field of fields) this.drawRow(field, state);
    this.drawGroups(fields, state);
    this.drawSame(fields);
  }

  /** Every setting of the bench: {name, spec, group, values, same}. */
  fields(state) {
    const found = new Map();
    for (const pane of state.panes) {
      for (const [name, spec] of this.specs(pane.pane)) {
        const field = found.get(name) ?? { name, spec, group: spec.group ?? "output", values: new Map() };
        field.values.set(pane.pane, pane.settings[name]);
        found.set(name, field);
      }
    }
    const wrong = new Set(state.faults.map((fault) => fault.field));
    for (const field of found.values()) {
      const values = [...field.values.values()].map((value) => JSON.stringify(value));
      field.same = state.panes.length > 1 && values.length === state.panes.length && new Set(values).size === 1 && !wrong.has(field.name);
    }
    return [...found.values()];
  }

  drawHead() {
    const place = this.bench.el("sethead");
    if (!place) return;
    const slot = inside(place);
    if (!slot.firstElementChild) {
      this.box = h("input", { type: "checkbox", on: { change: () => this.toggle() } });
      const save = button("Save preset…", () => this.savePreset(), { class: "dp-link note" });
      replace(slot, h("h2", {}, "Settings"), h("label", { class: "chk" }, this.box, "only differences"), save);
    }
    const box = slot.querySelector("input");
    box.checked = this.onlyDifferences;
    slot.querySelector("label").hidden = this.bench.letters.length < 2;
  }

  drawRow(field, state) {
    const row = this.bench.el("row", field.name);
    if (!row) return;
    const name = this.bench.el("name", field.name);
    if (name && !inside(name).firstElementChild) {
      const promise = field.spec.equal_output ? h("span", { class: "promise" }, "promises equal output") : "";
      const symbol = field.spec.symbol ? `${field.spec.symbol} in the paper` : "";
      replace(inside(name), h("b", { title: symbol }, field.spec.label), h("span", {}, field.spec.effect), promise);
    }
    for (const pane of state.panes) this.drawCell(pane.pane, field.name);
    row.classList.toggle("equal", field.same && this.onlyDifferences);
    row.classList.toggle("folded", this.isFolded(field));
  }

  isFolded(field) {
    if (field.same && this.onlyDifferences) return !this.sameOpen;
    return this.folded.has(field.group);
  }

  drawCell(letter, name) {
    const spec = this.specs(letter).get(name);
    const control = this.bench.el(letter, "set", name);
    const none = this.bench.el("none", letter, name);
    const cell = (spec ? control : none)?.closest(".cell");
    if (!cell) return;
    if (!spec && !inside(none).firstChild) replace(inside(none), h("span", { "aria-label": "not used by this method" }, "–"));
    const wanted = spec && control.classList.contains("dial") ? `${letter} ${this.bench.state.panes.find((one) => one.pane === letter).method} ${name}` : "";
    let scale = this.scales.get(cell);
    if (scale && (scale.name !== wanted || !scale.range.isConnected || scale.input !== control.querySelector("input[type=number]"))) {
      scale.leave();
      this.scales.delete(cell);
      scale = undefined;
    }
    if (!wanted) return;
    if (!scale) {
      scale = new Scale(cell, control, spec, wanted);
      this.scales.set(cell, scale);
    }
    scale.follow();
    scale.settle();
  }

  drawGroups(fields, state) {
    for (const group of new Set(fields.map((field) => field.group))) {
      const slot = this.bench.el("group", group.replaceAll(" ", "-"));
      if (!slot) continue;
      const own = fields.filter((field) => field.group === group);
      const listed = this.onlyDifferences ? own.filter((field) => !field.same) : own;
      slot.classList.toggle("folded", listed.length === 0);
      const box = inside(slot);
      if (!box.firstElementChild) {
        const title = group[0].toUpperCase() + group.slice(1);
        replace(box, h("button", { type: "button", class: "grp", on: { click: () => this.fold(group) } }, h("b", {}, title), h("i", {})));
      }
      const head = box.firstElementChild;
      head.setAttribute("aria-expanded", String(!this.folded.has(group)));
      setText(head.querySelector("i"), this.groupWords(own, state));
      const first = listed[0] && this.bench.el("row", listed[0].name);
      for (const field of own) this.bench.el("row", field.name)?.classList.toggle("first", this.bench.el("row", field.name) === first);
    }
  }

  groupWords(own, state) {
    if (state.panes.length === 1) return own.length === 1 ? "1 setting" : `${own.length} settings`;
    const differ = own.filter((field) => !field.same);
    if (!differ.length) return `${own.length === 1 ? "1 setting" : `${own.length} settings`}, same in ${state.panes.length === 2 ? "both" : "all"}`;
    const none = state.panes.filter((pane) => !own.some((field) => field.values.has(pane.pane)));
    const uses = none.map((pane) => `${pane.pane} (${pane.title}) uses ${own.length === 1 ? "it not" : "none of them"}.`).join(" ");
    return `${differ.length} differ${differ.length === 1 ? "s" : ""}. ${uses}`.trim();
  }

  fold(group) {
    if (!this.folded.delete(group)) this.folded.add(group);
    localStorage.setItem(FOLDED, [...this.folded].join(","));
    this.draw(this.bench.state);
  }

  drawSame(fields) {
    const slot = this.bench.el("same");
    if (!slot) return;
    const same = this.onlyDifferences ? fields.filter((field) => field.same) : [];
    slot.classList.toggle("folded", same.length === 0);
    const box = inside(slot);
    if (!box.firstElementChild) {
      replace(box, h("button", { type: "button", class: "grp", on: { click: () => this.openSame() } }, h("b", {}), h("i", {})));
    }
    const head = box.firstElementChild;
    head.setAttribute("aria-expanded", String(this.sameOpen));
    setText(head.querySelector("b"), this.bench.letters.length === 2 ? "Same in both" : "Same in all");
    setText(head.querySelector("i"), sameWords(same));
  }

  openSame() {
    this.sameOpen = !this.sameOpen;
    this.draw(this.bench.state);
  }

  savePreset() {
    const { bench } = this;
    const pane = h("select", { class: "sel", "aria-label": "Pane" }, bench.state.panes.map((one) => h("option", { value: one.pane, selected: one.pane === bench.letters.at(-1) }, `${one.pane}: ${one.title}`)));
    const name = h("input", { class: "field", maxlength: 80, required: true, placeholder: "Name", "aria-label": "Name of the preset", style: { flex: 1 } });
    const said = h("div", {});
    const save = async (event) => {
      event.preventDefault();
      try {
        await post(`bench/${bench.tab}/preset`, { pane: pane.value, name: name.value });
        dialog.close();
        dispatchEvent(new Event("diptych:touch"));
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        replace(said, h("div", { class: "err", role: "alert" }, h("b", {}, error.fault.what), " ", error.fault.next_step ?? ""));
      }
    };
    const form = h("form", { on: { submit: save } }, h("div", { class: "acts" , style: { "justify-content": "stretch" } }, pane, name), said,
      h("div", { class: "acts" }, button("Cancel", () => dialog.close(), { class: "btn" }), h("button", { class: "btn go" }, "Save")));
    const dialog = h("dialog", { class: "dp-own dp-dialog" }, h("h2", {}, "Save preset"), h("p", {}, "The pane's settings as they stand. The same name again makes the next version; built-in presets are never overwritten."), form);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
    name.focus();
  }
}

/** "caching: key-value cache on; sampling: temperature 0, top-k off". */
function sameWords(fields) {
  const groups = new Map();
  for (const field of fields) {
    const value = [...field.values.values()][0];
    groups.set(field.group, [...(groups.get(field.group) ?? []), `${field.spec.label.toLowerCase()} ${shown(value)}`]);
  }
  return [...groups].map(([group, words]) => `${group}: ${words.join(", ")}`).join("; ");
}
