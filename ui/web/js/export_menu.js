/** The Export list of a run: formats of its field first, the whole comparison after; each file comes with its record. */

import { h, replace } from "./dom.js";
import { download, get, Refused } from "./net.js";

const EDGE = 12;

export function exportMenu(run, comparison, { label = "Export" } = {}) {
  const menu = h("div", { class: "menu" });
  const details = h("details", { class: "exp" }, h("summary", { class: "btn sm dd" }, label), menu);
  details.addEventListener("toggle", () => {
    if (!details.open) return;
    place(menu, details);
    if (!menu.firstChild) fill(menu, details, run, comparison);
  });
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !details.open) return;
    event.stopPropagation();
    details.open = false;
    details.querySelector("summary").focus();
  });
  addEventListener("click", (event) => details.open && !details.contains(event.target) && (details.open = false));
  return details;
}

/** Open towards the side with more room, and scroll inside what there is. */
function place(menu, details) {
  const box = details.getBoundingClientRect();
  const down = innerHeight - box.bottom > box.top;
  menu.classList.toggle("down", down);
  menu.style.maxHeight = `${Math.round((down ? innerHeight - box.bottom : box.top) - EDGE)}px`;
  menu.classList.toggle("left", box.right < menu.offsetWidth + EDGE);
}

async function fill(menu, details, run, comparison) {
  replace(menu, h("p", {}, "Looking…"));
  try {
    const own = await get(`formats/${run}`);
    const whole = comparison ? await get(`formats/${comparison}`) : [];
    replace(
      menu, h("p", {}, "Each file comes with its signed record."), rows(own, run, details), whole.length ? [h("hr"), h("p", {}, "All panes of this comparison"), rows(whole, comparison, details)] : [], h("hr"),
      h("button", { type: "button", class: "row", on: { click: (event) => copyLink(event.currentTarget, run) } }, "Copy link to this run"),
    );
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    replace(menu, h("p", {}, error.message));
  }
}

/** One row a thing, one button an extension. */
function rows(formats, target, details) {
  const byLabel = new Map();
  for (const format of formats) byLabel.set(format.label, [...(byLabel.get(format.label) ?? []), format]);
  const take = (format) => () => {
    download(`export?target=${target}&format=${encodeURIComponent(format.key)}`);
    details.open = false;
  };
  return [...byLabel].map(([label, own]) =>
    own.length === 1
      ? h("button", { type: "button", class: "row", on: { click: take(own[0]) } }, label, h("i", {}, extensionOf(own[0])))
      : h("div", { class: "row" }, label, h("span", {}, own.map((format) => h("button", { type: "button", "aria-label": `${label}, ${extensionOf(format)}`, on: { click: take(format) } }, extensionOf(format))))),
  );
}

function extensionOf(format) {
  return (format.extension ?? "").replace(/^\./, "").toUpperCase();
}

async function copyLink(row, run) {
  const link = `${location.origin}/?run=${run}`;
  try {
    await navigator.clipboard.writeText(link);
    row.textContent = "Link copied";
  } catch {
    row.textContent = link;
  }
}
