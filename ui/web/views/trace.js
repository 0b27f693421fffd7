/**
 * The course of one text run: which pass committed which token, block by block.
 *
 * Fed pass by pass while a run goes on, or at once from a stored trace (artifact kind "decoding_trace"); both give the same
 * model. Positions count from 0, passes from 1.
 *
 * It deliberately draws nothing.
 */

/**
 * @typedef {{position: number, token: number, text: string, confidence: number}} Committed
 * @typedef {Committed & {pass: number}} Token
 * @typedef {{index: number, seconds: number, rows: number, cached: number, cache_bytes: number, committed: Committed[], blocks?: string[]}} Pass
 * @typedef {{method: string, prompt_tokens: number, block_size: number, positions: number, passes: Pass[], text: string, stopped_by: string}} Trace
 * @typedef {{first: number, done: number|null, counts: Map<number, number>, spans: {from: number, to: number, state: string}[]}} Block
 */

/** Shades of the scale of order, --q1 to --q7. */
export const SHADES = 7;
const FALLBACK_BLOCK = 16;

/** The shade (1 to 7) of the `ordinal`-th of `total`: farther from the paper is later. */
export function shade(ordinal, total) {
  if (total <= 1) return 1;
  return Math.min(SHADES, Math.max(1, 1 + Math.floor(((ordinal - 1) * SHADES) / total)));
}

export class TraceModel {
  /** @param {{blockSize?: number, expectedPasses?: number|null, expectedPositions?: number|null}} [options] */
  constructor({ blockSize = 0, expectedPasses = null, expectedPositions = null } = {}) {
    /** @type {(Token|undefined)[]} the newest token at each position */
    this.tokens = [];
    /** @type {Map<number, Token[]>} older tokens of positions that were revised */
    this.revised = new Map();
    /** @type {Pass[]} */
    this.passes = [];
    this.committedCount = 0;
    /** The most tokens one pass committed. */
    this.widestPass = 0;
    this.blockSize = blockSize;
    this.expectedPasses = expectedPasses;
    this.expectedPositions = expectedPositions;
    /** @type {number|null} set once the run is over: positions shown */
    this.positions = null;
    this.finished = false;
    this.stoppedBy = "";
    this.method = "";
    this.text = null;
  }

  /**
   * A finished model from a stored trace.
   * @param {Trace} trace
   */
  static fromTrace(trace) {
    const model = new TraceModel({ blockSize: trace.block_size });
    for (const pass of trace.passes) model.addPass(pass);
    model.finish(trace);
    return model;
  }

  /** Take in one pass; a pass already known is ignored, so that a poll may overlap the last one. @param {Pass} pass */
  addPass(pass) {
    if (this.passes.length && pass.index <= this.passes[this.passes.length - 1].index) return false;
    this.passes.push(pass);
    this.committedCount += pass.committed.length;
    this.widestPass = Math.max(this.widestPass, pass.committed.length);
    for (const committed of pass.committed) {
      const before = this.tokens[committed.position];
      if (before) this.revised.set(committed.position, [...(this.revised.get(committed.position) ?? []), before]);
      this.tokens[committed.position] = { ...committed, pass: pass.index };
    }
    return true;
  }

  /** The run is over. @param {{positions?: number, text?: string, stopped_by?: string, method?: string, block_size?: number}} facts */
  finish(facts = {}) {
    this.finished = true;
    this.positions = facts.positions ?? this.positions;
    this.text = facts.text ?? this.text;
    this.stoppedBy = facts.stopped_by ?? this.stoppedBy;
    this.method = facts.method ?? this.method;
    if (facts.block_size) this.blockSize = facts.block_size;
  }

  /** Index of the last pass so far, 0 before the first. */
  get lastPass() {
    return this.passes.length ? this.passes[this.passes.length - 1].index : 0;
  }

  /** Passes the whole run will take, as well as it can be known now. */
  get totalPasses() {
    if (this.finished) return this.lastPass;
    return Math.max(this.expectedPasses ?? this.extrapolatedPasses, this.lastPass);
  }

  /** From the share of committed positions, in steps of a fifth so that colours do not flicker. */
  get extrapolatedPasses() {
    const wanted = this.expectedPositions ?? this.openPositions;
    const share = wanted ? this.committedCount / wanted : 0;
    if (share <= 0) return Math.max(SHADES, this.lastPass);
    const guess = this.lastPass / Math.min(1, share);
    const grid = 1.2 ** Math.ceil(Math.log(Math.max(guess, 1)) / Math.log(1.2));
    return Math.max(Math.round(grid), this.lastPass);
  }

