/**
 * The bar that replays a comparison: play, a slider over the passes that moves all panes at once, the pace (pass by pass, or
 * by the clock as it was measured), and the choice between blocks and tokens per pass.
 *
 * It deliberately knows no pane; it says which moment to show and `bench.js` shows it.
 */

import { h, replace } from "../js/dom.js";
import { say } from "./faithful.js";
import { figure } from "./numbers.js";
import { seconds } from "../js/format.js";

const WHOLE_PLAY = 6000;
const SLOWEST_STEP = 260;

/**
 * @typedef {{by: "pass", pass: number}|{by: "clock", seconds: number}} Moment
 * @typedef {{passes: number, seconds: number}} Span
 */

export class Replay {
  /** @param {HTMLElement} root @param {{onMoment: (moment: Moment|null) => void, onMode: (mode: string) => void}} handlers */
  constructor(root, { onMoment, onMode }) {
    this.handlers = { onMoment, onMode };
    /** @type {Span} */
    this.span = { passes: 0, seconds: 0 };
    this.pace = "pass";
    this.at = null;
    this.frame = 0;
    this.play = h("button", { type: "button", class: "btn sm play", on: { click: () => this.toggle() } });
    this.slider = h("input", {
      type: "range", min: "0", max: "1", step: "1", value: "1", "aria-label": "Replay: moment shown in all panes",
      on: { input: () => this.go(Number(this.slider.value)) },
    });
    this.readout = h("output", { class: "moment" });
    this.paceSwitch = choice("Pace of the replay", [["pass", "By pass"], ["clock", "By the clock"]], (pace) => this.setPace(pace));
    this.modeSwitch = choice("Drawn below the text", [["blocks", "Blocks"], ["passes", "Tokens per pass"]], onMode);
    replace(root, this.play, this.slider, this.readout, h("span", { class: "switches" }, this.paceSwitch, this.modeSwitch));
    this.root = root;
    this.showPlaying(false);
  }

  /** The longest of the panes. A replay at its end stays at the end while a run grows. @param {Span} span */
  fit(span) {
    this.span = span;
    const max = this.pace === "pass" ? span.passes : 1000;
    if (this.slider.max !== String(max)) this.slider.max = String(max);
    if (this.at === null) this.slider.value = String(max);
    this.describe();
  }

  /** Show the slider's place `value`; the end means "as it is now". */
  go(value, playing = false) {
    if (!playing) this.stop();
    const max = Number(this.slider.max);
    this.at = value >= max ? null : value;
    if (Number(this.slider.value) !== value) this.slider.value = String(value);
    this.describe();
    this.handlers.onMoment(this.moment);
  }

  /** @returns {Moment|null} */
  get moment() {
    if (this.at === null) return null;
    if (this.pace === "pass") return { by: "pass", pass: Math.floor(this.at) };
    return { by: "clock", seconds: (this.at / 1000) * this.span.seconds };
  }

  describe() {
    const moment = this.moment;
    const passes = figure(this.span.passes);
    const time = seconds(this.span.seconds);
    let words = this.pace === "pass" ? `all ${passes} passes` : `all ${time}`;
    if (moment) words = moment.by === "pass" ? `pass ${moment.pass} of ${passes}` : `${seconds(moment.seconds)} of ${time}`;
    say(this.readout, words);
    this.slider.setAttribute("aria-valuetext", words);
  }

  setPace(pace) {
    if (pace === this.pace) return;
    this.stop();
    this.pace = pace;
    this.at = null;
    this.fit(this.span);
    this.handlers.onMoment(null);
  }

  toggle() {
    if (this.frame) this.stop();
    else this.start();
  }

  start() {
    const max = Number(this.slider.max);
    if (max < 1) return;
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const from = this.at === null ? 0 : this.at;
    const length = this.pace === "pass" ? Math.min(WHOLE_PLAY, max * SLOWEST_STEP) : clockLength(this.span.seconds);
    const grain = still ? Math.max(1, Math.ceil((max * 500) / length)) : 1;
    let began = null;
    const step = (now) => {
      began ??= now;
      const exact = from + ((now - began) / length) * max;
      const value = exact >= max ? max : Math.floor(exact / grain) * grain;
      if (value !== this.at) this.go(value, true);
      if (exact >= max) this.stop();
      else this.frame = requestAnimationFrame(step);
    };
    this.showPlaying(true);
    this.go(from, true);
    this.frame = requestAnimationFrame(step);
  }

  stop() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.showPlaying(false);
  }

  /** Back to the end, as after a new run. */
  rewind() {
    this.stop();
    this.at = null;
    this.fit(this.span);
  }

  showPlaying(playing) {
    const label = playing ? "Pause the replay" : "Replay all panes from the first pass";
    this.play.setAttribute("aria-label", label);
    this.play.title = label;
    this.play.classList.toggle("playing", playing);
  }
}

/** Milliseconds a clock replay takes: the real time between 2 and 12 s, slowed or hurried beyond. */
function clockLength(measured) {
  return Math.min(12_000, Math.max(2_000, measured * 1000));
}

/** A row of buttons of which one is pressed. */
function choice(label, options, onChoose) {
  const group = h("span", { class: "seg", role: "group", "aria-label": label });
  const buttons = options.map(([value, words], place) => {
    const on = { click: (event) => press(event.currentTarget, value) };
    return h("button", { type: "button", "aria-pressed": String(place === 0), on }, words);
  });
  const press = (pressed, value) => {
    for (const each of buttons) each.setAttribute("aria-pressed", String(each === pressed));
    onChoose(value);
  };
  group.append(...buttons);
  return group;
}
