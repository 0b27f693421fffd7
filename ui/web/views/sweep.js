/**
 * A sweep: the plan, every cell in a grid, what the settings buy in a scatter plot, the picked cell, the result in words.
 *
 * The page calls it again with each look at the runs; what the reader picked and focused stays.
 *
 * It deliberately starts nothing: it sends "dp:pick" (with `open` when the run shall be opened), and "dp:use" and "dp:retry" where
 * the page says that it answers them (`data-can="use retry"` on the element).
 */

import { button, h, replace, svg } from "../js/dom.js";
import { seconds } from "../js/format.js";
import { spoken } from "./faithful.js";
import { plural, setting } from "./numbers.js";
import { scatter } from "./scatter.js";
import { axisName, cellLabel, cellWords, heatShade, isFinal, measures, metricOf, scoreText, valueText } from "./sweep_words.js";
import { thumb } from "./thumb.js";
import { shade } from "./trace.js";

/** @type {WeakMap<Element, Sweep>} */
const sweeps = new WeakMap();
const CHART_HEIGHT = 268;

/**
 * @param {HTMLElement} el
 * @param {any} comparison ComparisonRow of kind "sweep"
 * @param {any} summary SweepSummary, or null before the first
 * @param {any} watchPage WatchPage, or null
 */
export function sweep(el, comparison, summary, watchPage) {
  if (!summary) return;
  if (sweeps.get(el)?.id !== comparison.id) sweeps.set(el, new Sweep(el, comparison));
  sweeps.get(el).show(summary, watchPage);
}

class Sweep {
  constructor(el, comparison) {
    this.el = el;
    this.id = comparison.id;
    this.axes = comparison.axes;
    this.picked = null;
    this.measure = "";
    this.heat = false;
    this.thumbs = new Map();
    this.cells = new Map();
    this.plan = h("div", { class: "plan" });
    this.grid = h("div", { class: "cells" });
    this.chart = svg("svg", { class: "chart dp-scatter", width: "100%" });
    this.select = h("select", { class: "sel", "aria-label": "Measure on the vertical axis", on: { change: () => this.choose(this.select.value) } });
    this.pickBox = h("div", { class: "pick", hidden: true });
    this.result = h("div", { class: "result", hidden: true });
    this.wrong = h("section", { class: "wrong", hidden: true });
    this.buildFrame();
    new ResizeObserver(() => this.summary && this.drawChart()).observe(this.chart);
  }

  buildFrame() {
    const across = axisName(this.axes[this.axes.length - 1]);
    const down = this.axes.length > 1 ? `; down: ${axisName(this.axes[0])}` : "";
    const left = h("article", { class: "l", "aria-label": "Grid of cells" });
    left.append(head("Every cell", `across: ${across}${down}`, this.heatSwitch()), this.grid, keyLine());
    const right = h("article", { class: "r", "aria-label": "What the settings buy" });
    right.append(head("What it buys", "each mark is one cell", this.select), this.chart, this.pickBox);
    replace(this.el, this.plan, h("section", { class: "pair" }, left, ringHinge(), right), this.result, this.wrong);
  }

  /** Small texts in the cells, or a map of the measure. */
  heatSwitch() {
    const group = h("span", { class: "seg", role: "group", "aria-label": "Show in each cell" });
    for (const [words, heat] of [["Text", false], ["Map", true]]) {
      const press = (event) => {
        for (const each of group.children) each.setAttribute("aria-pressed", String(each === event.currentTarget));
        this.heat = heat;
        this.show(this.summary, null);
      };
      group.append(h("button", { type: "button", "aria-pressed": String(!heat), on: { click: press } }, words));
    }
    return group;
  }

  show(summary, watchPage) {
    this.summary = summary;
    this.list = measures(summary);
    if (!this.list.some((measure) => measure.name === this.measure)) this.measure = this.firstMeasure();
    this.progress = new Map((watchPage?.runs ?? []).map((run) => [run.id, run]));
    this.drawPlan();
    this.drawGrid();
    this.fillSelect();
    this.drawChart();
    this.drawPick();
    this.drawResult();
    this.drawWrong();
  }

