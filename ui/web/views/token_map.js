/**
 * The map of a text longer than its pane: a strip with one dash a line in the shade of its last pass, a brass frame around
 * what is in view. Pointing at it jumps there.
 *
 * It deliberately stays away while the text is not at least half as long again as its pane.
 */

import { h } from "../js/dom.js";
import { topOf } from "./token_text.js";
import { shade } from "./trace.js";

const SCREENS = 1.5;
const WIDTH = 11;

export class TokenMap {
  /** @param {import("./token_text.js").TokenText} text */
  constructor(text) {
    this.text = text;
    this.canvas = h("canvas", { width: String(WIDTH), height: "10" });
    this.frame = h("i", {});
    this.root = h("div", { class: "dp-map", hidden: true, "aria-hidden": "true" }, this.canvas, this.frame);
    this.drawn = "";
    const jump = (event) => {
      const box = this.root.getBoundingClientRect();
      const share = (event.clientY - box.top) / box.height;
      text.box.scrollTop = share * text.box.scrollHeight - text.box.clientHeight / 2;
    };
    this.root.addEventListener("pointerdown", (event) => {
      this.root.setPointerCapture(event.pointerId);
      jump(event);
    });
    this.root.addEventListener("pointermove", (event) => event.buttons & 1 && jump(event));
  }

  /** @param {import("./trace.js").TraceModel} model */
  sync(model) {
    const box = this.text.box;
    const needed = model.finished && box.scrollHeight > SCREENS * box.clientHeight;
    this.root.hidden = !needed;
    if (!needed) return;
    const key = [model.lastPass, box.scrollHeight, box.clientHeight, getComputedStyle(box).getPropertyValue("--q1")].join();
    if (key !== this.drawn) {
      this.drawn = key;
      this.draw(model);
    }
    this.follow();
  }

  draw(model) {
    const box = this.text.box;
    const height = box.clientHeight;
    const style = getComputedStyle(box);
    this.canvas.height = height * 2;
    this.canvas.width = WIDTH * 2;
    const pen = this.canvas.getContext("2d");
    pen.scale(2, 2);
    const unit = height / box.scrollHeight;
    const lines = new Map();
    this.text.cells.forEach((cell, position) => {
      const token = model.tokens[position];
      const top = topOf(cell);
      const line = lines.get(top) ?? { left: cell.offsetLeft, right: 0, pass: 0, height: cell.offsetHeight };
      line.right = Math.max(line.right, cell.offsetLeft + cell.offsetWidth);
      line.pass = Math.max(line.pass, token?.pass ?? 0);
      lines.set(top, line);
    });
    for (const [top, line] of lines) {
      pen.fillStyle = line.pass ? style.getPropertyValue(`--q${shade(line.pass, model.totalPasses)}`) : style.getPropertyValue("--edge");
      const width = ((WIDTH - 3) * Math.min(line.right, box.clientWidth)) / box.clientWidth;
      pen.fillRect(1.5, top * unit, Math.max(1, width), Math.max(0.75, line.height * unit));
    }
  }

  /** Move the frame to what is in view. */
  follow() {
    if (this.root.hidden) return;
    const box = this.text.box;
    this.frame.style.top = `${(100 * box.scrollTop) / box.scrollHeight}%`;
    this.frame.style.height = `${(100 * box.clientHeight) / box.scrollHeight}%`;
  }
}
