"""Builds the page: one Gradio tab with a bench for each tab of the registry that has a method.

Head, tab row, History, Models and Verify are drawn by `web/js` from the studio's own JSON routes; Gradio carries the bench's
controls. Which methods, fields and examples there are follows from the cards alone.

It deliberately builds no pane before its tab is opened: panes come by keyed render when they are needed.
"""

import gradio as gr

from app.api import Studio
from ui.bench_page import BenchPage
from ui.drafts import Drafts

_SWEEP_EVERY_SECONDS = 3600
_KEEP_SECONDS = 24 * 3600
TAB_TITLES = {
    "text": "Text", "image": "Image", "shape": "3D / 4D", "molecule": "Molecule", "figure": "Figure", "code": "Code", "solve": "Solve",
}  # fmt: skip


def build_page(studio: Studio, drafts: Drafts) -> gr.Blocks:
    """The page's Gradio part, ready to be mounted."""
    page = gr.Blocks(title="Diptych", analytics_enabled=False, fill_width=True, delete_cache=(_SWEEP_EVERY_SECONDS, _KEEP_SECONDS))
    with page:
        if not studio.registry.tabs:
            gr.Column(elem_id="dp-no-methods", elem_classes=["dp-slot"])
            return page
        with gr.Tabs(elem_id="dp-tabs", elem_classes=["dp-tabs"]):
            benches = [BenchPage(tab, studio, drafts) for tab in studio.registry.tabs]
            for bench in benches:
                with gr.Tab(TAB_TITLES[bench.tab], id=bench.tab, elem_id=f"dp-tab-{bench.tab}") as holder:
                    bench.build()
                    bench.opens_with(holder.select)
        benches[0].opens_with(page.load)
    return page