  /** The score where there is one, else whatever is not the speed. */
  firstMeasure() {
    const { score, speed } = this.summary;
    const found = this.list.find((measure) => measure.name === score) ?? this.list.find((measure) => measure.name !== speed);
    return found?.name ?? "";
  }

  drawPlan() {
    const cells = this.summary.cells;
    const count = (states) => cells.filter((cell) => states.includes(cell.state)).length;
    const done = count(["done"]);
    const reused = cells.filter((cell) => cell.reused).length;
    const failed = count(["failed", "cancelled", "interrupted"]);
    const left = this.summary.seconds_left;
    const total = this.summary.comparison.panes.length;
    const entry = (strong, rest) => h("span", {}, h("b", {}, strong), rest);
    const there = reused ? `${reused} ${reused === 1 ? "was" : "were"} there already` : "one run each";
    const time = left === null ? "time left unknown" : `${seconds(left)} left`;
    const ended = done + failed;
    const bar = h("i", { style: { width: `${(100 * ended) / Math.max(1, total)}%` } });
    replace(
      this.plan,
      entry(plural(total, "cell"), this.axes.map((axis) => `${axis.values.length} × ${axisName(axis)}`).join(", ")),
      entry(`${done} done`, there),
      entry(`${count(["running"])} running`, `${count(["queued"])} waiting${failed ? `, ${failed} failed` : ""}`),
      this.summary.finished ? entry("finished", "every cell has ended") : entry(time, "by the runs so far"),
      h("span", { class: "bar2", role: "img", "aria-label": `${ended} of ${total} cells` }, bar),
    );
  }

  drawGrid() {
    const columns = this.axes[this.axes.length - 1].values;
    const rows = this.axes.length > 1 ? this.axes[0].values : [null];
    if (!this.grid.childElementCount) this.layGrid(columns, rows);
    for (const cell of this.summary.cells) this.drawCell(cell);
  }

  /** Buttons for all cells, once; names of rows stay in view when the grid scrolls. */
  layGrid(columns, rows) {
    const wraps = rows.length === 1 && columns.length > 5;
    this.across = wraps ? 5 : columns.length;
    const place = h("div", { class: wraps ? "dp-cells wraps" : "dp-cells", role: "group", "aria-label": "Cells of the sweep" });
    place.style.setProperty("--n", String(this.across));
    place.addEventListener("keydown", (event) => this.walk(event));
    if (!wraps) place.append(h("span", {}), ...columns.map((value) => h("span", { class: "x" }, settingText(value))));
    rows.forEach((row) => {
      if (!wraps) place.append(h("span", { class: "y" }, row === null ? "" : settingText(row)));
      columns.forEach((column) => {
        const values = row === null ? [column] : [row, column];
        const button = h("button", { type: "button", class: "c w", "aria-pressed": "false" });
        this.cells.set(JSON.stringify(values), button);
        place.append(wraps ? h("div", { class: "named" }, h("span", { class: "x" }, settingText(column)), button) : button);
      });
    });
    this.grid.append(place);
  }

  drawCell(cell) {
    const button = this.cells.get(JSON.stringify(cell.values));
    if (!button) return;
    const run = this.progress.get(cell.run);
    const picked = cell.pane === this.picked;
    const key = JSON.stringify([cell.state, cell.metrics.length, this.measure, this.heat, picked, run?.eta_seconds, run?.events?.length]);
    if (button.drawn === key) return;
    button.drawn = key;
    button.onclick = () => this.pick(cell.pane);
    button.onpointerenter = () => this.light(cell.pane);
    button.onpointerleave = () => this.light(null);
    button.setAttribute("aria-label", cellWords(cell, this.axes, this.list, this.measure));
    button.setAttribute("aria-pressed", String(picked));
    button.dataset.pane = cell.pane;
    button.style.background = "";
    button.style.color = "";
    if (cell.state === "done") this.drawDone(button, cell);
    else if (cell.state === "running") this.drawRunning(button, run);
    else if (cell.state === "queued") this.plainCell(button, "c w", "waiting", run?.eta_seconds ? seconds(run.eta_seconds) : "");
    else this.plainCell(button, "c f", cell.fault ? spoken(cell.fault.what, 34) : cell.state, "");
  }

