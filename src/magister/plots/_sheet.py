"""A sheet: title, panels, caption, written as SVG whose bytes depend on nothing but the data."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Sequence
from xml.sax.saxutils import escape

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from magister.plots._style import INK, SMALL, SOFT, TEXT, TITLE, plain, shown

WIDTH = 8.0
"""Inches; 576 units of the SVG."""
MARGIN = 0.15
_LINE = {TITLE: 0.21, SMALL: 0.155}
_PER_LINE = {TITLE: 74, SMALL: 126}


class Sheet:
    """One plot. Places are in inches from the left and the top of the body, which lies below the title.

    Args:
        title: what one sees, as a sentence.
        height: of the body.
        caption: what has to stand below: n, policy, intervals, what is unknown.
        about: the numbers in words, for those who hear the picture.
        legend: what the signs mean, above the body.
    """

    def __init__(
        self,
        title: str,
        height: float,
        caption: Sequence[str],
        about: Sequence[str] = (),
        legend: Sequence[Artist] = (),
    ) -> None:
        self.title, self.about = plain(title), [plain(line) for line in (*caption, *about)]
        head, foot = _wrapped([self.title], TITLE), _wrapped(caption, SMALL)
        self._top = MARGIN + len(head) * _LINE[TITLE] + 0.1 + (0.24 if legend else 0.0)
        self.height = self._top + height + 0.1 + len(foot) * _LINE[SMALL] + MARGIN
        self.figure = Figure(figsize=(WIDTH, self.height))
        FigureCanvasSVG(self.figure)
        for n, line in enumerate(head):
            self._write(line, MARGIN + n * _LINE[TITLE], TITLE, INK, "bold")
        below = self._top + height + 0.1
        for n, line in enumerate(foot):
            self._write(line, below + n * _LINE[SMALL], SMALL, SOFT)
        if legend:
            self.figure.legend(
                handles=list(legend),
                loc="upper left",
                bbox_to_anchor=(MARGIN / WIDTH, 1 - (self._top - 0.3) / self.height),
                ncols=len(legend),
                borderaxespad=0,
                borderpad=0,
                handlelength=2.2,
                columnspacing=1.6,
            )

    def _write(self, text: str, top: float, size: float, colour: str, weight: str = "normal") -> None:
        x, y = MARGIN / WIDTH, 1 - top / self.height
        self.figure.text(x, y, text, size=size, color=colour, weight=weight, va="top")

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """A panel at a place of the body."""
        bottom = 1 - (self._top + top + height) / self.height
        return self.figure.add_axes((left / WIDTH, bottom, width / WIDTH, height / self.height))

    def heading(self, text: str, top: float, left: float = MARGIN, width: int = 80) -> None:
        """The name of a panel."""
        self.figure.text(
            left / WIDTH,
            1 - (self._top + top) / self.height,
            shown(text, width),
            size=TEXT,
            weight="bold",
            va="top",
        )

    def svg(self) -> str:
        """The sheet as text."""
        stream = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        self.figure.savefig(stream, format="svg", metadata=nothing)
        return _accessible(stream.getvalue(), self.title, self.about)


def nothing_to_show(title: str, reason: str) -> str:
    """A sheet that says why it is empty."""
    sheet = Sheet(title, 0.3, [])
    sheet.heading(f"Nothing to show: {reason}", 0.0, width=90)
    sheet.about = [plain(f"Nothing to show: {reason}.")]
    return sheet.svg()


def _wrapped(texts: Sequence[str], size: float) -> list[str]:
    width = _PER_LINE[size]
    lines = []
    for text in texts:
        lines += textwrap.wrap(shown(text, 12 * width), width, break_on_hyphens=False) or [""]
    return lines


def _accessible(svg: str, title: str, about: Sequence[str]) -> str:
    """Name and describe the picture inside of it, and leave out what only repeats data or points elsewhere."""
    body = svg[svg.index("<svg ") :]
    # Matplotlib repeats each text in a comment.
    body = re.sub(r"<!--.*?-->\n?\s*", "", body, flags=re.DOTALL)
    body = re.sub(r"\s*<metadata>.*?</metadata>", "", body, count=1, flags=re.DOTALL)
    root, rest = body.split(">", 1)
    names = f"<title>{escape(title)}</title>\n <desc>{escape(' '.join(about))}</desc>"
    return f'{root} role="img" aria-label="{escape(title, {chr(34): "&quot;"})}">\n {names}{rest}'
