"""`magister audit` and `magister cite`: where a number of a board comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from magister.cli._printing import refuse_existing, terminal_width
from magister.errors import UserError

if TYPE_CHECKING:
    from magister.audit.card import Card

AUDIT_EXAMPLE = "Example: magister audit teaching smol-tutor CA --in embedded --slice dataset=arithmetic"
CITE_EXAMPLE = "Example: magister cite arena smol-plain bradley_terry --in embedded --bibtex"

Board = Annotated[str, typer.Argument(help="teaching, arena, mastery or rubrics.")]
Model = Annotated[str, typer.Argument(help="Model on the board, or a control arm of teaching.")]
Metric = Annotated[
    str,
    typer.Argument(
        help="teaching: CA, AA, JA ...; arena: elo, bradley_terry; mastery: an attribute, its label, or overall; "
        "rubrics: a dimension or overall."
    ),
]
In = Annotated[str | None, typer.Option("--in", help="League, arena, study or set, where there are several.")]
Slice = Annotated[
    str | None,
    typer.Option(
        "--slice",
        help="teaching: a slice such as dataset=NAME, student=NAME, macro; arena, rubrics: a scenario.",
    ),
]
Arm = Annotated[str | None, typer.Option("--arm", help="teaching: taught by default, verdict_only.")]
Round = Annotated[int | None, typer.Option("--round", help="teaching: the last by default.")]
Annotators = Annotated[
    str | None, typer.Option("--annotators", help="arena: all by default, person, judge or key.")
]


def _card(
    board: str,
    model: str,
    metric: str,
    place: str | None,
    part: str | None,
    arm: str | None,
    number: int | None,
    annotators: str | None,
    top: int,
) -> Card:
    from magister.audit.audit import audit as find

    options = {"in": place, "slice": part, "arm": arm, "round": number, "annotators": annotators}
    asked = {name: str(value) for name, value in options.items() if value is not None}
    return find(Path(), board, model, {"metric": metric, **asked}, top)


def audit(
    board: Board,
    model: Model,
    metric: Metric,
    place: In = None,
    part: Slice = None,
    arm: Arm = None,
    number: Round = None,
    annotators: Annotators = None,
    top: Annotated[int, typer.Option(min=0, help="How many of what moves it most.")] = 10,
    full: Annotated[
        bool, typer.Option("--full", help="Every file with its parameters, and whole keys.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="For programs; docs/schemas/audit.schema.json says what it holds.")
    ] = False,
    html: Annotated[Path | None, typer.Option(help="Write a page instead.")] = None,
) -> None:
    """Show where a number of a board comes from: formula, counts, what moves it, and every file behind it."""
    if as_json and html is not None:
        raise UserError("--json and --html: choose one")
    if html is not None:
        refuse_existing("--html", html)
    card = _card(board, model, metric, place, part, arm, number, annotators, top)
    if as_json:
        typer.echo(json.dumps(card.document(), ensure_ascii=False, indent=1, allow_nan=False))
    elif html is not None:
        from magister.audit.card_page import render_page

        html.write_text(render_page(card), encoding="utf-8")
        typer.echo(f"{html}: written")
    else:
        from magister.audit.card_text import render

        typer.echo(render(card, terminal_width(), full=full))


def cite(
    board: Board,
    model: Model,
    metric: Metric,
    place: In = None,
    part: Slice = None,
    arm: Arm = None,
    number: Round = None,
    annotators: Annotators = None,
    as_bibtex: Annotated[bool, typer.Option("--bibtex", help="As a @misc entry.")] = False,
) -> None:
    """Print a line for a paper: value, interval, n, policy, md5, revision, and the command that audits it."""
    from magister.audit.citation import bibtex, revision
    from magister.audit.citation import cite as line
    from magister.display import visible

    card = _card(board, model, metric, place, part, arm, number, annotators, 0)
    git = revision(Path())
    typer.echo(visible(bibtex(card, git) if as_bibtex else line(card, git)))
