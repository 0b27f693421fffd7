import { h } from "./dom.js";
export class Models { constructor() { this.el = h("div", { class: "plate" }, "models"); } show() {} }
