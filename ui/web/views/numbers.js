/**
 * Numbers with their units for the viewers: as many digits as the spread supports, and round ticks for axes.
 *
 * It deliberately writes no ratio: those come from the studio in words.
 */

const DECIMAL = ["B", "kB", "MB", "GB", "TB"];
const THIN = "\u202f";

/** @typedef {{text: string, unit: string, spread: string}} Quantity */

/** Three significant digits unless said otherwise; whole numbers stay whole; thin spaces in groups from five digits on. */
export function figure(value, digits = 3) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "not a number" : value > 0 ? "infinite" : "minus infinite";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e9) return group(String(value));
  if (size >= 10 ** digits) return group(String(Math.round(value)));
  if (size < 1e-4) return value.toExponential(1);
  return value.toFixed(Math.max(0, Math.min(6, digits - 1 - Math.floor(Math.log10(size)))));
}

function group(digits) {
  return digits.replace("-", "").length < 5 ? digits : digits.replace(/\B(?=(\d{3})+$)/g, THIN);
}

/**
 * A value in the unit people read it in, with the spread of its repeats in the same unit.
 * @param {number} value
 * @param {string} unit "s", "bytes", "tokens/s", "" …
 * @param {number} [spread] half the range of the repeats; 0: none known
 * @returns {Quantity}
 */
export function quantity(value, unit, spread = 0) {
  if (!Number.isFinite(value)) return { text: figure(value), unit: "", spread: "" };
  const [factor, shown] = readable(value, unit);
  const decimals = spread > 0 ? placesFor(spread / factor) : 2;
  const plain = figure(value / factor);
  const own = (plain.split(".")[1] ?? "").length;
  const text = own > decimals ? (value / factor).toFixed(decimals) : plain;
  const places = (text.split(".")[1] ?? "").length;
  const around = spread > 0 ? (spread / factor).toFixed(places) : "";
  return { text, unit: shown, spread: around && Number(around) > 0 ? `±${around}` : "" };
}

/** The factor and name of the unit a value is read in. @returns {[number, string]} */
function readable(value, unit) {
  const size = Math.abs(value);
  if (unit === "bytes" || unit === "B") {
    const power = size < 999.5 ? 0 : Math.min(DECIMAL.length - 1, Math.floor(Math.log10(size * 1.0005) / 3));
    return [1000 ** power, DECIMAL[power]];
  }
  if (unit === "s" || unit === "seconds") {
    if (size > 0 && size < 0.01) return [0.001, "ms"];
    if (size >= 300) return [60, "min"];
    return [1, "s"];
  }
  return [1, unit === "count" || unit === "passes" || unit === "of" ? "" : unit];
}

/** Decimals that show the first digit of a spread. */
function placesFor(spread) {
  return Math.max(0, Math.min(4, -Math.floor(Math.log10(spread))));
}

/** A setting's value as it was typed: no zeros added, no digits dropped that matter. */
export function setting(value) {
  if (value === true) return "on";
  if (value === false || value === null || value === undefined) return "off";
  return typeof value === "number" ? String(Number(value.toPrecision(7))) : String(value);
}

/** "1 pass", "3 passes". */
export function plural(count, one, many = `${one}s`) {
  return `${figure(count)} ${count === 1 ? one : many}`;
}

/**
 * Round numbers that cover `low` to `high` in about `count` steps.
 * @returns {number[]}
 */
export function ticks(low, high, count = 5) {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough * 0.999);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}
