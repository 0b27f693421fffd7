/**
 * Showing any text exactly as it is, whoever wrote it.
 *
 * Text of models and users reaches the page only through text nodes. Characters that cannot be seen, or that would reorder
 * what stands around them, are kept as they are (copying gives them back) and get a small mark with their name.
 *
 * It deliberately has no way to parse markup.
 */

import { h } from "../js/dom.js";

/** Control and format characters, line separators, lone surrogates, the byte order mark; not tab, not line feed. */
const UNSEEN = new RegExp(
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]" +
    "|[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]",
);
const UNSEEN_ALL = new RegExp(UNSEEN.source, "g");

const NAMES = {
  0x00: "NUL", 0x07: "BEL", 0x08: "BS", 0x0b: "VT", 0x0c: "FF", 0x0d: "CR", 0x1b: "ESC", 0x7f: "DEL", 0xad: "SHY", 0x61c: "ALM", 0x200b: "ZWSP",
  0x200c: "ZWNJ", 0x200d: "ZWJ", 0x200e: "LRM", 0x200f: "RLM", 0x2028: "LSEP", 0x2029: "PSEP", 0x202a: "LRE", 0x202b: "RLE", 0x202c: "PDF",
  0x202d: "LRO", 0x202e: "RLO", 0x2060: "WJ", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0xfeff: "BOM",
};

/** Set the text of `element` only when it changed, so that nothing is laid out again for nothing. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Put `text` into `element` faithfully: seen characters as text, unseen ones wrapped in a mark that shows their name.
 * @param {Element} element
 * @param {string} text
 */
export function showText(element, text) {
  if (!UNSEEN.test(text)) {
    say(element, text);
    return;
  }
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(UNSEEN_ALL)) {
    if (match.index > from) parts.push(text.slice(from, match.index));
    parts.push(h("b", { class: "unseen", "data-name": nameOf(match[0]) }, match[0]));
    from = match.index + match[0].length;
  }
  if (from < text.length) parts.push(text.slice(from));
  element.replaceChildren(...parts);
}

/** `text` for labels and sentences: unseen characters replaced by their names, long text cut in the middle. */
export function spoken(text, limit = 40) {
  const named = text.replace(UNSEEN_ALL, (character) => `[${nameOf(character)}]`).replace(/\n/g, "⏎").replace(/\t/g, "⇥");
  const points = [...named];
  if (points.length <= limit) return named;
  const half = Math.floor((limit - 1) / 2);
  return `${points.slice(0, half).join("")}…${points.slice(-half).join("")}`;
}

function nameOf(character) {
  const code = character.charCodeAt(0);
  return NAMES[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The text of a preview, whose data came as base64. */
export function previewText(artifact) {
  if ((artifact.kind !== "text" && !artifact.media_type?.startsWith("text/")) || typeof artifact.data !== "string") return "";
  return new TextDecoder().decode(Uint8Array.from(atob(artifact.data.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0)));
}
