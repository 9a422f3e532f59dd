"""`magister rubrics`: scenarios, and the dialogues that are scored by rubrics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magister.cli._printing import Format, FormatOption, ParamsOption, echo, print_rows
from magister.cli._speakers import speakers_of, weights_files
from magister.cli._tables import read_parquet
from magister.display import counted
from magister.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

    from magister.contracts.contract import Contract
    from magister.rubrics.scenario import Scenario

app = typer.Typer(no_args_is_help=True, help="Scenarios: who talks to whom, on which tasks, scored how.")


@app.command("lint", epilog="Example: magister rubrics lint data/scenarios")
def rubrics_lint(
    files: Annotated[list[Path], typer.Argument(help="Scenario files, or folders of them.")],
    form: FormatOption = Format.text,
) -> None:
    """Say what is wrong with scenario files, with lines. Exit code 1 if anything but notes was found."""
    from magister.rubrics.lint import lint_files, scenario_files

    missing = [path for path in files if not path.exists()]
    if missing:
        raise UserError(f"no such file: {', '.join(map(str, missing))}")
    paths = scenario_files(files)
    if not paths:
        raise UserError(f"no .yaml or .yml file in {', '.join(map(str, files))}")
    found = lint_files(paths)
    if form is Format.text:
        for one in found:
            echo(f"{one.at}: {one.severity} {one.code}: {one.message}. {one.advice}.")
        counts = [
            counted(sum(one.severity == severity for one in found), severity)
            for severity in ("error", "warning", "note")
        ]
        echo(f"{counted(len(paths), 'file')}: {', '.join(counts)}")
    else:
        rows = [
            {
                "file": one.at.file,
                "line": one.at.line,
                "severity": one.severity,
                "code": one.code,
                "message": one.message,
                "advice": one.advice,
            }
            for one in found
        ]
        print_rows(rows, form)
    if any(one.severity != "note" for one in found):
        raise typer.Exit(1)


@app.command("grid", epilog="Example: magister rubrics grid build/grid --subject mathematics --language zh")
def rubrics_grid(
    out: Annotated[Path, typer.Argument(help="A new folder, which gets a file per scenario.")],
    language: Annotated[str, typer.Option(help="en or zh.")] = "en",
    subject: Annotated[
        list[str] | None, typer.Option(help="One subject; may be repeated. All by default.")
    ] = None,
    stage: Annotated[
        list[str] | None, typer.Option(help="One stage; may be repeated. All by default.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option(help="One kind of task; may be repeated. All by default.")
    ] = None,
) -> None:
    """Write a grid of scenarios: subject by stage by kind of task, 330 in all. The same files each time."""
    from magister.llm import write_pieces
    from magister.rubrics.grid import LANGUAGES, grid

    chosen = next((one for one in LANGUAGES if one == language), None)
    if chosen is None:
        raise UserError(f"--language: expected {' or '.join(LANGUAGES)}, found {language!r}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is there already; choose another folder, or remove it first")
    written = list(grid(language=chosen, subjects=subject or (), stages=stage or (), kinds=kind or ()))
    for one in written:
        write_pieces(out / f"{one.name}.yaml", [one.text.encode()])
    echo(f"Written: {counted(len(written), 'scenario')} to {out}")


@app.command(
    "run", epilog="Example: magister rubrics run tutoring.yaml --model smol-plain --out build/tutoring"
)
def rubrics_run(
    file: Annotated[Path, typer.Argument(help="A scenario file of any dialect.")],
    model: Annotated[
        list[str], typer.Option("--model", help="Model of params.yaml that is evaluated; may be repeated.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the dialogues; an interrupted run goes on in it.")],
    partner: Annotated[
        list[str] | None,
        typer.Option(
            help="Who speaks for another agent, `agent=model`, or `model` for all; else the evaluated model itself."
        ),
    ] = None,
    params: ParamsOption = Path("params.yaml"),
    max_turns: Annotated[int | None, typer.Option(min=1, help="Cut dialogues after so many turns.")] = None,
    max_tokens: Annotated[
        int, typer.Option(min=1, help="Longest turn; a scenario may set a smaller one.")
    ] = 512,
    samples: Annotated[int, typer.Option(min=1, help="Dialogues per task and model.")] = 1,
    compat: Annotated[
        bool, typer.Option("--compat", help="Play a scenario of Elmes 0.1 as Elmes does, faults included.")
    ] = False,
    store: Annotated[Path | None, typer.Option(help="Folder of answers; by default in --out.")] = None,
    form: FormatOption = Format.text,
) -> None:
    """Play a scenario file of your own with configured models. No scores: dialogues and how each ended."""
    from magister.config.params import load_params
    from magister.contracts.rubrics_tables import DIALOGUES, TRANSCRIPTS
    from magister.rubrics.play import Place, play
    from magister.rubrics.reader import read_scenario
    from magister.rubrics.waves import Cast, open_dialogues

    scenario = read_scenario(file)
    loaded = load_params(params)
    evaluated = sorted(set(model))
    partners = _partners(scenario, partner or [], evaluated)
    names = {*evaluated, *partners.values()}
    unknown = sorted(names - set(loaded.models))
    if unknown:
        raise UserError(f"{params}: no model {', '.join(unknown)}; known: {', '.join(sorted(loaded.models))}")
    chosen = {name: loaded.models[name] for name in sorted(names)}
    cast = Cast(partners, max_turns, "compat" if compat else "fixed")
    dialogues = open_dialogues([scenario], evaluated, semantics=cast.semantics, samples=samples)
    _claim(
        out,
        {
            "scenario": scenario.name,
            "sha256": _sha256(file),
            "models": evaluated,
            "partners": partners,
            "max_turns": max_turns,
            "max_tokens": max_tokens,
            "samples": samples,
            "semantics": cast.semantics,
        },
    )
    weights = weights_files(chosen)
    place = Place(
        out, store or out / "store", f"rubrics/{scenario.name}", weights, loaded.llm.max_error_share
    )
    played = play(
        dialogues,
        cast,
        speakers_of(chosen, weights),
        place,
        max_tokens=max_tokens,
        report=lambda number, turns: echo(f"wave {number}: {counted(turns, 'turn')}", err=True),
    )
    for name, table, contract in (
        ("transcripts", played.transcripts, TRANSCRIPTS),
        ("dialogues", played.dialogues, DIALOGUES),
    ):
        _write(out / name, table, contract)
    rows = _ends(played.dialogues)
    if form is not Format.text:
        print_rows(rows, form)
        return
    print_rows(rows, form)
    echo(f"{counted(played.asked, 'request')} asked, {played.cached} answered from {place.store}")
    echo(f"Written: {out}/transcripts.parquet, .jsonl; {out}/dialogues.parquet, .jsonl")


@app.command("export", epilog="Example: magister rubrics export embedded socratic-fractions build/export")
def rubrics_export(
    name: Annotated[str, typer.Argument(metavar="SET", help="A set of params.yaml.")],
    scenario: Annotated[str, typer.Argument(help="One of its scenarios.")],
    out: Annotated[Path, typer.Argument(help="Folder for the files.")],
    params: ParamsOption = Path("params.yaml"),
    folder: Annotated[Path, typer.Option(help="Where the sets lie.")] = Path("data/rubrics/sets"),
) -> None:
    """Write a scenario's best rubric for others: a file of Elmes 0.1, and a sheet for Label Studio."""
    import json

    from magister.config.params import load_params
    from magister.llm import write_pieces
    from magister.rubrics.export import dialect_a, label_studio_config, label_studio_tasks
    from magister.rubrics.heard import heard_dialogues
    from magister.rubrics.reader import read_scenario
    from magister.rubrics.rubric import read_rubric, rubric_document
    from magister.rubrics.tasks import with_tasks

    sets = load_params(params).rubrics.sets
    if name not in sets:
        raise UserError(f"{params}: no set {name!r}; known: {', '.join(sorted(sets)) or 'none'}")
    best = _document(folder / name / "best.json")
    if scenario not in best:
        raise UserError(f"set {name} has no scenario {scenario!r}; it has {', '.join(sorted(best))}")
    found = best[scenario]
    at = folder / name / str(found.pop("iteration"))
    rubric = read_rubric(found, f"{folder / name / 'best.json'}: {scenario}")
    read = {one.name: one for one in map(read_scenario, map(Path, sets[name].scenarios))}
    played = with_tasks(read[scenario], _document(at / "tasks.json")[scenario], str(at / "tasks.json"))
    missing = "not there yet. Run: snakemake --cores all"
    transcripts, ends = (
        read_parquet(at / f"{table}.parquet", missing) for table in ("transcripts", "dialogues")
    )
    dialogues = heard_dialogues(transcripts, ends, played)
    made = {
        "rubric.json": json.dumps(rubric_document(rubric), ensure_ascii=False, indent=1, sort_keys=True)
        + "\n",
        "scenario.yaml": dialect_a(played, rubric),
        "label_config.xml": label_studio_config(rubric),
        "label_tasks.json": json.dumps(label_studio_tasks(dialogues, rubric), ensure_ascii=False, indent=1)
        + "\n",
    }
    for file, text in made.items():
        write_pieces(out / file, [text.encode()])
    echo(f"Written: {', '.join(made)} to {out}")


