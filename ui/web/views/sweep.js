/**
 * A sweep: the plan, every cell in a grid, what the settings buy in a scatter plot, the picked cell, the result in words.
 *
 * The page calls it again with each look at the runs; what the reader picked and focused stays.
 *
 * It deliberately starts nothing: buttons send events ("dp:pick", "dp:open", "dp:use", "dp:retry") that the page answers.
 */

import { h, replace, svg } from "../js/dom.js";
import { seconds } from "../js/format.js";
import { spoken } from "./faithful.js";
import { figure, plural, quantity, setting } from "./numbers.js";
import { scatter } from "./scatter.js";
import { axisName, cellLabel, cellWords, heatShade, isFinal, measures, metricOf, scoreText } from "./sweep_words.js";
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
    const press = (pressed, heat) => {
      for (const button of pressed.parentNode.children) button.setAttribute("aria-pressed", String(button === pressed));
      this.heat = heat;
      this.show(this.summary, null);
    };
    const toggle = h("span", { class: "seg", role: "group", "aria-label": "Show in each cell" }, ...[["Text", false], ["Map", true]].map(([words, heat]) =>
      h("button", { type: "button", "aria-pressed": String(!heat), on: { click: (event) => press(event.currentTarget, heat) } }, words))); // prettier-ignore
    const left = h("article", { class: "l", "aria-label": "Grid of cells" },
      h("div", { class: "ph" }, h("span", { class: "name" }, "Every cell"), h("span", { class: "note" }, `across: ${across}${down}`), h("span", { class: "gap" }), toggle),
      this.grid, this.keyLine()); // prettier-ignore
    const ring = svg("svg", { width: 16, height: 16, viewBox: "0 0 16 16", fill: "none", stroke: "currentColor", "stroke-width": 2 },
      svg("circle", { cx: 8, cy: 8, r: 5 }), svg("path", { d: "M8 0v4M8 12v4M0 8h4M12 8h4" })); // prettier-ignore
    const hinge = h("div", { class: "dp-hinge" }, h("span", { class: "pin on", role: "img", "aria-label": "The same cell on both sides", title: "The same cell on both sides" }, ring));
    const right = h("article", { class: "r", "aria-label": "What the settings buy" },
      h("div", { class: "ph" }, h("span", { class: "name" }, "What it buys"), h("span", { class: "note" }, "each mark is one cell"), h("span", { class: "gap" }), this.select),
      this.chart, this.pickBox); // prettier-ignore
    replace(this.el, this.plan, h("section", { class: "pair" }, left, hinge, right), this.result, this.wrong);
  }

  keyLine() {
    return h("div", { class: "key5" }, h("b", {}, "a dot: it was there already"), h("span", { class: "kr" }, "running"), h("span", { class: "kw" }, "waiting"), h("span", { class: "kf" }, "failed"));
  }

  show(summary, watchPage) {
    this.summary = summary;
    this.list = measures(summary);
    if (!this.list.some((measure) => measure.name === this.measure)) this.measure = (this.list.find((measure) => measure.name === summary.score) ?? this.list.find((measure) => measure.name !== summary.speed))?.name ?? "";
    this.progress = new Map((watchPage?.runs ?? []).map((run) => [run.id, run]));
    this.drawPlan();
    this.drawGrid();
    this.fillSelect();
    this.drawChart();
    this.drawPick();
    this.drawResult();
    this.drawWrong();
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
    replace(this.plan,
      entry(plural(total, "cell"), this.axes.map((axis) => `${axis.values.length} × ${axisName(axis)}`).join(", ")),
      entry(`${done} done`, reused ? `${reused} ${reused === 1 ? "was" : "were"} there already` : "one run each"),
      entry(`${count(["running"])} running`, `${count(["queued"])} waiting${failed ? `, ${failed} failed` : ""}`),
      entry(this.summary.finished ? "finished" : left === null ? "time left unknown" : `${seconds(left)} left`, this.summary.finished ? "every cell has ended" : "by the runs so far"),
      h("span", { class: "bar2", role: "img", "aria-label": `${done + failed} of ${total} cells` }, h("i", { style: { width: `${(100 * (done + failed)) / Math.max(1, total)}%` } }))); // prettier-ignore
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
    const place = h("div", { class: `dp-cells${wraps ? " wraps" : ""}`, role: "group", "aria-label": "Cells of the sweep", style: { "--n": String(this.across) }, on: { keydown: (event) => this.walk(event) } });
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
    const key = JSON.stringify([cell.state, cell.metrics.length, this.measure, this.heat, cell.pane === this.picked, run?.eta_seconds, run?.events?.length]);
    if (button.drawn === key) return;
    button.drawn = key;
    button.onclick = () => this.pick(cell.pane);
    button.onpointerenter = () => this.light(cell.pane);
    button.onpointerleave = () => this.light(null);
    button.setAttribute("aria-label", cellWords(cell, this.axes, this.list, this.measure));
    button.setAttribute("aria-pressed", String(cell.pane === this.picked));
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
      const found = fetch(`/studio/runs/${encodeURIComponent(run)}/thumb`).then((answer) => (answer.ok ? answer.json() : null), () => null);
      this.thumbs.set(run, found.catch(() => null));
    }
    this.thumbs.get(run).then((data) => thumb(place, data));
  }

  fillSelect() {
    const key = this.list.map((measure) => measure.name).join();
    if (this.select.filled !== key) {
      this.select.filled = key;
      replace(this.select, ...this.list.filter((measure) => measure.name !== this.summary.speed).map((measure) => h("option", { value: measure.name }, measure.label)));
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
    const columns = this.axes[this.axes.length - 1].values;
    const marks = this.summary.cells.flatMap((cell) => {
      const first = metricOf(cell, this.summary.speed);
      const second = metricOf(cell, this.measure);
      if (cell.state !== "done" || !first || !second || !Number.isFinite(first.value) || !Number.isFinite(second.value)) return [];
      const n = second.sample_size;
      const level = n ? (100 * second.value) / n : second.value;
      const error = n ? 100 * Math.sqrt(((second.value / n) * (1 - second.value / n)) / n) : 0;
      return [{
        pane: cell.pane, label: cellLabel(cell), x: first.value, y: level, error,
        shade: shade(columns.findIndex((value) => value === cell.values[cell.values.length - 1]) + 1, columns.length),
        words: cellWords(cell, this.axes, this.list, this.measure),
      }]; // prettier-ignore
    });
    const sampled = marks.length && this.summary.cells.some((cell) => metricOf(cell, this.measure)?.sample_size);
    scatter(this.chart, marks, {
      x: { title: x.label.toLowerCase(), better: x.better, unit: x.unit },
      y: { title: y.label.toLowerCase(), better: y.better, unit: sampled ? "%, whiskers: one standard error" : y.unit },
      picked: this.picked, width: Math.max(280, this.chart.clientWidth || 540), height: CHART_HEIGHT,
      onPick: (pane) => this.pick(pane), onPoint: (pane) => this.light(pane),
    }); // prettier-ignore
  }

  /** The same cell in the grid and in the chart. */
  light(pane) {
    for (const button of this.cells.values()) button.classList.toggle("lit", button.dataset.pane === pane);
    for (const mark of this.chart.querySelectorAll(".mark")) mark.classList.toggle("lit", mark.dataset.pane === pane);
  }

  pick(pane) {
    this.picked = pane;
    this.show(this.summary, null);
    this.send("dp:pick");
  }

  send(name) {
    const cell = this.summary.cells.find((each) => each.pane === this.picked);
    if (cell) this.el.dispatchEvent(new CustomEvent(name, { bubbles: true, detail: { pane: cell.pane, run: cell.run } }));
  }

  drawPick() {
    const cell = this.summary.cells.find((each) => each.pane === this.picked);
    this.pickBox.hidden = !cell;
    if (!cell) return;
    const shown = cell.metrics.filter((metric) => this.list.some((measure) => measure.name === metric.name)).slice(0, 5).map((metric) => {
      const value = metric.sample_size ? `${figure(metric.value)} of ${metric.sample_size}` : [quantity(metric.value, metric.unit).text, quantity(metric.value, metric.unit).unit].filter(Boolean).join(" ");
      return `${metric.label.toLowerCase()} ${value}`;
    }); // prettier-ignore
    const picture = h("span", { class: "dp-cell-thumb c" });
    if (cell.state === "done") this.picture(cell.run, picture);
    const open = h("button", { type: "button", class: "btn sm", on: { click: () => this.send("dp:open") } }, "Open");
    const use = h("button", { type: "button", class: "btn sm", on: { click: () => this.send("dp:use") } }, "Use these");
    replace(this.pickBox, picture,
      h("div", {}, h("b", { class: "joined" }, `Picked: ${this.axes.map((axis, index) => `${axisName(axis)} ${settingText(cell.values[index])}`).join(", ")}`), h("div", { class: "note" }, shown.join("; ") || cell.state)),
      h("div", { class: "acts" }, open, use)); // prettier-ignore
  }

  drawResult() {
    const words = this.summary.sentence;
    this.result.hidden = !words;
    replace(this.result, words ? h("p", { class: "say" }, h("b", {}, spoken(words, 600))) : null);
  }

  drawWrong() {
    const failed = this.summary.cells.filter((cell) => isFinal(cell.state) && cell.state !== "done");
    this.wrong.hidden = !failed.length;
    const entries = failed.map((cell) =>
      h("div", { class: "err" }, h("b", {}, `${this.axes.map((axis, index) => `${axisName(axis)} ${settingText(cell.values[index])}`).join(", ")}: ${spoken(cell.fault?.what ?? cell.state, 200)}`),
        " ", spoken([cell.fault?.why, cell.fault?.next_step].filter(Boolean).join(" "), 400),
        h("div", { class: "acts" }, h("button", { type: "button", class: "btn sm", on: { click: () => this.el.dispatchEvent(new CustomEvent("dp:retry", { bubbles: true, detail: { pane: cell.pane, run: cell.run } })) } }, "Run this cell again"))), // prettier-ignore
    );
    replace(this.wrong, failed.length ? h("h2", {}, "What went wrong") : null, failed.length ? h("p", { class: "note" }, "the other cells are not affected") : null, ...entries);
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

function settingText(value) {
  return spoken(setting(value), 18);
}

window.diptych ??= {};
window.diptych.sweep = sweep;
