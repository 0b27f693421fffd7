"""The page's colours as literals, light and dark, so that a picture stands alone.

Ink acts, brass joins, colour is data: `sequence` is ordered (farther from the paper means later or more), `panes` are the
baseline's grey and the challengers' hues.

It deliberately has no other accent.
"""

from typing import Literal, NamedTuple

Theme = Literal["light", "dark"]

SANS = "'IBM Plex Sans', system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
MONO = "'IBM Plex Mono', ui-monospace, 'Cascadia Mono', Menlo, Consolas, monospace"


class Palette(NamedTuple):
    plate: str
    sunk: str
    ink: str
    ink_2: str
    ink_3: str
    rule: str
    edge: str
    brass: str
    brass_ink: str
    bad: str
    panes: tuple[str, str, str, str]
    """Baseline, then challengers B, C, D."""
    sequence: tuple[str, str, str, str, str, str, str]

    def pane(self, place: int) -> str:
        """The colour of the pane at `place`; 0 is the baseline."""
        return self.panes[place % len(self.panes)]

    def ordered(self, share: float) -> str:
        """The colour of a value that lies at `share` (0 to 1) of its range."""
        last = len(self.sequence) - 1
        return self.sequence[min(last, max(0, int(share * len(self.sequence))))]


LIGHT = Palette(
    plate="#fdfdfb", sunk="#eaece7", ink="#1a2124", ink_2="#475256", ink_3="#5f6a6d", rule="#d6dad4", edge="#818b86",
    brass="#a87a1c", brass_ink="#7a5610", bad="#a92f1d", panes=("#5f6a6d", "#2164b4", "#a84c0a", "#7a4397"),
    sequence=("#fbf4ce", "#e9e9af", "#b0e2b1", "#78d1c0", "#53b9c4", "#3f98c2", "#39589b"),
)  # fmt: skip
DARK = Palette(
    plate="#181e21", sunk="#0c1012", ink="#e8ece8", ink_2="#b4bdbb", ink_3="#8e9997", rule="#2b3437", edge="#66716f",
    brass="#c99a3f", brass_ink="#dcb262", bad="#f08a77", panes=("#9aa5a3", "#6fb1f2", "#f09a5b", "#c79be6"),
    sequence=("#2e304c", "#334478", "#2b6399", "#268dab", "#3fafa9", "#85cf95", "#e6df83"),
)  # fmt: skip


def palette(theme: Theme) -> Palette:
    """The palette of a theme."""
    return DARK if theme == "dark" else LIGHT
