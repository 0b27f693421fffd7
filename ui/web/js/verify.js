import { h } from "./dom.js";
export class Verify { constructor() { this.el = h("div", { class: "plate" }, "verify"); } show() {} }
