/** Gradio's text boxes tell the server of key presses only: what is pasted, cut, erased, dictated or set by a script is told here. */

const BOXES = ".dp-field textarea, .dp-field input[type=text]";

/** Make every change of a text box count as typing. Once a page. */
export function tellAllTyping() {
  document.addEventListener("input", (event) => {
    if (event.target instanceof Element && event.target.matches(BOXES)) event.target.dispatchEvent(new KeyboardEvent("keypress", { key: "Unidentified" }));
  });
}
