/**
 * The text view of a whole comparison: what each pane shows, and all that joins panes: one axis of passes, one replay, the
 * first difference boxed in both, partners of a token, scrolling together.
 *
 * It deliberately registers nothing with the page: see `text.js`.
 */

import { h } from "../js/dom.js";
import { firstDifference, partners } from "./align.js";
import { say } from "./faithful.js";
import { Replay } from "./replay.js";
import { Timeline, blocksPerRow, rowsOf, savingWords } from "./timeline.js";
import { TokenCard, comparisons, sentence } from "./token_card.js";
import { TokenMap } from "./token_map.js";
import { TokenText, describe } from "./token_text.js";
import { TraceModel } from "./trace.js";

/** @type {WeakMap<Element, Bench>} */
const benches = new WeakMap();

/**
 * @typedef {{pane: string, color: string, title: string, baseline: boolean, bench: HTMLElement, settings?: Record<string, unknown>}} Info
 */

/** The bench an element belongs to; made on first sight. */
export function benchOf(root) {
  if (!benches.has(root)) benches.set(root, new Bench(root));
  return benches.get(root);
}

/** One pane of text. */
export class TextPane {
  /** @param {HTMLElement} el @param {Info} info @param {Bench} bench */
  constructor(el, info, bench) {
    this.el = el;
    this.info = info;
    this.bench = bench;
    this.text = new TokenText({
      pane: info.pane, title: info.title,
      onPoint: (position, by) => bench.point(this, position, by),
      onScroll: () => bench.scrolled(this),
    });
    this.timeline = new Timeline((pass) => bench.scrub(pass));
    this.card = new TokenCard();
    this.map = new TokenMap(this.text);
    this.saving = h("p", { class: "cap saving" });
    this.model = this.fresh();
    this.hasTokens = false;
    this.size = { top: 0, width: 0, height: 0 };
    el.replaceChildren(
      h("div", { class: "dp-tokens" }, this.text.root, this.map.root, this.card.root),
      h("div", { class: "dp-passes" }, this.timeline.root, this.saving),
    );
  }

  fresh() {
    const settings = this.info.settings ?? {};
    const asNumber = (value) => (typeof value === "number" && value > 0 ? value : null);
    return new TraceModel({ blockSize: asNumber(settings.block_size) ?? 0, expectedPositions: asNumber(settings.max_new_tokens) });
  }

  reset(info) {
    this.info = info;
    this.model = this.fresh();
    this.hasTokens = false;
    this.text.empty();
    this.map.root.hidden = true;
    this.card.hide();
  }

  /** A new model takes the place of the one fed live (the stored trace is the truth). */
  replace(model) {
    this.model = model;
    this.hasTokens = model.passes.length > 0;
  }

  /** Read what the drawing needs from the page at once, before anything is written to it again. */
  measure() {
    this.size = { top: Math.round(this.el.getBoundingClientRect().top), width: this.el.clientWidth, height: this.text.height };
  }

  /** The last pass at a moment of the replay; null shows everything. */
  passAt(moment) {
    if (!moment) return null;
    if (moment.by === "pass") return Math.min(moment.pass, Math.max(this.model.lastPass, 0));
    const index = this.model.passes.findLastIndex((pass) => pass.seconds <= moment.seconds);
    return index < 0 ? 0 : this.model.passes[index].index;
  }
}

