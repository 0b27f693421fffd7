/** The compare tray of History: what the ticked runs differ in, and what can be done with them. */

import { button, h, replace } from "./dom.js";
import { digest, metric, moment, plural, shown } from "./format.js";
import { get, post } from "./net.js";
import { exportMenu } from "./export_menu.js";

const SHOWN_METRICS = 5;

export class Tray {
  constructor(history, router) {
    this.history = history;
    this.router = router;
    this.details = new Map();
    this.el = h("aside", { "aria-label": "Compare tray" });
  }

  get runs() {
    return [...this.history.picked.values()];
  }

  async draw() {
    const runs = this.runs;
    const head = h("div", { class: "dp-ph" }, h("span", { class: "name" }, runs.length === 1 ? "Picked" : "Compare"), h("span", { class: "note" }, runs.length ? `${runs.length} picked, up to 4` : "tick two to four"));
    if (!runs.length) {
      replace(this.el, head, h("p", { class: "cap", style: { "margin-top": "12px" } }, h("b", {}, "Looking changes nothing."), " Your controls stay as they are until you choose “use these”."));
      return;
    }
    const asked = (this.asked = {});
    const full = await Promise.all(runs.map((run) => this.detail(run.id)));
    if (asked !== this.asked) return;
    replace(this.el, head, this.pictures(runs), runs.length === 2 ? this.differences(full) : this.list(full), this.actions(runs), runs.length === 1 ? this.notes(full[0]) : "",
      h("p", { class: "cap", style: { "margin-top": "14px" } }, h("b", {}, "Looking changes nothing."), " Your controls stay as they are until you choose “use these”."));
  }

  detail(id) {
    if (!this.details.has(id)) this.details.set(id, get(`runs/${id}`));
    return this.details.get(id);
  }

  pictures(runs) {
    const hinge = runs.length === 2 ? h("div", { class: "dp-hinge" }, h("span", { class: "pin" }, runs[0].digest && runs[0].digest === runs[1].digest ? "=" : "≠")) : "";
    return h("div", { class: `duo ${runs.length > 2 ? "many" : runs.length === 1 ? "one" : ""}` }, runs.map((run) => this.history.thumb(run)), hinge);
  }

  differences([one, two]) {
    const rows = [[moment(one.created), "differs in", moment(two.created)]];
    const pair = (name, left, right) => rows.push([left, name, right]);
    for (const [name, field] of [["method", "method_title"], ["checkpoint", "checkpoint"], ["seed", "seed"], ["device", "device"]]) {
      if (one[field] !== two[field]) pair(name, String(one[field]), String(two[field]));
    }
    const labels = { ...one.labels, ...two.labels };
    let equal = 0;
    for (const name of new Set([...Object.keys(one.settings), ...Object.keys(two.settings)])) {
      const [left, right] = [one.settings[name], two.settings[name]];
      if (JSON.stringify(left) === JSON.stringify(right)) equal += 1;
      else pair((labels[name] ?? name).toLowerCase(), name in one.settings ? shown(left) : "–", name in two.settings ? shown(right) : "–");
    }
    const seen = one.metrics.filter((metric_) => two.metrics.some((other) => other.name === metric_.name)).slice(0, SHOWN_METRICS);
    for (const left of seen) {
      const right = two.metrics.find((other) => other.name === left.name);
      const [a, b] = [metric(left), metric(right)];
      pair(left.label.toLowerCase(), `${a.text} ${a.small}`.trim(), `${b.text} ${b.small}`.trim());
    }
    const same = JSON.stringify(one.inputs) === JSON.stringify(two.inputs);
    const words = [same ? "Same input" : "Different inputs", one.seed === two.seed ? "same seed" : "different seeds"].join(", ");
    return [h("div", { class: "dl" }, rows.flatMap((row, place) => row.map((cell, side) => h(place === 0 && side !== 1 ? "b" : "span", {}, cell)))), h("p", { class: "cap", style: { margin: "0 0 14px" } }, `${words}. ${plural(equal, "setting is", "settings are")} equal.`)];
  }

  list(runs) {
    return h("ul", { class: "li", style: { margin: "12px 0" } }, runs.map((run) => h("li", {}, h("span", {}, h("b", {}, run.method_title), ` ${moment(run.created)}, seed ${run.seed}${run.artifacts[0] ? `, ${digest(run.artifacts[0].digest)}` : ""}`))));
  }

  actions(runs) {
    const ids = runs.map((run) => run.id);
    const open = button(runs.length === 1 ? "Open" : "Open side by side", () => (runs.length === 1 ? this.history.look(runs[0]) : this.router.look("runs", ids)), { class: "btn go" });
    return h("div", { class: "acts" }, open, runs.length === 1 && runs[0].artifacts ? exportMenu(runs[0].id, runs[0].comparison) : "", button("Delete…", () => this.history.remove(runs), { class: "btn" }));
  }

  notes(run) {
    const save = async (path, body) => {
      await post(`runs/${run.id}/${path}`, body);
      this.details.delete(run.id);
      this.history.load();
    };
    const title = h("input", { class: "field", maxlength: 200, value: run.title, on: { change: () => save("title", { title: title.value }) } });
    const tags = h("input", { class: "field", value: run.tags.join(", "), placeholder: "separated by commas", on: { change: () => save("tags", { tags: tags.value.split(",").map((tag) => tag.trim()).filter(Boolean).slice(0, 20) }) } });
    const note = h("textarea", { class: "field", maxlength: 10000, on: { change: () => save("note", { note: note.value }) } }, run.note);
    return h("div", { class: "dp-meta" }, h("label", {}, "Title", title), h("label", {}, "Tags", tags), h("label", {}, "Note", note));
  }
}
