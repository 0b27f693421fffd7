/** One pane's output slot: the frame around its view, and the words for every state a run can be in. */

import { button, h, inside, replace, setText } from "./dom.js";
import { bytes, ordinal, plural, seconds } from "./format.js";
import { get, post } from "./net.js";
import { faultBox } from "./faults.js";
import { plainView } from "./plain_view.js";
import { spoken } from "../views/faithful.js";

const LETTERS = "ABCD";
const CHALLENGERS = ["s1", "s2", "s3"];
const FINAL = ["done", "failed", "cancelled", "interrupted"];

/** The baseline is grey; challengers take blue, vermilion, purple in their order. */
export function colorOf(letter, letters, baseline) {
  if (letter === baseline) return "base";
  return CHALLENGERS[letters.filter((one) => one !== baseline).indexOf(letter)] ?? "s1";
}

/** The artifacts of a final run with their text or JSON; kept, because they never change. */
export async function loadArtifacts(artifacts, cache) {
  return Promise.all(
    artifacts.map(async (artifact) => {
      if (!/^(text\/|application\/json)/.test(artifact.media_type)) return { ...artifact, json: null, text: null };
      if (!cache.has(artifact.id)) cache.set(artifact.id, await get(`artifacts/${artifact.id}/json`));
      const content = cache.get(artifact.id);
      return { ...artifact, json: content.json ?? null, text: content.text ?? null };
    }),
  );
}

const contents = new Map();

export class Pane {
  constructor(bench, letter, slot) {
    this.bench = bench;
    this.letter = letter;
    this.slot = slot;
    this.bar = h("div", { class: "run", hidden: true }, h("i", {}));
    this.box = h("div", { class: "dp-state", hidden: true });
    this.view = h("div", { class: "dp-view", dataset: { pane: letter }, hidden: true });
    this.line = h("div", { class: "dp-line", hidden: true });
    this.notes = h("ul", { class: "dp-notes", hidden: true });
    replace(inside(slot), this.bar, this.box, this.view, this.line, this.notes);
    this.boxKey = "";
    this.shown = null;
    this.fed = 0;
    this.finished = "";
    this.mounted = "";
  }

  draw(pane, state) {
    this.info = this.bench.info(this.letter);
    this.drawHead(pane, state);
    const run = state.runs.find((one) => one.id === state.shown[this.letter]) ?? null;
    const own = state.runs.filter((one) => one.pane === this.letter);
    this.mount(pane, run);
    this.feed(run);
    this.drawState(pane, run, own, state);
    this.drawNotes(run);
  }

  // head ------------------------------------------------------------------------------------------------------------

  drawHead(pane, state) {
    const { bench, letter } = this;
    const key = bench.el("key", letter);
    if (key) {
      const wanted = `key ${this.info.color === "base" ? "" : this.info.color}`.trim();
      if (inside(key).firstElementChild?.className !== wanted) replace(inside(key), h("span", { class: wanted }, letter));
    }
    const mark = bench.el("mark", letter);
    const card = bench.card(pane.method);
    if (mark) {
      const words = [pane.baseline ? "baseline" : "", pane.pocket ? "" : ""].filter(Boolean).join(", ");
      const remove = bench.letters.length > 2 || (bench.letters.length === 2 && letter !== "A");
      const wanted = `${words}|${remove}|${card?.key}`;
      if (inside(mark).dataset.key !== wanted) {
        inside(mark).dataset.key = wanted;
        const away = h("button", { type: "button", class: "dp-link note", style: { "font-size": "var(--t1)" }, "aria-label": `Remove pane ${letter}`, on: { click: () => bench.el("remove-" + letter)?.click() } }, "remove");
        replace(inside(mark), words ? h("span", { class: "note" }, words) : "", h("span", { class: "dp-gap" }), remove ? away : "");
        const title = [card?.summary, card && `${card.paper.title} (${card.paper.year})`, card?.limits && `Limits: ${card.limits}`].filter(Boolean).join("\n");
        bench.el(letter, "method")?.setAttribute("title", title);
      }
    }
    const does = bench.el("does", letter);
    if (does) {
      if (!inside(does).firstElementChild) replace(inside(does), h("button", { type: "button", class: "does", title: "Change these settings", on: { click: () => bench.settings.reveal(letter) } }));
      setText(inside(does).firstElementChild, pane.sentence);
      inside(does).firstElementChild.title = `${pane.sentence}. Change these settings.`;
    }
    this.drawRunButton(state);
  }

  /** Stop stands where Run stood. A button left behind by another layout of the row is thrown away. */
  drawRunButton(state) {
    const run = this.bench.el(this.letter, "run");
    if (!run) return;
    const open = state.runs.filter((one) => one.pane === this.letter && !FINAL.includes(one.state));
    if (run.nextElementSibling !== this.stopButton || !this.stopButton) {
      for (const old of run.parentElement.querySelectorAll(".dp-stop")) old.remove();
      this.stopButton = button("Stop pane", () => this.stopRuns(), { class: "btn sm dp-stop" });
      run.after(this.stopButton);
    }
    const waiting = open.length > 0 && open.every((one) => one.state === "queued");
    setText(this.stopButton, waiting ? "Cancel" : "Stop pane");
    this.stopButton.hidden = open.length === 0;
    run.classList.toggle("dp-off", open.length > 0);
    this.open = open;
  }

