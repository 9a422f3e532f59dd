"""Read or generate the rows of a data set and let them through the data gate."""

import sys
from collections import Counter

from magister.config.items import Dataset
from magister.errors import UserError
from magister.items import load_source, normalise_rows
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the pool of the data set and its rejected rows."""
    name = step.wildcards["dataset"]
    dataset = Dataset.model_validate(step.params["dataset"])
    raw = step.inputs.get("raw")
    rows = load_source(name, dataset, raw[0] if raw else None)
    for reason, count in rows.folded.items():
        print(
            f"data set {name!r}: {count} records of the log are no rows of their own: {reason}",
            file=sys.stderr,
        )
    pool, rejected = normalise_rows(name, dataset, rows)
    if not pool.num_rows:
        reasons = Counter(rejected["reason"].to_pylist())
        counts = ", ".join(f"{reason}: {reasons[reason]}" for reason in sorted(reasons))
        raise UserError(
            f"data set {name!r}: none of its {rejected.num_rows} rows can be used ({counts}). "
            "`magister items check FILE` shows the rows; correct the file or its column map."
        )
    step.write("pool", pool, "pool")
    step.write("rejected", rejected, "rejected")


if __name__ == "__main__":
    run_step(__spec__.name, run)
