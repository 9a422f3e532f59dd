"""What the pages of the boards share."""

from __future__ import annotations

import re


def escape(text: str) -> str:
    """Names are data: markup or a line break in one must not change the page."""
    return " ".join(re.sub(r"([\\|*`\[\]])", r"\\\1", text).replace("<", "&lt;").split())
