"""`magister plan arena`: votes, hours and what they can show, before anyone judges."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Annotated

import typer

from magister.cli._printing import Format, FormatOption, echo, print_rows

EXAMPLE = "Example: magister plan arena --models 8 --k 10 --scenarios 4"


def plan_arena_command(
    models: Annotated[int, typer.Option(max=10_000, help="Models to rate.")] = 8,
    k: Annotated[
        int, typer.Option("--k", max=1_000_000, help="Comparisons of each pair in a scenario.")
    ] = 10,
    scenarios: Annotated[int, typer.Option(help="Scenarios.")] = 4,
    random_share: Annotated[float, typer.Option(help="Part of them drawn at random, 0 to 1.")] = 0.3,
    annotators: Annotated[int, typer.Option(help="Votes on each comparison.")] = 1,
    seconds: Annotated[float, typer.Option(help="Seconds that a vote takes.")] = 60.0,
    ties: Annotated[float, typer.Option(help="Share of votes without a winner.")] = 0.3,
    alike: Annotated[float, typer.Option(help="Correlation of votes on one comparison, 0 to 1.")] = 0.5,
    spread: Annotated[
        float, typer.Option(max=10_000, help="Standard deviation of true ratings, Elo points.")
    ] = 100.0,
    level: Annotated[float, typer.Option(help="Coverage of intervals.")] = 0.95,
    elo_k: Annotated[float, typer.Option(min=0.001, help="Points that an Elo game moves at most.")] = 4.0,
    form: FormatOption = Format.text,
) -> None:
    """Say how many votes an arena needs, what they cost and what they can show."""
    from magister.arena.planning import Design, plan_arena

    design = Design(
        models, k, scenarios, random_share, annotators, seconds, ties, alike, spread, level, elo_k
    )
    plans = plan_arena(design)
    if form is not Format.text:
        print_rows([asdict(plan) for plan in plans], form)
        return
    print_rows(
        [
            {
                "schedule": plan.schedule.replace("_", " "),
                "scope": plan.scope,
                "pairs": plan.pairs,
                "votes": plan.votes,
                "hours": f"{plan.hours:.1f}",
                "+-": f"{plan.half_width:.0f}",
                "Elo <=": f"{plan.highest_elo:.0f}",
                "one more": plan.new_model,
            }
            for plan in plans
        ],
        form,
    )
    typer.echo()
    drawn = plans[0].drawn
    echo(
        f"votes: pairs x {k} comparisons x {annotators} annotator(s), {drawn} of a scenario's {plans[0].comparisons} "
        f"comparisons drawn at random; hours: {seconds:g} s a vote; one more: comparisons that a further model brings."
    )
    apart = math.sqrt(2) * plans[-1].half_width
    echo(
        f"+-: expected half-width of a rating's {100 * level:g} % interval (Bradley-Terry, Elo points, mean over "
        f"models) if {100 * ties:g} % of votes are ties, votes on one comparison correlate by {alike:g} and true "
        f"ratings spread by {spread:g} points. Models closer than about {apart:.0f} points will hardly be told apart."
    )
    games = plans[0].highest_elo
    echo(
        f"Elo <=: what a model that wins every game can reach at K = {elo_k:g} from 1000, opponents' losses counted: a "
        f"rating above {games:.0f} cannot come from one scenario's votes."
    )
    if len(plans) > 2:
        echo(
            "coarse to fine: every model meets a few anchors, then neighbours whose intervals overlap; about N log2 N "
            "pairs in place of N (N - 1) / 2."
        )
