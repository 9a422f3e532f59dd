"""`items`: from raw rows to multiple-choice items."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from magister.config.base import AnswerAs, Name, Real, Section, Sha256, WheelFile, Whole


class ColumnMap(Section):
    """Which column of a source holds what. A column of the same name is used where none is named here."""

    question: str = Field("question", description="The question.")
    answer: str = Field("answer", description="The right answer: its text, its letter or its index.")
    options: str | list[str] | None = Field(
        None, description="A list column, a text block `A. ...`, or several columns; `[]` for open questions."
    )
    passage: str | None = Field(None, description="A text that the question is about; empty for none.")
    id: str | None = Field(None, description="Identifier; the content identifies a row without one.")
    domain: str | None = Field(None, description="Domain, where it differs by row; empty for none.")
    cluster: str | None = Field(None, description="Rows that share a passage or template; empty for none.")


class Dataset(Section):
    """One source of items."""

    kind: Literal["generated", "wheel", "file"] = Field(description="Where the items come from.")
    domain: str = Field("general", description="Domain of all rows without one of their own.")
    n: Whole | None = Field(None, ge=1, description="How many items to use; all by default. Drawn by seed.")
    seed: Whole = Field(0, description="Seed of the generator and of the draw.")
    generator: str | None = Field(
        None, description="`generated`: a reasoning-gym task, or `sums` (built in)."
    )
    generator_args: dict[str, Any] = Field(default_factory=dict, description="`generated`: its arguments.")
    wheel: WheelFile | None = Field(None, description="`wheel`: the pinned file.")
    path: str | None = Field(
        None,
        description="`file`: path of a .jsonl, .json, .csv or .parquet file, or of a log of another tool.",
    )
    sha256: Sha256 | None = Field(None, description="`file`: expected hash; checked when given.")
    format: Literal["auto", "gsm8k", "mmlu", "teach2eval", "lm_eval", "inspect"] = Field(
        "auto",
        description="`gsm8k`: the gold value follows `####`. `mmlu`: CSV without a header (question, four "
        "options, letter). `teach2eval`: JSON list with the letters under `label`. `lm_eval`: samples logged by "
        "lm-evaluation-harness (.jsonl). `inspect`: a log of Inspect AI (.json, or the .eval archive). `auto`: by "
        "column map.",
    )
    columns: ColumnMap = Field(default_factory=ColumnMap, description="Column map.")
    max_question_chars: Whole | None = Field(
        None, ge=1, description="Longer questions (with their passage) are rejected, with that reason."
    )

    @model_validator(mode="after")
    def _kind_has_its_fields(self) -> Dataset:
        needed = {"generated": "generator", "wheel": "wheel", "file": "path"}[self.kind]
        if getattr(self, needed) is None:
            raise ValueError(f"kind {self.kind!r} needs {needed!r}")
        if self.kind == "generated" and self.n is None:
            raise ValueError("kind 'generated' needs 'n'")
        return self


class ItemPrompts(Section):
    """Versions of the prompts that make items."""

    free: str = Field("v1", description="Open questions to distractor models: `prompts/free/`.")
    rewrite: str = Field("v1", description="Options to the rewriter: `prompts/rewrite/`.")
    review: str = Field("v1", description="Checklist for the reviewer: `prompts/review/`.")
    answer: str = Field("v1", description="Items with options to the ladder: `prompts/answer/`.")
    paraphrase: str = Field("v1", description="Questions to a paraphraser: `prompts/paraphrase/`.")
    paraphrase_review: str = Field(
        "v1", description="Checklist for the reviewer of paraphrases: `prompts/paraphrase_review/`."
    )


class Variant(Section):
    """The same items in another form; a seed of 0 and no paraphraser leave that part as it was built."""

    order: Whole = Field(0, ge=0, description="Seed of another order of the options; 0: as built.")
    distractors: Whole = Field(
        0, ge=0, description="Seed of another draw among the harvested distractors; 0: as built."
    )
    paraphraser: Name | None = Field(None, description="Model that rewords the questions; passages stay.")
    reviewer: Name | None = Field(
        None, description="Model that fills in the checklist of paraphrases; needs a paraphraser."
    )
    max_tokens: Whole = Field(512, ge=1, description="Reply limit of the paraphraser and its reviewer.")

    @model_validator(mode="after")
    def _differs(self) -> Variant:
        if self.reviewer is not None and self.paraphraser is None:
            raise ValueError("'reviewer' needs 'paraphraser'")
        if not self.order and not self.distractors and self.paraphraser is None:
            raise ValueError(
                "nothing differs from the items as built; set 'order', 'distractors' or 'paraphraser'"
            )
        return self


class Items(Section):
    """From raw rows to multiple-choice items."""

    datasets: dict[Name, Dataset] = Field(
        default_factory=dict, description="Sources by name; without any, no items are made."
    )
    options: Whole = Field(4, ge=2, le=26, description="Options per item built from an open question.")
    pad: Literal["none", "numeric_neighbours"] = Field(
        "none",
        description="What fills up numeric items with too few harvested distractors; recorded per option.",
    )
    distractor_models: list[Name] = Field(
        default_factory=list, description="Weak models whose wrong answers become distractors."
    )
    distractor_samples: Whole = Field(
        1, ge=1, description="Free-form answers per distractor model and question."
    )
    rewriter: str = Field("rules", description="`rules`, or a model that normalises the options' wording.")
    reviewer: str | None = Field(
        None, description="Model that fills in the review checklist; needs a rewriter model."
    )
    ladder: list[Name] = Field(
        default_factory=list, description="Models, weakest first, that grade difficulty."
    )
    band_cuts: list[Real] = Field(
        [0.2, 0.4, 0.6, 0.8],
        min_length=4,
        max_length=4,
        description="Mean ladder accuracy at or below which an item is in band 5, 4, 3, 2; above the last: band 1.",
    )
    seed: Whole = Field(0, description="Seed of option order and of ties.")
    variants: dict[Name, Variant] = Field(
        default_factory=dict,
        description="Other forms of all items by name; a league names the one it uses as `items_variant`.",
    )
    prompts: ItemPrompts = Field(default_factory=ItemPrompts, description="Prompt versions.")
    answer_as: AnswerAs = Field(
        "text", description="How ladder models are asked to name an option, as `teaching.answer_as`."
    )
    max_tokens: Whole = Field(64, ge=1, description="Reply limit of free-form and ladder answers.")

    @model_validator(mode="after")
    def _cuts_ascend(self) -> Items:
        if self.band_cuts != sorted(set(self.band_cuts)):
            raise ValueError(f"band_cuts must ascend, found {self.band_cuts}")
        return self
