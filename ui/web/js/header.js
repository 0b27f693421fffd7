/** The head of the page: mark, device and memory, what runs and waits, light or dark, keys; and the row of tabs. */

import { h, svg, replace, setText } from "./dom.js";
import { bytes } from "./format.js";
import { isDark, switchTheme } from "./theme.js";
import { showKeys } from "./keys.js";

const TITLES = { text: "Text", image: "Image", shape: "3D / 4D", molecule: "Molecule", figure: "Figure", code: "Code", solve: "Solve" };
const PANELS = { history: "History", models: "Models", verify: "Verify" };

/** The mark: two leaves and a brass hinge. */
export function mark(size = 27) {
  return svg(
    "svg", { width: size, height: (size * 22) / 27, viewBox: "0 0 27 22", "aria-hidden": "true" },
    svg("path", {
      d: "M11.5 1.5H2a.8.8 0 0 0-.8.8v17.4c0 .5.3.8.8.8h9.5zM15.5 1.5H25c.5 0 .8.3.8.8v17.4c0 .5-.3.8-.8.8h-9.5z",
      fill: "none", stroke: "currentColor", "stroke-width": 1.6,
    }),
    svg("path", { d: "M12 4h3v5h-3zM12 13h3v5h-3z", fill: "var(--brass)" }),
  );
}

export class Header {
  constructor() {
    this.device = h("span", {});
    this.fill = h("i", {});
    this.memory = h("span", {});
    this.gauge = h("span", { class: "gauge", role: "img", hidden: true }, this.fill);
    this.jobs = h("button", { type: "button", class: "dp-link dp-stat", title: "Open the queue", hidden: true });
    this.dark = h("button", { type: "button", class: "btn sm", "aria-label": "Switch between light and dark", on: { click: () => this.flip() } });
    this.keys = h("button", { type: "button", class: "btn sm wide", "aria-label": "Keyboard shortcuts", on: { click: showKeys } }, "?");
    this.home = h("button", { type: "button", class: "dp-mark", "aria-label": "Diptych, to the first tab" }, mark(), "Diptych");
    this.nav = h("nav", { class: "dp-nav", role: "tablist", "aria-label": "Tabs" });
    this.alarm = h("div", { class: "dp-alarm", role: "alert", hidden: true });
    const top = h(
      "header", { class: "dp-top" }, this.home, h("span", { class: "dp-gap" }),
      h("span", { class: "dp-stat wide" }, this.device, " ", this.gauge, this.memory), this.jobs, this.dark, this.keys,
    );
    document.body.prepend(h("div", { class: "dp-own dp-wrap" }, top, this.nav, this.alarm));
    this.label();
    addEventListener("diptych:theme", () => this.label());
  }

  mountTabs(known, router) {
    this.home.addEventListener("click", () => router.go(known.tabs[0] ?? "history"));
    this.jobs.addEventListener("click", () => router.go("history"));
    const tab = (key, title) =>
      h("button", { type: "button", role: "tab", id: `dp-nav-${key}`, dataset: { key }, on: { click: () => router.go(key) } }, title);
    replace(
      this.nav, known.tabs.map((key) => tab(key, TITLES[key] ?? key)), h("span", { class: "dp-gap" }),
      Object.entries(PANELS).map(([key, title]) => tab(key, title)),
    );
    this.nav.addEventListener("keydown", (event) => this.arrow(event));
  }

  arrow(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const all = [...this.nav.querySelectorAll("[role=tab]")];
    const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
    next?.focus();
    next?.click();
  }

  select(place) {
    for (const tab of this.nav.querySelectorAll("[role=tab]")) {
      const selected = place.kind !== "look" && tab.dataset.key === place.key;
      tab.setAttribute("aria-selected", String(selected));
      tab.tabIndex = selected || place.kind === "look" ? 0 : -1;
      if (selected) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  }

  status(status) {
    setText(this.device, status.device);
    const share = status.memory_total ? status.memory_used / status.memory_total : 0;
    this.gauge.hidden = !status.memory_total;
    this.fill.style.width = `${Math.round(share * 100)}%`;
    const words = `${bytes(status.memory_used).replace(/ .*/, "")} of ${bytes(status.memory_total)}`;
    this.gauge.setAttribute("aria-label", `memory ${words}`);
    setText(this.memory, words);
    const open = status.running + status.waiting;
    const title = open ? `(${open}) Diptych` : "Diptych";
    if (document.title !== title) document.title = title;
    this.jobs.hidden = !(status.running || status.waiting || status.paused);
    const key = `${status.running}/${status.waiting}/${status.paused}`;
    if (this.jobs.dataset.key !== key) {
      this.jobs.dataset.key = key;
      const waiting = status.waiting ? [", ", h("b", {}, String(status.waiting)), " waiting"] : [];
      replace(this.jobs, h("b", {}, String(status.running)), " running", ...waiting, status.paused ? ", paused" : "");
    }
  }

  /** A fault that belongs to no control: shown under the tab row until it is over. */
  warn(bold, words) {
    this.alarm.hidden = !bold;
    if (bold) replace(this.alarm, h("b", {}, bold), " ", words);
  }

  flip() {
    switchTheme();
  }

  label() {
    this.dark.textContent = isDark() ? "Light" : "Dark";
  }
}
