/** Numbers in words: every number on the page has its unit, and no more digits than it can carry. */

const SIZES = ["bytes", "kB", "MB", "GB", "TB"];

/** "34 ms", "1.92 s", "25 s", "1 min 20 s", "2 h 5 min". */
export function seconds(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value < 0.0995) return `${Math.max(1, Math.round(value * 1000))} ms`;
  if (value < 9.95) return `${value.toFixed(value < 0.995 ? 2 : value < 1.995 ? 2 : 1)} s`;
  if (value < 60) return `${Math.round(value)} s`;
  const minutes = Math.floor(value / 60);
  if (minutes < 60) return Math.round(value % 60) ? `${minutes} min ${Math.round(value % 60)} s` : `${minutes} min`;
  return minutes % 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${Math.floor(minutes / 60)} h`;
}

/** "1.50 MB", "212 MB", "9.4 GB". */
export function bytes(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  let size = value;
  let place = 0;
  while (size >= 999.5 && place < SIZES.length - 1) {
    size /= 1000;
    place += 1;
  }
  return place === 0 ? `${Math.round(size)} bytes` : `${size < 9.95 ? size.toFixed(place > 2 ? 1 : 2) : Math.round(size)} ${SIZES[place]}`;
}

/** "64", "33", "3.2", "0.93": thousands apart by a thin space. */
export function number(value, digits) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (digits !== undefined) return grouped(value.toFixed(digits));
  const size = Math.abs(value);
  if (Number.isInteger(value) || size >= 99.95) return grouped(String(Math.round(value)));
  return size >= 9.95 ? value.toFixed(1) : size >= 0.0995 ? value.toFixed(2) : size === 0 ? "0" : value.toPrecision(2);
}

function grouped(text) {
  const [whole, rest] = text.split(".");
  const spaced = whole.replace(/\B(?=(\d{3})+$)/g, "\u2009");
  return rest === undefined ? spaced : `${spaced}.${rest}`;
}

/** A metric as {text, small}. */
export function metric({ value, unit, sample_size }) {
  if (sample_size) return { text: number(value), small: `of ${number(sample_size)}` };
  if (unit === "s") return { text: seconds(value), small: "" };
  if (unit === "bytes") return { text: bytes(value), small: "" };
  return { text: unit ? `${number(value)} ${unit}` : number(value), small: "" };
}

/** "4f1c…9ab2". */
export function digest(hex) {
  return hex && hex.length > 10 ? `${hex.slice(0, 4)}…${hex.slice(-4)}` : hex || "";
}

/** "14:32" today, "1 Dec, 14:32" otherwise. */
export function moment(iso) {
  const date = new Date(/[zZ]|[+-]\d\d:?\d\d$/.test(iso) ? iso : `${iso}Z`);
  if (Number.isNaN(date.getTime())) return "";
  const time = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  if (date.toDateString() === new Date().toDateString()) return time;
  const year = date.getFullYear() === new Date().getFullYear() ? undefined : "numeric";
  return `${date.toLocaleDateString("en-GB", { day: "numeric", month: "short", year })}, ${time}`;
}

/** A setting's value as a control shows it: 0.1 with a step of 0.05 is "0.10". */
export function stepped(value, step) {
  if (value === null || value === undefined || value === "") return "";
  const decimals = step ? (String(step).split(".")[1] ?? "").length : 0;
  const given = (String(value).split(".")[1] ?? "").length;
  return Number(value).toFixed(Math.min(10, Math.max(decimals, given)));
}

/** A setting's value in a sentence. */
export function shown(value) {
  if (value === true) return "on";
  if (value === false) return "off";
  if (value === null || value === undefined || value === "") return "off";
  return typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value).replaceAll("_", " ");
}

/** "first", "second", … */
export function ordinal(place) {
  return ["", "First", "Second", "Third", "Fourth", "Fifth", "Sixth"][place] ?? `Number ${place}`;
}

/** "1 run", "3 runs". */
export function plural(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}
