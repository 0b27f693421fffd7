/**
 * The verdict on each pair: a pin on the hinge and a sentence below. Filled is a promise kept, hollow a fact, red a promise
 * broken, dashed means comparing. Then what was set differently, so that a difference can be put down to something.
 *
 * It deliberately judges nothing itself: kinds and promises come with the summary.
 */

import { h, replace } from "../js/dom.js";
import { benchOf } from "./bench.js";
import { spoken } from "./faithful.js";
import { figure, setting } from "./numbers.js";

const PINS = {
  kept: ["=", "pin on", "Equal, as promised"],
  equal: ["=", "pin", "Equal, though nothing promised it"],
  different: ["≠", "pin", "Different; nothing promised otherwise"],
  broken: ["≠", "pin bad", "Different, though equality was promised"],
  pending: ["…", "pin wait", "Comparing"],
  none: ["–", "pin none", "Nothing to compare"],
};
const WORST_FIRST = ["broken", "different", "pending", "none", "equal", "kept"];
const NAMED_SETTINGS = 3;
/** Tokens that are surely in view without scrolling. */
const IN_VIEW = 60;

/**
 * @param {HTMLElement} el
 * @param {{pane: string, el: HTMLElement}[]} hinges
 * @param {any|null} summary ComparisonSummary; null while the runs go on, undefined before any
 * @param {{panes: {pane: string, color: string, title: string, baseline: boolean}[], idle?: boolean}} context
 */
export function verdict(el, hinges, summary, context) {
  const running = summary === null && !context?.idle;
  for (const hinge of hinges) {
    const kind = summary?.verdicts?.[hinge.pane]?.kind ?? (running ? "pending" : null);
    replace(hinge.el, kind ? pin(kind) : null);
  }
  const lines = summary ? summaryLines(el, summary, context) : [];
  if (running && !summary) lines.push(h("p", { class: "line" }, h("span", {}, "Comparing when all panes are done.")));
  el.hidden = !lines.length;
  replace(el, ...lines);
}

export function pin(kind) {
  const [sign, name, words] = PINS[kind] ?? PINS.none;
  return h("span", { class: name, role: "img", "aria-label": words, title: words }, sign);
}

function summaryLines(el, summary, context) {
  const several = Object.keys(summary.verdicts).length > 1;
  const ordered = Object.entries(summary.verdicts).sort(([, one], [, two]) => WORST_FIRST.indexOf(one.kind) - WORST_FIRST.indexOf(two.kind));
  const lines = ordered.map(([pane, each]) => {
    const look = context.panes.find((candidate) => candidate.pane === pane);
    const key = several && look ? h("span", { class: `dp-key ${look.color}` }, pane) : null;
    return h("p", { class: `line ${each.kind}` }, key, ...sentences(el, each), several ? null : settingsWords(summary));
  });
  if (several) lines.push(h("p", { class: "line" }, settingsWords(summary)));
  return lines;
}

function sentences(el, verdict) {
  const difference = verdict.difference;
  if (difference) {
    const sides = [difference.baseline, difference.other].map((text) => `“${spoken(text, 32)}”`).join(" / ");
    const bold = `First difference at ${difference.unit} ${figure(difference.index + 1)}: ${sides}.`;
    const rest = verdict.promised ? "Equal output was promised: the ratios are withheld." : "Nothing promised equal output.";
    return [h("b", {}, bold), h("span", {}, rest), showButton(el, difference)];
  }
  const end = verdict.sentence.indexOf(". ");
  const whole = end < 0 || verdict.kind === "pending" || verdict.kind === "none";
  if (whole) return [h(verdict.kind === "kept" ? "b" : "span", {}, spoken(verdict.sentence, 400))];
  return [h("b", {}, spoken(verdict.sentence.slice(0, end + 1), 400)), h("span", {}, spoken(verdict.sentence.slice(end + 2), 400))];
}

/** Takes long texts to the token that differs. */
function showButton(el, difference) {
  const root = el.closest(".bench");
  if (!root || difference.unit !== "token" || difference.index < IN_VIEW) return null;
  return h("button", { type: "button", class: "dp-show", on: { click: () => benchOf(root).reveal(difference.index) } }, "Show it");
}

/** "Only commit above confidence differs: 0.9 / 0.7." */
function settingsWords(summary) {
  const panes = summary.panes ?? [];
  const different = (summary.different ?? []).filter((row) => Object.keys(row.values).length === panes.length);
  const names = new Set(panes.map((pane) => pane.method));
  const checkpoints = new Set(panes.map((pane) => pane.checkpoint));
  const sides = (row) => panes.map((pane) => value(row.values[pane.pane])).join(" / ");
  const listed = different.slice(0, NAMED_SETTINGS).map((row) => `${lower(row.label)} ${sides(row)}`);
  if (different.length > NAMED_SETTINGS) listed.push(`${different.length - NAMED_SETTINGS} more`);
  if (names.size === 1 && checkpoints.size > 1) listed.unshift(`checkpoint ${panes.map((pane) => pane.checkpoint_title).join(" / ")}`);
  if (names.size > 1) return h("span", {}, listed.length ? `Shared settings that differ: ${listed.join("; ")}.` : "All shared settings are equal.");
  if (!listed.length) return h("span", {}, panes.length > 1 ? "All settings are equal." : "");
  const alone = listed.length === 1 && different.length <= 1;
  return h("span", {}, alone ? `Only one setting differs: ${listed[0]}.` : `Differing: ${listed.join("; ")}.`);
}

function lower(label) {
  return /^[A-Z][a-z]/.test(label) ? label[0].toLowerCase() + label.slice(1) : label;
}

function value(found) {
  return spoken(setting(found), 24);
}

window.diptych ??= {};
window.diptych.verdict = verdict;
