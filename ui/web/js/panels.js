/** The panels beside the bench; each is made when it is opened first. */

import { h } from "./dom.js";
import { History } from "./history.js";
import { Models } from "./models.js";
import { Verify } from "./verify.js";
import { Look } from "./look.js";

export class Panels {
  constructor(known, router, watch) {
    this.root = h("main", { class: "dp-own dp-wrap", id: "dp-panel", hidden: true });
    document.body.append(this.root);
    this.makers = { history: () => new History(known, router), models: () => new Models(known), verify: () => new Verify(known, router), look: () => new Look(known, router) };
    this.made = new Map();
    this.open = null;
    this.watch = watch;
  }

  show(place) {
    const key = place.kind === "panel" ? place.key : place.kind === "look" ? "look" : null;
    this.root.hidden = key === null;
    this.open?.hide?.();
    this.open = null;
    if (key === null) return;
    if (!this.made.has(key)) this.made.set(key, this.makers[key]());
    this.open = this.made.get(key);
    this.root.replaceChildren(this.open.el);
    this.open.show(place);
  }
}
