/** What runs and what waits: time left, order, pause, stop, retry. Shown on top of History. */

import { button, h, replace } from "./dom.js";
import { plural, seconds } from "./format.js";
import { get, post } from "./net.js";
import { spoken } from "../views/faithful.js";

const BUSY_MS = 500;
const IDLE_MS = 3000;

export class QueueView {
  constructor() {
    this.el = h("section", { "aria-label": "Queue" });
    this.key = "";
    this.opened = false;
  }

  start(changed) {
    this.changed = changed;
    this.ask();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = null;
  }

  async ask() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), IDLE_MS);
    try {
      const queue = await get("queue");
      if (this.timer === null) return;
      this.draw(queue);
      const key = queue.jobs.map((job) => `${job.id}${job.state}`).join();
      if (this.key && key !== this.key) this.changed?.();
      this.key = key || "none";
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.ask(), queue.jobs.length ? BUSY_MS : IDLE_MS);
    } catch (error) {
      console.error(error);
    }
  }

  async act(path, body) {
    await post(path, body);
    dispatchEvent(new Event("diptych:touch"));
    this.ask();
  }

  draw({ jobs, progress, paused }) {
    const running = jobs.filter((job) => job.state === "running");
    const waiting = jobs.filter((job) => job.state === "queued");
    replace(this.el, running.map((job) => this.runningLine(job, progress[job.id])), waiting.length || paused ? this.waitingLine(waiting, paused) : "", this.opened && waiting.length ? this.list(waiting) : "");
  }

  name(job) {
    const purpose = { warmup: "warm-up", replay: "replay", sweep: "sweep cell" }[job.purpose] ?? (job.repeat ? `repeat ${job.repeat + 1}` : "");
    return [job.method_title, spoken(job.title, 70), job.pane && job.purpose !== "sweep" ? `pane ${job.pane}` : "", purpose].filter(Boolean).join(", ");
  }

  runningLine(job, at) {
    const share = at?.total ? at.step / at.total : job.typical_seconds && at?.at ? Math.min(0.97, at.at / job.typical_seconds) : null;
    const left = share && at.at ? (at.at * (1 - share)) / share : null;
    const words = share === null ? (at ? `${at.phase} ${at.step}` : "starting") : `${Math.round(share * 100)} %${left !== null ? `, ${seconds(left)} left` : ""}`;
    return h("div", { class: "job" }, h("b", {}, "Running"), h("span", { class: "what" }, this.name(job)), h("span", { class: "bar2" }, h("i", { style: { width: `${Math.round((share ?? 0.04) * 100)}%` } })), h("span", {}, words), button("Stop, keep what is there", () => this.act(`runs/${job.id}/cancel`)));
  }

  waitingLine(waiting, paused) {
    const [first, second] = waiting;
    const eta = (job) => (job.eta_seconds ? h("span", { class: "note" }, `about ${seconds(job.eta_seconds)}`) : "");
    const next = second && !this.opened ? [h("span", { class: "wide" }, "then"), h("span", { class: "what wide" }, this.name(second)), eta(second)] : [];
    return h("div", { class: "job" }, h("b", {}, paused ? "Paused" : "Waiting"), first ? [h("span", { class: "what" }, this.name(first)), eta(first)] : h("span", {}, "no run will start until you resume"), h("span", { class: "gap" }), next,
      waiting.length ? button(this.opened ? "Close list" : waiting.length > 1 ? `All ${waiting.length}, reorder…` : "Reorder…", () => { this.opened = !this.opened; this.ask(); }, { "aria-expanded": String(this.opened) }) : "",
      button(paused ? "Resume queue" : "Pause queue", () => this.act("queue/pause", { paused: !paused })));
  }

  list(waiting) {
    const move = (job, to, words, label) => button(words, () => this.act(`runs/${job.id}/move`, { to }), { "aria-label": `${label} ${this.name(job)}` });
    const rows = waiting.slice(0, 200).map((job, place) => h("li", {}, h("span", { class: "note" }, String(place + 1)), h("span", { title: job.sentence }, this.name(job)), h("span", { class: "note" }, job.eta_seconds ? `about ${seconds(job.eta_seconds)}` : ""),
      h("span", { class: "acts" }, place ? move(job, 1, "To front", "Move to the front:") : "", place ? move(job, place, "Up", "Move up:") : "", place < waiting.length - 1 ? move(job, place + 2, "Down", "Move down:") : "", button("Remove", () => this.act(`runs/${job.id}/cancel`), { "aria-label": `Remove ${this.name(job)}` }))));
    const more = waiting.length > 200 ? h("p", { class: "cap" }, `and ${plural(waiting.length - 200, "run")} more`) : "";
    return [h("ol", { class: "dp-line-list" }, rows), more, h("div", { class: "job" }, h("span", { class: "gap" }), button("Stop everything", () => this.act("queue/stop")))];
  }
}
