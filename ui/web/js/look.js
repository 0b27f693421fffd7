import { h } from "./dom.js";
export class Look { constructor() { this.el = h("div", { class: "plate" }, "look"); } show() {} }
