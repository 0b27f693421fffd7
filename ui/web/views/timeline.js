/**
 * The block timeline of one pane: tokens committed per pass and block on an axis of passes that all panes share, so that the
 * white rest of the faster pane is the saving. A second view shows tokens per pass alone.
 *
 * Bars of one shade are one path: the picture has about twenty elements, however long the run.
 *
 * It deliberately holds no time line of seconds; passes are what the methods differ in.
 */

import { clear, svg } from "../js/dom.js";
import { figure, plural, ticks } from "./numbers.js";
import { SHADES, shade } from "./trace.js";

const GUTTER = 58;
const RIGHT = 5;
const TOP = 3;
const ROWS_HEIGHT = 126;
const ROW = 23.5;
const AXIS = 34;
/** More blocks than this share rows. */
const MOST_ROWS = 20;
const THINNEST_BAR = 1.4;

/**
 * @typedef {{total: number, rows: number, together: number, peakBlock: number, peakPass: number, mode: "blocks"|"passes"}} Scale  shared by all panes
 * @typedef {{cursor: number|null, slowest: number, width: number, scale: Scale, blockSize: number}} Look
 */

export class Timeline {
  /** @param {(pass: number) => void} onScrub */
  constructor(onScrub) {
    this.root = svg("svg", { class: "dp-timeline", role: "img" });
    this.cursor = svg("path", { class: "cursor" });
    this.veil = svg("rect", { class: "veil", x: 0, y: 0, width: 0, height: 0 });
    this.onScrub = onScrub;
    this.scale = null;
    this.drawn = "";
    const scrub = (event) => this.scrub(event);
    this.root.addEventListener("pointerdown", (event) => {
      this.root.setPointerCapture(event.pointerId);
      scrub(event);
    });
    this.root.addEventListener("pointermove", (event) => event.buttons & 1 && scrub(event));
  }

  scrub(event) {
    if (!this.scale) return;
    const x = event.clientX - this.root.getBoundingClientRect().left - GUTTER;
    const pass = Math.ceil((x / (this.width - GUTTER - RIGHT)) * this.scale.total);
    this.onScrub(Math.min(this.scale.total, Math.max(0, pass)));
  }

  /**
   * @param {import("./trace.js").TraceModel} model
   * @param {Look} look
   */
  sync(model, look) {
    const { scale, width } = look;
    const key = [model.lastPass, model.finished, width, scale.total, scale.rows, scale.peakBlock, scale.peakPass, scale.mode, look.slowest].join();
    this.scale = scale;
    this.width = width;
    if (key !== this.drawn) {
      this.drawn = key;
      this.redraw(model, look);
    }
    this.moveCursor(look.cursor);
  }

  redraw(model, look) {
    const { scale, width } = look;
    const height = rowHeight(scale.rows) * scale.rows;
    this.bottom = TOP + height;
    const x = scaleX(scale.total, width);
    clear(this.root);
    this.root.setAttribute("viewBox", `0 0 ${width} ${this.bottom + AXIS}`);
    this.root.setAttribute("height", String(this.bottom + AXIS));
    this.root.setAttribute("aria-label", summary(model, look));
    if (scale.mode === "blocks") drawBlocks(this.root, model, look, x);
    else drawPasses(this.root, model, look, x, this.bottom);
    drawAxis(this.root, model, look, x, this.bottom);
    drawSaving(this.root, model, look, x);
    this.root.append(this.veil, this.cursor);
  }

  moveCursor(pass) {
    this.veil.setAttribute("width", "0");
    this.cursor.removeAttribute("d");
    if (pass === null || !this.scale) return;
    const x = scaleX(this.scale.total, this.width);
    const at = x(pass + 1);
    this.cursor.setAttribute("d", `M${at} 0V${this.bottom + 13}`);
    this.veil.setAttribute("x", String(at));
    this.veil.setAttribute("width", String(Math.max(0, x(this.scale.total + 1) + 2 - at)));
    this.veil.setAttribute("height", String(this.bottom + 13));
  }
}

/** Left edge of pass `index` in pixels; `index + 1` is its right edge. */
function scaleX(total, width) {
  const step = (width - GUTTER - RIGHT) / Math.max(1, total);
  return (index) => Number((GUTTER + (index - 1) * step).toFixed(2));
}

function rowHeight(rows) {
  return rows * ROW <= ROWS_HEIGHT ? ROW : ROWS_HEIGHT / Math.max(1, rows);
}

/**
 * Blocks as rows of the picture: one a block, or several neighbours in one when there are many.
 * @param {import("./trace.js").Block[]} blocks
 * @param {number} together blocks in a row
 */
