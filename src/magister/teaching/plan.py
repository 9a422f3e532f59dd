"""A plan: what a run will ask of whom, in calls, tokens and money, before anything is asked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from magister.config.models import ModelConfig
from magister.config.params import Params
from magister.config.teaching import League, derived_leagues, played_leagues
from magister.contracts.schemas import TEACHER_ARMS
from magister.llm import chat_body
from magister.prompts import Prompt
from magister.teaching.guides import Turn
from magister.teaching.options import options_block

CHARS_PER_TOKEN = 4
MESSAGE_TOKENS = 4
"""What a chat template adds to a message, about."""
FREE_ENGINES = ("llama_cpp", "scripted")


@dataclass(frozen=True)
class Size:
    """What a data set holds.

    Attributes:
        n_open: open questions, which need distractors.
        n_items: items.
        n_clusters: clusters of them.
        basis: how that is known.
    """

    n_open: int
    n_items: int
    n_clusters: int
    basis: str


@dataclass(frozen=True)
class Shape:
    """How long the texts of an item are, in characters.

    Attributes:
        question: question and passage.
        option: one option.
        n_options: options.
    """

    question: int = 150
    option: int = 12
    n_options: int = 4


@dataclass(frozen=True)
class Ask:
    """Calls of one step to one model.

    Attributes:
        stage: what is asked.
        league: for which league; empty for items.
        model: who is asked.
        step: the step's place in the pipeline, `data/<step>/<model>.requests.jsonl`.
        calls: requests.
        tokens_in: tokens of the prompts to be asked.
        tokens_out: tokens of the replies to be given, at their limits.
        held: of the calls, how many the store answers; None before the request file is written.
        repeated: of the calls, how many are those of the league that this one is derived from, and not asked
            again; 0 once the request file is written and `held` says it.
    """

    stage: str
    league: str
    model: str
    step: str
    calls: int
    tokens_in: int
    tokens_out: int
    held: int | None = None
    repeated: int = 0

    def less(self, repeated: int) -> Ask:
        """The same calls, of which some are asked elsewhere."""
        left = self.calls - repeated
        return replace(
            self,
            repeated=repeated,
            tokens_in=self.tokens_in * left // max(self.calls, 1),
            tokens_out=self.tokens_out * left // max(self.calls, 1),
        )


def tokens(messages: Iterable[Mapping[str, Any]]) -> int:
    """Tokens of a conversation, about: four characters each."""
    total = 0
    for message in messages:
        total += MESSAGE_TOKENS + math.ceil(len(str(message.get("content") or "")) / CHARS_PER_TOKEN)
    return total


def _item(shape: Shape) -> dict[str, Any]:
    options = [f"{place}".ljust(max(shape.option, 2), "x") for place in range(shape.n_options)]
    return {"question": "x" * shape.question, "passage": None, "options": options}


def _said(limit: int) -> str:
    return "x" * (limit * CHARS_PER_TOKEN)


def _of_items(params: Params) -> dict[str, str]:
    """Names `task/version` of the templates of the items module, by task."""
    return {task: f"{task}/{version}" for task, version in params.items.prompts.model_dump().items()}


def _of_league(league: League) -> dict[str, str]:
    """Names of the templates of a league, by task."""
    versions = {} if league.prompts is None else league.prompts.model_dump()
    return {task: f"{task}/{version}" for task, version in versions.items()}


def prompts_of(params: Params) -> list[str]:
    """Names `task/version` of all templates of a run."""
    leagues = [
        _of_league(league) for league in played_leagues(params.teaching, params.items.variants).values()
    ]
    return sorted({name for names in (_of_items(params), *leagues) for name in names.values()})


# What a model that answers on its own does not see.
_UNSEEN = {"rounds", "blind", "arms", "may_tell_answer", "student_shots", "ablations", "prompts"}


class _Repeated:
    """What a league asks that the league it is derived from asks too.

    Args:
        league: the derived one.
        base: the one that it is derived from.
    """

    def __init__(self, league: League, base: League) -> None:
        one, other = (_of_league(each) for each in (league, base))
        self._base_rounds = base.rounds or 0
        self._same = league.model_dump(exclude={"rounds", "ablations"}) == base.model_dump(
            exclude={"rounds", "ablations"}
        )
        self.answers = one["answer"] == other["answer"] and (
            league.model_dump(exclude=_UNSEEN) == base.model_dump(exclude=_UNSEEN)
        )
        self._revise = self.answers and one["revise"] == other["revise"]

    def rounds(self, number: int) -> bool:
        """Whether everything that is said up to this round is the same."""
        return self._same and number <= self._base_rounds

    def fixed_arms(self, number: int) -> bool:
        """Whether students are asked the same in the arms whose words are fixed."""
        return self._revise and number <= self._base_rounds


class Planner:
    """Counts what the steps of a run will ask."""

    def __init__(
        self, params: Params, sizes: Mapping[str, Size], shape: Shape, prompts: Mapping[str, Prompt]
    ) -> None:
        """Prepare.

        Args:
            params: the parameters.
            sizes: by data set.
            shape: of an item.
            prompts: the templates that `prompts_of` names.
        """
        self.params, self.sizes, self.shape, self.prompts = params, sizes, shape, prompts
        self.leagues = played_leagues(params.teaching, params.items.variants)
        self.derived = derived_leagues(params.teaching, params.items.variants)

    def _ask(
        self, where: tuple[str, str, str], model: str, calls: int, limit: int, prompt: str, **values: Any
    ) -> Ask:
        stage, league, step = where
        config = self.params.models[model]
        body = chat_body(config, self.prompts[prompt].render(**values), limit)
        return Ask(stage, league, model, step, calls, calls * tokens(body["messages"]), calls * limit)

    def items(self) -> list[Ask]:
        """What the making of items asks."""
        chosen = self.params.items
        prompts = _of_items(self.params)
        item = _item(self.shape)
        n_open = sum(size.n_open for size in self.sizes.values())
        n_items = sum(size.n_items for size in self.sizes.values())
        known = {"question": item["question"], "passage": None}
        right = {"gold": item["options"][0], "key": "A", "options": item["options"]}
        asks = [
            self._ask(
                ("free answers", "", "items/free_answers"),
                model, n_open * chosen.distractor_samples, chosen.max_tokens, prompts["free"], **known,
            )
            for model in chosen.distractor_models
        ]  # fmt: skip
        if chosen.rewriter != "rules":
            where = ("rewrite", "", "items/rewrites")
            asks.append(
                self._ask(
                    where,
                    chosen.rewriter,
                    n_open,
                    4 * chosen.max_tokens,
                    prompts["rewrite"],
                    **known,
                    **right,
                )
            )
        if chosen.reviewer is not None:
            where = ("review", "", "items/reviews")
            values = known | right | {"original": item["options"]}
            asks.append(
                self._ask(where, chosen.reviewer, n_open, 4 * chosen.max_tokens, prompts["review"], **values)
            )
        shown = known | {"options": options_block(item["options"]), "answer_as": chosen.answer_as}
        where = ("ladder", "", "items/ladder_answers")
        asks += [
            self._ask(where, model, n_items, chosen.max_tokens, prompts["answer"], **shown)
            for model in chosen.ladder
        ]
        return asks + self._variants(n_items, known)

    def _variants(self, n_items: int, known: Mapping[str, Any]) -> list[Ask]:
        """What the paraphrases of variants ask; equal questions of several variants are asked once."""
        prompts = _of_items(self.params)
        asks: list[Ask] = []
        for name, variant in self.params.items.variants.items():
            limit, folder = variant.max_tokens, f"items/variants/{name}"
            if variant.paraphraser is not None:
                where = ("paraphrase", "", f"{folder}/paraphrases")
                asks.append(
                    self._ask(where, variant.paraphraser, n_items, limit, prompts["paraphrase"], **known)
                )
            if variant.reviewer is not None:
                where = ("paraphrase review", "", f"{folder}/reviews")
                values = dict(known) | {"paraphrase": known["question"], "gold": "x" * self.shape.option}
                asks.append(
                    self._ask(where, variant.reviewer, n_items, limit, prompts["paraphrase_review"], **values)
                )
        return asks

    def league(self, name: str) -> list[Ask]:
        """What a league asks, round by round; of a derived one too what the league it is derived from asks."""
        teaching, league = self.params.teaching, self.leagues[name]
        limits, prompts = teaching.max_tokens, _of_league(league)
        item = _item(self.shape)
        n_items = self.size(league).n_items
        repeated = (
            _Repeated(league, teaching.leagues[self.derived[name].base]) if name in self.derived else None
        )
        shown = {
            "question": item["question"],
            "passage": None,
            "options": options_block(item["options"]),
            "answer_as": teaching.answer_as,
        }
        folder = f"teaching/{name}"
        asks: list[Ask] = []
        for stage, models, place in (
            ("blind", league.students, "blind_answers"),
            ("zero-shot", league.teachers, "zero_shot"),
        ):
            where = (stage, name, f"{folder}/{place}")
            for one in models:
                ask = self._ask(where, one, n_items, limits.answer, prompts["answer"], **shown)
                asks.append(ask.less(ask.calls) if repeated and repeated.answers else ask)
        first, later = Turn(_said(limits.answer)), Turn(_said(limits.revise))
        said = {"verdict": "wrong", "guidance": _said(limits.guide)}
        spoken = [arm for arm in league.arms if arm in TEACHER_ARMS]
        n_fixed = len(league.arms) - len(spoken)
        n_exchanges = len(league.teachers) * (1 + len(spoken)) + n_fixed
        for number in range(1, (league.rounds or teaching.rounds) + 1):
            turns = [replace(turn, **said) for turn in (first, *[later] * (number - 1))]
            turns = [*turns[:-1], later if number > 1 else first]
            values = {
                "question": item["question"],
                "passage": None,
                "options": options_block(item["options"]) if league.blind == "off" else None,
                "history": turns,
                "may_tell_answer": league.may_tell_answer,
            }
            where = ("guide", name, f"{folder}/round{number}/guide")
            # Of the first round, whatever the arm, a teacher reads the same.
            calls = n_items * len(league.students) * (1 if number == 1 else 1 + len(spoken))
            for one in league.teachers:
                ask = self._ask(where, one, calls, limits.guide, prompts["guide"], **values)
                asks.append(ask.less(ask.calls) if repeated and repeated.rounds(number) else ask)
            values = shown | said | {"shots": league.student_shots, "arm": "taught"}
            values |= {"last_answer": _said(limits.revise if number > 1 else limits.answer)}
            where = ("revise", name, f"{folder}/round{number}/revise")
            for one in league.students:
                ask = self._ask(where, one, n_items * n_exchanges, limits.revise, prompts["revise"], **values)
                if repeated and repeated.rounds(number):
                    ask = ask.less(ask.calls)
                elif repeated and repeated.fixed_arms(number):
                    ask = ask.less(n_items * n_fixed)
                asks.append(ask)
        return asks

    def size(self, league: League) -> Size:
        """Items of a league."""
        sizes = [self.sizes[dataset] for dataset in league.datasets]
        return Size(
            sum(size.n_open for size in sizes),
            sum(size.n_items for size in sizes),
            sum(size.n_clusters for size in sizes),
            "",
        )


def written(ask: Ask, requests: Sequence[Mapping[str, Any]], finished: Iterable[str]) -> Ask:
    """The same calls, counted in the request file that a run has written.

    Args:
        ask: as planned.
        requests: rows of the request file.
        finished: keys of the requests that the store answers.
    """
    done = set(finished)
    left = [request["body"] for request in requests if request["custom_id"] not in done]
    return replace(
        ask,
        calls=len(requests),
        held=len(requests) - len(left),
        repeated=0,
        tokens_in=sum(tokens(body["messages"]) for body in left),
        tokens_out=sum(_limit(body, ask) for body in left),
    )


def _limit(body: Mapping[str, Any], ask: Ask) -> int:
    limit = body.get("max_tokens", body.get("max_completion_tokens"))
    return limit if isinstance(limit, int) else ask.tokens_out // max(ask.calls, 1)


def price(model: ModelConfig, tokens_in: int, tokens_out: int) -> float | None:
    """Money for some tokens; None where the model's prices are not known."""
    if not tokens_in and not tokens_out:
        return 0.0
    if model.price_in is None and model.price_out is None:
        return 0.0 if model.engine in FREE_ENGINES else None
    if (model.price_in is None and tokens_in) or (model.price_out is None and tokens_out):
        return None
    return ((model.price_in or 0.0) * tokens_in + (model.price_out or 0.0) * tokens_out) / 1e6


def summed(asks: Iterable[Ask], models: Mapping[str, ModelConfig]) -> list[dict[str, Any]]:
    """Calls by stage, league and model, over all rounds.

    Args:
        asks: per step.
        models: by name, for their prices.

    Returns:
        Rows (stage, league, model, calls, held, repeated, tokens_in, tokens_out, cost) in the order of the steps.
        `held` is null before any request file of the row is written; `cost` where a price is not known.
    """
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for ask in asks:
        key = (ask.stage, ask.league, ask.model)
        row = rows.setdefault(
            key,
            {"stage": ask.stage, "league": ask.league, "model": ask.model, "calls": 0, "held": None}
            | {"repeated": 0, "tokens_in": 0, "tokens_out": 0},
        )
        for name in ("calls", "repeated", "tokens_in", "tokens_out"):
            row[name] += getattr(ask, name)
        if ask.held is not None:
            row["held"] = (row["held"] or 0) + ask.held
    for row in rows.values():
        row["cost"] = price(models[row["model"]], row["tokens_in"], row["tokens_out"])
    return list(rows.values())