  drawDone(button, cell) {
    const metric = metricOf(cell, this.measure);
    const text = metric ? scoreText(metric) : "done";
    button.className = `c${this.heat ? " heat" : ""}`;
    if (this.heat && metric) {
      const level = heatShade(this.summary, this.measure, metric.value);
      button.style.background = `var(--q${level})`;
      button.style.color = `var(${level <= 3 ? "--qi" : level <= 6 ? "--qm" : "--qj"})`;
      replace(button, text);
      return;
    }
    const picture = h("span", { class: "dp-cell-thumb" });
    replace(button, picture, h("em", { class: cell.reused ? "k" : "" }, text));
    this.picture(cell.run, picture);
  }

  drawRunning(button, run) {
    button.className = "c";
    const last = [...(run?.events ?? [])].reverse().find((event) => event.type === "progress" && event.total);
    if (last) button.share = Math.min(1, last.step / last.total);
    replace(button, "running", h("span", { class: "run" }, h("i", { style: { width: `${100 * (button.share ?? 0.1)}%` } })));
  }

  plainCell(button, name, first, second) {
    button.className = name;
    replace(button, h("span", {}, first, second ? h("br", {}) : null, second));
  }

  /** The small picture of a run, fetched once. */
  picture(run, place) {
    if (!this.thumbs.has(run)) {
      const found = fetch(`/studio/runs/${encodeURIComponent(run)}/thumb`).then((answer) => (answer.ok ? answer.json() : null));
      this.thumbs.set(run, found.catch(() => null)); // without a picture the cell still has its number
    }
    this.thumbs.get(run).then((data) => thumb(place, data));
  }

  fillSelect() {
    const key = this.list.map((measure) => measure.name).join();
    if (this.select.filled !== key) {
      this.select.filled = key;
      const offered = this.list.filter((measure) => measure.name !== this.summary.speed);
      replace(this.select, ...offered.map((measure) => h("option", { value: measure.name }, measure.label)));
    }
    this.select.value = this.measure;
  }

  choose(name) {
    this.measure = name;
    this.show(this.summary, null);
  }

  drawChart() {
    const lookOf = (name) => this.list.find((measure) => measure.name === name) ?? { label: name, unit: "", better: null };
    const x = lookOf(this.summary.speed);
    const y = lookOf(this.measure);
    const marks = this.summary.cells.map((cell) => this.markOf(cell)).filter(Boolean);
    const sampled = this.summary.cells.some((cell) => metricOf(cell, this.measure)?.sample_size);
    scatter(this.chart, marks, {
      x: { title: x.label.toLowerCase(), better: x.better, unit: x.unit },
      y: { title: y.label.toLowerCase(), better: y.better, unit: sampled ? "%, whiskers: one standard error" : y.unit },
      picked: this.picked,
      width: Math.max(280, this.chart.clientWidth || 540),
      height: CHART_HEIGHT,
      onPick: (pane) => this.pick(pane),
      onPoint: (pane) => this.light(pane),
    });
  }

  /** A finished cell in the chart: scores over n questions as a share with its standard error. */
  markOf(cell) {
    const first = metricOf(cell, this.summary.speed);
    const second = metricOf(cell, this.measure);
    if (cell.state !== "done" || !Number.isFinite(first?.value) || !Number.isFinite(second?.value)) return null;
    const n = second.sample_size;
    const share = n ? second.value / n : 0;
    const columns = this.axes[this.axes.length - 1].values;
    return {
      pane: cell.pane,
      label: cellLabel(cell),
      x: first.value,
      y: n ? 100 * share : second.value,
      error: n ? 100 * Math.sqrt((share * (1 - share)) / n) : 0,
      shade: shade(columns.indexOf(cell.values[cell.values.length - 1]) + 1, columns.length),
      words: cellWords(cell, this.axes, this.list, this.measure),
    };
  }

  /** The same cell in the grid and in the chart. */
  light(pane) {
    for (const button of this.cells.values()) button.classList.toggle("lit", button.dataset.pane === pane);
    for (const mark of this.chart.querySelectorAll(".mark")) mark.classList.toggle("lit", mark.dataset.pane === pane);
  }

  pick(pane) {
    this.picked = pane;
    this.show(this.summary, null);
    this.send("dp:pick", pane);
  }

