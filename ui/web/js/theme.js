/** Light and dark: the system's choice until the button is pressed, then the button's. */

const KEY = "diptych-theme";

/** Is the page dark now? */
export function isDark() {
  const asked = new URLSearchParams(location.search).get("__theme");
  const kept = asked ?? localStorage.getItem(KEY);
  return kept ? kept === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Put the choice on the page, and keep it there when Gradio sets its own. */
export function keepTheme() {
  const apply = () => {
    for (const el of [document.documentElement, document.body]) if (el.classList.contains("dark") !== isDark()) el.classList.toggle("dark", isDark());
  };
  apply();
  new MutationObserver(apply).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  addEventListener("diptych:theme", apply);
}

/** The other one. */
export function switchTheme() {
  localStorage.setItem(KEY, isDark() ? "light" : "dark");
  const url = new URL(location.href);
  url.searchParams.delete("__theme");
  history.replaceState(history.state, "", url);
  dispatchEvent(new Event("diptych:theme"));
}
