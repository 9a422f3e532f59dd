"""Put the options of a league's items in another order."""

from magister.items import permute_options
from scripts.choices import league_items
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the items of the league as it asks them."""
    step.write("items_table", permute_options(league_items(step), step.params["option_order"]), "items")


if __name__ == "__main__":
    run_step(__spec__.name, run)
