"""`magister plan arena`: votes, hours and what they can show, before anyone judges."""

from __future__ import annotations

import math
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magister.cli._printing import Format, FormatOption, ParamsOption, echo, print_rows
from magister.cli._tables import read_parquet
from magister.errors import UserError

if TYPE_CHECKING:
    from magister.arena.league_plans import Calls, Sizes
    from magister.arena.planning import Design, Plan
    from magister.config.arena import Arena
    from magister.config.params import Params

EXAMPLE = "Example: magister plan arena --models 8 --k 10 --scenarios 4"


def plan_arena_command(
    params: ParamsOption = Path("params.yaml"),
    arena: Annotated[list[str] | None, typer.Option(help="An arena of the file; all by default.")] = None,
    models: Annotated[
        int | None, typer.Option(max=10_000, help="Models of an arena that is in no file yet.")
    ] = None,
    scenarios: Annotated[
        int | None, typer.Option(help="Scenarios of an arena that is in no file yet.")
    ] = None,
    k: Annotated[
        int | None, typer.Option("--k", max=1_000_000, help="Comparisons of each pair in a scenario.")
    ] = None,
    random_share: Annotated[float | None, typer.Option(help="Part of them drawn at random, 0 to 1.")] = None,
    annotators: Annotated[int | None, typer.Option(help="Votes on each comparison, by people.")] = None,
    seconds: Annotated[float, typer.Option(help="Seconds that a person's vote takes.")] = 60.0,
    ties: Annotated[float, typer.Option(help="Share of votes without a winner.")] = 0.3,
    alike: Annotated[float, typer.Option(help="Correlation of votes on one comparison, 0 to 1.")] = 0.5,
    spread: Annotated[
        float, typer.Option(max=10_000, help="Standard deviation of true ratings, Elo points.")
    ] = 100.0,
    level: Annotated[float | None, typer.Option(help="Coverage of intervals.")] = None,
    elo_k: Annotated[
        float | None, typer.Option(min=0.001, help="Points that an Elo game moves at most.")
    ] = None,
    assume: Annotated[
        int, typer.Option(min=1, help="Instructions of a source that is not fetched and names no `n`.")
    ] = 1000,
    form: FormatOption = Format.text,
) -> None:
    """Say how many votes an arena needs, what they cost and what they can show.

    Without --models and --scenarios: every arena of params.yaml, with what
    the other options change. With them: an arena that is in no file yet.
    """
    given = {
        "models": models, "scenarios": scenarios, "k": k, "random_share": random_share, "annotators": annotators,
        "seconds": seconds, "ties": ties, "alike": alike, "spread": spread, "level": level, "elo_k": elo_k,
    }  # fmt: skip
    changes = {name: value for name, value in given.items() if value is not None}
    if models is not None or scenarios is not None:
        if arena:
            raise UserError(
                "--arena names an arena of the file; --models and --scenarios plan one in no file"
            )
        _one(changes, form)
        return
    from magister.config.params import load_params

    if not params.exists() and params == Path("params.yaml") and not arena:
        _one(changes, form)
        return
    loaded = load_params(params)
    _configured(params.parent, loaded, arena or list(loaded.arena.leagues), changes, assume, form)


def _one(changes: dict[str, Any], form: Format) -> None:
    """Plan an arena that is in no file."""
    from magister.arena.planning import Design, plan_arena

    design = Design(**({"models": 8} | changes))
    plans = plan_arena(design)
    if form is not Format.text:
        print_rows([{"kind": "plan", "arena": ""} | asdict(plan) for plan in plans], form)
        return
    _print_plans(plans)
    typer.echo()
    _explain(design, plans)


def _configured(
    root: Path, params: Params, names: list[str], changes: dict[str, Any], assume: int, form: Format
) -> None:
    """Plan arenas of the parameters."""
    from magister.arena.league_plans import Calls, plan_league, pool_calls

    known = params.arena.leagues
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UserError(
            f"--arena {unknown[0]!r}: params.yaml has no such arena; known: {', '.join(sorted(known)) or 'none'}"
        )
    if not names:
        raise UserError("no arena under arena.leagues; plan one that is in no file: --models 8 --scenarios 4")
    sizes, seeds, basis = _sizes(root, params.arena, assume)
    planned = [
        plan_league(name, params.arena, sizes, {"level": params.statistics.level} | changes) for name in names
    ]
    calls = pool_calls(params.arena, seeds)
    quiet = form is not Format.text
    if quiet:
        columns = list(dict.fromkeys(["kind", "arena", *_names(planned[0].plans[0]), *Calls._fields]))
        rows = [{"kind": "plan", "arena": one.arena} | asdict(plan) for one in planned for plan in one.plans]
        asked = [*calls, *(call for one in planned for call in one.calls)]
        rows += [{"kind": "calls"} | call._asdict() for call in asked]
        print_rows([{name: row.get(name) for name in columns} for row in rows], form)
    else:
        for one in planned:
            design = one.design
            echo(
                f"Arena {one.arena}: {design.models} models, {design.scenarios} scenario(s), {design.annotators} "
                "vote(s) on each comparison."
            )
            _print_plans(one.plans)
            for note in one.notes:
                echo(f"  {note}")
            typer.echo()
        _print_calls([*calls, *(call for one in planned for call in one.calls)])
        typer.echo()
        _explain(planned[0].design, planned[0].plans, several=len(planned) > 1)
    echo(basis, err=quiet)
    if quiet:
        for one in planned:
            for note in one.notes:
                echo(f"{one.arena}: {note}", err=True)


