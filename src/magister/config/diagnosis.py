"""`diagnosis`: matrices of responses, attributes found in the items' texts, and who has mastered them."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from magister.config.base import AnswerAs, Name, Real, Section, Whole


def _below(path: str, folder: str, suffixes: tuple[str, ...]) -> str:
    """A file that both engines watch."""
    parts = PurePosixPath(path).parts
    if parts[:2] != ("data", folder) or ".." in parts or not path.endswith(suffixes):
        raise ValueError(
            f"{path!r}: expected a file {', '.join(suffixes)} in data/{folder}/, where both engines notice edits"
        )
    return path


Range = Annotated[list[Real], Field(min_length=2, max_length=2)]


class Simulation(Section):
    """Simulated models; their truth is known."""

    models: Whole = Field(200, ge=2, description="How many.")
    truth: Literal["dina", "2pl"] = Field(
        "dina",
        description="`dina`: they master attributes, one per type of item, and the profiles should find them. `2pl`: "
        "one ability explains all, and no profile should be believed.",
    )
    guess: Range = Field([0.1, 0.3], description="Range of the items' P(right) without mastery.")
    slip: Range = Field([0.05, 0.25], description="Range of the items' P(wrong) with it.")
    correlation: Real = Field(
        0.5, ge=0, lt=1, description="Of the normal variables behind the mastery of any two attributes."
    )
    prevalence: Real = Field(0.5, gt=0, lt=1, description="Chance of mastering an attribute.")
    second: Real = Field(
        0.2, ge=0, le=1, description="Share of items that need an attribute of another type as well."
    )
    seed: Whole = Field(0, ge=0, description="Seed.")

    @field_validator("guess", "slip")
    @classmethod
    def _ordered(cls, ends: list[float]) -> list[float]:
        low, high = ends
        if not 0 <= low <= high < 0.5:
            raise ValueError(f"expected a range within 0 and 0.5, found {low} to {high}")
        return ends


class MatrixFile(Section):
    """How a file of responses is read."""

    layout: Literal["auto", "item_by_model", "model_by_item", "long"] = Field(
        "auto", description="What a row is: an item, a model, or one response; `auto` looks at the columns."
    )
    columns: dict[str, str] = Field(
        default_factory=dict,
        description="Columns by role (`model`, `item_id`, `correct`, `status`, `text`, `question`, `solution`, "
        "`item_type`), where they have another name.",
    )
    ignore: list[str] = Field(
        default_factory=list, description="Columns that are neither ids, texts nor responses."
    )
    empty: Literal["unparsed", "missing"] = Field(
        "unparsed",
        description="What an empty cell says: asked without a readable answer, or nobody asked. `NA` is missing.",
    )


class LogFiles(Section):
    """How logs of other tools are read."""

    form: Literal["lm_eval", "inspect"] = Field(description="lm-evaluation-harness, or Inspect AI.")
    measure: str | None = Field(
        None,
        description="Scorer, or metric and filter (`exact_match,strict-match`), whose 0 and 1 count; the only one "
        "without.",
    )
    repetition: Whole = Field(1, ge=1, description="Which answer of a model to an item counts.")
    models: dict[str, str] = Field(
        default_factory=dict, description="Who answered, by path, where the log does not say."
    )


class Study(Section):
    """One matrix of responses, and the items that they answer."""

    kind: Literal["answers", "file", "logs", "simulated"] = Field(
        description="Where the responses come from: models that are asked, a file, logs of other tools, or simulated "
        "models."
    )
    datasets: list[Name] = Field(
        default_factory=list, description="`answers`, `simulated`: data sets of the items."
    )
    models: list[Name] = Field(default_factory=list, description="`answers`: models that are asked.")
    path: str | None = Field(
        None, description="`file`: a matrix, .csv, .jsonl or .parquet, in `data/own/`: docs/own_files.md."
    )
    matrix: MatrixFile = Field(default_factory=MatrixFile, description="`file`: how it is read.")
    logs: list[str] = Field(default_factory=list, description="`logs`: their files, in `data/own/`.")
    log_form: LogFiles | None = Field(None, description="`logs`: how they are read.")
    texts: str | None = Field(
        None,
        description="`file`, `logs`: the items' texts, .csv, .jsonl or .parquet, in `data/own/`; without, those that "
        "stand in the responses' own files.",
    )
    text_columns: dict[str, str] = Field(
        default_factory=dict,
        description="Columns of `texts` by role (`item_id`, `text`, `question`, `solution`, `item_type`), where they "
        "have another name.",
    )
    item_type: Literal["dataset", "domain"] = Field(
        "dataset", description="`answers`, `simulated`: what makes items ones of a type."
    )
    simulation: Simulation | None = Field(None, description="`simulated`: the models.")
    q: str | None = Field(
        None,
        description="A Q-matrix of your own (.csv in `data/own/`, items x attributes of 0 and 1) in place of clusters.",
    )
    attributes: Whole | None = Field(
        None, ge=1, description="How many attributes; chosen among `diagnosis.choice.tried` without."
    )
    review: str | None = Field(
        None, description="What reviewers decided on the attributes: a .csv file in `data/annotations/`."
    )
    frozen: str | None = Field(
        None,
        description="Clusterings that were made before, `cluster_runs.parquet` of a run, in `data/own/`: taken as they "
        "are, since UMAP's bytes differ between processors.",
    )

    @field_validator("path", "texts", "q", "frozen")
    @classmethod
    def _own(cls, path: str | None) -> str | None:
        return path if path is None else _below(path, "own", (".csv", ".jsonl", ".parquet"))

    @field_validator("logs")
    @classmethod
    def _own_logs(cls, paths: list[str]) -> list[str]:
        return [_below(path, "own", (".jsonl", ".json", ".eval")) for path in paths]

    @field_validator("review")
    @classmethod
    def _annotated(cls, path: str | None) -> str | None:
        return path if path is None else _below(path, "annotations", (".csv",))

    @model_validator(mode="after")
    def _kind_has_its_fields(self) -> Study:
        needed = {
            "answers": ("models", "datasets"),
            "file": ("path",),
            "logs": ("logs", "log_form"),
            "simulated": ("datasets", "simulation"),
        }
        for name in needed[self.kind]:
            if not getattr(self, name):
                raise ValueError(f"kind {self.kind!r} needs {name!r}")
        others = {name for names in needed.values() for name in names} - set(needed[self.kind])
        if self.kind in ("answers", "simulated"):
            others.add("texts")
        for name in sorted(others):
            if getattr(self, name):
                raise ValueError(f"kind {self.kind!r} has no {name!r}")
        return self


class Screening(Section):
    """Who and what is flagged, and left out of a fit."""

    min_models: Whole = Field(2, ge=1, description="An item answered by fewer models has few responses.")
    min_items: Whole = Field(2, ge=1, description="A model that answered fewer items has few responses.")
    format_share: Real = Field(
        0.05, ge=0, le=1, description="A format that failed: at most this share of the replies is right ..."
    )
    format_unparsed: Real = Field(0.5, ge=0, le=1, description="... and at least this share cannot be read.")
    duplicate_items: Whole = Field(
        100, ge=1, description="Fewest common items of models that can be each other's duplicate."
    )
    duplicate_agreement: Real = Field(
        1.0, gt=0.5, le=1, description="Share of equal responses from which models are duplicates."
    )
    drop: list[Literal["format_failed", "few_responses", "all_right", "all_wrong", "duplicate"]] = Field(
        ["format_failed", "few_responses", "duplicate"], description="Flags that take a row out of the fit."
    )


class Clustering(Section):
    """Clusterings of the items' vectors, many of them."""

    neighbours: Whole = Field(15, ge=2, description="UMAP: neighbours of an item, itself included.")
    dimensions: Whole = Field(50, ge=2, description="UMAP reduces the vectors to so many.")
    type_weight: Real = Field(
        0.5, ge=0, description="How far an item's type keeps it with others of its type; 0: not at all."
    )
    runs: Whole = Field(50, ge=2, description="How many, each with a seed and a subsample of its own.")
    share: Real = Field(0.9, ge=0.5, le=1, description="Share of the items in each.")
    seed: Whole = Field(0, ge=0, description="Seed of all of them.")


