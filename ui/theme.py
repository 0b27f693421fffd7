"""The Gradio theme: every variable of Gradio's components points at a design token of `web/css/tokens.css`.

The look is Diptych's own (ink acts, brass joins, colour is data); this module only carries it into Gradio's names, so that
light and dark follow from the tokens alone.

It deliberately names no colour: a colour lives in the tokens and nowhere else.
"""

import gradio as gr

SANS = ("IBM Plex Sans", "system-ui", "Segoe UI", "Helvetica Neue", "Arial", "sans-serif")
MONO = ("IBM Plex Mono", "ui-monospace", "Cascadia Mono", "Menlo", "Consolas", "monospace")

_TOKENS = {
    "body_background_fill": "var(--page)", "body_text_color": "var(--ink)", "body_text_color_subdued": "var(--ink-3)",
    "background_fill_primary": "var(--plate)", "background_fill_secondary": "var(--sunk)",
    "border_color_primary": "var(--rule)", "border_color_accent": "var(--edge)", "color_accent_soft": "var(--sunk)",
    "link_text_color": "var(--ink)", "link_text_color_hover": "var(--ink)", "link_text_color_visited": "var(--ink)",
    "block_background_fill": "transparent", "block_border_width": "0px", "block_shadow": "none",
    "block_label_background_fill": "transparent", "block_label_text_color": "var(--ink-2)", "block_label_shadow": "none",
    "block_title_text_color": "var(--ink-2)", "block_info_text_color": "var(--ink-3)",
    "panel_background_fill": "var(--plate)", "panel_border_width": "0px", "accordion_text_color": "var(--ink)",
    "input_background_fill": "var(--plate)", "input_background_fill_focus": "var(--plate)", "input_border_color": "var(--edge)",
    "input_border_color_focus": "var(--s1)", "input_border_width": "1px", "input_shadow": "none", "input_shadow_focus": "none",
    "input_placeholder_color": "var(--ink-3)",
    "button_primary_background_fill": "var(--ink)", "button_primary_background_fill_hover": "var(--ink-2)",
    "button_primary_text_color": "var(--plate)", "button_primary_text_color_hover": "var(--plate)",
    "button_primary_border_color": "var(--ink)", "button_primary_border_color_hover": "var(--ink-2)", "button_primary_shadow": "none",
    "button_secondary_background_fill": "var(--plate)", "button_secondary_background_fill_hover": "var(--plate)",
    "button_secondary_text_color": "var(--ink)", "button_secondary_text_color_hover": "var(--ink)",
    "button_secondary_border_color": "var(--rule)", "button_secondary_border_color_hover": "var(--ink)", "button_secondary_shadow": "none",
    "button_cancel_background_fill": "var(--plate)", "button_cancel_background_fill_hover": "var(--plate)",
    "button_cancel_text_color": "var(--ink)", "button_cancel_text_color_hover": "var(--ink)",
    "button_cancel_border_color": "var(--edge)", "button_cancel_border_color_hover": "var(--ink)", "button_cancel_shadow": "none",
    "slider_color": "var(--ink)", "loader_color": "var(--ink)",
    "checkbox_background_color": "var(--plate)", "checkbox_background_color_selected": "var(--ink)",
    "checkbox_border_color": "var(--edge)", "checkbox_border_color_selected": "var(--ink)", "checkbox_shadow": "none",
    "checkbox_label_background_fill": "transparent", "checkbox_label_background_fill_selected": "transparent",
    "checkbox_label_border_width": "0px", "checkbox_label_shadow": "none",
    "error_background_fill": "var(--bad-wash)", "error_border_color": "var(--bad)", "error_text_color": "var(--bad)",
    "error_icon_color": "var(--bad)", "shadow_drop": "none", "shadow_drop_lg": "var(--sh-pop)", "shadow_inset": "none",
}  # fmt: skip
_SIZES = {
    "block_padding": "0", "block_radius": "var(--r2)", "block_label_text_size": "var(--t2)", "block_title_text_size": "var(--t2)",
    "block_title_text_weight": "400", "block_info_text_size": "var(--t1)", "layout_gap": "0px", "form_gap_width": "0px",
    "container_radius": "var(--r3)", "input_radius": "var(--r2)", "input_text_size": "var(--t3)", "body_text_size": "var(--t3)",
    "button_large_radius": "var(--r2)", "button_medium_radius": "var(--r2)", "button_small_radius": "var(--r2)",
    "button_border_width": "1px", "button_transform_active": "none", "checkbox_border_radius": "var(--r1)", "checkbox_label_padding": "0",
}  # fmt: skip


def theme() -> gr.themes.Base:
    """A fresh theme object; Gradio writes into the one it is given."""
    base = gr.themes.Base(
        font=[gr.themes.LocalFont("IBM Plex Sans", weights=(400, 700)), *SANS[1:]],
        font_mono=[gr.themes.LocalFont("IBM Plex Mono", weights=(400, 700)), *MONO[1:]],
    )
    both_modes = {f"{name}_dark": None for name in _TOKENS if hasattr(base, f"{name}_dark")}
    styled: gr.themes.Base = base.set(**_TOKENS, **_SIZES)
    for name in both_modes:
        setattr(styled, name, _TOKENS[name.removesuffix("_dark")])
    return styled
