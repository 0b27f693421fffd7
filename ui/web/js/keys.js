/** The keyboard: Ctrl+Enter runs, Esc stops, ? lists. One table, shown as it is used. */

import { h } from "./dom.js";

const TABLE = [
  ["Ctrl Enter", "run all panes (⌘ Enter on a Mac)"],
  ["Esc", "stop what this bench runs, keep what is there"],
  ["1 … 4", "run pane A … D alone"],
  ["D", "only differences, on or off"],
  ["/", "search History"],
  ["T", "light or dark"],
  ["?", "this list"],
  ["← →", "on a scale: one step; with Shift, ten"],
  ["← → Home End", "in an output: token by token"],
];

/** Listen; keys pressed while typing keep their meaning, except Ctrl+Enter and Esc. */
export function installKeys({ benches, router }) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      benches.current?.run();
      return;
    }
    if (event.key === "Escape" && !isListOpen()) {
      benches.current?.stop();
      return;
    }
    if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    const work = {
      "?": showKeys,
      "/": () => router.go("history", { find: "1" }),
      t: () => document.querySelector(".dp-top [aria-label^=Switch]")?.click(),
      d: () => benches.current?.toggleDifferences(),
    }[event.key.toLowerCase()];
    if (work) {
      event.preventDefault();
      work();
    } else if (/^[1-4]$/.test(event.key)) benches.current?.runPane("ABCD"[Number(event.key) - 1]);
  });
}

function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) && target.type !== "checkbox";
}

function isListOpen() {
  return document.querySelector("[role=combobox][aria-expanded=true], details.exp[open]") !== null;
}

/** The list of keys. */
export function showKeys() {
  const rows = TABLE.flatMap(([keys, does]) => [h("dt", {}, keys.split(" ").map((key) => h("kbd", {}, key)).flatMap((key, i) => (i ? [" ", key] : [key]))), h("dd", {}, does)]);
  const dialog = h(
    "dialog", { class: "dp-own dp-dialog", "aria-label": "Keyboard shortcuts" }, h("h2", {}, "Keys"), h("dl", { class: "dp-keys" }, rows),
    h("div", { class: "acts" }, h("button", { type: "button", class: "btn", autofocus: true, on: { click: () => dialog.close() } }, "Close")),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
