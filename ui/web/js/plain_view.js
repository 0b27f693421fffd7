/** What a pane shows when no viewer knows its kind: the text of its artifacts, as text. */

import { h, replace } from "./dom.js";

export const plainView = {
  mount(el) {
    replace(el, h("pre", { class: "out", tabindex: "0" }));
  },

  update(el, run, events) {
    const steps = events.filter((event) => event.type === "progress" || event.type === "preview");
    const last = steps.at(-1);
    if (last?.type === "progress") el.firstElementChild.textContent ||= "…";
  },

  finish(el, run, artifacts) {
    const parts = artifacts.map((artifact) => artifact.text ?? (artifact.json === null ? `${artifact.name}: ${artifact.media_type}, ${artifact.bytes} bytes` : JSON.stringify(artifact.json, null, 1)));
    el.firstElementChild.textContent = parts.join("\n\n");
  },

  reset(el) {
    el.firstElementChild.textContent = "";
  },
};
