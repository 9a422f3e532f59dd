"""How a script is called: named files in, named files out, a slice of the parameters, one message on a mistake.

python -m scripts.teaching.guide --params JSON --wildcards JSON --log FILE --in NAME PATH... --out NAME PATH
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from magister.contracts.schemas import CONTRACTS
from magister.errors import UserError
from magister.provenance import (
    Lineage,
    code_files,
    make_lineage,
    write_json,
    write_sidecar,
    write_table,
    write_text,
)


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
        models: fingerprints of the models that spoke, filled in by the script.
    """

    rule: str
    module: str
    inputs: dict[str, list[Path]]
    outputs: dict[str, Path]
    params: dict[str, Any]
    wildcards: dict[str, str]
    models: dict[str, Any] = field(default_factory=dict)

    def path(self, name: str) -> Path:
        """The one file of an input."""
        (path,) = self.inputs[name]
        return path

    def table(self, name: str) -> pa.Table:
        """The table of an input; several files are put one after the other."""
        return pa.concat_tables([pq.read_table(path) for path in self.inputs.get(name, [])])

    def json(self, name: str) -> Any:
        """The document of an input."""
        return json.loads(self.path(name).read_text(encoding="utf-8"))

    def lineage(self) -> Lineage:
        """The record of this run."""
        return make_lineage(
            self.rule,
            wildcards=self.wildcards,
            inputs=[path for paths in self.inputs.values() for path in paths],
            params=self.params,
            code=code_files(self.module),
            models=self.models,
        )

    def write(self, name: str, table: pa.Table, contract: str) -> None:
        """Write a table output."""
        write_table(self.outputs[name], table, CONTRACTS[contract], self.lineage())

    def write_json(self, name: str, value: Any) -> None:
        """Write a document output."""
        write_json(self.outputs[name], value, self.lineage())

    def write_text(self, name: str, text: str) -> None:
        """Write a text output."""
        write_text(self.outputs[name], text, self.lineage())

    def sidecar(self, name: str) -> None:
        """Write the lineage beside an output that the script has written itself."""
        write_sidecar(self.outputs[name], self.lineage())


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="One step of the pipeline; the rule of the same name calls it."
    )
    parser.add_argument("--params", type=json.loads, default={}, help="slice of the parameters, JSON")
    parser.add_argument("--wildcards", type=json.loads, default={}, help="wildcard values, JSON")
    parser.add_argument("--log", type=Path, help="file that messages are written to as well")
    parser.add_argument("--in", dest="inputs", nargs="+", action="append", default=[], metavar="NAME PATH")
    parser.add_argument(
        "--out", dest="outputs", nargs=2, action="append", default=[], metavar=("NAME", "PATH")
    )
    return parser.parse_args(argv)


def run_step(module: str, run: Callable[[Step], None], argv: list[str] | None = None) -> None:
    """Run a script's function with what its rule gives it.

    Args:
        module: the script's `__spec__.name`.
        run: the function.
        argv: arguments, those of the process by default.
    """
    arguments = _arguments(argv)
    rule = module.rsplit(".", 1)[-1]
    step = Step(
        rule=rule,
        module=module,
        inputs={name: [Path(path) for path in paths] for name, *paths in arguments.inputs},
        outputs={name: Path(path) for name, path in arguments.outputs},
        params=arguments.params,
        wildcards=arguments.wildcards,
    )
    if os.environ.get("MAGISTER_PROGRESS") == "1":
        print(" ".join([f"{rule:<24}", *arguments.wildcards.values()]).rstrip(), file=sys.stderr)
    try:
        run(step)
    except UserError as error:
        message = f"{rule}: {error}"
        print(message, file=sys.stderr)
        if arguments.log is not None:
            arguments.log.parent.mkdir(parents=True, exist_ok=True)
            arguments.log.write_text(message + "\n", encoding="utf-8")
        sys.exit(error.exit_code)
    if arguments.log is not None:
        arguments.log.parent.mkdir(parents=True, exist_ok=True)
        arguments.log.write_text("ok\n", encoding="utf-8")
