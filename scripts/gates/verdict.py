"""What a gate leaves behind: its report where it passed, and a message with the first rows where it did not."""

import json
from collections.abc import Mapping
from typing import Any

from magister.contracts.gate import describe_failures
from magister.errors import CheckFailed, UserError
from scripts.step import Step


def conclude(step: Step, report: Mapping[str, Any]) -> None:
    """Write the report of a gate, or stop everything downstream.

    Raises:
        CheckFailed: the gate did not pass. The report then stays beside the gate file, which is not written.
    """
    gate = step.outputs["gate"]
    failed = gate.with_name(f"{gate.stem}.failed{gate.suffix}")
    try:
        if report["success"]:
            failed.unlink(missing_ok=True)
        else:
            # A gate that passed earlier must not stand beside tables that do not.
            gate.unlink(missing_ok=True)
            failed.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(report, sort_keys=True, ensure_ascii=False, indent=1, allow_nan=False)
            failed.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}. Free space or rights, then rerun") from None
    if not report["success"]:
        raise CheckFailed(f"{describe_failures(report)}\n  Full report: {failed}")
    step.write_json("gate", report)