  /** Tell the page about a cell. */
  send(name, pane, more = {}) {
    const cell = this.summary.cells.find((each) => each.pane === pane);
    if (cell) this.el.dispatchEvent(new CustomEvent(name, { bubbles: true, detail: { pane: cell.pane, run: cell.run, ...more } }));
  }

  can(what) {
    return (this.el.dataset.can ?? "").split(" ").includes(what);
  }

  drawPick() {
    const cell = this.summary.cells.find((each) => each.pane === this.picked);
    this.pickBox.hidden = !cell;
    if (!cell) return;
    const known = cell.metrics.filter((metric) => this.list.some((measure) => measure.name === metric.name));
    const shown = known.slice(0, 5).map((metric) => `${metric.label.toLowerCase()} ${valueText(metric)}`);
    const picture = h("span", { class: "dp-cell-thumb c" });
    if (cell.state === "done") this.picture(cell.run, picture);
    const open = button("Open", () => this.send("dp:pick", cell.pane, { open: true }));
    const use = this.can("use") ? button("Use these", () => this.send("dp:use", cell.pane)) : null;
    const title = h("b", { class: "joined" }, `Picked: ${this.settingsOf(cell)}`);
    const words = h("div", {}, title, h("div", { class: "note" }, shown.join("; ") || cell.state));
    replace(this.pickBox, picture, words, h("div", { class: "acts" }, open, use));
  }

  /** "block size 16, commit above 0.9" */
  settingsOf(cell) {
    return this.axes.map((axis, index) => `${axisName(axis)} ${settingText(cell.values[index])}`).join(", ");
  }

  drawResult() {
    const words = this.summary.sentence;
    this.result.hidden = !words;
    replace(this.result, words ? h("p", { class: "say" }, h("b", {}, spoken(words, 600))) : null);
  }

  drawWrong() {
    const failed = this.summary.cells.filter((cell) => isFinal(cell.state) && cell.state !== "done");
    this.wrong.hidden = !failed.length;
    const entries = failed.map((cell) => {
      const what = `${this.settingsOf(cell)}: ${spoken(cell.fault?.what ?? cell.state, 200)}`;
      const rest = spoken([cell.fault?.why, cell.fault?.next_step].filter(Boolean).join(" "), 400);
      const again = this.can("retry") ? h("div", { class: "acts" }, button("Run this cell again", () => this.send("dp:retry", cell.pane))) : null;
      return h("div", { class: "err" }, h("b", {}, what), " ", rest, again);
    });
    const heading = [h("h2", {}, "What went wrong"), h("p", { class: "note" }, "the other cells are not affected")];
    replace(this.wrong, ...(failed.length ? heading : []), ...entries);
  }

  /** Arrow keys move between cells. */
  walk(event) {
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.across, ArrowUp: -this.across };
    if (!(event.key in steps)) return;
    const buttons = [...this.cells.values()];
    const next = buttons[buttons.indexOf(document.activeElement) + steps[event.key]];
    if (!next) return;
    event.preventDefault();
    next.focus();
  }
}

function head(name, note, control) {
  return h("div", { class: "ph" }, h("span", { class: "name" }, name), h("span", { class: "note" }, note), h("span", { class: "gap" }), control);
}

/** What the marks of the cells mean. */
function keyLine() {
  const marks = [["kr", "running"], ["kw", "waiting"], ["kf", "failed"]].map(([name, words]) => h("span", { class: name }, words));
  return h("div", { class: "key5" }, h("b", {}, "a dot: it was there already"), ...marks);
}

/** The hinge works here too: the picked run is the same on both leaves. */
function ringHinge() {
  const words = "The same cell on both sides";
  const ring = svg("svg", { width: 16, height: 16, viewBox: "0 0 16 16", fill: "none", stroke: "currentColor", "stroke-width": 2 });
  ring.append(svg("circle", { cx: 8, cy: 8, r: 5 }), svg("path", { d: "M8 0v4M8 12v4M0 8h4M12 8h4" }));
  return h("div", { class: "dp-hinge" }, h("span", { class: "pin on", role: "img", "aria-label": words, title: words }, ring));
}

function settingText(value) {
  return spoken(setting(value), 18);
}

window.diptych ??= {};
window.diptych.sweep = sweep;