class AttributeChoice(Section):
    """How many attributes."""

    tried: list[Annotated[Whole, Field(ge=2)]] = Field(
        [2, 3, 4, 6, 8], min_length=1, description="Numbers that are tried where a study does not give one."
    )
    least_items: Whole = Field(8, ge=1, description="Fewest items of the smallest attribute.")
    least_stability: Real = Field(
        0.6, ge=-1, le=1, description="Least mean adjusted Rand index between clusterings."
    )


class PriorOfQ(Section):
    """Which clusters, and how far they are believed."""

    linkage: Literal["ward", "average"] = Field(
        "ward", description="How the clusters are built that the clusterings agree on."
    )
    kind: Literal["graded", "point"] = Field(
        "graded",
        description="`graded`: as often as clusterings put an item with an attribute's items. `point`: all alike.",
    )
    ceiling: Real = Field(0.95, gt=0.5, lt=1, description="`graded`: no entry is believed more than this.")
    p_star: Real = Field(
        0.8, gt=0, lt=1, description="`point`: entries that are there; a given Q-matrix too."
    )
    r0: Real | None = Field(
        None,
        gt=0,
        lt=1,
        description="Entries that nothing speaks for; 1/K without, as 1 - p* would mean many.",
    )
    fixed: bool = Field(False, description="A given Q-matrix is taken as it is: responses do not correct it.")


class ReviewSheet(Section):
    """What reviewers see of an attribute."""

    central: Whole = Field(10, ge=1, le=50, description="Its most central items.")
    boundary: Whole = Field(5, ge=0, le=50, description="Items that nearly belong to another one.")