  /** Positions that exist so far: committed ones and masks of blocks that have been opened. */
  get openPositions() {
    const states = this.passes.length ? this.passes[this.passes.length - 1].blocks ?? [] : [];
    const opened = states.filter((state) => state !== "inactive").length * (this.blockSize || 0);
    return Math.max(this.tokens.length, opened);
  }

  /** How many positions to show as of `pass` (null: now). */
  extent(pass = null) {
    const end = this.finished && this.positions !== null && this.positions >= 0 ? this.positions : null;
    if (pass === null || pass >= this.lastPass) return end ?? this.openPositions;
    const index = this.indexOf(pass);
    const states = index >= 0 ? this.passes[index].blocks ?? [] : [];
    const opened = states.filter((state) => state !== "inactive").length * (this.blockSize || 0);
    const reached = index >= 0 ? this.reachedBy(index) : 0;
    return Math.min(Math.max(opened, reached), end ?? Infinity);
  }

  /** One past the last position committed within the first `index + 1` passes. */
  reachedBy(index) {
    this.reach ??= [];
    for (let next = this.reach.length; next < this.passes.length; next += 1) {
      const here = this.passes[next].committed.reduce((most, token) => Math.max(most, token.position + 1), 0);
      this.reach.push(Math.max(here, next ? this.reach[next - 1] : 0));
    }
    return this.reach[index] ?? 0;
  }

  /** Place of the last pass whose index is at most `pass`, -1 if none. */
  indexOf(pass) {
    let low = 0;
    let high = this.passes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.passes[middle].index <= pass) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** The token that stood at `position` after `pass` (null: now), or null for a mask. @returns {Token|null} */
  tokenAt(position, pass = null) {
    const newest = this.tokens[position] ?? null;
    if (pass === null || !newest || newest.pass <= pass) return newest;
    return (this.revised.get(position) ?? []).findLast((token) => token.pass <= pass) ?? null;
  }

  /** Seconds from the first pass to the end of `pass`. */
  secondsAt(pass) {
    const index = this.indexOf(pass);
    return index < 0 ? 0 : this.passes[index].seconds;
  }

  /**
   * What the timeline draws: per block, how many tokens each pass committed and when it was open and done. Grows with the
   * passes, so that asking again costs only what is new.
   * @param {number} [blockSize] only for methods without blocks of their own
   * @returns {Block[]}
   */
  blocks(blockSize = 0) {
    const size = this.blockSize > 1 ? this.blockSize : blockSize || FALLBACK_BLOCK;
    if (this.grid?.size !== size) this.grid = { size, blocks: [], taken: 0, closed: false };
    const grid = this.grid;
    for (; grid.taken < this.passes.length; grid.taken += 1) addToGrid(grid, this.passes[grid.taken]);
    if (this.finished && !grid.closed) {
      grid.closed = true;
      if (this.positions && this.stoppedBy !== "user") closeShort(grid.blocks, size, this.positions);
    }
    return grid.blocks.filter((each) => each.first);
  }
}

function addToGrid({ size, blocks }, pass) {
  const block = (index) => {
    while (blocks.length <= index) blocks.push({ first: 0, done: null, left: size, counts: new Map(), spans: [] });
    return blocks[index];
  };
  for (const { position } of pass.committed) {
    const home = block(Math.floor(position / size));
    home.counts.set(pass.index, (home.counts.get(pass.index) ?? 0) + 1);
    home.first ||= pass.index;
    home.left -= 1;
    if (home.left <= 0 && home.done === null) home.done = pass.index;
  }
  (pass.blocks ?? []).forEach((state, index) => noteState(block(index), pass.index, state));
}

/** Grow the last span of a block, or begin one in a new state. */
function noteState(block, pass, state) {
  if (state === "inactive" || state === "cached" || state === "done") return;
  block.first ||= pass;
  const last = block.spans[block.spans.length - 1];
  if (last && last.state === state && last.to === pass - 1) last.to = pass;
  else block.spans.push({ from: pass, to: pass, state });
}

/** A last block shorter than the others is done with its last token. */
function closeShort(blocks, size, positions) {
  const last = blocks[Math.floor((positions - 1) / size)];
  if (!last || last.done !== null || !last.counts.size) return;
  if (size - last.left >= ((positions - 1) % size) + 1) last.done = Math.max(...last.counts.keys());
}