  async stopRuns() {
    for (const run of [...this.open].sort((a, b) => (a.state === "running") - (b.state === "running"))) await post(`runs/${run.id}/cancel`);
    dispatchEvent(new Event("diptych:touch"));
  }

  // output ----------------------------------------------------------------------------------------------------------

  viewer(pane) {
    const outputs = this.bench.card(pane.method)?.outputs ?? [];
    const kind = outputs.find((one) => window.diptych.views[one]) ?? "";
    this.view.dataset.kind = kind || outputs[0] || "";
    return window.diptych.views[kind] ?? plainView;
  }

  mount(pane, run) {
    const viewer = this.viewer(pane);
    if (this.mounted !== this.view.dataset.kind) {
      replace(this.view);
      viewer.mount(this.view, this.info);
      this.mounted = this.view.dataset.kind;
      this.shown = run?.id ?? null;
      this.method = pane.method;
    } else if (this.shown !== (run?.id ?? null)) {
      viewer.reset(this.view, this.info);
      this.shown = run?.id ?? null;
    } else return;
    this.fed = 0;
    this.finished = "";
    this.current = viewer;
  }

  feed(run) {
    if (!run) return;
    const log = this.bench.logs.get(run.id);
    const fresh = log.events.slice(this.fed);
    if (fresh.length) {
      this.fed = log.events.length;
      this.current.update(this.view, run, fresh);
    }
    if (FINAL.includes(run.state) && this.finished !== run.id) {
      this.finished = run.id;
      const viewer = this.current;
      loadArtifacts(run.artifacts, contents)
        .then((artifacts) => this.shown === run.id && viewer.finish(this.view, run, artifacts))
        .catch((error) => console.error(error));
    }
  }

  /** The pass a view stands at, for the words of a stopped run; undefined where a view has none. */
  pass() {
    return this.shown ? this.current?.outlook?.(this.view)?.pass : undefined;
  }

  // states ----------------------------------------------------------------------------------------------------------

  drawState(pane, run, own, state) {
    const live = own.find((one) => one.state === "running") ?? null;
    const running = run?.state === "running";
    const progress = live ? this.progress(live) : null;
    this.bar.hidden = !live;
    if (live) {
      this.bar.classList.toggle("unknown", progress.share === null);
      this.bar.firstElementChild.style.width = progress.share === null ? "" : `${Math.round(progress.share * 100)}%`;
    }
    const hasOutput = run !== null && (this.fed > 0 || FINAL.includes(run.state)) && !(run.state === "failed" && !run.artifacts.length && !this.fed);
    this.view.hidden = !hasOutput;
    this.line.hidden = !live;
    if (live) replace(this.line, h("b", {}, progress.words), progress.times ? h("span", {}, progress.times) : "", this.repeatWords(live, state));
    const box = this.stateBox(pane, run, live, running, state);
    this.box.hidden = !box;
    if (box && box.key !== this.boxKey) replace(this.box, box.make());
    this.boxKey = box?.key ?? "";
  }

  stateBox(pane, run, live, running, state) {
    if (run?.state === "failed") return { key: `failed ${run.id}`, make: () => this.failedBox(run) };
    if (!run && !pane.here) return { key: `absent ${pane.checkpoint} ${pane.why}`, make: () => this.absentBox(pane) };
    if (!run) return { key: `empty ${pane.typical_seconds} ${pane.memory_bytes} ${pane.fits} ${this.bench.letters.length} ${state.example}`, make: () => this.emptyBox(pane, state) };
    if (live?.purpose === "warmup") return { key: "warmup", make: () => h("div", { class: "blank" }, h("b", {}, "Warming up"), "Loading the weights and the first passes are not counted; the measured run follows.") };
    if (run.state === "queued" && !this.fed) {
      const ahead = state.runs.find((one) => one.state === "running");
      return { key: `queued ${run.position} ${ahead?.pane} ${ahead?.purpose} ${Math.round(run.eta_seconds ?? -1)}`, make: () => this.waitingBox(run, ahead) };
    }
    if (running && !this.fed) return { key: "starting", make: () => h("div", { class: "blank" }, h("b", {}, "Starting"), "The first output appears here.") };
    if (FINAL.includes(run.state) && run.state !== "done" && !run.artifacts.length) {
      return { key: `ended ${run.id}`, make: () => h("div", { class: "blank" }, h("b", {}, this.endedWords(run)), "It had made nothing yet.") };
    }
    return null;
  }

  /** The weights are not on this machine: say what is missing before a run fails for it. */
  absentBox(pane) {
    const open = button("Open Models", () => this.bench.router.go("models"), { class: "btn" });
    return h("div", { class: "blank" }, h("b", {}, "These weights are not here"), `${pane.why} Pull them, or choose another checkpoint.`, h("div", { class: "acts" }, open));
  }

