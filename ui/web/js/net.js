/** Talking to the studio: JSON in, JSON out, and errors as the words the studio sent. */

/** What the studio answered instead of a result: {what, why, next_step, field, suggestion, faults}. */
export class Refused extends Error {
  constructor(fault, status) {
    super([fault.what, fault.why, fault.next_step].filter(Boolean).join(" "));
    this.fault = fault;
    this.status = status;
  }
}

/** The studio could not be reached: it ended, or the connection broke. */
export class Unreachable extends Error {}

async function ask(path, options) {
  let response = null;
  try {
    response = await fetch(`/studio/${path}`, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error instanceof TypeError) throw new Unreachable(error.message); // what fetch throws where there is no answer
    throw error;
  }
  return answer(response);
}

async function answer(response) {
  let body = null;
  try {
    body = await response.json();
  } catch {
    body = { what: `The studio answered ${response.status}.` };
  }
  if (!response.ok) throw new Refused(body ?? {}, response.status);
  return body;
}

/** GET `path` below /studio. */
export async function get(path, signal) {
  return ask(path, { signal, cache: "no-store" });
}

/** POST JSON to `path` below /studio. */
export async function post(path, body = {}) {
  return ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}

/** POST files. */
export async function upload(path, files) {
  const form = new FormData();
  for (const file of files) form.append("files", file, file.name);
  return ask(path, { method: "POST", body: form });
}

/** Save what `path` answers as a file. */
export function download(path) {
  const link = document.createElement("a");
  link.href = `/studio/${path}`;
  link.download = "";
  document.body.append(link);
  link.click();
  link.remove();
}