export class Bench {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    /** @type {TextPane[]} */
    this.panes = [];
    this.mode = "blocks";
    this.moment = null;
    this.replay = null;
    this.waiting = 0;
    this.leader = null;
    this.alone = false;
    this.linked = new Map();
    root.addEventListener("wheel", (event) => {
      this.alone = event.altKey;
    }, { passive: true });
    this.watchWidth = new ResizeObserver(() => this.soon());
  }

  /** @param {HTMLElement} el @param {Info} info */
  add(el, info) {
    const pane = new TextPane(el, info, this);
    this.panes = [...this.panes.filter((other) => other.info.pane !== info.pane && other.el.isConnected), pane].sort(byLetter);
    this.watchWidth.observe(el);
    this.soon();
    return pane;
  }

  /** Draw before the next frame, however many panes changed. */
  soon() {
    this.waiting ||= requestAnimationFrame(() => {
      this.waiting = 0;
      this.draw();
    });
  }

  draw() {
    this.panes = this.panes.filter((pane) => pane.el.isConnected);
    const shown = this.panes.filter((pane) => pane.hasTokens);
    this.fitReplay(shown);
    for (const pane of shown) pane.text.sync(pane.model, pane.passAt(this.moment));
    for (const pane of shown) pane.measure();
    levelHeights(shown);
    this.drawTimelines(shown);
    for (const pane of shown) pane.map.sync(pane.model);
    this.markDifference(shown);
  }

  drawTimelines(shown) {
    const blockSize = Math.max(0, ...shown.map((pane) => (pane.model.blockSize > 1 ? pane.model.blockSize : 0))) || 16;
    const layouts = shown.map((pane) => pane.model.blocks(blockSize));
    const together = blocksPerRow(Math.max(1, ...layouts.map((blocks) => blocks.length)));
    const rows = layouts.map((blocks) => rowsOf(blocks, together));
    const scale = {
      total: Math.max(1, ...shown.map((pane) => pane.model.totalPasses)),
      together,
      rows: Math.max(1, ...rows.map((each) => each.length)),
      peakBlock: Math.max(1, ...rows.flatMap((each) => each.map((row) => Math.max(0, ...row.counts.values())))),
      peakPass: Math.max(1, ...shown.map((pane) => pane.model.widestPass)),
      mode: this.mode,
    };
    const slowest = Math.max(0, ...shown.filter((pane) => pane.model.finished).map((pane) => pane.model.lastPass));
    for (const pane of this.panes) {
      pane.timeline.root.style.display = pane.hasTokens ? "" : "none";
      if (!pane.hasTokens) {
        say(pane.saving, "");
        continue;
      }
      const look = { cursor: pane.passAt(this.moment), slowest, width: Math.max(240, pane.size.width), scale, blockSize };
      pane.timeline.sync(pane.model, look);
      this.captionSaving(pane, look);
    }
  }

  /** The saving below the picture, where the white of the picture has no room for it. */
  captionSaving(pane, look) {
    const words = savingWords(pane.model, look);
    const drawn = [...pane.timeline.root.querySelectorAll("text.strong")].length > 0;
    say(pane.saving, words && !drawn ? words.join(" ") : "");
  }

  fitReplay(shown) {
    if (!shown.length) {
      if (this.replay) this.replay.root.hidden = true;
      return;
    }
    if (!this.replay?.root.isConnected) this.makeReplay();
    this.replay.root.hidden = false;
    const lasts = shown.map((pane) => pane.model.passes.at(-1)?.seconds ?? 0);
    this.replay.fit({ passes: Math.max(...shown.map((pane) => pane.model.lastPass)), seconds: Math.max(...lasts) });
  }

  makeReplay() {
    this.moment = null;
    let place = this.root.querySelector(".dp-replay");
    if (!place) {
      place = h("div", { class: "dp-replay" });
      this.panes[this.panes.length - 1].el.append(place);
    }
    this.replay = new Replay(place, {
      onMoment: (moment) => {
        this.moment = moment;
        this.soon();
      },
      onMode: (mode) => {
        this.mode = mode;
        this.soon();
      },
    });
  }

  /** A timeline was pointed at: show that pass everywhere. */
  scrub(pass) {
    if (!this.replay) return;
    if (this.replay.pace !== "pass") this.replay.setPace("pass");
    this.replay.go(pass);
  }

  /** A run begins anew: the replay ends, old alignments go. */
  renew() {
    this.linked.clear();
    this.moment = null;
    this.replay?.rewind();
    this.soon();
  }

  get base() {
    return this.panes.find((pane) => pane.info.baseline) ?? this.panes[0];
  }

  /** Box the first difference in the baseline and each challenger; with several challengers the baseline shows the earliest. */
  markDifference(shown) {
    const base = shown.find((pane) => pane === this.base);
    let earliest = -1;
    for (const pane of shown) {
      if (pane === base || !base) continue;
      const at = firstDifference(base.model, pane.model) ?? -1;
      pane.text.mark("df", this.visibleAt(pane, at));
      if (at >= 0 && (earliest < 0 || at < earliest)) earliest = at;
    }
    if (base) base.text.mark("df", this.visibleAt(base, earliest));
  }

  visibleAt(pane, position) {
    return position >= 0 && pane.model.tokenAt(position, pane.passAt(this.moment)) ? position : -1;
  }

  /** Alignment of two panes, kept until either grows. */
  link(pane, other) {
    const key = `${pane.info.pane}${other.info.pane}`;
    const stamp = `${pane.model.lastPass}/${other.model.lastPass}/${pane.model.finished}${other.model.finished}`;
    const known = this.linked.get(key);
    if (known?.stamp === stamp) return known.pairs;
    const pairs = partners(pane.model, other.model).forward;
    this.linked.set(key, { stamp, pairs });
    return pairs;
  }

  /** A token is looked at: card beside it, partner marked in the other panes. */
  point(pane, position, by) {
    if (position === null && pane.text.picked >= 0) position = pane.text.picked;
    pane.text.mark("at", position ?? -1);
    const others = this.panes.filter((other) => other !== pane && other.hasTokens);
    if (position === null) {
      pane.card.hide();
      for (const other of others) other.text.mark("partner", -1);
      return;
    }
    const places = others.map((other) => {
      const partner = this.link(pane, other)[position] ?? -1;
      return { ...other.info, model: other.model, position: partner, pass: other.passAt(this.moment) };
    });
    others.forEach((other, index) => other.text.mark("partner", places[index].position));
    const pass = pane.passAt(this.moment);
    const words = describe(pane.model, position, pass);
    const lines = comparisons(places, pane.model.tokenAt(position, pass));
    pane.card.show(pane.text.cells[position], words, lines);
    if (by === "keys") say(pane.text.said, sentence(words, lines));
  }

  /** Bring a token into view in every pane and look at it in the baseline. */
  reveal(position) {
    this.alone = true;
    for (const pane of this.panes) pane.text.reveal(position);
    const base = this.base;
    base?.text.box.focus({ preventScroll: true });
    base?.text.pick(Math.min(position, base.text.cells.length - 1), "keys");
    requestAnimationFrame(() => requestAnimationFrame(() => {
      this.alone = false;
    }));
  }

  /** Scrolling one text takes the others along, token by token; Alt scrolls one alone. */
  scrolled(pane) {
    if (this.leader && this.leader !== pane) return;
    this.leader = pane;
    cancelAnimationFrame(this.following);
    this.following = requestAnimationFrame(() => this.follow(pane));
  }

  follow(pane) {
    pane.card.hide();
    for (const each of this.panes) each.map.follow();
    const top = pane.text.topPosition;
    const shift = pane.text.shiftOf(top);
    for (const other of this.panes) {
      if (other === pane || !other.hasTokens || this.alone || !other.text.overflows) continue;
      other.text.scrollTo(nearest(this.link(pane, other), top), shift);
    }
    requestAnimationFrame(() => requestAnimationFrame(() => {
      this.leader = null;
    }));
  }
}

/** Texts side by side take the same height, so that their timelines stand level. */
function levelHeights(shown) {
  const tops = new Map();
  for (const pane of shown) {
    tops.set(pane.size.top, [...(tops.get(pane.size.top) ?? []), pane]);
  }
  for (const row of tops.values()) {
    const height = row.length > 1 ? Math.max(...row.map((pane) => pane.size.height)) : 0;
    for (const pane of row) pane.text.level(height);
  }
}

/** The partner of `position`, or of the nearest token before it that has one. */
function nearest(pairs, position) {
  for (let at = Math.min(position, pairs.length - 1); at >= 0; at -= 1) if (pairs[at] >= 0) return pairs[at] + (position - at);
  return position;
}

function byLetter(one, two) {
  return one.info.pane < two.info.pane ? -1 : 1;
}
