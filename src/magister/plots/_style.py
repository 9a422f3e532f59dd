"""How all plots look: colours that everyone can tell apart, never without a second sign, and one typeface."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.ft2font import FT2Font

# Okabe and Ito (2008), Color Universal Design. Each goes with a marker or a dash of its own.
BLUE, VERMILLION, GREEN, PURPLE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"
INK, SOFT, FAINT, SHADE = "#1a1a1a", "#5c5c5c", "#d9d9d9", "#e4e4e4"

TITLE, TEXT, SMALL = 12.0, 9.0, 8.0
"""Sizes in points; at 800 pixels a point is 1.39 pixels."""
_CUT = "…"
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"

_SETTINGS: Any = {
    # Outlines instead of text: the same picture in every viewer, whatever typefaces it has.
    "svg.fonttype": "path",
    "svg.hashsalt": "magister",
    "font.family": ["DejaVu Sans"],
    "font.size": TEXT,
    # Names are data: a dollar sign in one begins no formula.
    "text.parse_math": False,
    "axes.formatter.useoffset": False,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.labelsize": SMALL,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
    "lines.linewidth": 1.4,
    "lines.markersize": 5.5,
    "path.simplify": False,
}


@contextmanager
def style() -> Iterator[None]:
    """Settings of Matplotlib for the time of one plot, whatever they were before."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        with matplotlib.rc_context(_SETTINGS):
            yield


@cache
def _glyphs() -> frozenset[int]:
    """Characters that the typeface has. It ships with Matplotlib."""
    path = Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf"
    return frozenset(FT2Font(str(path)).get_charmap())


def plain(text: object) -> str:
    """Data as text on one line that every writer can take: no control characters, no half characters."""
    words = " ".join(str(text).split())
    return "".join(_UNKNOWN if unicodedata.category(mark) in ("Cc", "Cs", "Cn") else mark for mark in words)


def shown(text: object, width: int) -> str:
    """Data as it is drawn: what the typeface lacks has one sign, and what is too long is cut.

    Args:
        text: anything.
        width: characters that fit.
    """
    drawn = "".join(mark if ord(mark) in _glyphs() else _UNKNOWN for mark in plain(text))
    return drawn if len(drawn) <= width else drawn[: max(width - 1, 0)].rstrip() + _CUT


def named(text: object, width: int) -> str:
    """A name as it is drawn; one that is too long loses its middle, since names of a family differ at their ends."""
    drawn = shown(text, 10**6)
    if len(drawn) <= width:
        return drawn
    end = max((width - 1) // 3, 0)
    return drawn[: width - 1 - end] + _CUT + drawn[len(drawn) - end :]


def points(value: float) -> str:
    """A share or a change in percentage points, signed."""
    return signed(100 * value, 1)


def signed(value: float, digits: int) -> str:
    """A number with its sign; what rounds to zero has none."""
    text = f"{value:+.{digits}f}"
    return (text[1:] if float(text) == 0 else text).replace("-", "\N{MINUS SIGN}")
