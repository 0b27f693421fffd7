/** History: search, filters, stars, tags and notes, a table with thumbnails, a contact sheet, and the compare tray. */

import { button, h, replace, setText } from "./dom.js";
import { moment, number, plural, seconds } from "./format.js";
import { get, post, Refused } from "./net.js";
import { QueueView } from "./queue.js";
import { Tray } from "./tray.js";
import { spoken } from "../views/faithful.js";

const TITLES = { all: "All", text: "Text", image: "Image", shape: "3D / 4D", molecule: "Molecule", figure: "Figure", code: "Code", solve: "Solve", starred: "Starred", partial: "Partial", failed: "Failed" };
const ENDED = { done: "done", failed: "failed", cancelled: "stopped", interrupted: "interrupted", queued: "waiting", running: "running" };
const PICKED_AT_MOST = 4;

export class History {
  constructor(known, router) {
    this.known = known;
    this.router = router;
    this.filter = "all";
    this.method = "";
    this.pages = [null];
    this.picked = new Map();
    this.thumbs = new Map();
    this.search = h("input", { class: "field", type: "search", "aria-label": "Search runs", placeholder: "Search words, settings, methods, tags, notes", on: { input: () => this.soon() } });
    this.views = h("span", { class: "seg wide" }, this.viewButton("Table and sheet", true), this.viewButton("Sheet", false));
    this.chips = h("div", { class: "find chips" });
    this.methods = h("select", { class: "sel small", "aria-label": "Method", on: { change: () => this.setMethod() } }, h("option", { value: "" }, "Every method"), known.cards.map((card) => h("option", { value: card.key }, card.title)));
    this.queue = new QueueView();
    this.body = h("tbody");
    this.table = h("div", { class: "scrollx" }, h("table", {}, h("thead", {}, h("tr", {}, h("th"), h("th"), h("th", {}, "Run"), h("th", { class: "wide" }, "What was set"), h("th", {}, "Result"), h("th", { class: "wide" }, "State"), h("th", { class: "n wide" }, "Record"), h("th", { class: "n wide" }, "Made"), h("th", {}, h("span", { class: "dp-hidden" }, "Star")))), this.body));
    this.tray = new Tray(this, router);
    this.cols = h("div", { class: "cols" }, this.table, this.tray.el);
    this.count = h("span", { class: "note" });
    this.newer = button("Newer", () => this.turn(-1));
    this.older = button("Older", () => this.turn(1));
    this.sheet = h("div", { class: "sheet" });
    this.none = h("div", { class: "dp-empty", hidden: true });
    const drop = h("button", { type: "button", class: "btn", on: { click: () => router.go("verify") } }, "Drop a file to read its record…");
    this.el = h("div", { class: "plate" }, h("div", { class: "find" }, this.search, this.views, drop), this.chips, this.queue.el, this.none, this.cols,
      h("div", { class: "head" }, h("h2", {}, "Contact sheet"), h("span", { class: "note" }, "tick any two to four"), h("span", { class: "gap" }), this.count, this.newer, this.older), this.sheet);
  }

  viewButton(words, both) {
    return h("button", { type: "button", "aria-pressed": String(both), on: { click: (event) => {
      for (const one of this.views.children) one.setAttribute("aria-pressed", String(one === event.currentTarget));
      this.cols.hidden = !both;
    } } }, words);
  }

  show(place) {
    this.queue.start(() => this.load());
    this.pages = [null];
    this.load();
    if (place.query?.get("find")) this.search.focus();
  }

