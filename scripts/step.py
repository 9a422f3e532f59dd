"""How a script is called: named files in, named files out, a slice of the parameters, one message on a mistake.

python -m scripts.teaching.guide --params JSON --wildcards JSON --log FILE --in NAME PATH... --out NAME PATH
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from magister.contracts.schemas import CONTRACTS
from magister.errors import UserError
from magister.offline import refuse_network
from magister.provenance import (
    Lineage,
    code_files,
    code_md5s,
    inert,
    make_lineage,
    write_json,
    write_sidecar,
    write_table,
    write_text,
)

# What the machine refuses; any other error of the system is a bug of the script and keeps its traceback.
_REFUSED = {
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENAMETOOLONG),
}


def read_table(path: Path) -> pa.Table:
    """Read a parquet file.

    Raises:
        UserError: it is missing, cannot be opened or is damaged.
    """
    if not path.is_file():
        raise UserError(_missing(path))
    try:
        # Not `pq.read_table`: that imports the code for data sets of many files first, for each step anew.
        with pq.ParquetFile(path) as file:
            return file.read()
    except PermissionError:
        raise UserError(f"{path}: cannot be read: {os.strerror(errno.EACCES)}") from None
    except (pa.ArrowInvalid, OSError) as error:
        what = str(error).splitlines()[0] if str(error) else "it cannot be read"
        raise UserError(f"{path}: damaged, or no parquet file: {what.rstrip('. ')}. {_REBUILD}") from None


_REBUILD = "Delete it and run again: the rule that makes it writes it anew."


def _missing(path: Path) -> str:
    return f"{path}: no such file. Run snakemake: the rule that makes it comes first."


@dataclass(frozen=True)
class Step:
    """One run of a script.

    Attributes:
        rule: name of rule and script.
        module: dotted name of the script.
        inputs: paths by input name.
        outputs: path by output name.
        params: slice of the parameters.
        wildcards: values of the rule's wildcards.
        code: md5 of each source file, taken when the step began: one edited while it runs is not what ran.
        command: md5 of the rule's shell command.
        models: fingerprints of the models that spoke, filled in by the script.
        quoted: path -> md5 of inputs that a replay takes from the record instead of reading, likewise.
    """

    rule: str
    module: str
    inputs: dict[str, list[Path]]
    outputs: dict[str, Path]
    params: dict[str, Any]
    wildcards: dict[str, str]
    code: dict[str, str]
    command: str = ""
    models: dict[str, Any] = field(default_factory=dict)
    quoted: dict[str, str] = field(default_factory=dict)

    def path(self, name: str) -> Path:
        """The one file of an input."""
        paths = self.inputs.get(name, [])
        if len(paths) != 1:
            given = ", ".join(f"{key} ({len(files)})" for key, files in self.inputs.items()) or "none"
            raise UserError(f"one file is expected for the input {name!r}; given inputs: {given}")
        return paths[0]

    def table(self, name: str) -> pa.Table:
        """The table of an input; several files are put one after the other."""
        return pa.concat_tables(self.tables(name))

    def tables(self, name: str) -> list[pa.Table]:
        """The tables of an input, a table a file."""
        return [read_table(path) for path in self.inputs.get(name, [])]

    def json(self, name: str) -> Any:
        """The document of an input."""
        path = self.path(name)
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UserError(_missing(path)) from None
        except ValueError as error:
            raise UserError(f"{path}: not valid JSON: {error}. {_REBUILD}") from None

    def lineage(self) -> Lineage:
        """The record of this run."""
        lineage = make_lineage(
            self.rule,
            wildcards=self.wildcards,
            inputs=[path for paths in self.inputs.values() for path in paths],
            params=self.params,
            code=self.code,
            command=self.command,
            models=self.models,
        )
        return replace(lineage, inputs=lineage.inputs | self.quoted)

    def write(self, name: str, table: pa.Table, contract: str) -> None:
        """Write a table output."""
        write_table(self.outputs[name], table, CONTRACTS[contract], self.lineage())

    def write_json(self, name: str, value: Any) -> None:
        """Write a document output."""
        write_json(self.outputs[name], value, self.lineage())

    def write_text(self, name: str, text: str) -> None:
        """Write a text output."""
        write_text(self.outputs[name], text, self.lineage())

    def write_csv(self, name: str, table: pa.Table) -> None:
        """Write a table for people and spreadsheets; a text that a spreadsheet would run gets an apostrophe."""
        self.write_text(name, inert(table).to_pandas().to_csv(index=False, lineterminator="\n"))

    def sidecar(self, name: str) -> None:
        """Write the lineage beside an output that the script has written itself."""
        write_sidecar(self.outputs[name], self.lineage())


def _object(text: str) -> dict[str, Any]:
    """A JSON object from the command line."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"expected a JSON object, found {type(value).__name__}")
    return value


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="One step of the pipeline; the rule of the same name calls it."
    )
    parser.add_argument("--params", type=_object, default={}, help="slice of the parameters, JSON")
    parser.add_argument("--wildcards", type=_object, default={}, help="wildcard values, JSON")
    parser.add_argument(
        "--code", nargs="+", help="source files that the script runs; found by itself without"
    )
    parser.add_argument("--command", default="", help="md5 of the rule's shell command")
    parser.add_argument("--log", type=Path, help="file that messages are written to as well")
    parser.add_argument("--in", dest="inputs", nargs="+", action="append", default=[], metavar="NAME PATH")
    parser.add_argument(
        "--out", dest="outputs", nargs=2, action="append", default=[], metavar=("NAME", "PATH")
    )
    return parser.parse_args(argv)


