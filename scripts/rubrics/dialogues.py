"""Put the waves together: all turns, and how each dialogue ended."""

import pyarrow as pa

from magister.rubrics.waves import dialogue_table
from scripts.dialogues import cast, dialogues
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the transcripts and the dialogues."""
    step.write("dialogues", dialogue_table(dialogues(step), cast(step)), "dialogues")
    step.write("transcripts", pa.concat_tables(step.tables("waves")), "transcripts")


if __name__ == "__main__":
    run_step(__spec__.name, run)
