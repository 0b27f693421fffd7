import { h } from "./dom.js";
export class History { constructor() { this.el = h("div", { class: "plate" }, "history"); } show() {} }
