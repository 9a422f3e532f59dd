"""Grade items by how many models of the ladder solve them."""

import pyarrow as pa

from magister.contracts.schemas import BANDS
from magister.items import band_items, ladder_report
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the bands, and the ladder's accuracy; without a ladder there are none."""
    ladder = step.params["ladder"]
    if not ladder:
        step.write("bands", pa.Table.from_pylist([], schema=BANDS.schema), "bands")
        step.write_json("report", {"ladder": [], "unbanded": None, "non_monotone": None})
        return
    items, answers = step.table("items_table"), step.table("answers")
    bands = band_items(items, answers, ladder, step.params["band_cuts"])
    step.write("bands", bands.table, "bands")
    report = ladder_report(items, answers, ladder).to_pylist()
    step.write_json("report", {"ladder": report, "unbanded": bands[1], "non_monotone": bands[2]})


if __name__ == "__main__":
    run_step(__spec__.name, run)