def _write_log(log: Path | None, text: str) -> None:
    """Keep a message in the log; a log that cannot be written changes nothing of the step."""
    if log is None:
        return
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        print(f"{log}: this log cannot be written: {error.strerror}", file=sys.stderr)


def _is_refusal(error: OSError) -> bool:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return error.errno in _REFUSED and error.filename is not None


def _refusal(error: OSError) -> str:
    """What the machine refused, as a message about a file."""
    name = error.filename2 or error.filename
    if error.errno == errno.ENOENT:
        return _missing(Path(str(name)))
    return f"{name or 'a file'}: {error.strerror}. Free space or rights, then run again"


def run_step(module: str, run: Callable[[Step], None], argv: list[str] | None = None) -> None:
    """Run a script's function with what its rule gives it.

    A mistake of the user's, or what the machine refuses (a missing file, no rights, a full disk), ends in one
    message and an exit code; a bug keeps its traceback, which then stands in the log too.

    Args:
        module: the script's `__spec__.name`.
        run: the function.
        argv: arguments, those of the process by default.
    """
    arguments = _arguments(argv)
    refuse_network()
    rule = module.rsplit(".", 1)[-1]
    step = Step(
        rule=rule,
        module=module,
        inputs={name: [Path(path) for path in paths] for name, *paths in arguments.inputs},
        outputs={name: Path(path) for name, path in arguments.outputs},
        params=arguments.params,
        wildcards=arguments.wildcards,
        code=code_md5s(tuple(arguments.code or code_files(module))),
        command=arguments.command,
    )
    title = " ".join([rule, *map(str, arguments.wildcards.values())])
    if os.environ.get("MAGISTER_PROGRESS") == "1":
        print(f"{rule:<24} {title.removeprefix(rule).strip()}".rstrip(), file=sys.stderr)
    try:
        run(step)
    except (UserError, OSError) as error:
        if isinstance(error, OSError) and not _is_refusal(error):
            _write_log(arguments.log, traceback.format_exc().rstrip())
            raise
        message = f"{title}: {_refusal(error) if isinstance(error, OSError) else error}"
        print(message, file=sys.stderr)
        _write_log(arguments.log, message)
        sys.exit(error.exit_code if isinstance(error, UserError) else UserError.exit_code)
    except KeyboardInterrupt:
        _write_log(arguments.log, f"{title}: interrupted")
        sys.exit(130)
    except Exception:
        _write_log(arguments.log, traceback.format_exc().rstrip())
        raise
    _write_log(arguments.log, "ok")
