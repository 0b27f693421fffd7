/** What a pane shows when no viewer knows its kind: the text of its artifacts, as text, while it grows and when it is done. */

import { h, replace } from "./dom.js";
import { previewText } from "../views/faithful.js";

export const plainView = {
  mount(el) {
    replace(el, h("pre", { class: "out", tabindex: "0" }));
  },

  update(el, run, events) {
    const preview = events.findLast((event) => event.type === "preview")?.artifact;
    if (preview?.media_type.startsWith("text/")) el.firstElementChild.textContent = previewText(preview);
    else el.firstElementChild.textContent ||= "…";
  },

  finish(el, run, artifacts) {
    const parts = artifacts.map((artifact) => artifact.text ?? (artifact.json === null ? `${artifact.name}: ${artifact.media_type}, ${artifact.bytes} bytes` : JSON.stringify(artifact.json, null, 1)));
    el.firstElementChild.textContent = parts.join("\n\n");
  },

  reset(el) {
    el.firstElementChild.textContent = "";
  },
};
