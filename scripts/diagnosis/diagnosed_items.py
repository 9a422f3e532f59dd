"""Texts and types of the items of a study."""

import pyarrow as pa

from magister.diagnosis.item_files import diagnosed_items, read_items, texts_of
from magister.errors import UserError
from scripts.choices import league_items
from scripts.diagnosis.imported import imported
from scripts.step import Step, run_step


def _items(step: Step) -> pa.Table:
    """Those of the pipeline, of an items file, or of the responses' own files."""
    if step.inputs.get("items_table"):
        return diagnosed_items(league_items(step), step.params["item_type"])
    if step.inputs.get("items_file"):
        return read_items(step.path("items_file"), step.params["columns"])
    found = imported(step).items
    if found is None:
        raise UserError(
            f"{step.inputs['files'][0]}: no texts of items; give an items file with item_id and text, or question and "
            "solution"
        )
    return found


def run(step: Step) -> None:
    """Write the items; where responses are given, those that they are of."""
    items = _items(step)
    if step.inputs.get("responses"):
        wanted = sorted(set(step.table("responses")["item_id"].to_pylist()))
        items = texts_of(items, wanted, ", ".join(map(str, step.inputs.get("items_file", []))) or "items")
    step.write("texts", items, "diagnosed_items")


if __name__ == "__main__":
    run_step(__spec__.name, run)