def _names(plan: Plan) -> list[str]:
    return [field.name for field in fields(plan)]


def _sizes(root: Path, arena: Arena, assume: int) -> tuple[dict[str, Sizes], int, str]:
    """Instructions by scenario, the seeds among them, and how that is known; asks nothing and fetches nothing."""
    import pyarrow.compute as pc

    from magister.arena.instructions import gather_instructions, load_instructions
    from magister.arena.league_plans import Sizes, scenario_sizes

    path = root / f"data/arena/pool/round{arena.evolution.rounds}.parquet"
    if path.is_file():
        pool = read_parquet(path)
        seeds = pc.sum(pc.equal(pool["round"], 0)).as_py() or 0
        return scenario_sizes(pool), seeds, "Instructions: those of the last run's pool."
    files, absent = {}, []
    for name, source in arena.sources.items():
        if source.kind == "file":
            files[name] = root / str(source.path)
        elif source.wheel is not None:
            files[name] = root / "data/arena/raw" / f"{name}{Path(source.wheel.member).suffix}"
            if not files[name].is_file():
                absent.append(name)
    there = {name: source for name, source in sorted(arena.sources.items()) if name not in absent}
    rows = {name: load_instructions(name, source, files.get(name)) for name, source in there.items()}
    sizes = scenario_sizes(gather_instructions(there, rows, arena.instructions).instructions)
    for name in absent:
        source = arena.sources[name]
        before = sizes.get(source.scenario, Sizes(0, 0))
        sizes[source.scenario] = before._replace(instructions=before.instructions + (source.n or assume))
    seeds = sum(size.instructions for size in sizes.values())
    basis = "Instructions: those of the sources now."
    if absent:
        basis += f" Not fetched yet, so their `n`, else {assume} (--assume): {', '.join(absent)}."
    if arena.evolution.rounds:
        grown = arena.evolution.rounds + 1
        sizes = {name: Sizes(size.instructions * grown, size.with_gold) for name, size in sizes.items()}
        basis += f" After {arena.evolution.rounds} round(s) of evolution at most {grown} times as many."
    return sizes, seeds, basis


def _print_plans(plans: list[Plan]) -> None:
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
        Format.text,
    )


def _print_calls(calls: list[Calls]) -> None:
    print_rows(
        [
            {"arena": call.arena or "-", "stage": call.stage, "model": call.model, "calls": call.calls}
            for call in calls
        ],
        Format.text,
    )
    echo("calls: at most; equal requests are asked once, also over arenas.")


def _explain(design: Design, plans: list[Plan], *, several: bool = False) -> None:
    """What the columns mean."""
    whose = "" if several else f" x {design.k} comparisons x {design.annotators} annotator(s)"
    drawn = "" if several else f", {plans[0].drawn} of a scenario's {plans[0].comparisons} drawn at random"
    echo(
        f"votes: pairs{whose or ' x comparisons x annotators'}{drawn}; hours: {design.seconds:g} s a vote of a person; "
        "one more: comparisons that a further model brings."
    )
    apart = math.sqrt(2) * plans[-1].half_width
    close = "" if several else f" Models closer than about {apart:.0f} points will hardly be told apart."
    echo(
        f"+-: expected half-width of a rating's {100 * design.level:g} % interval (Bradley-Terry, Elo points, mean "
        f"over models) if {100 * design.ties:g} % of votes are ties, votes on one comparison correlate by "
        f"{design.alike:g} and true ratings spread by {design.spread:g} points.{close}"
    )
    bound = "that" if several else f"{plans[0].highest_elo:.0f}"
    echo(
        f"Elo <=: what a model that wins every game can reach at K = {design.elo_k:g} from 1000, opponents' losses "
        f"counted: a rating above {bound} cannot come from one scenario's votes."
    )
    if any(plan.schedule == "coarse_to_fine" for plan in plans):
        echo(
            "coarse to fine: every model meets a few anchors, then neighbours whose intervals overlap; about N log2 N "
            "pairs in place of N (N - 1) / 2."
        )
