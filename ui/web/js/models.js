/** Models: what is here, what can be pulled, licence, bytes and memory; adding folders, pulling after asking, unloading. */

import { button, h, replace, setText } from "./dom.js";
import { bytes } from "./format.js";
import { get, post, Refused } from "./net.js";
import { faultBox } from "./faults.js";

const PULLING_MS = 700;
const IDLE_MS = 5000;

export class Models {
  constructor(known) {
    this.known = known;
    this.free = h("span", { class: "note" });
    this.body = h("tbody");
    this.said = h("div", {});
    this.el = h("section", { class: "plate" }, h("div", { class: "head", style: { border: 0 } }, h("h2", {}, "Models"), h("span", { class: "note" }, "licence, bytes and memory are shown before anything is pulled; no code comes with a model"), h("span", { class: "gap" }), this.free, button("Add a folder…", () => this.addFolder())), this.said,
      h("div", { class: "scrollx" }, h("table", { class: "mods" }, h("thead", {}, h("tr", {}, h("th", {}, "Model"), h("th", { class: "wide" }, "Where"), h("th", { class: "wide" }, "Licence"), h("th", { class: "n" }, "Bytes"), h("th", {}, "Memory needed"), h("th", { class: "wide" }, "Fits"), h("th", { class: "n" }, ""))), this.body)));
  }

  show() {
    this.on = true;
    this.ask();
  }

  hide() {
    this.on = false;
    clearTimeout(this.timer);
  }

  async ask() {
    clearTimeout(this.timer);
    if (!this.on) return;
    try {
      this.state = await get("models");
      this.draw();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      replace(this.said, faultBox(error.fault));
    }
    const pulling = this.state?.transfers.some((one) => !one.ended);
    this.timer = setTimeout(() => this.ask(), pulling ? PULLING_MS : IDLE_MS);
  }

  draw() {
    const { models, memory_free: free, memory_total: total, transfers } = this.state;
    setText(this.free, `${bytes(free)} of ${bytes(total)} memory free`);
    const groups = [...models].sort((a, b) => Number(b.here) - Number(a.here));
    replace(this.body, groups.map((model) => this.row(model, free, transfers.find((one) => one.method === model.method && one.checkpoint === model.key))));
  }

  row(model, free, transfer) {
    const share = Math.min(1, model.memory_bytes / Math.max(free, 1));
    const fits = model.fits ? "fits" : `does not fit: ${bytes(free)} is free`;
    const memory = [h("span", { class: `fit ${model.fits ? "" : "over"}`, "aria-hidden": "true" }, h("i", { style: { width: `${Math.max(3, Math.round(share * 100))}%` } })), bytes(model.memory_bytes)];
    return h("tr", {}, h("td", {}, h("b", {}, model.title), h("small", {}, `${model.method_title}${model.pocket ? ", ships with the program" : ""}${model.loaded ? ", loaded now" : ""}`)), h("td", { class: "wide" }, this.where(model, transfer)), h("td", { class: "wide" }, model.licence || "not stated"), h("td", { class: "n" }, bytes(model.bytes)), h("td", {}, memory), h("td", { class: "wide" }, fits), h("td", { class: "n" }, this.actions(model, transfer)));
  }

  where(model, transfer) {
    if (transfer && !transfer.ended) return transfer.total ? `${Math.floor((100 * transfer.done) / transfer.total)} % pulled` : "asking the hub…";
    if (transfer?.fault) return h("span", { class: "dp-badge", title: [transfer.fault.why, transfer.fault.next_step].join(" ") }, transfer.fault.what);
    return model.here ? model.why || "here" : model.why;
  }

  actions(model, transfer) {
    const which = { method: model.method, checkpoint: model.key };
    const acts = [];
    if (model.loaded) acts.push(button("Unload", () => this.act("models/unload", which)));
    if (model.pullable && !(transfer && !transfer.ended)) acts.push(button(transfer?.fault ? "Resume…" : "Pull…", () => this.confirmPull(model)));
    if (model.added) acts.push(button("Forget", () => this.act("models/forget", which)));
    if (!acts.length) acts.push(h("span", { class: "note" }, model.here ? (model.pocket ? "always here" : "here") : ""));
    return h("span", { class: "acts", style: { "justify-content": "flex-end", "flex-wrap": "nowrap" } }, acts);
  }

  async act(path, body) {
    replace(this.said);
    try {
      await post(path, body);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      replace(this.said, faultBox(error.fault));
    }
    this.ask();
  }

  confirmPull(model) {
    const agree = h("input", { type: "checkbox", on: { change: () => (go.disabled = !agree.checked) } });
    const go = h("button", { type: "button", class: "btn go", disabled: true, on: { click: () => { dialog.close(); this.act("models/pull", { method: model.method, checkpoint: model.key, accept_licence: true }); } } }, `Pull ${bytes(model.bytes)}`);
    const fits = model.fits ? "It fits into the memory that is free now." : `It needs ${bytes(model.memory_bytes)} of memory; ${bytes(this.state.memory_free)} is free. It can be pulled, but not run here now.`;
    const dialog = h("dialog", { class: "dp-own dp-dialog" }, h("h2", {}, `Pull ${model.title}?`), h("p", {}, `${bytes(model.bytes)} come from the model hub: the only time this program goes to a network. A broken pull resumes. ${fits}`), h("label", { class: "chk", style: { "white-space": "normal" } }, agree, `I accept its licence: ${model.licence || "not stated"}`), h("div", { class: "acts" }, button("Not now", () => dialog.close(), { class: "btn" }), go));
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  addFolder() {
    const roles = this.state?.roles ?? {};
    const method = h("select", { class: "sel", "aria-label": "Method", on: { change: () => fill() } }, Object.entries(roles).map(([key, { title }]) => h("option", { value: key }, title)));
    const name = h("input", { class: "field", placeholder: "Name it", required: true, maxlength: 80, "aria-label": "Name" });
    const fields = h("div", {});
    const said = h("div", {});
    const fill = () => replace(fields, (roles[method.value]?.roles ?? []).map((role) => h("label", { class: "dp-axis" }, h("span", {}, role), h("input", { class: "field", name: role, placeholder: "/path/to/folder with config.json", "aria-label": `Folder of ${role}` }))));
    const save = async (event) => {
      event.preventDefault();
      const folders = Object.fromEntries([...fields.querySelectorAll("input")].map((input) => [input.name, input.value.trim()]));
      try {
        await post("models/folder", { method: method.value, name: name.value, folders });
        dialog.close();
        this.ask();
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        replace(said, faultBox(error.fault));
      }
    };
    const form = h("form", { on: { submit: save } }, h("label", { class: "dp-axis" }, h("span", {}, "Method"), method), h("label", { class: "dp-axis" }, h("span", {}, "Name"), name), fields, said, h("div", { class: "acts" }, button("Cancel", () => dialog.close(), { class: "btn" }), h("button", { class: "btn go" }, "Add")));
    const dialog = h("dialog", { class: "dp-own dp-dialog" }, h("h2", {}, "Add a folder"), h("p", {}, "Weights already on this machine, in their published layout. Only safetensors are read; nothing in the folder is run."), form);
    fill();
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }
}
