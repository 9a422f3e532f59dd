"""Give all items the form of a variant: other distractors, another order, questions in other words."""

from magister.config.items import Variant
from magister.items import (
    Reply,
    VariedItems,
    apply_paraphrases,
    paraphrase_bodies,
    paraphrase_review_bodies,
    vary_items,
)
from magister.prompts import load_prompt
from scripts.items.replies import replies
from scripts.step import Step, run_step


def varied_items(step: Step) -> VariedItems:
    """The items with the options of the variant and the questions as built."""
    tables = (step.table(name) for name in ("items_table", "pool", "distractors"))
    variant = Variant.model_validate(step.params["variant"])
    return vary_items(*tables, variant, step.wildcards["variant"])


def paraphrases(step: Step) -> dict[str, Reply]:
    """The paraphraser's replies by item."""
    asked = step.params["variant"]
    bodies = paraphrase_bodies(step.table("items_table"), load_prompt(step.path("paraphrase_prompt")))
    return replies(step, "paraphraser", asked["paraphraser"], bodies, "paraphrases", asked["max_tokens"])


def run(step: Step) -> None:
    """Write the items of the variant, and what changed of each."""
    varied, asked = varied_items(step), step.params["variant"]
    if asked["paraphraser"] is not None:
        said, reviews = paraphrases(step), None
        if asked["reviewer"] is not None:
            prompt = load_prompt(step.path("review_prompt"))
            bodies = paraphrase_review_bodies(varied.items, said, prompt)
            reviews = replies(step, "reviewer", asked["reviewer"], bodies, "reviews", asked["max_tokens"])
        varied = apply_paraphrases(varied, said, reviews)
    step.write("items_table", varied.items, "items")
    step.write("report", varied.report, "variant_report")


if __name__ == "__main__":
    run_step(__spec__.name, run)
