/** Verify: the file as it lies here and the record as it was signed, on two leaves; what that covers and what it does not prove. */

import { button, h, replace, svg } from "./dom.js";
import { bytes, moment, number, shown } from "./format.js";
import { get, post, Refused, upload } from "./net.js";
import { faultBox } from "./faults.js";
import { replayVerdict } from "./foot.js";
import { spoken } from "../views/faithful.js";

const DETERMINISM = { bit_exact: "promised bit for bit on the same device", tolerance: "promised within a tolerance on the same device", none: "not promised" };

export class Verify {
  constructor(known, router) {
    this.known = known;
    this.router = router;
    this.input = h("input", { type: "file", multiple: true, hidden: true, on: { change: () => this.send([...this.input.files]) } });
    const icon = svg("svg", { width: 22, height: 24, viewBox: "0 0 22 24", fill: "none", stroke: "var(--ink-2)", "stroke-width": 1.8, "aria-hidden": "true" }, svg("path", { d: "M3 1.5h10l6 6v15H3zM13 1.5v6h6M11 19v-8m-3.5 3L11 10.5l3.5 3.5" }));
    this.drop = h("div", { class: "drop" }, icon, h("span", {}, h("b", {}, "Drop any exported file here"), ", or its record, or both. Nothing leaves this machine, and nothing you have set is changed."), h("span", { class: "dp-gap" }), h("button", { type: "button", class: "btn", on: { click: () => this.input.click() } }, "Choose…"), this.input);
    this.out = h("div", {});
    this.el = h("div", { class: "plate" }, h("div", { style: { padding: "14px 20px 16px", "border-bottom": "1px solid var(--rule)" } }, this.drop), this.out);
    this.listen();
    this.empty();
  }

  listen() {
    const over = (on) => (event) => {
      if (![...(event.dataTransfer?.types ?? [])].includes("Files")) return;
      event.preventDefault();
      this.drop.classList.toggle("over", on);
    };
    for (const target of [this.el]) {
      target.addEventListener("dragover", over(true));
      target.addEventListener("dragleave", over(false));
      target.addEventListener("drop", (event) => {
        over(false)(event);
        this.send([...event.dataTransfer.files]);
      });
    }
    // Dropped anywhere else on the page, a file must not replace the page.
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      if (event.dataTransfer?.files.length && !this.el.isConnected) {
        const files = [...event.dataTransfer.files];
        this.router.go("verify");
        this.send(files);
      }
    });
  }

  show(place) {
    const artifact = place.query?.get("artifact");
    if (artifact && /^[0-9a-f]{32}$/.test(artifact)) this.ask(() => get(`verify/artifact/${artifact}`).then((report) => ({ reports: [report] })));
  }

  empty() {
    const box = h("div", { class: "dp-empty" }, h("b", {}, "Nothing looked at yet"), "Every export carries its signed record beside it, named like the file and ending in .intoto.json.");
    replace(this.out, box);
    this.chain(box);
  }

  /** How the whole log stands, under the empty drop zone. */
  async chain(box) {
    try {
      const report = await get("chain");
      box.append(h("p", { class: "cap" }, report.sentence));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }

  send(files) {
    if (files.length) this.ask(() => upload("verify", files.slice(0, 4)));
    this.input.value = "";
  }

  async ask(work) {
    replace(this.out, h("div", { class: "dp-empty" }, h("b", {}, "Reading…")));
    try {
      const { reports } = await work();
      replace(this.out, reports.map((report) => this.report(report)));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      replace(this.out, h("div", { style: { padding: "20px" } }, faultBox(error.fault)));
    }
  }

  report(report) {
    const bad = !report.valid && report.verdict !== "no record";
    return h("div", {}, this.leaves(report), h("div", { class: `verdict dp-say ${bad ? "bad" : ""}` }, h("b", {}, headline(report)), h("span", {}, meaning(report))), report.record ? [this.claims(report), this.settings(report)] : "");
  }

  leaves(report) {
    const file = [["name", spoken(report.name, 120)], ["size", bytes(report.bytes)], ["digest, now", code(report.digest_now)], ["record found", report.found ? { sidecar: "beside the file", "inside the file": "inside the file", history: "in this studio's history, by the file's digest" }[report.found] ?? report.found : "nowhere"]];
    const record = report.record ? [["signed", `${report.signed ? moment(report.signed) : "at an unknown time"}, by ${report.key_here ? "this installation" : report.key_met ? "an installation you have met" : "an installation you have not met"}`], ["key", code(`ed25519 ${report.key}`)], ["digest, then", code(report.digest_signed)], ["method", `${report.method_title || report.method} on ${report.checkpoint}, seed ${report.seed ?? "–"}`], ["replay", this.replay(report)]] : [["record", "none"]];
    const pin = report.valid ? h("span", { class: "pin on" }, "=") : report.verdict === "no record" ? h("span", { class: "pin" }, "?") : h("span", { class: "pin bad" }, "≠");
    const raw = report.statement ? button("Show all of it", (event) => this.showRaw(event, report), { class: "dp-link note" }) : "";
    const peek = report.text ? h("pre", { class: "dp-peek", "aria-label": "Beginning of the file" }, report.text.slice(0, 900)) : "";
    return h("div", { class: "dp-two" }, h("article", { class: "l" }, h("div", { class: "dp-ph" }, h("span", { class: "name" }, "The file"), h("span", { class: "note" }, "as it lies here now")), peek ? h("div", { class: "dp-file" }, peek, facts(file)) : facts(file)),
      h("div", { class: "dp-hinge" }, pin), h("article", { class: "r" }, h("div", { class: "dp-ph" }, h("span", { class: "name" }, "The record"), h("span", { class: "note" }, "what was signed"), h("span", { class: "gap" }), raw), facts(record)));
  }

  replay(report) {
    const words = h("span", {}, DETERMINISM[report.determinism] ?? report.determinism);
    if (!report.run || !report.artifact || !report.method_here) return words;
    const go = button("replay", async () => {
      go.disabled = true;
      go.textContent = "replaying…";
      try {
        const { run } = await post(`runs/${report.run}/replay`);
        go.replaceWith(h("b", {}, (await replayVerdict(run)).sentence));
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        go.replaceWith(h("b", { class: "dp-badge" }, error.message));
      }
    }, { class: "dp-link" });
    return h("span", {}, words, "; ", go);
  }

  showRaw(event, report) {
    const holder = event.currentTarget.closest(".dp-two");
    const next = holder.nextElementSibling;
    if (next?.classList.contains("dp-raw")) next.remove();
    else holder.after(h("pre", { class: "dp-raw" }, JSON.stringify(report.statement, null, 2)));
  }

  claims(report) {
    const list = (words, mark, sign) => h("ul", { class: "li" }, words.map((text) => h("li", {}, h("i", { class: `mk ${mark}`, "aria-hidden": "true" }, sign), h("span", {}, text))));
    const place = report.sequence === null ? "" : h("div", { class: "links" }, chainLinks(report.sequence));
    const partial = report.partial ? h("p", { class: "cap" }, h("span", { class: "sample" }, "partial"), " the run had not finished when this was kept") : "";
    return [h("div", { class: "duo3" }, h("section", {}, h("h2", {}, "What the signature covers"), h("p", {}, "any change to one of these breaks it"), list(report.covers, "ok", "✓"), partial), h("section", {}, h("h2", {}, "What it does not prove"), h("p", {}, "no record can"), list(report.does_not_prove, "na", "–"))),
      h("div", { class: "duo3" }, h("section", {}, h("h2", {}, "Place in the chain"), h("p", {}, report.chain || "this studio's log does not hold it"), place), h("section", {}, h("h2", {}, "Came from"), h("p", {}, report.parents.length ? "earlier runs it repeats or builds on" : "no earlier run"), list(report.parents.map((parent) => parent.slice(0, 12)), "na", "–")))];
  }

  settings(report) {
    const label = (name) => report.labels[name] ?? name.replaceAll("_", " ");
    const rows = [...Object.entries(report.inputs).map(([name, value]) => [label(name), typeof value === "string" ? spoken(value, 160) : shown(value)]), ["Seed", report.seed === null ? "–" : String(report.seed)], ...Object.entries(report.settings).map(([name, value]) => [label(name), shown(value)]), ...report.withheld.map((name) => [label(name), "held back; the record has its digest"])];
    const third = Math.ceil(rows.length / 3);
    const columns = [rows.slice(0, third), rows.slice(third, 2 * third), rows.slice(2 * third)].filter((part) => part.length);
    const use = report.method_here && report.tab ? button("Use these", () => this.use(report), { class: "btn go" }) : h("span", { class: "note" }, "its method is not installed here");
    return [h("div", { class: "head" }, h("h2", {}, "Settings in this record"), h("span", { class: "note" }, "read-only; your own stay as they are until you choose"), h("span", { class: "gap" }), use), h("div", { class: "duo3 three" }, columns.map(facts))];
  }

  async use(report) {
    const runs = (report.runs.length ? report.runs : [report]).filter((run) => run.tab === report.tab).slice(0, 4);
    await takeOver(this.out, report.tab, { panes: runs.map((run, place) => ({ pane: "ABCD"[place], method: run.method, checkpoint: run.checkpoint, settings: run.settings })), inputs: report.inputs, seed: report.seed }, this.router);
  }
}

