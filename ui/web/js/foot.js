/** Under each output: who signed it, by which digest, Verify, Replay, what repeats, and Export. */

import { button, h, inside, replace } from "./dom.js";
import { digest, seconds } from "./format.js";
import { get, post, Refused } from "./net.js";
import { exportMenu } from "./export_menu.js";
import { FINAL, colorOf } from "./pane.js";

const REPLAY_MS = 300;

export class Foot {
  constructor(bench) {
    this.bench = bench;
    this.replays = new Map();
  }

  draw(state) {
    const place = this.bench.el("foot");
    if (!place) return;
    const slot = inside(place);
    const panes = state.sweep ? [] : state.panes.filter((pane) => state.shown[pane.pane]);
    const runs = new Map(state.runs.map((run) => [run.id, run]));
    const final = panes.filter((pane) => FINAL.includes(runs.get(state.shown[pane.pane])?.state));
    const key = JSON.stringify([state.panes.length, ...state.panes.map((pane) => [pane.pane, pane.method, state.shown[pane.pane], runs.get(state.shown[pane.pane])?.state, pane.stale, this.replays.get(state.shown[pane.pane]), this.bench.panes.get(pane.pane)?.pass()])]);
    if (slot.dataset.key === key && (slot.firstElementChild || !final.length)) return;
    slot.dataset.key = key;
    if (!final.length) {
      replace(slot);
      return;
    }
    const lines = state.panes.map((pane, place) => this.line(pane, runs.get(state.shown[pane.pane]), place, state));
    const foot = h("div", { class: `dp-foot n${state.panes.length}` }, lines);
    if (state.panes.length === 2) foot.append(h("div", { class: "dp-hinge bare" }));
    replace(slot, foot);
  }

  line(pane, run, place, state) {
    const line = h("div", { class: `prov ${place ? "r" : "l"}` });
    if (!run || !FINAL.includes(run.state)) return line;
    const letters = this.bench.letters;
    const color = colorOf(pane.pane, letters, state.baseline);
    line.append(h("span", { class: `key tiny ${color === "base" ? "" : color}` }, pane.pane), ...provenance(run, { ...pane, pass: this.bench.panes.get(pane.pane)?.pass() }, this, this.bench.router));
    line.append(h("span", { class: "gap" }));
    if (run.artifacts.length) line.append(exportMenu(run.id, state.alone ? null : state.comparison));
    return line;
  }

  /** Run it again and hold the two against the method's promise. */
  async replay(run) {
    this.replays.set(run.id, { words: "replaying…" });
    this.redraw();
    try {
      const started = await post(`runs/${run.id}/replay`);
      dispatchEvent(new Event("diptych:touch"));
      const verdict = await replayVerdict(started.run);
      this.replays.set(run.id, { words: verdict.sentence, bad: verdict.kept === false });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.replays.set(run.id, { words: error.message, bad: true });
    }
    this.redraw();
  }

  redraw() {
    if (this.bench.state) this.draw(this.bench.state);
  }
}

/** Wait for a replay to end; its verdict. */
export async function replayVerdict(run) {
  for (;;) {
    const answer = await get(`runs/${run}/replay`);
    if (answer.verdict) return answer.verdict;
    await new Promise((resolve) => setTimeout(resolve, REPLAY_MS));
  }
}

/** The words of a run's line. `pane` may lack everything but determinism. */
export function provenance(run, pane, owner, router) {
  const signed = run.artifacts.find((artifact) => artifact.record !== null);
  const wall = run.metrics.find((metric) => metric.name === "wall_seconds");
  const words = [];
  if (run.partial || run.state !== "done") {
    const how = { cancelled: "stopped by you", interrupted: "interrupted when the studio closed", failed: "failed" }[run.state] ?? "";
    if (run.artifacts.length) words.push(h("span", { class: "sample" }, "partial"));
    words.push(h("span", {}, [how + (pane.pass ? ` at pass ${pane.pass}` : ""), wall ? seconds(wall.value) : ""].filter(Boolean).join(", ")));
  }
  if (signed) {
    words.push(h("span", {}, "Signed"), h("code", { title: `sha256 ${signed.digest}` }, `sha256 ${digest(signed.digest)}`));
    words.push(button("Verify", () => router.go("verify", { artifact: signed.id }), { class: "dp-link" }));
  }
  const replayed = owner?.replays.get(run.id);
  if (run.state === "done" && owner) {
    words.push(button("Replay", () => owner.replay(run), { class: "dp-link", title: "Run it again and compare" }));
  }
  if (replayed) words.push(h("span", { class: replayed.bad ? "bad" : "replayed" }, replayed.words));
  else if (run.state === "done" && pane.determinism) words.push(h("span", { class: "note" }, pane.determinism));
  if (pane.stale) words.push(h("span", { class: "sample", title: "The controls changed since this output was made" }, "settings changed since"));
  return words;
}