def _document(path: Path) -> Any:
    """A JSON document of a run."""
    import json

    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: not there yet. Run: snakemake --cores all") from None
    except ValueError as error:
        raise UserError(f"{path}: damaged: {error}") from None


def _partners(scenario: Scenario, given: list[str], evaluated: list[str]) -> dict[str, str]:
    """Models of the agents that are not evaluated."""
    others = {agent.name for agent in scenario.agents} - {scenario.candidate}
    partners: dict[str, str] = {}
    for one in given:
        agent, sign, name = one.partition("=")
        agent, name = (agent, name) if sign else ("*", one)
        if agent != "*" and agent not in others:
            what = "is the one that is evaluated (--model)" if agent == scenario.candidate else "is no agent"
            raise UserError(
                f"--partner {one}: {agent!r} {what}; other agents: {', '.join(sorted(others)) or 'none'}"
            )
        if agent in partners:
            raise UserError(f"--partner {one}: {agent!r} is given twice")
        partners[agent] = name
    if "*" not in partners and others - set(partners):
        if len(evaluated) > 1:
            raise UserError(
                "several models are evaluated, and who speaks for "
                f"{', '.join(sorted(others - set(partners)))} is not said: give --partner, the same for all of them"
            )
        partners["*"] = evaluated[0]
    return partners