/** Put settings into the controls of a tab and go there; what cannot be taken over is said on top of `place`. */
export async function takeOver(place, tab, body, router) {
  try {
    await post(`bench/${tab}/use`, body);
    router.go(tab);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    place.prepend(h("div", { style: { padding: "14px 20px" } }, faultBox(error.fault)));
    scrollTo(0, 0);
  }
}

function headline(report) {
  const words = { "signed here": "Signed here, and unchanged since.", "signed by another key": "Signed by another installation, and unchanged since.", "file changed": "The file was changed.", "no record": "No record." }[report.verdict];
  return words ?? `${report.verdict[0].toUpperCase()}${report.verdict.slice(1)}.`;
}

/** What the verdict means, unless the headline says it already. */
function meaning(report) {
  if (report.sentence !== headline(report)) return report.sentence;
  const chain = report.sequence === null || !report.chain ? "" : "; the record stands in its place in the chain";
  return `File and record agree; the signature holds${chain}.`;
}

function code(text) {
  return h("code", {}, text && text.length === 64 ? `sha256 ${text.slice(0, 16)} … ${text.slice(-8)}` : text || "–");
}

function facts(rows) {
  return h("dl", { class: "facts" }, rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value instanceof Node ? value : String(value))]));
}

/** 1 ┄ 840 ─ 841 ─ [842] ─ 843. */
function chainLinks(sequence) {
  const near = [sequence - 2, sequence - 1, sequence].filter((one) => one >= 1);
  const links = near[0] > 1 ? [h("span", {}, "1"), h("s", { class: "o" })] : [];
  near.forEach((one, place) => links.push(place ? h("s") : "", h("span", { class: one === sequence ? "on" : "" }, number(one))));
  return links;
}

