"""Ask a model every item of a study once, with its options."""

from scripts.choices import write_choice_requests
from scripts.step import run_step

if __name__ == "__main__":
    run_step(__spec__.name, write_choice_requests)
