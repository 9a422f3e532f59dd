"""Ask a model for its turns of one wave."""

from magister.llm import write_requests
from magister.rubrics.waves import wave_requests
from scripts.dialogues import cast, dialogues
from scripts.speakers import speaker
from scripts.step import Step, run_step


def run(step: Step) -> None:
    """Write the request file, empty where nothing is due, and which request belongs to which turn."""
    requests, asked = wave_requests(
        dialogues(step),
        cast(step),
        speaker(step, step.wildcards["model"]),
        max_tokens=step.params["max_tokens"],
    )
    write_requests(step.outputs["requests"], requests)
    step.sidecar("requests")
    step.write("asked", asked, "dialogue_asked")


if __name__ == "__main__":
    run_step(__spec__.name, run)
