"""What a gate leaves behind: its report where it passed, and a message with the first rows where it did not."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from magister.contracts.gate import describe_failures
from magister.contracts.page import render_page
from magister.contracts.schemas import Contract
from magister.errors import CheckFailed, UserError
from scripts.step import Step


def table_or_none(step: Step, name: str, contract: Contract) -> pa.Table:
    """The table of an input; an empty one where the parameters ask for no such file."""
    return step.table(name) if step.inputs.get(name) else contract.schema.empty_table()


def _failed(path: Path) -> Path:
    return path.with_name(f"{path.stem}.failed{path.suffix}")


def conclude(step: Step, report: Mapping[str, Any]) -> None:
    """Write the report of a gate and its page, or stop everything downstream.

    Raises:
        CheckFailed: the gate did not pass. The report and its page then stay beside the gate's files, which
            are not written.
    """
    gate, page = step.outputs["gate"], step.outputs["page"]
    title = " ".join(["Gate:", str(report["module"]), *map(str, step.wildcards.values())])
    html = render_page(report, title)
    try:
        for path in (gate, page):
            # A gate that passed earlier must not stand beside tables that do not, nor the other way round.
            (_failed(path) if report["success"] else path).unlink(missing_ok=True)
        if not report["success"]:
            gate.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(report, sort_keys=True, ensure_ascii=False, indent=1, allow_nan=False)
            _failed(gate).write_text(text + "\n", encoding="utf-8")
            _failed(page).write_text(html, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}. Free space or rights, then rerun") from None
    if not report["success"]:
        raise CheckFailed(
            f"{describe_failures(report)}\n  Full report: {_failed(gate)}, {_failed(page).name}"
        )
    step.write_json("gate", report)
    step.write_text("page", html)
