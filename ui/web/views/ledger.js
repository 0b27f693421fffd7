/**
 * The cost ledger. Two panes: names and ratios in words in the middle, the baseline on the left leaf, the challenger on the
 * right, zero at the hinge and one scale a row. Three or four: a table with the baseline first.
 *
 * A ratio wears the colour of the pane that did better, so a loss is as plain as a gain.
 *
 * It deliberately computes no ratio: words and winners come with the summary.
 */

import { h, replace } from "../js/dom.js";
import { quantity } from "./numbers.js";

const MISSING = "–";

/**
 * @typedef {{pane: string, color: string, title: string, baseline: boolean}} PaneLook
 * @param {HTMLElement} el
 * @param {any} summary ComparisonSummary
 * @param {{panes: PaneLook[]}} context
 */
export function ledger(el, summary, context) {
  const rows = summary?.ledger ?? [];
  if (!rows.length) {
    replace(el);
    return;
  }
  const baseline = context.panes.find((pane) => pane.baseline) ?? context.panes[0];
  const others = context.panes.filter((pane) => pane !== baseline);
  if (others.length > 1) replace(el, table(rows, baseline, others, summary.verdicts ?? {}));
  else replace(el, wings(rows, baseline, others[0], summary.verdicts ?? {}));
}

function wings(rows, baseline, other, verdicts) {
  const both = other ? `, ${baseline.title}, and pane ${other.pane}, ${other.title}` : "";
  const label = `Cost of pane ${baseline.pane}${both}`;
  const withheld = other && verdicts[other.pane]?.kind === "broken";
  const drawn = rows.map((row) => wingRow(row, baseline, other, withheld));
  return h("div", { class: other ? "ledger" : "ledger alone", role: "table", "aria-label": label }, ...drawn);
}

function wingRow(row, baseline, other, withheld) {
  const cells = [baseline, other].filter(Boolean).map((pane) => row.cells[pane.pane]);
  const largest = Math.max(...cells.map((cell) => (cell && Number.isFinite(cell.value) ? Math.abs(cell.value) : 0)), 0);
  const share = (cell) => (cell && largest > 0 ? Math.abs(cell.value) / largest : 0);
  const wing = (pane, side) => {
    const cell = row.cells[pane.pane];
    const bar = h("i", { class: cell && cell.value > 0 ? pane.color : "none" });
    const value = h("q", {}, ...valueNodes(cell, row));
    const style = { "--v": share(cell).toFixed(4) };
    const parts = side === "lw" ? [bar, value] : [value, bar];
    return h("span", { class: side, role: "cell", style, "aria-label": `pane ${pane.pane}: ${value.textContent}` }, ...parts);
  };
  const ratio = other ? ratioNode(row.ratios?.[other.pane], other, withheld) : null;
  const name = h("em", { role: "rowheader" }, h("span", { class: "what", title: row.label }, row.label), ratio);
  return h("div", { class: "lr", role: "row" }, wing(baseline, "lw"), name, other ? wing(other, "rw") : null);
}

/** "1.92 s ±0.04", "36 of 40", or a dash. */
function valueNodes(cell, row) {
  if (!cell) return [h("span", { class: "none", title: "this pane does not report it" }, MISSING)];
  if (cell.sample_size) return [quantity(cell.value, "", cell.spread).text, h("small", {}, `of ${cell.sample_size}`)];
  const shown = quantity(cell.value, row.unit, cell.count > 1 ? cell.spread : 0);
  const text = shown.unit ? `${shown.text} ${shown.unit}` : shown.text;
  return shown.spread ? [text, h("small", {}, shown.spread)] : [text];
}

function ratioNode(ratio, other, withheld) {
  if (withheld) return h("b", { class: "eq", title: "Equal output was promised and not kept: a ratio would mean nothing" }, "withheld");
  if (!ratio || ratio.words === MISSING) return h("b", { class: "eq" }, "");
  const side = ratio.winner === null || ratio.winner === undefined ? "eq" : ratio.winner === other.pane ? `up ${other.color}` : "dn";
  return h("b", { class: side }, ratio.words);
}

function table(rows, baseline, others, verdicts) {
  const key = (pane) => h("span", { class: `dp-key ${pane.color}` }, pane.pane);
  const unseen = (words) => h("th", {}, h("span", { class: "dp-hidden" }, words));
  const column = (pane) => h("th", { class: "n", scope: "col" }, key(pane), ` ${pane.title}`);
  const head = h("tr", {}, column(baseline), unseen("measure"), ...others.flatMap((pane) => [column(pane), unseen("against the baseline")]));
  const body = rows.map((row) => {
    const wings = others.flatMap((pane) => {
      const withheld = verdicts[pane.pane]?.kind === "broken";
      return [valueCell(row, pane), h("td", {}, ratioNode(row.ratios?.[pane.pane], pane, withheld))];
    });
    return h("tr", {}, valueCell(row, baseline), h("th", { class: "joined", scope: "row" }, row.label), ...wings);
  });
  const drawn = h("table", { class: "tri" }, h("thead", {}, head), h("tbody", {}, ...body));
  return h("div", { class: "dp-wide", tabindex: "0", role: "region", "aria-label": "Cost of all panes" }, drawn);
}

function valueCell(row, pane) {
  return h("td", { class: "n" }, ...valueNodes(row.cells[pane.pane], row));
}

window.diptych ??= {};
window.diptych.ledger = ledger;