def _sha256(path: Path) -> str:
    from magister.provenance import file_sha256

    return file_sha256(path)


def _claim(out: Path, run: dict[str, Any]) -> None:
    """Take a folder that is new, or goes on with the same run.

    Raises:
        UserError: it holds something else.
    """
    import json

    from magister.llm import write_pieces

    record = out / "run.json"
    text = json.dumps(run, sort_keys=True, ensure_ascii=False, indent=1) + "\n"
    if record.is_file():
        if record.read_text(encoding="utf-8") != text:
            raise UserError(
                f"--out: {out} holds a run with other models, options or another scenario (see {record}); choose "
                "another folder"
            )
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"--out: {out} is there already and holds no run; choose another folder")
    write_pieces(record, [text.encode()])


def _write(path: Path, table: pa.Table, contract: Contract) -> None:
    """Write a table as parquet for programs and as JSON lines for eyes."""
    import io

    import pyarrow.parquet as pq

    from magister.llm import canonical_json, write_pieces
    from magister.provenance import conform

    ordered = conform(table, contract)
    buffer = io.BytesIO()
    pq.write_table(ordered, buffer, compression="zstd")
    write_pieces(path.with_suffix(".parquet"), [buffer.getvalue()])
    rows = (canonical_json(row).encode() + b"\n" for row in ordered.to_pylist())
    write_pieces(path.with_suffix(".jsonl"), rows)


def _ends(dialogues: pa.Table) -> list[dict[str, Any]]:
    """How many dialogues of each model ended how."""
    counts: dict[tuple[str, str, str], list[int]] = {}
    for row in dialogues.to_pylist():
        counts.setdefault((row["model"], row["stop_kind"], row["status"]), []).append(row["turns"])
    return [
        {"model": name, "stop_kind": stop, "status": status, "dialogues": len(turns), "turns": sum(turns)}
        for (name, stop, status), turns in sorted(counts.items())
    ]
