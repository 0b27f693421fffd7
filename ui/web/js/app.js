/** Starts the page: head and tab row at once, the bench as soon as Gradio has laid it out, panels when they are opened. */

import { get } from "./net.js";
import { Header } from "./header.js";
import { Router } from "./router.js";
import { Benches } from "./bench.js";
import { Watch } from "./watch.js";
import { Panels } from "./panels.js";
import { installKeys } from "./keys.js";
import { keepTheme } from "./theme.js";
import { tellAllTyping } from "./typing.js";

window.diptych ??= { views: {} };
window.diptych.views ??= {};

async function start() {
  keepTheme();
  tellAllTyping();
  const header = new Header();
  const known = await get("cards");
  window.diptych.cards = new Map(known.cards.map((card) => [card.key, card]));
  const router = new Router(known);
  const benches = new Benches(known, router);
  const watch = new Watch(benches, header, router);
  const panels = new Panels(known, router, watch);
  header.mountTabs(known, router);
  router.onChange((place) => {
    header.select(place);
    panels.show(place);
    benches.show(place);
    watch.touch();
  });
  installKeys({ benches, router });
  router.start();
  watch.start();
}

start();
