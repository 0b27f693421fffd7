/**
 * What the tests ask of the page, by name: window.probe.NAME(...). Each returns plain values.
 *
 * It deliberately changes nothing, apart from the listeners that count.
 */

import { bestTradeOffs } from "/studio/static/views/scatter.js";
import { quantity } from "/studio/static/views/numbers.js";
import { spoken } from "/studio/static/views/faithful.js";
import { TraceModel, shade } from "/studio/static/views/trace.js";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const trace = (pane) => window.harness.panes.get(pane).artifacts[1].json;
const committed = (pane) => trace(pane).passes.flatMap((pass) => pass.committed.map((token) => ({ ...token, pass: pass.index })));

/** Relative luminance of a computed colour. */
function luminance(color) {
  const [r, g, b] = color.match(/[\d.]+/g).map((value) => Number(value) / 255).map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(cell) {
  const style = getComputedStyle(cell);
  const [light, dark] = [luminance(style.color), luminance(style.backgroundColor)].sort((one, two) => two - one);
  return (light + 0.05) / (dark + 0.05);
}

function tokenColour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

window.probe = {
  /** Resolves when `condition` holds, looked at every frame; fails after half a minute. */
  until(condition) {
    return new Promise((done, fail) => {
      const end = performance.now() + 30_000;
      const look = () => {
        if (condition()) done(true);
        else if (performance.now() > end) fail(new Error("waited in vain"));
        else requestAnimationFrame(look);
      };
      look();
    });
  },
  frames: () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  moment: () => document.querySelector(".dp-replay .moment").textContent,
  scrollTop: (pane) => document.querySelector(`[data-pane=${pane}] .out`).scrollTop,
  token: (pane, text) => committed(pane).find((token) => token.text === text),
  committedBy: (pane, last) => committed(pane).filter((token) => token.pass <= last).length,
  shadeFirsts: (total) => Array.from({ length: total }, (_, index) => shade(index + 1, total)).flatMap((tone, index, tones) => (tone === tones[index - 1] ? [] : [index + 1])),
  spoken,
  quantity(value, unit, spread) {
    const found = quantity(value ?? Number.NaN, unit, spread);
    return [found.text, found.unit, found.spread].filter(Boolean).join(" ");
  },
  bestTradeOffs: (marks) => bestTradeOffs(marks.map(([pane, x, y]) => ({ pane, x, y })), "higher", "higher").map((mark) => mark.pane),

  /** Tokens that do not wear the shade of their pass. */
  wrongShades() {
    return [...window.harness.panes.keys()].flatMap((pane) => {
      const cells = all(`[data-pane=${pane}] .flow i`);
      return committed(pane).filter((token) => !cells[token.position].classList.contains(`p${shade(token.pass, trace(pane).passes.length)}`)).map((token) => [pane, token.position]);
    });
  },
  /** Blocks of a pane, and where their counts or their end differ from the trace. */
  wrongBlocks(pane) {
    const blocks = TraceModel.fromTrace(trace(pane)).blocks();
    const wrong = blocks.flatMap((block, number) => {
      const counts = trace(pane).passes.map((pass) => [pass.index, pass.committed.filter((token) => Math.floor(token.position / 16) === number).length]);
      const off = counts.filter(([pass, count]) => (block.counts.get(pass) ?? 0) !== count).map(([pass]) => [number, pass]);
      return block.done === Math.max(...block.counts.keys()) ? off : [...off, [number, "done"]];
    });
    return [blocks.length, wrong];
  },
  /** First visible token of each pane. */
  topTokens() {
    return all(".out").map((out) => all("i", out).findIndex((cell) => cell.parentElement.offsetTop + cell.offsetTop + cell.offsetHeight > out.scrollTop));
  },
  /** Whether each boxed token lies inside its scrolled text. */
  boxesInView() {
    return all("i.df").map((cell) => {
      const out = cell.closest(".out").getBoundingClientRect();
      const box = cell.getBoundingClientRect();
      return box.top >= out.top - 1 && box.bottom <= out.bottom + 1;
    });
  },
  worstContrast: () => Math.min(...all(".flow i").map(contrast)),
  maskedAreUnseen() {
    return all("i.mask, i.later").every((cell) => {
      const style = getComputedStyle(cell);
      return style.visibility === "hidden" || style.color === "rgba(0, 0, 0, 0)";
    });
  },
  /** Right ends of the bars, and the width of the axis. */
  barEnds() {
    const ends = all("svg.dp-timeline").map((picture) => Math.max(...all("path[class^=f]", picture).map((path) => path.getBBox()).map((box) => box.x + box.width)));
    return [...ends, document.querySelector("svg.dp-timeline path.r").getBBox().width];
  },
  gridLines: () => all("svg.dp-timeline").map((picture) => all("path.r", picture).slice(0, -1).map((path) => path.getBBox().y)),
  /** Counts the texts the readout of the replay goes through. */
  countMoments() {
    const readout = document.querySelector(".dp-replay .moment");
    window.moments = [];
    new MutationObserver(() => window.moments.push(readout.textContent)).observe(readout, { childList: true, characterData: true, subtree: true });
  },
  ratioOwners() {
    const names = { [tokenColour("--s1")]: "challenger", [tokenColour("--base")]: "baseline" };
    return all(".lr em b").map((ratio) => names[getComputedStyle(ratio).color]);
  },
  ledgerBars: () => all(".lr").map((row) => all("i", row).map((bar) => bar.getBoundingClientRect()).map((box) => [box.left, box.right, box.width])),
  heatColours: () => new Set(all(".c.heat").map((cell) => getComputedStyle(cell).backgroundColor)).size,

  /** Elements and attributes that only markup could have made. */
  foreignElements() {
    const made = all("img, script, iframe, math, style, textarea, details, a", document.querySelector("#root")).map((each) => each.tagName);
    const acts = (name) => name.startsWith("on") || name === "href" || name === "srcdoc";
    return [made, all("#root *").flatMap((each) => each.getAttributeNames().filter(acts))];
  },
  codeUnits: () => all("[data-pane=A] .flow i").map(({ textContent }) => Array.from({ length: textContent.length }, (_, index) => textContent.charCodeAt(index))),
  marksOf: (code) => all(".flow .unseen").filter((mark) => mark.textContent.charCodeAt(0) === code).map((mark) => [mark.dataset.name, mark.getBoundingClientRect().width > 6]),
  /** Where the tokens around the first override begin and end. */
  aroundOverride() {
    const cells = all("[data-pane=A] .flow i");
    const at = cells.findIndex((cell) => cell.textContent.startsWith("\u202e"));
    return [cells[at - 1], cells[at], cells[at + 1]].map((cell) => {
      const boxes = cell.getClientRects();
      const last = boxes[boxes.length - 1];
      return [boxes[0].top, boxes[0].left, last.top, last.left];
    });
  },
  pointAtEach(pane, step) {
    all(`[data-pane=${pane}] .flow i`).forEach((cell, index) => index % step || cell.dispatchEvent(new PointerEvent("pointerover", { bubbles: true })));
  },
  nameless() {
    const named = (each) => each.getAttribute("aria-label") || each.textContent.trim();
    return all("button, input, select, svg[role], [role=group], [role=table], [tabindex]").filter((each) => !named(each)).map((each) => each.outerHTML.slice(0, 90));
  },
};
