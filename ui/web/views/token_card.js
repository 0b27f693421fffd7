/**
 * The small card beside a token: its pass, confidence, place and id, and its partner in the other panes.
 *
 * It deliberately floats: the text below it does not move.
 */

import { h, replace } from "../js/dom.js";
import { spoken } from "./faithful.js";

export class TokenCard {
  constructor() {
    this.root = h("div", { class: "dp-card", hidden: true, "aria-hidden": "true" });
  }

  /**
   * @param {HTMLElement} cell the token's element
   * @param {{title: string, facts: [string, string][]}} words
   * @param {{pane: string, color: string, text: string, same: boolean}[]} others
   */
  show(cell, words, others) {
    const rows = words.facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]);
    for (const other of others) {
      rows.push(h("dt", {}, h("span", { class: `dp-key ${other.color}` }, other.pane)), h("dd", { class: other.same ? "" : "differs" }, other.text));
    }
    replace(this.root, h("b", { class: "token" }, words.title), h("dl", {}, ...rows));
    this.root.hidden = false;
    this.place(cell);
  }

  /** Below the token, or above it where there is no room; inside the pane's width. */
  place(cell) {
    const frame = this.root.offsetParent;
    if (!frame) return;
    const outer = frame.getBoundingClientRect();
    const first = cell.getClientRects()[0] ?? cell.getBoundingClientRect();
    const left = Math.max(0, Math.min(first.left - outer.left, outer.width - this.root.offsetWidth));
    const below = first.bottom + this.root.offsetHeight + 16 < window.innerHeight;
    const top = below ? first.bottom - outer.top + 5 : first.top - outer.top - this.root.offsetHeight - 5;
    this.root.style.left = `${left}px`;
    this.root.style.top = `${top}px`;
  }

  hide() {
    this.root.hidden = true;
  }
}

/** The card's content as one sentence, for screen readers. */
export function sentence(words, others) {
  const facts = words.facts.map(([name, value]) => `${name} ${value}`).join(", ");
  const rest = others.map((other) => `pane ${other.pane}: ${other.same ? "the same token" : other.text}`).join(", ");
  return [words.title, facts, rest].filter(Boolean).join(", ");
}

/**
 * What the other panes hold for a token.
 * @param {{pane: string, color: string, model: import("./trace.js").TraceModel, position: number, pass: number|null}[]} places
 * @param {import("./trace.js").Token|null} token
 */
export function comparisons(places, token) {
  return places.map(({ pane, color, model, position, pass }) => {
    const other = position >= 0 ? model.tokenAt(position, pass) : null;
    if (!other) return { pane, color, same: false, text: position < 0 || model.finished ? "no such token" : "not yet" };
    const same = token !== null && other.token === token.token && other.text === token.text;
    const place = position === (token?.position ?? position) ? "" : ` at ${position + 1}`;
    return { pane, color, same, text: `${same ? "same" : `“${spoken(other.text, 24)}”`}${place}, pass ${other.pass}` };
  });
}
