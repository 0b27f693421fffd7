/**
 * What the cells of a sweep say: names of axes and settings, measures with their best sense, labels for eyes and ears.
 *
 * It deliberately touches no element.
 */

import { spoken } from "./faithful.js";
import { figure, quantity, setting } from "./numbers.js";
import { SHADES } from "./trace.js";

export function isFinal(state) {
  return state !== "queued" && state !== "running";
}

/** @param {{field: string, label?: string}} axis */
export function axisName(axis) {
  return spoken(axis.label ? axis.label.toLowerCase() : axis.field.replaceAll("_", " "), 40);
}

export function metricOf(cell, name) {
  return cell.metrics.find((metric) => metric.name === name) ?? null;
}

/** Every measure that some cell has, each once. @returns {{name: string, label: string, unit: string, better: string|null}[]} */
export function measures(summary) {
  const found = new Map();
  for (const metric of summary.cells.flatMap((cell) => cell.metrics)) if (!found.has(metric.name)) found.set(metric.name, metric);
  found.delete("load_seconds");
  return [...found.values()];
}

/** A cell's settings alone: "0.9" or "32, 0.9". */
export function cellLabel(cell) {
  return cell.values.map((value) => spoken(setting(value), 14)).join(", ");
}

/** "36/40" for a score, otherwise the value with its unit. */
export function scoreText(metric) {
  if (metric.sample_size) return `${figure(metric.value)}/${metric.sample_size}`;
  const shown = quantity(metric.value, metric.unit);
  return shown.unit ? `${shown.text} ${shown.unit}` : shown.text;
}

/** "36 of 40", or the value with its unit. */
export function valueText(metric) {
  return metric.sample_size ? `${figure(metric.value)} of ${metric.sample_size}` : scoreText(metric);
}

/** A cell in a sentence, for screen readers. */
export function cellWords(cell, axes, list, name) {
  const settings = axes.map((axis, index) => `${axisName(axis)} ${spoken(setting(cell.values[index]), 18)}`).join(", ");
  const metric = metricOf(cell, name);
  const label = list.find((measure) => measure.name === name)?.label.toLowerCase() ?? name;
  if (cell.state === "done" && metric) return `${settings}, ${label} ${valueText(metric)}${cell.reused ? ", was there already" : ""}`;
  return `${settings}, ${cell.state === "queued" ? "waiting" : cell.state}`;
}

/** Shade of a value between the least and the most of its measure: farther from the paper is more. */
export function heatShade(summary, name, value) {
  const done = summary.cells.filter((cell) => cell.state === "done");
  const values = done.map((cell) => metricOf(cell, name)?.value).filter((each) => Number.isFinite(each));
  const low = Math.min(...values);
  const high = Math.max(...values);
  return high === low ? 4 : 1 + Math.min(SHADES - 1, Math.floor(((value - low) / (high - low)) * SHADES));
}
