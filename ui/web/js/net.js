/** Talking to the studio: JSON in, JSON out, and errors as the words the studio sent. */

/** What the studio answered instead of a result: {what, why, next_step, field, suggestion, faults}. */
export class Refused extends Error {
  constructor(fault, status) {
    super([fault.what, fault.why, fault.next_step].filter(Boolean).join(" "));
    this.fault = fault;
    this.status = status;
  }
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
  return answer(await fetch(`/studio/${path}`, { credentials: "same-origin", signal, cache: "no-store" }));
}

/** POST JSON to `path` below /studio. */
export async function post(path, body = {}) {
  return answer(
    await fetch(`/studio/${path}`, {
      method: "POST", credentials: "same-origin", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
    }),
  );
}

/** POST files. */
export async function upload(path, files) {
  const form = new FormData();
  for (const file of files) form.append("files", file, file.name);
  return answer(await fetch(`/studio/${path}`, { method: "POST", credentials: "same-origin", body: form }));
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
