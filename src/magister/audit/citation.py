"""One line that names a number of a board so that others can find and check it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from magister.audit.card import Card
from magister.audit.card_text import figure

_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {
    mark: f"\\{mark}" for mark in "&%$#_{}"
}


def revision(root: Path) -> str | None:
    """The project's git revision, with `+changes` where tracked files differ from it; None without one."""

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    head = git("rev-parse", "--short=12", "HEAD")
    if not head:
        return None
    return head + ("+changes" if git("status", "--porcelain", "--untracked-files=no", "--", ".") else "")


def _facts(card: Card) -> list[str]:
    """Value with interval, what it rests on, policy."""
    number = card.number
    if number.value is None:
        value = f"unknown ({number.reason or number.status})"
    elif number.ci_low is None and number.ci_high is None:
        value = f"{figure(number.value, number.unit)} (no interval: {number.reason or number.status})"
    else:
        ends = [
            figure(end, number.unit) if end is not None else "open" for end in (number.ci_low, number.ci_high)
        ]
        drawn = f", {number.resamples} resamples, seed {number.seed}" if number.resamples else ""
        level = "" if number.level is None else f"{100 * number.level:g} % interval{drawn}"
        value = f"{figure(number.value, number.unit)} [{ends[0]}, {ends[1]}] ({level})"
    first = next(iter(card.counts))
    shown = "n_cells" if "n_cells" in card.counts else first
    size = card.counts[shown]
    what = {"n": "", "n_cells": " dialogues", "n_items": " items", "n_attributes": " attributes"}.get(
        shown, ""
    )
    if card.cell.board == "teaching" and card.cell.metric == "AA":
        what = " items"
    if card.cell.board == "arena":
        what = " votes"
    if card.cell.board == "rubrics":
        what = " dialogues"
    facts = [f"{card.cell.title} = {value}", f"n = {figure(size) if isinstance(size, float) else size}{what}"]
    clusters = card.counts.get("n_clusters")
    if clusters is not None:
        facts.append(f"{clusters} clusters")
    policy = card.formula.denominator.split(":", 1)[0]
    if policy.startswith("policy "):
        facts.append(policy)
    return facts


def cite(card: Card, git: str | None) -> str:
    """A line for a paper.

    Args:
        card: of the number.
        git: revision of the project (`revision`); None without one.
    """
    where = f"{card.cell.file} md5 {card.md5}, git {git or 'none'}"
    return f"{', '.join(_facts(card))}; {where}; {card.commands['audit']}"


def bibtex(card: Card, git: str | None) -> str:
    """The same as an entry of a bibliography.

    Args:
        card: of the number.
        git: see `cite`.
    """
    key = "-".join(["magister", card.cell.board, card.cell.model, card.cell.metric, card.md5[:8]])
    key = "".join(char if char.isascii() and (char.isalnum() or char in "-:") else "-" for char in key)
    fields = {
        "title": card.cell.title,
        "howpublished": f"{card.cell.file}, md5 {card.md5}, git {git or 'none'}",
        "note": "; ".join([", ".join(_facts(card)), f"audited by: {card.commands['audit']}"]),
    }
    lines = [f"  {name} = {{{_tex(text)}}}," for name, text in fields.items()]
    return "\n".join([f"@misc{{{key},", *lines, "}"])


def _tex(text: str) -> str:
    return "".join(_TEX.get(char, char) for char in " ".join(text.split()))
