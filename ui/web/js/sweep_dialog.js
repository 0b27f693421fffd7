/** Asking for a sweep: one or two named axes over a pane's settings, and what it will cost before it is started. */

import { button, h, replace, setText } from "./dom.js";
import { plural, seconds, stepped } from "./format.js";
import { post, Refused } from "./net.js";
import { faultBox } from "./faults.js";

const SUGGESTED = 5;

export function openSweep(bench) {
  if (!bench.state) return;
  new SweepDialog(bench).open();
}

class SweepDialog {
  constructor(bench) {
    this.bench = bench;
    this.pane = h("select", { class: "sel", "aria-label": "Pane to sweep", on: { change: () => this.fillAxes() } },
      bench.state.panes.map((one) => h("option", { value: one.pane, selected: one.pane === bench.letters.at(-1) }, `${one.pane}: ${one.title}`)));
    this.rows = [this.row("Across"), this.row("Down")];
    this.plan = h("p", { class: "dp-plan", "aria-live": "polite" });
    this.said = h("div", {});
    this.start = h("button", { type: "button", class: "btn go", on: { click: () => this.go() } }, "Start sweep");
    this.dialog = h("dialog", { class: "dp-own dp-dialog", "aria-label": "Sweep" }, h("h2", {}, "Sweep"),
      h("p", {}, "Every combination of the values is run on the same input and seed. Cells that were run before are taken from History."),
      h("label", { class: "dp-axis" }, h("span", {}, "Pane"), this.pane), this.rows.map((row) => row.el), this.plan, this.said,
      h("div", { class: "acts" }, button("Cancel", () => this.dialog.close(), { class: "btn" }), this.start));
    this.dialog.addEventListener("close", () => this.dialog.remove());
    this.fillAxes();
  }

  row(name) {
    const field = h("select", { class: "sel", "aria-label": `${name}: setting` });
    const values = h("input", { class: "field", "aria-label": `${name}: values, separated by commas`, style: { flex: 1 } });
    const row = { field, values, el: h("div", { class: "dp-axis" }, h("span", {}, name), field, values) };
    field.addEventListener("change", () => this.suggest(row));
    values.addEventListener("input", () => this.ask());
    return row;
  }

  get card() {
    return this.bench.card(this.bench.state.panes.find((one) => one.pane === this.pane.value).method);
  }

  fillAxes() {
    const { card } = this;
    const specs = new Map(card.settings.map((spec) => [spec.name, spec]));
    const usable = [...card.sweep.filter((name) => specs.has(name)), ...[...specs.keys()].filter((name) => !card.sweep.includes(name) && specs.get(name).kind !== "text")];
    this.rows.forEach((row, place) => {
      const none = place ? [h("option", { value: "" }, "nothing")] : [];
      replace(row.field, none, usable.map((name) => h("option", { value: name }, specs.get(name).label)));
      row.field.value = place ? "" : usable[0] ?? "";
      this.suggest(row);
    });
  }

  spec(row) {
    return this.card.settings.find((one) => one.name === row.field.value);
  }

  suggest(row) {
    const spec = this.spec(row);
    row.values.disabled = !spec;
    row.values.value = spec ? suggestions(spec).join(", ") : "";
    this.ask();
  }

  axes() {
    return this.rows.filter((row) => row.field.value).map((row) => ({ field: row.field.value, values: parse(row.values.value, this.spec(row)) }));
  }

  ask() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.askNow(), 200);
  }

  async askNow() {
    replace(this.said);
    try {
      const plan = await post(`bench/${this.bench.tab}/plan`, { pane: this.pane.value, axes: this.axes() });
      const fresh = plan.cells - plan.already_here;
      const time = plan.seconds === null ? "time not known before the first run" : `about ${seconds(plan.seconds)}`;
      setText(this.plan, `${plural(plan.cells, "cell")}, ${plan.already_here} already here, ${plural(fresh, "run")} to do, ${fresh ? time : "nothing to wait for"}.`);
      this.start.disabled = false;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      setText(this.plan, "");
      replace(this.said, faultBox(error.fault));
      this.start.disabled = true;
    }
  }

  async go() {
    try {
      await post(`bench/${this.bench.tab}/sweep`, { pane: this.pane.value, axes: this.axes() });
      this.dialog.close();
      dispatchEvent(new Event("diptych:touch"));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      replace(this.said, faultBox(error.fault));
    }
  }

  open() {
    document.body.append(this.dialog);
    this.dialog.showModal();
  }
}

/** A few values over the whole range of a field, on its own steps, the default among them. */
function suggestions(spec) {
  if (spec.kind === "bool") return ["on", "off"];
  if (spec.choices.length) return spec.choices;
  const { minimum, maximum, step } = spec;
  if (minimum === null || maximum === null) return [spec.default];
  const size = step ?? (maximum - minimum) / 20;
  const count = Math.min(SUGGESTED, Math.round((maximum - minimum) / size) + 1);
  const even = Array.from({ length: count }, (_, i) => minimum + Math.round(((maximum - minimum) * i) / (count - 1 || 1) / size) * size);
  if (spec.default !== null && !even.some((value) => Math.abs(value - spec.default) < size / 2)) even.push(spec.default);
  return [...new Set(even.sort((a, b) => a - b).map((value) => stepped(Number(value.toFixed(10)), step)))];
}

/** Values as typed: numbers, on and off, or words; "off" of an optional number is nothing. */
function parse(text, spec) {
  return text.split(",").map((part) => part.trim()).filter(Boolean).map((part) => {
    if (spec.kind === "bool") return part === "on" || part === "true";
    if (spec.kind === "int" || spec.kind === "float") return part === "off" ? null : Number.isNaN(Number(part)) ? part : Number(part);
    const choice = spec.choices.find((one) => String(one).replaceAll("_", " ") === part || String(one) === part);
    return choice ?? part;
  });
}
