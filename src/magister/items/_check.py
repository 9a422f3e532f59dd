"""A report on a user's own item file."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from magister.config.items import Dataset
from magister.items._normalise import normalise_rows
from magister.items.sources import RawRows, load_source

EXAMPLES = 3
LOG_FORMATS = ("lm_eval", "inspect")


@dataclass(frozen=True)
class CheckReport:
    """What the data gate says of a file.

    Attributes:
        dataset: name of the data set.
        n_rows: rows in the file.
        n_accepted: rows that become items.
        n_drawn: items used (`n` of the data set).
        n_choice: drawn items with options of their own.
        rejected: rows by reason.
        examples: by reason, the first rows with their details.
        flags: items by flag.
        keys: items by key as the source has them, before any shuffling.
        options: items by number of options.
        folded: by reason, records of a log that are no rows of their own.
        unused: columns of the file that nothing is read from; none of a log, whose fields are the tool's.
    """

    dataset: str
    n_rows: int
    n_accepted: int
    n_drawn: int
    n_choice: int
    rejected: dict[str, int]
    examples: dict[str, list[str]]
    flags: dict[str, int]
    keys: dict[str, int]
    options: dict[int, int]
    folded: dict[str, int]
    unused: list[str]

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        return asdict(self)


def _counted(values: Counter[Any]) -> dict[Any, int]:
    return {value: values[value] for value in sorted(values)}


def _unused(raw: RawRows, dataset: Dataset) -> list[str]:
    """Columns that nothing is read from, in the order of the file."""
    used: set[str | None] = {"answer"} if dataset.format == "teach2eval" else set()
    for value in raw.columns.model_dump().values():
        used |= set(value) if isinstance(value, list) else {value}
    return [name for name in dict.fromkeys(name for row in raw.rows for name in row) if name not in used]


def check_items(path: Path, dataset: Dataset, name: str | None = None) -> CheckReport:
    """Pass a file through the data gate and report.

    Args:
        path: the file.
        dataset: how to read it.
        name: name of the data set; the file's by default.

    Returns:
        The report.

    Raises:
        UserError: the file cannot be read at all.
    """
    name = name or path.stem
    raw = load_source(name, dataset, path)
    pool, rejected = normalise_rows(name, dataset, raw)
    examples: dict[str, list[str]] = {}
    for row in rejected.select(["reason", "source_row", "detail"]).to_pylist():
        shown = examples.setdefault(row["reason"], [])
        if len(shown) < EXAMPLES:
            shown.append(f"row {row['source_row']}" + (f": {row['detail']}" if row["detail"] else ""))
    options = [len(texts) for texts in pool["options"].to_pylist() if texts is not None]
    return CheckReport(
        dataset=name,
        n_rows=len(raw),
        n_accepted=len(raw) - rejected.num_rows,
        n_drawn=pool.num_rows,
        n_choice=len(options),
        rejected=_counted(Counter(rejected["reason"].to_pylist())),
        examples=dict(sorted(examples.items())),
        flags=_counted(Counter(flag for flags in pool["flags"].to_pylist() for flag in flags)),
        keys=_counted(Counter(key for key in pool["key"].to_pylist() if key is not None)),
        options=_counted(Counter(options)),
        folded=raw.folded,
        unused=[] if dataset.format in LOG_FORMATS else _unused(raw, dataset),
    )