class Saem(Section):
    """The fit by stochastic approximation EM."""

    chains: Whole = Field(
        4, ge=1, description="Chains, from different starts; with fewer than 4 nothing is said to converge."
    )
    alpha_prior: Literal["higher_order", "bernoulli", "flat"] = Field(
        "higher_order",
        description="Prior of mastery: by one ability of the model, by the attribute alone, or even, which overclaims "
        "what weak models master.",
    )
    min_sweeps: Whole = Field(
        200, ge=80, description="Sweeps of every chain at least; at least twice `parallel_sweeps`."
    )
    max_sweeps: Whole = Field(5000, ge=80, description="At most.")
    starts: Whole = Field(3, ge=1, description="Places that a chain tries; it goes on from the best of them.")
    parallel_sweeps: Whole = Field(100, ge=0, description="Sweeps at first that draw everything at once.")
    damping: Real = Field(0.3, ge=0, lt=1, description="Share of mastery that such a sweep leaves as it was.")
    delta: Real = Field(0.05, gt=0, lt=1, description="Least distance of c = 1 - slip from guess.")
    draws: Whole = Field(25, ge=1, description="Draws that a chain hands out, for predictive checks.")
    seed: Whole = Field(0, ge=0, description="Seed.")

    @model_validator(mode="after")
    def _sweeps_suffice(self) -> Saem:
        if self.min_sweeps < 2 * self.parallel_sweeps:
            raise ValueError(
                f"min_sweeps {self.min_sweeps}: expected at least twice parallel_sweeps ({self.parallel_sweeps})"
            )
        if self.max_sweeps < self.min_sweeps:
            raise ValueError(f"max_sweeps {self.max_sweeps} is below min_sweeps {self.min_sweeps}")
        return self


class Checks(Section):
    """The controls."""

    share: Real = Field(
        0.1, gt=0, lt=0.5, description="Share of a model's responses that is held out and predicted."
    )
    least_kept: Whole = Field(5, ge=1, description="Responses that every model and item keeps.")
    placebos: Whole = Field(19, ge=0, description="Priors with their rows dealt out anew.")
    placebo_chains: Whole = Field(2, ge=1, description="Chains of the fits that are compared with them.")
    placebo_sweeps: Whole = Field(1000, ge=200, description="Most sweeps of these.")
    replicates: Whole = Field(200, ge=1, description="Data sets drawn from the fit.")
    least_models: Whole = Field(10, ge=2, description="With fewer models nothing is supported.")
    least_items: Whole = Field(10, ge=2, description="With fewer items nothing is supported.")
    alpha: Real = Field(0.05, gt=0, lt=1, description="Level of the placebo's test.")
    tolerance: Real = Field(
        0.05, ge=0, lt=1, description="Share of the gain over item means that corrections of Q may lose."
    )
    seed: Whole = Field(0, ge=0, description="Seed of held-out responses, shuffled priors and replicates.")


class DiagnosisPrompts(Section):
    """Versions of the prompts of the diagnosis."""

    answer: str = Field("v1", description="Items with options to a model: `prompts/answer/`.")
    label_attribute: str = Field(
        "v1", description="An attribute to the labeller: `prompts/label_attribute/`."
    )


class DiagnosisLimits(Section):
    """Longest replies, in tokens."""

    answer: Whole = Field(64, ge=1, description="Answers to items.")
    label: Whole = Field(64, ge=1, description="Names of attributes.")


class Diagnosis(Section):
    """Which attributes items need, and which of them models have mastered."""

    studies: dict[Name, Study] = Field(default_factory=dict, description="Studies by name.")
    embedder: Name | None = Field(
        None, description="One of `embedders`; needed where a study finds its attributes in the items' texts."
    )
    unparsed: Literal["wrong", "missing"] = Field(
        "wrong", description="What a reply counts as that names no option, is refused or cut."
    )
    answer_as: AnswerAs = Field(
        "text", description="How models are asked to name an option, as `teaching.answer_as`."
    )
    labeller: Name | None = Field(None, description="A model that names attributes; their terms do without.")
    terms: Whole = Field(10, ge=1, description="Most terms of an attribute.")
    examples: Whole = Field(5, ge=1, description="Items of an attribute that the labeller sees.")
    max_tokens: DiagnosisLimits = Field(default_factory=DiagnosisLimits, description="Reply limits.")
    screening: Screening = Field(default_factory=Screening, description="Who is left out.")
    clustering: Clustering = Field(default_factory=Clustering, description="Clusterings of the items.")
    choice: AttributeChoice = Field(default_factory=AttributeChoice, description="How many attributes.")
    prior: PriorOfQ = Field(default_factory=PriorOfQ, description="Prior of the Q-matrix.")
    review: ReviewSheet = Field(default_factory=ReviewSheet, description="What reviewers see.")
    saem: Saem = Field(default_factory=Saem, description="The fit.")
    checks: Checks = Field(default_factory=Checks, description="The controls.")
    prompts: DiagnosisPrompts = Field(default_factory=DiagnosisPrompts, description="Prompt versions.")
