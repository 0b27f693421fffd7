/**
 * Which token of one output corresponds to which of another: the first difference, and a partner for each token.
 *
 * Partners follow the longest common subsequence of token ids between a common start and a common end; where that would cost
 * too much (or while a run goes on) the position decides.
 *
 * It deliberately never compares meanings: equal ids are equal, everything else is different.
 */

const TABLE_LIMIT = 4_000_000;

/**
 * The first position at which two outputs differ, or null. A text that ends earlier differs at its end.
 * Masks differ from nothing: they are not yet known.
 * @param {import("./trace.js").TraceModel} left
 * @param {import("./trace.js").TraceModel} right
 * @returns {number|null}
 */
export function firstDifference(left, right) {
  const shared = Math.min(left.extent(), right.extent());
  for (let position = 0; position < shared; position += 1) {
    const a = left.tokens[position];
    const b = right.tokens[position];
    if (!a || !b) {
      if (left.finished && right.finished) return position;
      return null;
    }
    if (a.token !== b.token || a.text !== b.text) return position;
  }
  if (!left.finished || !right.finished) return null;
  return left.extent() === right.extent() ? null : shared;
}

/**
 * Partner of each position of `left` in `right`, and back; -1 where there is none.
 * @param {import("./trace.js").TraceModel} left
 * @param {import("./trace.js").TraceModel} right
 * @returns {{forward: Int32Array, backward: Int32Array}}
 */
export function partners(left, right) {
  const a = idsOf(left);
  const b = idsOf(right);
  const forward = new Int32Array(a.length).fill(-1);
  const backward = new Int32Array(b.length).fill(-1);
  const join = (i, j) => {
    forward[i] = j;
    backward[j] = i;
  };
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) join(start, start++);
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - start && a[a.length - 1 - tail] === b[b.length - 1 - tail]) {
    tail += 1;
    join(a.length - tail, b.length - tail);
  }
  const middleA = a.subarray(start, a.length - tail);
  const middleB = b.subarray(start, b.length - tail);
  if (left.finished && right.finished && middleA.length * middleB.length <= TABLE_LIMIT) matchMiddle(middleA, middleB, start, join);
  fillByPlace(forward, backward, b.length);
  return { forward, backward };
}

function idsOf(model) {
  return Int32Array.from({ length: model.extent() }, (_, position) => model.tokens[position]?.token ?? -1);
}

/** Longest common subsequence by the usual table, read back from its end. */
function matchMiddle(a, b, offset, join) {
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const here = i * width + j;
      table[here] = a[i] === b[j] ? table[here + width + 1] + 1 : Math.max(table[here + width], table[here + 1]);
    }
  }
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) join(offset + i++, offset + j++);
    else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) i += 1;
    else j += 1;
  }
}

/** Tokens between two matched ones pair up in order, as far as both sides have some. */
function fillByPlace(forward, backward, limit) {
  let next = 0;
  for (let i = 0; i < forward.length; i += 1) {
    if (forward[i] >= 0) next = forward[i] + 1;
    else if (next < limit && backward[next] === -1) {
      forward[i] = next;
      backward[next] = i;
      next += 1;
    }
  }
}