  hide() {
    this.queue.stop();
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.first(), 160);
  }

  first() {
    this.pages = [null];
    this.load();
  }

  setMethod() {
    this.method = this.methods.value;
    this.first();
  }

  query() {
    const query = new URLSearchParams({ text: this.search.value });
    const { filter } = this;
    if (filter === "starred") query.set("starred", "true");
    else if (filter === "partial" || filter === "failed") query.set("state", filter);
    else if (filter !== "all") query.set("tab", filter);
    if (this.method) query.set("method", this.method);
    const before = this.pages.at(-1);
    if (before !== null) query.set("before", String(before));
    return query;
  }

  async load() {
    const asked = (this.asked = {});
    try {
      const page = await get(`history?${this.query()}`);
      if (asked !== this.asked) return;
      this.page = page;
      this.draw();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.none.hidden = false;
      replace(this.none, h("b", {}, error.fault.what), error.fault.next_step ?? "");
    }
  }

  draw() {
    const { runs, counts, total } = this.page;
    this.drawChips(counts);
    replace(this.body, runs.map((run) => this.row(run)));
    replace(this.sheet, runs.map((run) => this.tile(run)));
    this.none.hidden = runs.length > 0;
    this.cols.hidden = runs.length === 0 || this.views.lastElementChild.getAttribute("aria-pressed") === "true";
    replace(this.none, h("b", {}, this.search.value || this.filter !== "all" || this.method ? "Nothing fits" : "No run yet"), this.search.value ? "Try fewer words, or another filter." : "Open a tab and press Run all: every output is kept here with its record.");
    setText(this.count, total ? `${number(runs.length)} of ${number(total)}` : "");
    this.older.hidden = this.page.next_before === null;
    this.newer.hidden = this.pages.length === 1;
    this.tray.draw();
  }

  drawChips(counts) {
    const keys = ["all", ...this.known.tabs, "starred", "partial", "failed"].filter((key) => key === "all" || counts[key] || key === this.filter);
    replace(this.chips, keys.map((key) => h("button", { type: "button", class: "chip", "aria-pressed": String(key === this.filter), on: { click: () => this.choose(key) } }, `${TITLES[key] ?? key} ${number(counts[key] ?? 0)}`)), h("span", { class: "dp-gap wide" }), this.methods);
  }

  choose(key) {
    this.filter = key;
    this.first();
  }

  turn(direction) {
    if (direction > 0) this.pages.push(this.page.next_before);
    else this.pages.pop();
    this.load();
  }

  // rows ------------------------------------------------------------------------------------------------------------

  row(run) {
    const title = spoken(run.title || run.method_title, 90);
    const open = h("button", { type: "button", class: "dp-open", title, on: { click: () => this.look(run) } }, h("b", {}, title), h("small", {}, run.purpose === "sweep" ? `${run.method_title}, sweep cell` : run.pane && run.comparison ? `${run.method_title}, pane ${run.pane}` : run.method_title, run.purpose === "replay" ? ", replay" : ""));
    const tags = run.tags.map((tag) => h("span", { class: "tag" }, spoken(tag)));
    return h("tr", { class: this.picked.has(run.id) ? "on" : "", dataset: { run: run.id } },
      h("td", {}, this.tick(run, `Compare ${title}, ${moment(run.created)}`)), h("td", {}, this.thumb(run)), h("td", {}, open, tags, run.note ? h("small", {}, spoken(run.note, 120)) : ""),
      h("td", { class: "wide dp-set" }, h("span", { title: run.sentence }, run.sentence)), h("td", {}, this.result(run)), h("td", { class: "wide" }, run.partial ? `${ENDED[run.state]}, partial` : ENDED[run.state]),
      h("td", { class: "n wide" }, this.record(run)), h("td", { class: "n wide" }, moment(run.created)), h("td", {}, this.star(run)));
  }

  tick(run, label) {
    return h("input", { type: "checkbox", "aria-label": label, checked: this.picked.has(run.id), on: { change: (event) => this.pick(run, event.target.checked) } });
  }

  pick(run, on) {
    if (on && this.picked.size >= PICKED_AT_MOST) this.picked.delete(this.picked.keys().next().value);
    if (on) this.picked.set(run.id, run);
    else this.picked.delete(run.id);
    for (const row of this.body.children) {
      const picked = this.picked.has(row.dataset.run);
      row.className = picked ? "on" : "";
      row.querySelector("input").checked = picked;
    }
    for (const tile of this.sheet.children) tile.querySelector("input").checked = this.picked.has(tile.dataset.run);
    this.tray.draw();
  }

  thumb(run) {
    const box = h("div", { class: "th", "aria-hidden": "true" });
    this.fillThumb(box, run);
    return box;
  }

  async fillThumb(box, run) {
    if (!run.artifacts) return;
    if (!this.thumbs.has(run.id)) this.thumbs.set(run.id, get(`runs/${run.id}/thumb`).catch(() => null));
    const thumb = await this.thumbs.get(run.id);
    if (thumb?.data && window.diptych.thumb) window.diptych.thumb(box, thumb);
  }

  tile(run) {
    const words = `${run.method_title}, ${moment(run.created)}`;
    return h("label", { dataset: { run: run.id } }, this.thumb(run), this.tick(run, `Compare ${words}`), h("span", { title: spoken(run.title, 120) }, words));
  }

  result(run) {
    if (run.state === "failed") return h("span", { class: "dp-badge" }, run.fault?.what ?? "failed");
    const find = (name) => run.metrics.find((metric) => metric.name === name);
    const wall = find("wall_seconds");
    const score = run.metrics.find((metric) => metric.sample_size);
    if (!wall) return "–";
    return [seconds(wall.value), score ? h("span", { class: "dp-score" }, `, ${number(score.value)} of ${number(score.sample_size)} right`) : ""];
  }

  record(run) {
    if (!run.artifact) return h("span", { class: "note" }, run.state === "queued" || run.state === "running" ? "" : "none");
    return button("signed", () => this.router.go("verify", { artifact: run.artifact }), { class: "dp-link" });
  }

  star(run) {
    return h("button", { type: "button", class: "star", "aria-pressed": String(run.starred), "aria-label": `Star ${spoken(run.title || run.method_title, 90)}`, on: { click: async (event) => {
      const target = event.currentTarget;
      run.starred = (await post(`runs/${run.id}/star`, { starred: !run.starred })).starred;
      target.setAttribute("aria-pressed", String(run.starred));
      target.textContent = run.starred ? "★" : "☆";
    } } }, run.starred ? "★" : "☆");
  }

  look(run) {
    if (run.comparison) this.router.look("comparison", [run.comparison]);
    else this.router.look("run", [run.id]);
  }

  async remove(runs) {
    const words = plural(runs.length, "run");
    const dialog = h("dialog", { class: "dp-own dp-dialog" }, h("h2", {}, `Delete ${words}?`), h("p", {}, "Their outputs are removed from this machine for good. Their signed records stay, so that the chain still holds; exported files can still be verified."),
      h("div", { class: "acts" }, button("Keep", () => dialog.close(), { class: "btn" }), button(`Delete ${words}`, async () => {
        await post("history/delete", { runs: runs.map((run) => run.id) });
        dialog.close();
        for (const run of runs) this.picked.delete(run.id);
        this.load();
      }, { class: "btn go" })));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }
}
