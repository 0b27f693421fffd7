/**
 * Score against speed: one mark a cell of a sweep, the best trade-offs joined, the picked one ringed in brass.
 *
 * Every mark is labelled with its setting where there is room. Scores over n questions carry whiskers of one standard error.
 *
 * It deliberately draws finished cells only.
 */

import { clear, svg } from "../js/dom.js";
import { figure, ticks } from "./numbers.js";

const LEFT = 46;
const RIGHT = 18;
const TOP = 26;
const BOTTOM = 40;

/**
 * @typedef {{pane: string, label: string, x: number, y: number, error: number, shade: number, words: string}} Mark
 * @typedef {{title: string, better: "lower"|"higher"|null, unit: string}} AxisLook
 * @param {SVGElement} root
 * @param {Mark[]} marks
 * @param {{x: AxisLook, y: AxisLook, picked: string|null, width: number, height: number,
 *   onPick: (pane: string) => void, onPoint: (pane: string|null) => void}} look
 */
export function scatter(root, marks, look) {
  clear(root);
  root.setAttribute("viewBox", `0 0 ${look.width} ${look.height}`);
  root.setAttribute("height", String(look.height));
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", `${look.y.title} against ${look.x.title}, ${marks.length} finished cells`);
  if (!marks.length) {
    root.append(svg("text", { x: look.width / 2, y: look.height / 2, "text-anchor": "middle" }, "Marks appear as cells finish."));
    return;
  }
  const place = axes(root, marks, look);
  const front = bestTradeOffs(marks, look.x.better, look.y.better);
  root.append(svg("path", { class: "front", d: frontPath(front, place) }));
  for (const mark of marks) root.append(drawMark(mark, place, look, front.includes(mark)));
  drawLabels(root, marks, place, look);
}

function axes(root, marks, look) {
  const spanX = padded(marks.map((mark) => mark.x), 0.08);
  const spanY = padded(marks.flatMap((mark) => [mark.y - mark.error, mark.y + mark.error]), 0.06);
  const ticksX = ticks(spanX[0], spanX[1], Math.max(2, Math.floor(look.width / 110)));
  const ticksY = ticks(spanY[0], spanY[1], 4);
  const x = linear(ticksX[0], ticksX[ticksX.length - 1], LEFT, look.width - RIGHT);
  const y = linear(ticksY[0], ticksY[ticksY.length - 1], look.height - BOTTOM, TOP);
  for (const tick of ticksY) {
    root.append(svg("path", { class: "r", d: `M${LEFT} ${y(tick)}H${look.width - RIGHT}` }));
    root.append(svg("text", { x: LEFT - 8, y: y(tick) + 4, "text-anchor": "end" }, figure(tick)));
  }
  for (const tick of ticksX) root.append(svg("text", { x: x(tick), y: look.height - BOTTOM + 18, "text-anchor": "middle" }, figure(tick)));
  root.append(svg("text", { x: LEFT, y: 12 }, withSense(look.y)));
  root.append(svg("text", { x: look.width - RIGHT, y: look.height - 6, "text-anchor": "end" }, withSense(look.x)));
  return { x, y };
}

function withSense(axis) {
  const unit = axis.unit && !axis.title.includes(axis.unit) ? `, ${axis.unit}` : "";
  return `${axis.title}${unit}${axis.better ? `, ${axis.better} is better` : ""}`;
}

/** The span of `values`, a little wider; never below zero when nothing is below zero. */
function padded(values, share) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const room = (high - low || Math.abs(high) * 0.2 || 1) * share;
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}

function linear(from, to, start, end) {
  return (value) => Number((start + ((value - from) / (to - from || 1)) * (end - start)).toFixed(1));
}

/** Marks that no other mark beats in both senses, in the order of x. */
export function bestTradeOffs(marks, betterX, betterY) {
  const signX = betterX === "lower" ? -1 : 1;
  const signY = betterY === "lower" ? -1 : 1;
  const beaten = (mark) =>
    marks.some((other) => {
      const dx = signX * (other.x - mark.x);
      const dy = signY * (other.y - mark.y);
      return dx >= 0 && dy >= 0 && (dx > 0 || dy > 0);
    });
  return marks.filter((mark) => !beaten(mark)).sort((one, two) => one.x - two.x || two.y - one.y);
}

function frontPath(front, place) {
  return front.map((mark, index) => (index ? `V${place.y(mark.y)}H${place.x(mark.x)}` : `M${place.x(mark.x)} ${place.y(mark.y)}`)).join("");
}

function drawMark(mark, place, look, best) {
  const x = place.x(mark.x);
  const y = place.y(mark.y);
  const picked = mark.pane === look.picked;
  const name = `mark${best ? " best" : ""}${picked ? " picked" : ""}`;
  const on = {
    click: () => look.onPick(mark.pane),
    keydown: (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      look.onPick(mark.pane);
    },
    pointerenter: () => look.onPoint(mark.pane),
    pointerleave: () => look.onPoint(null),
    focus: () => look.onPoint(mark.pane),
    blur: () => look.onPoint(null),
  };
  const said = { "aria-label": mark.words, "aria-pressed": String(picked), "data-pane": mark.pane };
  const group = svg("g", { class: name, tabindex: "0", role: "button", ...said, on });
  if (mark.error > 0) group.append(svg("path", { class: "whisker", d: `M${x} ${place.y(mark.y - mark.error)}V${place.y(mark.y + mark.error)}` }));
  group.append(svg("circle", { class: `f${mark.shade}`, cx: x, cy: y, r: picked ? 7 : 5 }));
  if (picked) group.append(svg("circle", { class: "ring", cx: x, cy: y, r: 12 }));
  group.append(svg("circle", { class: "reach", cx: x, cy: y, r: 14 }));
  return group;
}

/** A label beside each mark, the picked one first; one that would cover another is left out. */
function drawLabels(root, marks, place, look) {
  const taken = marks.map((mark) => box(place.x(mark.x) - 7, place.y(mark.y) - 7, 14, 14));
  const ordered = [...marks].sort((one, two) => Number(two.pane === look.picked) - Number(one.pane === look.picked));
  for (const mark of ordered) {
    const picked = mark.pane === look.picked;
    const width = mark.label.length * 6.2 + 2;
    const x = place.x(mark.x);
    const y = place.y(mark.y);
    const reach = picked ? 17 : 10;
    const spots = [[x + reach, y + 4], [x - reach - width, y + 4], [x - width / 2, y - reach], [x - width / 2, y + reach + 9]];
    const free = spots.map(([left, base]) => [left, base, box(left, base - 10, width, 12)]).find(
      ([left, , area]) => left > LEFT && left + width < look.width - 2 && taken.every((other) => apart(area, other)),
    );
    if (!free) continue;
    taken.push(free[2]);
    root.append(svg("text", { x: free[0], y: free[1], class: picked ? "k strong halo" : "k halo", "aria-hidden": "true" }, mark.label));
  }
}

function box(left, top, width, height) {
  return { left, top, right: left + width, bottom: top + height };
}

function apart(one, two) {
  return one.right < two.left || two.right < one.left || one.bottom < two.top || two.bottom < one.top;
}
