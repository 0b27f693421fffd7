"""The table of formats: kind of artifact (or of comparison) -> format -> exporter.

A new kind is a new entry. Formats that can carry content credentials (C2PA) are offered a second time with them.

It deliberately decides nothing about names and signatures: `exporting` does.
"""

from app.exports import comparison, crate, sweep, text, trace
from app.exports.naming import extension_of
from app.exports.values import Draw, Exporter, Format, Needs
from app.provenance.credentials import SIGNABLE
from storage.values import ArtifactRow

_CSV, _JSON, _MARKDOWN, _SVG, _PNG = "text/csv", "application/json", "text/markdown", "image/svg+xml", "image/png"


def _entry(key: str, label: str, media_type: str, draw: Draw | None, needs: Needs | None = None) -> Exporter:
    return Exporter(Format(key=key, label=label, extension=extension_of(media_type), media_type=media_type), draw, needs=needs)


EXPORTERS: dict[str, tuple[Exporter, ...]] = {
    "text": (
        _entry("txt", "Text", "text/plain", None),
        _entry("md", "Text, settings and costs", _MARKDOWN, text.markdown),
        _entry("json", "Everything, with the trace", _JSON, text.text_json),
        _entry("csv", "Costs", _CSV, text.metrics_csv),
    ),
    "decoding_trace": (
        _entry("trace.json", "Tokens, passes, confidences", _JSON, None),
        _entry("trace.csv", "Tokens as a table", _CSV, trace.tokens_csv),
        _entry("timeline.svg", "Block timeline", _SVG, trace.timeline_svg),
        _entry("timeline.png", "Block timeline", _PNG, trace.timeline_png),
    ),
    "comparison": (
        _entry("csv", "Costs of every repeat", _CSV, comparison.repeats_csv),
        _entry("json", "Panes, settings, costs", _JSON, comparison.comparison_json),
        _entry("md", "Costs as a table", _MARKDOWN, comparison.comparison_markdown),
        _entry("svg", "Cost plot", _SVG, comparison.cost_svg),
        _entry("png", "Cost plot", _PNG, comparison.cost_png),
    ),
    "traces": (
        _entry("timeline.svg", "Block timelines of all panes", _SVG, trace.timeline_svg, trace.traced),
        _entry("timeline.png", "Block timelines of all panes", _PNG, trace.timeline_png, trace.traced),
    ),
    "sweep": (
        _entry("csv", "Cells as a table", _CSV, sweep.cells_csv),
        _entry("json", "Axes, cells, settings", _JSON, sweep.sweep_json),
        _entry("svg", "Score against speed", _SVG, sweep.tradeoff_svg, sweep.scored),
        _entry("png", "Score against speed", _PNG, sweep.tradeoff_png, sweep.scored),
    ),
}


CRATE = _entry("crate", "Outputs, records and description (RO-Crate)", "application/zip", crate.crate)
_WITH_CREDENTIALS = "+c2pa"


def exporters_of(artifact: ArtifactRow) -> tuple[Exporter, ...]:
    """The exporters of an artifact; one of a kind not listed is exported as it is."""
    known = EXPORTERS.get(artifact.kind)
    return known or (_entry(artifact.name, artifact.name, artifact.media_type, None),)


def with_credentials(exporter: Exporter) -> Exporter | None:
    """The same export with content credentials inside, None if the format cannot carry them."""
    form = exporter.format
    if form.media_type not in SIGNABLE:
        return None
    renamed = form.model_copy(update={"key": form.key + _WITH_CREDENTIALS, "label": f"{form.label}, with content credentials (C2PA)"})
    return Exporter(renamed, exporter.draw, credentials=True, needs=exporter.needs)
