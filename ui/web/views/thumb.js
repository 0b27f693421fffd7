/**
 * The small picture of a run in History: token blocks in the colour of their pass, in the shape of the text.
 *
 * Its data are a few hundred characters made by `ui.views.thumbnails`: widths in base 36 and shades 1 to 7 (0: a mask or no pass known).
 *
 * It deliberately shows no text: at this size a shape says more.
 */

import { h, replace, svg } from "../js/dom.js";

const WIDTH = 48;
const HEIGHT = 34;
const MARGIN = 4;
const ROW = 4.4;
const COLUMNS = 46;

/**
 * @param {HTMLElement} el
 * @param {{kind: string, data: any}|null} thumb
 */
export function thumb(el, thumb) {
  const data = thumb?.data;
  if (thumb?.kind === "pair" && Array.isArray(data)) replace(el, pair(data));
  else replace(el, data?.widths ? tokens(data) : null);
}

function pair(thumbs) {
  const leaves = thumbs.map((each) => {
    const leaf = h("span", { class: "th" });
    thumb(leaf, each);
    return leaf;
  });
  return h("span", { class: "dp-pair-thumb" }, leaves[0], h("span", { class: "dp-hinge", "aria-hidden": "true" }), ...leaves.slice(1));
}

/** @param {{widths: string, shades: string}} data */
function tokens({ widths, shades }) {
  const rows = wrap(widths, shades);
  const unit = (WIDTH - 2 * MARGIN) / COLUMNS;
  const picture = svg("svg", { class: "dp-thumb", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "xMidYMid slice", "aria-hidden": "true" });
  const paths = Array.from({ length: 8 }, () => "");
  const top = Math.max(MARGIN, (HEIGHT - rows.length * ROW) / 2);
  rows.forEach((row, line) => {
    const y = (top + line * ROW).toFixed(2);
    for (const { from, width, shade } of row) {
      const wide = Math.max(0.3, width * unit - 0.35).toFixed(2);
      paths[shade] += `M${(MARGIN + from * unit).toFixed(2)} ${y}h${wide}v${ROW - 0.7}h-${wide}z`;
    }
  });
  paths.forEach((d, shade) => d && picture.append(svg("path", { class: `f${shade}`, d })));
  return picture;
}

/** Tokens into lines of `COLUMNS` letters, as many as fit. */
function wrap(widths, shades) {
  const rows = [[]];
  let used = 0;
  for (let index = 0; index < widths.length; index += 1) {
    const width = Math.min(COLUMNS, Number.parseInt(widths[index], 36) || 1);
    if (used + width > COLUMNS) {
      if ((rows.length + 1) * ROW > HEIGHT - 2 * MARGIN + ROW / 2) break;
      rows.push([]);
      used = 0;
    }
    rows[rows.length - 1].push({ from: used, width, shade: Number(shades[index]) || 0 });
    used += width;
  }
  return rows;
}

window.diptych ??= {};
window.diptych.thumb = thumb;
