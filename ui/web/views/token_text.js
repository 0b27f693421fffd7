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
    const guess = model.finished ? 0 : meanLength(model);
    for (let position = 0; position < whole; position += 1) this.cell(position, model, pass, extent, total, guess);
    this.flow.classList.toggle("caret", !model.finished && pass === null);
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
      look = position < extent ? "mask" : "later";
      text = position < extent ? dots(last, guess) : last?.text ?? "";
    }
    const key = `${look} ${text}`;
    if (this.shown[position] === key) return;
    this.shown[position] = key;
    const cell = this.cells[position];
    if (text.includes("\n")) look += " line";
    cell.className = this.withMarks(position, look);
    showText(cell, text);
  }

  /** Make cells for `count` positions, drop the rest. */
  grow(count) {
    const grown = count > this.cells.length;
    const fresh = [];
    for (let position = this.cells.length; position < count; position += 1) {
      const cell = h("i", {});
      cell.position = position;
      this.cells.push(cell);
      fresh.push(cell);
    }
    if (fresh.length) this.flow.append(...fresh);
    while (this.cells.length > count) {
      this.cells.pop().remove();
      this.shown.pop();
    }
    return grown;
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
    this.flow.classList.remove("caret");
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
    const moves = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: last, ArrowDown: this.lineFrom(from, 1), ArrowUp: this.lineFrom(from, -1) };
    if (event.ctrlKey || event.metaKey || event.altKey || last < 0) return;
    if (event.key === "Escape" && from >= 0) {
      event.stopPropagation();
      this.pick(-1, "keys");
    } else if (event.key in moves) {
      event.preventDefault();
      this.pick(Math.min(last, Math.max(0, moves[event.key])), "keys");
    }
  }

  /** The token nearest above (-1) or below (1) the one at `from`. */
  lineFrom(from, direction) {
    if (from < 0) return 0;
    const start = this.cells[from].getBoundingClientRect();
    let best = from;
    for (let at = from + direction; at >= 0 && at < this.cells.length; at += direction) {
      const box = this.cells[at].getBoundingClientRect();
      const lines = Math.round((box.top - start.top) / start.height) * direction;
      if (lines > 1) break;
      if (lines === 1 && (best === from || Math.abs(box.left - start.left) < Math.abs(this.cells[best].getBoundingClientRect().left - start.left))) best = at;
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
    const top = cell.offsetTop - this.box.offsetTop;
    const line = cell.offsetHeight || STICKY;
    if (top < this.box.scrollTop) this.box.scrollTop = top - line;
    else if (top + line > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + 2 * line - this.box.clientHeight;
  }

  /** The first token whose line is in view, by halving. */
  get topPosition() {
    const edge = this.box.scrollTop + this.box.offsetTop;
    let low = 0;
    let high = this.cells.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.cells[middle].offsetTop + this.cells[middle].offsetHeight <= edge) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Put the line of `position` at the top edge, `shift` pixels off. */
  scrollTo(position, shift) {
    const cell = this.cells[Math.min(position, this.cells.length - 1)];
    if (cell) this.box.scrollTop = cell.offsetTop - this.box.offsetTop + shift;
  }

  /** Pixels between the top edge and the line of `position`. */
  shiftOf(position) {
    const cell = this.cells[position];
    return cell ? this.box.scrollTop - (cell.offsetTop - this.box.offsetTop) : 0;
  }

  get overflows() {
    return this.box.scrollHeight > this.box.clientHeight + 4;
  }
}

/** Dots in the shape of the token that will stand there, or of an average one while it is unknown. */
function dots(last, guess) {
  if (last) return last.text.replace(/[^\s]/gu, MASK) || MASK;
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
