"""Read a model's answers to the items of a study."""

from scripts.choices import write_choice_answers
from scripts.step import run_step

if __name__ == "__main__":
    run_step(__spec__.name, write_choice_answers)