export function rowsOf(blocks, together) {
  if (together <= 1) return blocks;
  const rows = [];
  for (let start = 0; start < blocks.length; start += together) {
    const group = blocks.slice(start, start + together);
    const counts = new Map();
    for (const block of group) for (const [pass, count] of block.counts) counts.set(pass, (counts.get(pass) ?? 0) + count);
    const done = group.every((block) => block.done !== null) ? Math.max(...group.map((block) => block.done)) : null;
    const first = Math.min(...group.map((block) => block.first));
    rows.push({ first, done, counts, spans: [] });
  }
  return rows;
}

/** How many blocks share a row when the longest pane has `most` of them. */
export function blocksPerRow(most) {
  return Math.ceil(most / MOST_ROWS);
}

function drawBlocks(root, model, look, x) {
  const { scale, blockSize } = look;
  const blocks = rowsOf(model.blocks(blockSize), scale.together);
  const row = rowHeight(scale.rows);
  const room = row > 12 ? row - 6 : row - Math.min(1, row * 0.2);
  const unit = room / Math.max(1, scale.peakBlock);
  const total = model.totalPasses;
  const bars = Array.from({ length: SHADES + 1 }, () => "");
  let open = "";
  let full = "";
  let done = "";
  let lines = "";
  blocks.forEach((block, index) => {
    const base = TOP + (index + 1) * row - (row > 12 ? 2.5 : 0);
    if (row > 12) lines += `M${x(1)} ${base}H${x(scale.total + 1)}`;
    for (const span of spansOf(block, model)) {
      const band = `M${x(span.from)} ${base}V${base - room}H${x(span.to + 1)}V${base}z`;
      if (span.state === "semi") open += band;
      else full += band;
    }
    for (const bar of runs(block.counts, total, gap(x) === 0)) {
      bars[bar.shade] += `M${x(bar.from)} ${base}V${base - Math.max(THINNEST_BAR, bar.count * unit)}H${x(bar.to + 1) - gap(x)}V${base}z`;
    }
    if (block.done !== null) done += `M${x(block.done + 1)} ${base + (row > 12 ? 1 : 0)}v${-room - (row > 12 ? 2.5 : 0)}`;
    if (labelled(index, row)) root.append(svg("text", { x: 0, y: base - Math.min(2, row / 4) }, blockName(index, scale.together)));
  });
  root.append(svg("path", { class: "r", d: lines }), svg("path", { class: "band semi", d: open }), svg("path", { class: "band", d: full }));
  appendBars(root, bars, x);
  root.append(svg("path", { class: "done", d: done }));
}

/**
 * Bars of a row; equal neighbours become one where no gap would show between them.
 * @param {Map<number, number>} counts tokens by pass, in the order of passes
 */
function runs(counts, total, merges) {
  const bars = [];
  let last = null;
  for (const [pass, count] of counts) {
    const tone = shade(pass, total);
    if (merges && last && last.to === pass - 1 && last.count === count && last.shade === tone) last.to = pass;
    else bars.push((last = { from: pass, to: pass, count, shade: tone }));
  }
  return bars;
}

/** While a block was open; methods that tell no states are open from the first to the last token. */
function spansOf(block, model) {
  if (block.spans.length) return block.spans;
  return [{ from: block.first, to: block.done ?? model.lastPass, state: "full" }];
}

function blockName(index, together) {
  return together <= 1 ? `block ${index + 1}` : `${index * together + 1} to ${(index + 1) * together}`;
}

function labelled(index, row) {
  return row > 12 || index % Math.ceil(14 / row) === 0;
}

function gap(x) {
  const step = x(2) - x(1);
  return step > 4 ? 1 : step > 2 ? 0.5 : 0;
}

function appendBars(root, bars, x) {
  const lined = x(2) - x(1) > 3 ? " lined" : "";
  bars.forEach((d, index) => {
    if (d) root.append(svg("path", { class: `f${index}${lined}`, d }));
  });
}

