/** Follows the open bench: asks often while something runs or was just touched, seldom otherwise, and never twice at once. */

import { get, Unreachable } from "./net.js";

const RUNNING_MS = 120;
const TOUCHED_MS = 250;
const IDLE_MS = 2000;
const HIDDEN_MS = 4000;
const TOUCHED_FOR_MS = 4000;

export class Watch {
  constructor(benches, header, router) {
    this.benches = benches;
    this.header = header;
    this.router = router;
    this.touchedAt = 0;
    this.timer = 0;
    this.asking = false;
    this.failures = 0;
  }

  start() {
    for (const event of ["click", "input", "change", "keydown"]) addEventListener(event, () => this.touch(), { capture: true, passive: true });
    document.addEventListener("visibilitychange", () => this.touch());
    addEventListener("diptych:touch", () => this.touch());
    this.ask();
  }

  /** Something was done: look again soon. */
  touch() {
    this.touchedAt = performance.now();
    if (!this.asking) this.plan(30);
  }

  plan(delay) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), delay);
  }

  async ask() {
    if (this.asking) return;
    this.asking = true;
    try {
      const bench = this.benches.current;
      if (bench) {
        const answer = await get(`bench/${bench.tab}?since=${bench.cursors()}`);
        this.header.status(answer.status);
        await bench.apply(answer.bench);
        this.busy = !answer.bench.finished;
      } else {
        const status = await get("status");
        this.header.status(status);
        this.busy = false;
      }
      if (this.failures) this.header.warn("", "");
      this.failures = 0;
    } catch (error) {
      this.failures += 1;
      if (this.failures > 2) this.header.warn("The studio does not answer.", "Runs go on without this page; it looks again every few seconds.");
      if (!(error instanceof Unreachable)) console.error(error);
    } finally {
      this.asking = false;
      this.plan(this.pause());
    }
  }

  pause() {
    if (this.failures) return Math.min(5000, 500 * this.failures);
    if (document.hidden) return HIDDEN_MS;
    if (this.busy) return RUNNING_MS;
    return performance.now() - this.touchedAt < TOUCHED_FOR_MS ? TOUCHED_MS : IDLE_MS;
  }
}
