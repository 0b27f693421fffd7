/** Building elements. Text always goes in as text: nothing here takes markup. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An HTML element. `attrs`: class, text, dataset, style (custom properties too), on (listeners); anything else becomes an
 * attribute, left out for null and false. Children are nodes or strings.
 * @param {string} tag
 * @param {Record<string, any>} [attrs]
 * @param {...(Node | string | null | false | undefined)} children
 */
export function h(tag, attrs = {}, ...children) {
  return fill(document.createElement(tag), attrs, children);
}

/** The same for SVG. */
export function svg(tag, attrs = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attrs, children);
}

function fill(el, attrs, children) {
  for (const [name, value] of Object.entries(attrs)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") el.setAttribute("class", value);
    else if (name === "text") el.textContent = String(value);
    else if (name === "dataset") Object.assign(el.dataset, value);
    else if (name === "style") for (const [key, set] of Object.entries(value)) el.style.setProperty(key, String(set));
    else if (name === "on") for (const [event, listener] of Object.entries(value)) el.addEventListener(event, listener);
    else el.setAttribute(name, value === true ? "" : String(value));
  }
  el.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
  return el;
}

/** Remove everything inside. */
export function clear(el) {
  el.replaceChildren();
}

/** Put these in place of what was inside. */
export function replace(el, ...children) {
  el.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
}

/**
 * Our own box inside a slot that Gradio laid out; its anchors beside it stay untouched. Gradio may use the element of one
 * slot again for another when it lays out anew, so a box made for another id is thrown away.
 */
export function inside(slot) {
  let box = slot.querySelector(":scope > .dp-in");
  if (box && box.dataset.slot !== slot.id) {
    box.remove();
    box = null;
  }
  if (!box) {
    box = h("div", { class: "dp-in", dataset: { slot: slot.id } });
    slot.append(box);
  }
  return box;
}

/** Set text only when it changed, so that nothing flickers and nothing is read out twice. */
export function setText(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

/** A button of ours. */
export function button(text, press, attrs = {}) {
  return h("button", { type: "button", class: "btn sm", ...attrs, on: { click: press } }, text);
}
