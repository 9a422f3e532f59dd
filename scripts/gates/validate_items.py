"""Gate between items and everything that uses them."""

from magister.contracts.gate import run_gate
from magister.contracts.items_suite import ItemRules, items_suite
from magister.items import fold_option, key_balance
from scripts.gates.verdict import conclude
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Hold pool, items, rejected rows and bands to what they promise."""
    tables, expectations = items_suite(
        step.table("pool"),
        step.table("pool_rejected"),
        step.table("items_table"),
        step.table("rejected"),
        step.table("bands"),
        datasets=step.params["datasets"],
        rules=ItemRules(fold_option, key_balance),
    )
    conclude(step, run_gate("items", tables, expectations))


if __name__ == "__main__":
    run_step(__spec__.name, run)
