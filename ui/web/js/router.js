/** Where the page is: a tab with a bench, a panel, or a look at runs; kept in the address, so that any place is a link. */

const PANELS = ["history", "models", "verify"];

export class Router {
  constructor(known) {
    this.tabs = known.tabs;
    this.listeners = [];
    this.place = null;
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  start() {
    addEventListener("popstate", () => this.set(this.read()));
    this.set(this.read());
  }

  /** {kind: "bench" | "panel" | "look", key, ids} from the address. */
  read() {
    const query = new URLSearchParams(location.search);
    for (const name of ["comparison", "run", "runs"]) {
      const ids = (query.get(name) ?? "").split(",").filter((id) => /^[0-9a-f]{32}$/.test(id));
      if (ids.length) return { kind: "look", key: name, ids: ids.slice(0, 4) };
    }
    const tab = query.get("tab") ?? "";
    if (PANELS.includes(tab)) return { kind: "panel", key: tab, ids: [], query };
    return { kind: "bench", key: this.tabs.includes(tab) ? tab : this.tabs[0] ?? "", ids: [] };
  }

  /** Go to a tab or panel, with further fields of the address. */
  go(key, fields = {}) {
    this.push({ ...(key === this.tabs[0] && !Object.keys(fields).length ? {} : { tab: key }), ...fields });
  }

  /** Look at runs without touching any control. */
  look(name, ids) {
    this.push({ [name]: ids.join(",") });
  }

  push(fields) {
    const query = new URLSearchParams(fields);
    const theme = new URLSearchParams(location.search).get("__theme");
    if (theme) query.set("__theme", theme);
    const text = query.toString();
    history.pushState(null, "", text ? `/?${text.replaceAll("%2C", ",")}` : "/");
    this.set(this.read());
  }

  set(place) {
    this.place = place;
    scrollTo(0, 0);
    for (const listener of this.listeners) listener(place);
  }
}
