/**
 * The text of one pane, token by token: coloured by the pass that committed each, dots for masks, a caret while it runs.
 *
 * Any pass can be shown; the text keeps its shape while it is replayed, because tokens that come later already hold their
 * place. Only tokens that changed are touched, so that thousands stay smooth.
 *
 * It deliberately knows one pane only: what joins panes is in `bench.js`.
 */

import { h } from "../js/dom.js";
import { say, showText, spoken } from "./faithful.js";
import { shade } from "./trace.js";

const MASK = "·";
const STICKY = 24;

export class TokenText {
  /**
   * @param {{pane: string, title: string, onPoint: (position: number|null, by: "pointer"|"keys") => void, onScroll: () => void}} options
   */
  constructor({ pane, title, onPoint, onScroll }) {
    this.flow = h("span", { class: "flow" });
    this.said = h("span", { class: "dp-said", role: "status", "aria-live": "polite" });
    const label = `Output of pane ${pane}, ${title}. Arrow keys go from token to token.`;
    this.box = h("div", { class: "out tokens", tabindex: "0", role: "group", "aria-label": label }, this.flow);
    this.root = h("div", { class: "dp-text" }, this.box, this.said);
    /** @type {HTMLElement[]} */
    this.cells = [];
    /** @type {string[]} what each cell shows now: compared instead of asking the page */
    this.shown = [];
    /** @type {Set<number>} positions that end a line */
    this.ends = new Set();
    this.marks = { df: -1, at: -1, partner: -1 };
    this.onPoint = onPoint;
    this.picked = -1;
    this.listen(onScroll);
  }

  listen(onScroll) {
    this.box.addEventListener("pointerover", (event) => this.onPoint(this.positionOf(event.target), "pointer"));
    this.box.addEventListener("pointerleave", () => this.onPoint(null, "pointer"));
    this.box.addEventListener("click", (event) => this.pick(this.positionOf(event.target) ?? -1, "pointer"));
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.box.addEventListener("focusout", () => this.pick(-1, "keys"));
    this.box.addEventListener("copy", (event) => copyExactly(event));
    this.box.addEventListener("scroll", onScroll, { passive: true });
  }

  /**
   * Show `model` as of `pass` (null: as it is now).
   * @param {import("./trace.js").TraceModel} model
   * @param {number|null} [pass]
   */
  sync(model, pass = null) {
    const whole = model.extent();
    const extent = Math.min(model.extent(pass), whole);
    const total = model.totalPasses;
    const sticks = !model.finished && this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < STICKY;
    const grown = this.grow(whole);
    this.broken = grown;
    const guess = model.finished ? 0 : meanLength(model);
    for (let position = 0; position < whole; position += 1) this.cell(position, model, pass, extent, total, guess);
    if (this.broken) this.paragraphs();
    this.flow.classList.toggle("running", !model.finished && pass === null);
    if (sticks && grown) this.box.scrollTop = this.box.scrollHeight;
  }

  cell(position, model, pass, extent, total, guess) {
    const token = model.tokenAt(position, pass);
    const last = model.tokens[position] ?? null;
    let look;
    let text;
    if (token) {
      look = `p${shade(token.pass, total)}`;
      text = token.text;
    } else {
      look = position >= extent ? "later" : last ? `mask veiled${/^\s/.test(last.text) ? " spaced" : ""}` : "mask";
      text = last?.text ?? (position < extent ? dots(guess) : "");
    }
    const key = `${look} ${text}`;
    if (this.shown[position] === key) return;
    this.shown[position] = key;
    const cell = this.cells[position];
    if (text.includes("\n")) look += " line";
    if (text.endsWith("\n") !== this.ends.has(position)) {
      this.broken = true;
      if (text.endsWith("\n")) this.ends.add(position);
      else this.ends.delete(position);
    }
    cell.className = this.withMarks(position, look);
    showText(cell, text);
  }

  /** Make cells for `count` positions, drop the rest. */
  grow(count) {
    const before = this.cells.length;
    for (let position = before; position < count; position += 1) {
      const cell = h("i", {});
      cell.position = position;
      this.cells.push(cell);
    }
    while (this.cells.length > count) {
      this.ends.delete(this.cells.length - 1);
      this.cells.pop().remove();
      this.shown.pop();
    }
    return this.cells.length !== before;
  }

  /** Put the cells into one block a line of the text, so that a change lays out and paints its own line alone. */
  paragraphs() {
    let start = 0;
    let line = this.flow.firstElementChild;
    while (start < this.cells.length || (!line && !start)) {
      let end = start;
      while (end < this.cells.length - 1 && !this.ends.has(end)) end += 1;
      line ??= this.flow.appendChild(h("span", { class: "para" }));
      fitCells(line, this.cells, start, end + 1);
      start = end + 1;
      line = line.nextElementSibling;
    }
    while (line) {
      const next = line.nextElementSibling;
      line.remove();
      line = next;
    }
  }

  withMarks(position, look) {
    return Object.entries(this.marks).reduce((names, [mark, at]) => (at === position ? `${names} ${mark}` : names), look);
  }

  /** Move a mark ("df" first difference, "at" looked at, "partner") to `position`; -1 takes it away. */
  mark(name, position) {
    if (this.marks[name] === position) return;
    this.cells[this.marks[name]]?.classList.remove(name);
    this.marks[name] = position;
    this.cells[position]?.classList.add(name);
  }

  /** Show a text of which no tokens are known. */
  plain(text) {
    this.empty();
    showText(this.flow, text);
  }

