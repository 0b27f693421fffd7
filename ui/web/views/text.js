/**
 * Registers the viewer of kind "text" with the page: artifacts "text" and "decoding_trace", and the live steps of a run.
 *
 * It deliberately keeps no state of its own: panes live in `bench.js`.
 */

import { benchOf } from "./bench.js";
import { previewText } from "./faithful.js";
import { TraceModel } from "./trace.js";

/** @type {WeakMap<Element, import("./bench.js").TextPane>} */
const panes = new WeakMap();

function mount(el, info) {
  panes.set(el, benchOf(info.bench).add(el, info));
}

function reset(el, info) {
  const pane = panes.get(el);
  if (!pane || pane.bench.root !== info.bench) return mount(el, info);
  pane.reset(info);
  return pane.bench.renew();
}

function update(el, run, events) {
  const pane = panes.get(el);
  if (!pane) return;
  let grown = false;
  for (const event of events) {
    if (event.type === "step" && Array.isArray(event.data.committed)) grown = pane.model.addPass(event.data) || grown; // other methods' steps hold other things
    else if (event.type === "progress" && event.phase === "decode" && event.total) pane.model.expectedPasses = event.total;
    else if (event.type === "preview" && !pane.hasTokens && !grown) pane.text.plain(previewText(event.artifact));
  }
  if (!grown) return;
  if (!pane.hasTokens) pane.text.empty();
  pane.hasTokens = true;
  pane.bench.soon();
}

function finish(el, run, artifacts) {
  const pane = panes.get(el);
  if (!pane) return;
  const trace = artifacts.find((artifact) => artifact.kind === "decoding_trace" && artifact.json)?.json;
  const text = artifacts.find((artifact) => artifact.kind === "text" && typeof artifact.text === "string")?.text;
  if (trace) pane.replace(TraceModel.fromTrace(trace));
  else pane.model.finish();
  if (trace && !pane.hasTokens) pane.text.empty();
  if (!pane.hasTokens && text !== undefined) pane.text.plain(text);
  pane.bench.soon();
}

/** Where a running pane stands, for the page's line "pass 9 of about 15"; null before the first pass. */
function outlook(el) {
  const model = panes.get(el)?.model;
  if (!model?.lastPass) return null;
  return { pass: model.lastPass, total: model.totalPasses, about: !model.finished && model.expectedPasses === null };
}

window.diptych ??= {};
window.diptych.views ??= {};
window.diptych.views.text = { mount, update, finish, reset, outlook };
