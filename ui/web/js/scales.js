/** Scales around Gradio's value boxes: ticks, both end values, a thumb, and a mark at the default that leads back to it. */

import { h } from "./dom.js";
import { stepped } from "./format.js";

/** Put a value into a Gradio control as if it were typed or clicked. */
export function setControl(control, value) {
  if (!control) return;
  const box = control.querySelector("input[type=checkbox]");
  if (box) {
    if (box.checked !== Boolean(value)) box.click();
    return;
  }
  const radio = [...control.querySelectorAll("input[type=radio]")].find((one) => one.value === String(value));
  if (radio) {
    radio.click();
    return;
  }
  const input = control.querySelector("input[type=number], textarea, input[type=text], input:not([type])");
  if (!input) return;
  input.value = value === null || value === undefined ? "" : String(value);
  input.dispatchEvent(new Event("input", { bubbles: true }));
  input.dispatchEvent(new Event("change", { bubbles: true }));
}

/** The scale of one setting in one pane; made once an element, then kept in step with its box. */
export class Scale {
  constructor(cell, control, spec, name) {
    this.spec = spec;
    this.name = name;
    this.leaving = new AbortController();
    const { signal } = this.leaving;
    this.input = control.querySelector("input[type=number]");
    const { minimum, maximum } = spec;
    const ticks = this.ticks();
    this.range = h("input", {
      type: "range", min: minimum, max: maximum, step: spec.step ?? "any", "aria-label": `${this.input.getAttribute("aria-label")}, scale`, style: { "--ticks": ticks },
    });
    const mark = spec.default === null || spec.default === undefined ? "" : h("button", {
      type: "button", class: "dp-default", tabindex: "-1", title: `default ${stepped(spec.default, spec.step)}`, "aria-label": `Back to the default ${stepped(spec.default, spec.step)}`,
      style: { "--d": this.place(spec.default) }, on: { click: () => setControl(control, spec.default) },
    });
    this.low = h("span", { class: "dp-low" }, stepped(minimum, Number.isInteger(minimum) ? 1 : spec.step));
    this.high = h("span", { class: "dp-high" }, stepped(maximum, Number.isInteger(maximum) ? 1 : spec.step));
    this.parts = [this.low, h("span", { class: "dp-track" }, this.range, mark), this.high];
    cell.prepend(...this.parts);
    this.range.addEventListener("input", () => (this.input.value = stepped(this.range.value, spec.step)));
    this.range.addEventListener("change", () => setControl(control, this.range.value));
    this.range.addEventListener("keydown", (event) => this.leap(event, control));
    this.input.addEventListener("input", () => this.follow(), { signal });
    this.input.addEventListener("keydown", (event) => this.nudge(event, control), { signal });
    this.input.addEventListener("blur", () => this.settle(), { signal });
    this.follow();
    this.settle();
  }

  /** Take everything away again: the cell, or its value box, now belongs to another setting. */
  leave() {
    this.leaving.abort();
    for (const part of this.parts) part.remove();
  }

  ticks() {
    const steps = this.spec.step ? (this.spec.maximum - this.spec.minimum) / this.spec.step : 10;
    return steps <= 16 ? Math.max(1, Math.round(steps)) : 10;
  }

  place(value) {
    return Math.min(1, Math.max(0, (value - this.spec.minimum) / (this.spec.maximum - this.spec.minimum)));
  }

  /** The thumb follows the box; out of range it stays at the end while the box keeps what was typed. */
  follow() {
    if (document.activeElement === this.range) return;
    const value = this.input.value === "" ? this.spec.default ?? this.spec.minimum : Number(this.input.value);
    if (Number.isFinite(value)) this.range.value = String(value);
    this.range.classList.toggle("off", this.input.value === "");
  }

  /** Write the number with the digits of its step once nobody is typing. */
  settle() {
    if (document.activeElement === this.input || this.input.value === "") return;
    const wanted = stepped(this.input.value, this.spec.step);
    if (this.input.value !== wanted) this.input.value = wanted;
  }

  /** Shift with an arrow moves ten steps. */
  leap(event, control) {
    const direction = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!direction || !event.shiftKey) return;
    event.preventDefault();
    this.move(direction * 10, control);
  }

  nudge(event, control) {
    const direction = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!direction) return;
    event.preventDefault();
    this.move(direction * (event.shiftKey ? 10 : 1), control);
  }

  move(steps, control) {
    const { minimum, maximum, step } = this.spec;
    const size = step ?? (maximum - minimum) / 100;
    const from = this.input.value === "" ? this.spec.default ?? minimum : Number(this.input.value);
    const to = Math.min(maximum, Math.max(minimum, from + steps * size));
    const value = stepped(Number(to.toFixed(10)), step);
    setControl(control, value);
    this.range.value = value;
  }
}
