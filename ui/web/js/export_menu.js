/** The Export list of a run: formats of its field first, the whole comparison after; each file comes with its record. */

import { h, replace } from "./dom.js";
import { download, get, Refused } from "./net.js";

export function exportMenu(run, comparison, { down = false, label = "Export" } = {}) {
  const menu = h("div", { class: `menu ${down ? "down" : ""}` });
  const details = h("details", { class: "exp" }, h("summary", { class: "btn sm dd" }, label), menu);
  details.addEventListener("toggle", () => details.open && !menu.firstChild && fill(menu, details, run, comparison));
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !details.open) return;
    event.stopPropagation();
    details.open = false;
    details.querySelector("summary").focus();
  });
  addEventListener("click", (event) => details.open && !details.contains(event.target) && (details.open = false));
  return details;
}

async function fill(menu, details, run, comparison) {
  replace(menu, h("p", {}, "Looking…"));
  try {
    const own = await get(`formats/${run}`);
    const whole = comparison ? await get(`formats/${comparison}`) : [];
    const row = (target) => (format) => h("button", { type: "button", on: { click: () => take(target, format, details) } }, format.label, h("i", {}, extensionOf(format)));
    replace(
      menu, own.map(row(run)), whole.length ? [h("hr"), h("p", {}, "All panes"), whole.map(row(comparison))] : [], h("hr"),
      h("button", { type: "button", on: { click: (event) => copyLink(event.currentTarget, run) } }, "Copy link to this run"), h("hr"),
      h("p", {}, "Each file comes with its signed record."),
    );
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    replace(menu, h("p", {}, error.message));
  }
}

function extensionOf(format) {
  return (format.extension ?? "").replace(/^\./, "").toUpperCase();
}

function take(target, format, details) {
  download(`export?target=${target}&format=${encodeURIComponent(format.key)}`);
  details.open = false;
}

async function copyLink(row, run) {
  const link = `${location.origin}/?run=${run}`;
  try {
    await navigator.clipboard.writeText(link);
    row.firstChild.textContent = "Link copied";
  } catch {
    row.firstChild.textContent = link;
  }
}
