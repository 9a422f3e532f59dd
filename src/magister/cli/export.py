"""`magister export`: provenance in the forms of others."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magister.audit.exports.names import Files
from magister.cli._printing import echo
from magister.display import counted
from magister.errors import UserError

if TYPE_CHECKING:
    from rocrate.rocrate import ROCrate

    from magister.audit.exports.chain import Chain
    from magister.audit.trail import Trail

EXAMPLE = "Example: magister export boards.crate --as ro-crate"


class Form(StrEnum):
    """What is written."""

    prov = "prov"
    ro_crate = "ro-crate"
    in_toto = "in-toto"


def export(
    out: Annotated[Path, typer.Argument(help="A new file, or a new folder for ro-crate.")],
    form: Annotated[Form, typer.Option("--as", help="W3C PROV-JSON, a Workflow Run RO-Crate or in-toto.")],
    of: Annotated[
        list[Path] | None,
        typer.Option(help="An artifact; may be repeated. The boards by default. All behind it comes along."),
    ] = None,
    files: Annotated[
        Files | None,
        typer.Option(help="ro-crate: copy what is behind the artifacts, or name it by size and hash."),
    ] = None,
    date: Annotated[
        str | None, typer.Option(help="ro-crate: date of publication; that of the last commit by default.")
    ] = None,
    license: Annotated[
        str | None, typer.Option(help="ro-crate: SPDX identifier or address; the project's own by default.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="ro-crate: its name.")] = None,
    agent: Annotated[
        str | None, typer.Option(help="ro-crate: who ran it, `NAME` or `NAME <ADDRESS>`; else unsaid.")
    ] = None,
) -> None:
    """Write where results come from in a standard form. No times: the same results give the same bytes."""
    from magister.audit.exports.chain import chain_behind
    from magister.audit.trail import read_trail

    root = Path()
    _refuse(root, out, folder=form is Form.ro_crate)
    given = {"files": files, "date": date, "license": license, "title": title, "agent": agent}
    stray = [f"--{name}" for name, value in given.items() if value is not None]
    if stray and form is not Form.ro_crate:
        raise UserError(f"{', '.join(stray)}: only with --as ro-crate, found --as {form}")
    trail = read_trail(root)
    chain = chain_behind(trail, [str(path) for path in of or []])
    if form is Form.prov:
        from magister.audit.exports.prov_json import prov_document

        _write(out, [json.dumps(prov_document(chain), sort_keys=True, ensure_ascii=False, indent=1)])
    elif form is Form.in_toto:
        from magister.audit.exports.statements import statements

        _write(out, (_line(statement) for statement in statements(chain)))
    else:
        _write_folder(out, _crate(trail, chain, given))
    echo(
        f"Written: {out}: {', '.join(chain.targets)} and everything behind: "
        f"{counted(len(chain.files), 'file')}, {counted(len(chain.runs), 'run')} of rules, "
        f"{counted(len(chain.models), 'model')}."
    )
    if form is Form.in_toto:
        echo(f"{counted(len(chain.made), 'statement')}, not signed: docs/exports.md says how to sign them.")


def _refuse(root: Path, out: Path, *, folder: bool) -> None:
    """Keep the export off the user's files and out of folders that stages own."""
    from magister.pipeline import DvcProject

    if out.exists() and not (folder and out.is_dir() and not any(out.iterdir())):
        raise UserError(f"{out} is there already; choose another name, or remove it first")
    for stage in DvcProject(root).outs():
        if out.resolve().is_relative_to((root / stage).resolve()):
            raise UserError(
                f"{out}: {stage}/ belongs to the pipeline, which removes it; choose another folder"
            )


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _write(out: Path, lines: Iterable[str]) -> None:
    from magister.llm import write_pieces

    write_pieces(out, (line.encode() + b"\n" for line in lines))


def _crate(trail: Trail, chain: Chain, given: dict[str, Any]) -> ROCrate:
    from magister.audit.exports.certified import check_certified
    from magister.audit.exports.parameters import parameters
    from magister.audit.exports.run_crate import PARAMS, CrateFacts, run_crate
    from magister.audit.exports.software import direct_packages, project_license
    from magister.config.params import read_yaml

    check_certified(chain, trail)
    pyproject, lock = _text(chain.root, "pyproject.toml"), _text(chain.root, "requirements/run.lock")
    facts = CrateFacts(
        date=_date(given["date"]) if given["date"] is not None else _commit_date(chain.root),
        license=given["license"] or project_license(pyproject),
        title=given["title"],
        agent=given["agent"],
        files=given["files"] or Files.copy,
    )
    params = read_yaml(chain.root / PARAMS)
    if not isinstance(params, dict):
        raise UserError(f"{PARAMS}: expected a mapping")
    return run_crate(chain, facts, list(parameters(params)), direct_packages(pyproject, lock))


def _text(root: Path, path: str) -> str:
    try:
        return (root / path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: not there. Run from the project's folder.") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text: {error}") from None


def _date(given: str) -> str:
    try:
        datetime.fromisoformat(given)
    except ValueError:
        raise UserError(
            f"--date {given!r}: expected an ISO 8601 date, for instance 2026-11-30 or 2026-11-30T13:26:07+00:00"
        ) from None
    return given


def _commit_date(root: Path) -> str:
    """When the last commit was made: the clock of now would make every crate another one."""
    try:
        done = subprocess.run(
            ["git", "log", "-1", "--format=%cI"], cwd=root, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise UserError(
            "git is not installed, so the date is not known. Name it: --date 2026-11-30"
        ) from None
    if done.returncode or not done.stdout.strip():
        raise UserError("no commit here, so the date is not known. Name it: --date 2026-11-30")
    return done.stdout.strip()


def _write_folder(out: Path, crate: ROCrate) -> None:
    """Write beside the target and rename: there is a whole crate or none."""
    part = ""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part = tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.")
        crate.write(part)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part, 0o777 & ~mask)
        os.replace(part, out)
    except BaseException as error:
        if part:
            with suppress(OSError):
                rmtree(part)
        if isinstance(error, OSError):
            raise UserError(f"{out}: cannot be written: {error.strerror or error}") from None
        raise