  emptyBox(pane, state) {
    const time = pane.typical_seconds ? `About ${seconds(pane.typical_seconds)}` : "";
    const memory = pane.memory_bytes ? `${time ? " and " : "About "}${bytes(pane.memory_bytes)}` : "";
    const cost = time || memory ? ` ${time}${memory} on this machine.` : "";
    const tight = pane.fits ? "" : ` That is more than is free now: ${bytes(pane.memory_free)}.`;
    const point = this.bench.card(state.example.split("/")[0])?.examples[state.example] ?? "";
    const first = this.letter === "A" ? (state.example ? `The example is filled in. ${point}` : "The input above is read as it stands.") : "It runs after the pane before it, on the same input.";
    const acts = this.letter === (this.bench.letters[1] ?? "A") ? h("div", { class: "acts" }, h("button", { type: "button", class: "btn go", on: { click: () => this.bench.run() } }, "Run all")) : "";
    return h("div", { class: "blank" }, h("b", {}, "Nothing run yet"), first + cost + tight, acts);
  }

  waitingBox(run, ahead) {
    const place = run.position ?? 1;
    const after = ahead ? (ahead.purpose === "warmup" ? `Pane ${ahead.pane} warms up now, so that loading is not counted.` : ahead.pane && ahead.pane !== this.letter ? `Pane ${ahead.pane} runs now: one at a time, so that costs are fair.` : "") : "";
    const starts = run.eta_seconds ? `Starts in about ${seconds(run.eta_seconds)}` : "";
    const takes = run.typical_seconds ? `${starts ? ", then takes" : "Takes"} about ${seconds(run.typical_seconds)}` : "";
    const front = place > 1 && !ahead ? h("div", { class: "acts" }, button("Move to front", () => this.toFront(run), { class: "btn" })) : "";
    return h("div", { class: "blank" }, h("b", {}, `${ordinal(place)} in line`), [after, starts || takes ? `${starts}${takes}.` : "", "You may close this tab."].filter(Boolean).join(" "), front);
  }

  async toFront(run) {
    await post(`runs/${run.id}/move`, { to: 1 });
    dispatchEvent(new Event("diptych:touch"));
  }

  failedBox(run) {
    const fault = run.fault ?? { what: "The run failed.", why: "", next_step: "Run it again." };
    const kept = run.artifacts.length ? `${plural(run.artifacts.length, "output is", "outputs are")} kept, marked partial.` : "";
    const others = this.bench.letters.length > 1 ? "The other panes are not affected." : "";
    const again = fault.field && fault.suggestion !== null && fault.suggestion !== undefined;
    const label = again ? `Run again with ${this.bench.settings.labelOf(fault.field).toLowerCase()} ${fault.suggestion}` : "Run again";
    const press = () => {
      if (again) this.bench.faults.use(this.letter, fault);
      setTimeout(() => this.bench.runPane(this.letter), again ? 350 : 0);
    };
    return faultBox(fault, { more: [kept, others], actions: [button(label, press)] });
  }

  endedWords(run) {
    return { cancelled: "Stopped by you", interrupted: "Interrupted when the studio closed", failed: "Failed" }[run.state] ?? "";
  }

  // progress --------------------------------------------------------------------------------------------------------

  progress(run) {
    const log = this.bench.logs.get(run.id);
    const last = log.events.findLast?.((event) => event.type === "progress") ?? null;
    const outlook = this.shown === run.id ? this.current?.outlook?.(this.view) ?? null : null;
    const at = log.events.at(-1)?.at ?? 0;
    const warm = run.purpose === "warmup" ? "warm-up: " : "";
    if (!last || (last.phase === "load" && !outlook)) return { share: null, words: `${warm}${last ? "loading the weights" : "starting"}`, times: at ? `${seconds(at)} so far` : "" };
    const step = outlook?.pass ?? last.step;
    const total = outlook?.total ?? last.total;
    const unit = last.phase === "decode" || outlook ? "pass" : last.phase;
    const share = total ? Math.min(1, step / total) : null;
    const left = share ? (at * (1 - share)) / share : run.typical_seconds ? Math.max(0, run.typical_seconds - at) : null;
    const words = total ? `${warm}${unit} ${step} of ${outlook?.about ? "about " : ""}${total}` : `${warm}${unit} ${step}`;
    return { share, words, times: `${seconds(at)} so far${left !== null && left > 0.05 ? `, ${seconds(left)} left` : ""}` };
  }

  repeatWords(run, state) {
    return state.repeats > 1 && run.purpose === "run" ? h("span", { class: "note" }, `repeat ${run.repeat + 1} of ${state.repeats}`) : "";
  }

  drawNotes(run) {
    const notes = run ? (run.notes.length ? run.notes : this.bench.logs.get(run.id).events.filter((event) => event.type === "note")) : [];
    const key = notes.map((note) => note.text).join("\n");
    this.notes.hidden = !key;
    if (this.notes.dataset.key === key) return;
    this.notes.dataset.key = key;
    replace(this.notes, [...new Map(notes.map((note) => [note.text, note])).values()].map((note) => h("li", { class: note.level }, spoken(note.text, 600))));
  }
}

export { FINAL, LETTERS };
