"""Take the rewrites that keep their items what they were; the form by the rules stands for the others."""

from magister.items import Reply, apply_rewrites, review_bodies, rewrite_bodies
from magister.prompts import load_prompt
from scripts.items.replies import replies
from scripts.step import Step, run_step


def rewrites(step: Step) -> dict[str, Reply]:
    """The rewriter's replies by item."""
    bodies = rewrite_bodies(step.table("built"), load_prompt(step.path("rewrite_prompt")))
    return replies(step, "rewriter", step.params["rewriter"], bodies, "rewrites", step.params["max_tokens"])


def run(step: Step) -> None:
    """Write the final items; without a rewriter they are the built ones."""
    items = step.table("built")
    if "rewrites" in step.inputs:
        said = rewrites(step)
        reviews = None
        if "reviews" in step.inputs:
            bodies = review_bodies(items, said, load_prompt(step.path("review_prompt")))
            limit = step.params["max_tokens"]
            reviews = replies(step, "reviewer", step.params["reviewer"], bodies, "reviews", limit)
        items = apply_rewrites(items, said, reviews)
    step.write("items_table", items, "items")
    step.write("rejected", step.table("rejected"), "rejected")


if __name__ == "__main__":
    run_step(__spec__.name, run)