  empty() {
    this.flow.replaceChildren();
    this.flow.classList.remove("running");
    this.ends = new Set();
    this.cells = [];
    this.shown = [];
    this.marks = { df: -1, at: -1, partner: -1 };
    this.picked = -1;
    say(this.said, "");
  }

  positionOf(target) {
    for (let node = target; node && node !== this.box; node = node.parentNode) if (node.position !== undefined) return node.position;
    return null;
  }

  key(event) {
    const last = this.cells.length - 1;
    const from = this.picked;
    const moves = {
      ArrowRight: () => from + 1,
      ArrowLeft: () => from - 1,
      ArrowDown: () => this.lineFrom(from, 1),
      ArrowUp: () => this.lineFrom(from, -1),
      Home: () => 0,
      End: () => last,
    };
    if (event.ctrlKey || event.metaKey || event.altKey || last < 0) return;
    if (event.key === "Escape" && from >= 0) {
      event.stopPropagation();
      this.pick(-1, "keys");
    } else if (event.key in moves) {
      event.preventDefault();
      this.pick(Math.min(last, Math.max(0, moves[event.key]())), "keys");
    }
  }

  /** The token nearest above (-1) or below (1) the one at `from`. */
  lineFrom(from, direction) {
    if (from < 0) return 0;
    const start = this.cells[from].getBoundingClientRect();
    let best = from;
    let nearest = Infinity;
    for (let at = from + direction; at >= 0 && at < this.cells.length; at += direction) {
      const box = this.cells[at].getBoundingClientRect();
      const lines = Math.round((box.top - start.top) / start.height) * direction;
      if (lines > 1) break;
      if (lines !== 1 || Math.abs(box.left - start.left) >= nearest) continue;
      nearest = Math.abs(box.left - start.left);
      best = at;
    }
    return best;
  }

  pick(position, by) {
    if (position < 0 && this.picked < 0) return;
    this.picked = position;
    if (position >= 0 && by === "keys") this.reveal(position);
    this.onPoint(position < 0 ? null : position, by);
  }

  /** Scroll inside the pane until the token is in view. */
  reveal(position) {
    const cell = this.cells[position];
    if (!cell) return;
    const top = topOf(cell);
    const line = cell.offsetHeight || STICKY;
    if (top < this.box.scrollTop) this.box.scrollTop = top - line;
    else if (top + line > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + 2 * line - this.box.clientHeight;
  }

  /** The first token whose line is in view, by halving. */
  get topPosition() {
    const edge = this.box.scrollTop;
    let low = 0;
    let high = this.cells.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (topOf(this.cells[middle]) + this.cells[middle].offsetHeight <= edge) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Put the line of `position` at the top edge, `shift` pixels off. */
  scrollTo(position, shift) {
    const cell = this.cells[Math.min(position, this.cells.length - 1)];
    if (cell) this.box.scrollTop = topOf(cell) + shift;
  }

  /** Pixels between the top edge and the line of `position`. */
  shiftOf(position) {
    const cell = this.cells[position];
    return cell ? this.box.scrollTop - topOf(cell) : 0;
  }

  /** Height the text itself needs. */
  get height() {
    return this.flow.offsetHeight;
  }

  /** Take at least `height`, as far as the pane allows. */
  level(height) {
    const wanted = height ? `min(${height + 4}px, var(--dp-tallest, 316px))` : "";
    if (this.box.style.minHeight !== wanted) this.box.style.minHeight = wanted;
  }

  get overflows() {
    return this.box.scrollHeight > this.box.clientHeight + 4;
  }
}

/** Where a cell stands in the scrolled text: its line is its frame of reference. */
export function topOf(cell) {
  return cell.offsetTop + cell.parentElement.offsetTop;
}

/** Make `line` hold the cells from `start` up to `end` and no others, touching only what is out of place. */
function fitCells(line, cells, start, end) {
  let child = line.firstChild;
  for (let position = start; position < end; position += 1) {
    if (child === cells[position]) child = child.nextSibling;
    else line.insertBefore(cells[position], child);
  }
  while (child) {
    const next = child.nextSibling;
    child.remove();
    child = next;
  }
}

/** What is copied are the characters of the text, without a break a block would add. */
function copyExactly(event) {
  const selection = document.getSelection();
  if (!selection || selection.isCollapsed) return;
  event.clipboardData.setData("text/plain", selection.getRangeAt(0).cloneContents().textContent);
  event.preventDefault();
}

/** Dots of an average token's length. Where the token is known (a replay), it stands there itself and dots are painted over it. */
function dots(guess) {
  return guess > 1.5 ? ` ${MASK.repeat(Math.max(1, Math.round(guess) - 1))}` : MASK;
}

function meanLength(model) {
  let letters = 0;
  let count = 0;
  for (const token of model.tokens) {
    if (!token) continue;
    letters += token.text.length;
    count += 1;
    if (count >= 200) break;
  }
  return count ? letters / count : 1;
}

/**
 * A token in words, for the card and for screen readers.
 * @param {import("./trace.js").TraceModel} model
 * @param {number} position
 * @param {number|null} pass
 */
export function describe(model, position, pass) {
  const token = model.tokenAt(position, pass);
  if (!token) return { title: position < model.extent(pass) ? "not yet committed" : "comes later", facts: [["position", String(position + 1)]] };
  const facts = [
    ["pass", `${token.pass} of ${model.finished ? "" : "about "}${model.totalPasses}`],
    ["confidence", token.confidence.toFixed(3)],
    ["position", String(position + 1)],
    ["token id", String(token.token)],
  ];
  return { title: `“${spoken(token.text)}”`, facts };
}