function drawPasses(root, model, look, x, bottom) {
  const { scale } = look;
  const room = bottom - TOP - 16;
  const top = ticks(0, Math.max(1, scale.peakPass), 3);
  const unit = room / top[top.length - 1];
  for (const value of top) {
    const y = bottom - 2.5 - value * unit;
    root.append(svg("path", { class: "r", d: `M${x(1)} ${y}H${x(scale.total + 1)}` }));
    root.append(svg("text", { x: GUTTER - 8, y: y + 4, "text-anchor": "end" }, figure(value)));
  }
  const bars = Array.from({ length: SHADES + 1 }, () => "");
  for (const pass of model.passes) {
    if (!pass.committed.length) continue;
    const height = pass.committed.length * unit;
    bars[shade(pass.index, model.totalPasses)] += `M${x(pass.index)} ${bottom - 2.5}v${-height}H${x(pass.index + 1) - gap(x)}v${height}z`;
  }
  appendBars(root, bars, x);
  root.append(svg("text", { x: GUTTER, y: TOP + 8 }, "tokens per pass"));
  if (!model.lastPass) return;
  const mean = model.committedCount / model.lastPass;
  const y = bottom - 2.5 - mean * unit;
  root.append(svg("path", { class: "mean", d: `M${x(1)} ${y}H${x(model.lastPass + 1)}` }));
  const end = x(model.lastPass + 1);
  const right = end > x(scale.total + 1) - 60;
  const place = right ? { x: end, y: y - 5, "text-anchor": "end" } : { x: end + 6, y: y + 4 };
  root.append(svg("text", { class: "k halo", ...place }, `mean ${figure(mean, 2)}`));
}

/** The strip that is the key to the colours, and the numbers below it. */
function drawAxis(root, model, look, x, bottom) {
  const { scale } = look;
  const y = bottom + 5;
  root.append(svg("path", { class: "r", d: `M${x(1)} ${y + 3}H${x(scale.total + 1)}` }), svg("text", { x: 0, y: y + 7 }, "pass"));
  const total = model.totalPasses;
  for (let part = 1; part <= SHADES && model.lastPass; part += 1) {
    const from = Math.ceil(((part - 1) * total) / SHADES) + 1;
    const to = Math.min(Math.ceil((part * total) / SHADES), model.lastPass);
    if (to < from) continue;
    root.append(svg("path", { class: `f${part}`, d: `M${x(from)} ${y}H${x(to + 1)}v6H${x(from)}z` }));
  }
  const own = model.lastPass;
  const taken = [];
  const label = (pass, bold) => {
    const at = (x(pass) + x(pass + 1)) / 2;
    if (taken.some((other) => Math.abs(other - at) < 30)) return;
    taken.push(at);
    const anchor = at > x(scale.total + 1) - 14 ? "end" : "middle";
    const place = { x: anchor === "end" ? x(scale.total + 1) : at, y: y + 22, "text-anchor": anchor };
    root.append(svg("text", { ...place, class: bold ? "k" : "" }, String(pass)));
  };
  if (own) label(own, true);
  label(scale.total, false);
  label(1, false);
  const wanted = Math.max(2, Math.min(4, Math.floor(look.width / 110)));
  for (const tick of ticks(0, scale.total, wanted)) if (tick >= 1 && tick <= scale.total && Number.isInteger(tick)) label(tick, false);
}

/** "Done at pass 15. 49 passes saved, up to 5 tokens in each.", in the white that it is about. */
function drawSaving(root, model, look, x) {
  const words = savingWords(model, look);
  if (!words) return;
  const from = x(model.lastPass + 1) + 14;
  if (x(look.scale.total + 1) - from < 216 || look.scale.mode !== "blocks") return;
  const row = rowHeight(look.scale.rows);
  const between = row > 12 && look.scale.rows > 2;
  const first = between ? TOP + row + 12.5 : 15;
  const second = between ? first + row : 31;
  root.append(svg("text", { x: from, y: first, class: "k strong halo" }, words[0]), svg("text", { x: from, y: second, class: "halo" }, words[1]));
}

/** The saving in two sentences, or null. */
export function savingWords(model, look) {
  const saved = look.slowest - model.lastPass;
  if (!model.finished || saved <= 0 || !model.lastPass) return null;
  const most = model.widestPass;
  const ended = model.stoppedBy === "user" ? "Stopped" : "Done";
  const outcome = model.stoppedBy === "user" ? "Not the whole text" : `${plural(saved, "pass", "passes")} saved`;
  return [`${ended} at pass ${figure(model.lastPass)}.`, `${outcome}, up to ${plural(most, "token")} in each.`];
}

function summary(model, look) {
  const blocks = model.blocks(look.blockSize).length;
  const state = model.finished ? "done at" : "so far";
  const words = savingWords(model, look);
  const made = `${plural(model.committedCount, "token")} in ${plural(blocks, "block")}`;
  const base = `Block timeline: ${made}, ${state} pass ${model.lastPass} of ${look.scale.total} on the axis.`;
  return words ? `${base} ${words.join(" ")}` : base;
}
