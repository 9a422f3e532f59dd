"""Plans: calls, tokens and money of a run, and the difference it can show."""

from __future__ import annotations

from typing import Any

import pytest
from teaching_tables import prompt

from magister.config.models import PRICES, ModelConfig
from magister.config.params import Params, validate_params
from magister.jobs import count_jobs
from magister.llm import build_request, chat_body, fingerprint
from magister.teaching.plan import (
    CHARS_PER_TOKEN,
    MESSAGE_TOKENS,
    Ask,
    Planner,
    Shape,
    Size,
    price,
    prompts_of,
    summed,
    tokens,
    written,
)


def params(**league: Any) -> Params:
    models = {
        name: {"engine": "scripted", "script": "teacher"} for name in ("ann", "bob", "tea", "tom", "pen")
    }
    return validate_params(
        {
            "models": models,
            "items": {
                "datasets": {"open": {"kind": "generated", "generator": "sums", "n": 10}},
                "distractor_models": ["pen"],
                "distractor_samples": 4,
                "rewriter": "pen",
                "reviewer": "tom",
                "ladder": ["ann", "bob"],
            },
            "teaching": {
                "leagues": {
                    "main": {"students": ["ann", "bob"], "teachers": ["tea", "tom"], "datasets": ["open"]}
                    | {"arms": ["sham"], "rounds": 2}
                    | league
                }
            },
        }
    )


def planner(**league: Any) -> Planner:
    chosen = params(**league)
    prompts = {name: prompt(*name.split("/")) for name in prompts_of(chosen)}
    return Planner(chosen, {"open": Size(10, 10, 5, "known")}, Shape(), prompts)


def test_every_step_that_asks_is_counted() -> None:
    plan = planner()
    items = {(ask.stage, ask.model): ask.calls for ask in plan.items()}
    assert items == {
        ("free answers", "pen"): 40, ("rewrite", "pen"): 10, ("review", "tom"): 10, ("ladder", "ann"): 10,
        ("ladder", "bob"): 10,
    }  # fmt: skip
    league = plan.league("main")
    assert [ask.step for ask in league if ask.model == "ann"] == [
        "teaching/main/blind_answers", "teaching/main/round1/revise", "teaching/main/round2/revise",
    ]  # fmt: skip
    rows = {(row["stage"], row["model"]): row["calls"] for row in summed(league, plan.params.models)}
    assert rows == {
        ("blind", "ann"): 10, ("blind", "bob"): 10, ("zero-shot", "tea"): 10, ("zero-shot", "tom"): 10,
        ("guide", "tea"): 40, ("guide", "tom"): 40, ("revise", "ann"): 60, ("revise", "bob"): 60,
    }  # fmt: skip


def test_the_paraphrases_of_variants_are_counted() -> None:
    plan, plain = planner(), planner()
    raw = plan.params.model_dump(mode="json")
    raw["items"]["variants"] = {"worded": {"paraphraser": "pen", "reviewer": "tom"}, "shuffled": {"order": 1}}
    plan.params = validate_params(raw)
    for name in ("paraphrase", "paraphrase_review"):
        plan.prompts = {**plan.prompts, name: prompt(name)}
    more = [ask for ask in plan.items() if ask not in plain.items()]
    assert [(ask.stage, ask.model, ask.step, ask.calls) for ask in more] == [
        ("paraphrase", "pen", "items/variants/worded/paraphrases", 10),
        ("paraphrase review", "tom", "items/variants/worded/reviews", 10),
    ]
    # A table for each variant; the paraphraser and its reviewer are asked in two jobs each.
    assert count_jobs(plan.params) - count_jobs(plain.params) == 2 + 4


def test_histories_grow_with_the_rounds() -> None:
    guides = [ask for ask in planner(rounds=3).league("main") if (ask.stage, ask.model) == ("guide", "tea")]
    sent = [ask.tokens_in for ask in guides]
    assert sent[0] < sent[1] < sent[2]
    assert len({ask.tokens_out for ask in guides}) == 1


def test_options_cost_tokens_where_the_teacher_sees_them() -> None:
    blind, seeing = (
        sum(ask.tokens_in for ask in planner(blind=how).league("main") if ask.stage == "guide")
        for how in ("strict", "off")
    )
    assert seeing > blind


def test_tokens_are_four_characters_each_and_some_a_message() -> None:
    assert CHARS_PER_TOKEN == 4
    assert tokens([{"role": "user", "content": "x" * 41}]) == 11 + MESSAGE_TOKENS
    assert tokens([{"role": "user", "content": None}]) == MESSAGE_TOKENS
    assert tokens([]) == 0


def test_a_written_request_file_is_counted_as_it_is() -> None:
    ask = Ask("blind", "main", "ann", "teaching/main/blind_answers", 10, 999, 640)
    body = {"messages": [{"role": "user", "content": "x" * 40}], "max_tokens": 7}
    requests = [{"custom_id": str(place), "body": body} for place in range(4)]
    found = written(ask, requests, ["1", "3", "elsewhere"])
    assert (found.calls, found.held, found.tokens_in, found.tokens_out) == (
        4,
        2,
        2 * (10 + MESSAGE_TOKENS),
        14,
    )
    del body["max_tokens"]
    assert written(ask, requests, []).tokens_out == 4 * 64


def model(**fields: Any) -> ModelConfig:
    return ModelConfig.model_validate(
        {"engine": "openai", "served_name": "m", "base_url": "http://h/v1"} | fields
    )


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"price_in": 2, "price_out": 10}, 2 * 3 + 10 * 0.5),
        ({"price_in": 2}, None),
        ({}, None),
        ({"price_in": 0, "price_out": 0}, 0.0),
    ],
)
def test_a_price_that_is_not_known_is_not_zero(fields: dict[str, Any], expected: float | None) -> None:
    assert price(model(**fields), 3_000_000, 500_000) == expected


def test_an_embedded_model_costs_nothing_and_nothing_costs_nothing() -> None:
    assert price(ModelConfig(engine="scripted", script="student"), 10, 10) == 0.0
    assert price(model(), 0, 0) == 0.0


def test_prices_are_in_no_request_and_no_fingerprint() -> None:
    plain, priced = model(), model(price_in=1, price_out=2)
    said = [{"role": "user", "content": "hello"}]
    one, two = (
        build_request(fingerprint("m", each, None), chat_body(each, said, 8)) for each in (plain, priced)
    )
    assert one == two
    assert set(priced.model_dump()) - set(PRICES) == set(plain.model_dump(exclude=set(PRICES)))


def test_a_price_cannot_be_negative() -> None:
    with pytest.raises(ValueError, match="price_in"):
        model(price_in=-1)


def test_jobs_grow_with_rounds_and_models() -> None:
    assert count_jobs(params(rounds=3)) - count_jobs(params(rounds=2)) == 3 * 4 + 1
    assert count_jobs(params(arms=[])) == count_jobs(params()) - 2


def test_jobs_of_derived_leagues_are_counted() -> None:
    alone = count_jobs(params())
    per_league = 3 * 4 * 3 + 2 + 4
    assert count_jobs(params(ablations=["answer_revelation"])) == alone + per_league
    assert count_jobs(params(ablations=["option_order"])) == alone + 2 * (per_league + 1)
    assert count_jobs(params(arms=["verdict_only"])) == count_jobs(params(arms=[]))


def left(name: str, **league: Any) -> dict[str, tuple[int, int]]:
    """Of a league's calls by stage: all of them, and those that no other league asks."""
    found: dict[str, tuple[int, int]] = {}
    for ask in planner(**league).league(name):
        calls, new = found.get(ask.stage, (0, 0))
        found[ask.stage] = (calls + ask.calls, new + ask.calls - ask.repeated)
        assert (ask.tokens_in > 0) == (ask.tokens_out > 0) == (ask.calls > ask.repeated)
    return found


def test_a_derived_league_asks_what_its_own_does_not() -> None:
    asked = {"ablations": ["more_rounds", "answer_revelation", "prompts", "option_order"]}
    whole = {"blind": (20, 20), "zero-shot": (20, 20), "guide": (80, 80), "revise": (120, 120)}
    assert left("main", **asked) == whole
    assert left("main--rounds-6", **asked) == {
        "blind": (20, 0), "zero-shot": (20, 0), "guide": (240, 160), "revise": (360, 240),
    }  # fmt: skip
    assert left("main--may-tell", **asked) == whole | {
        "blind": (20, 0), "zero-shot": (20, 0), "revise": (120, 80),
    }  # fmt: skip
    assert left("main--prompts-v3", **asked) == left("main--order-2", **asked) == whole


def test_prompts_that_stay_the_same_are_not_asked_again() -> None:
    league = {"prompts": {"answer": "v2", "revise": "v2"}, "ablations": ["prompts"]}
    assert left("main--prompts-v2", **league) == {
        "blind": (20, 0), "zero-shot": (20, 0), "guide": (80, 80), "revise": (120, 80),
    }  # fmt: skip
    assert prompts_of(params(**league)) == [
        "answer/v1", "answer/v2", "answer/v3", "free/v1", "guide/v1", "guide/v2", "guide/v3", "paraphrase/v1",
        "paraphrase_review/v1", "review/v1", "revise/v2", "revise/v3", "rewrite/v1",
    ]  # fmt: skip


def test_a_teacher_is_asked_in_every_arm_where_it_speaks() -> None:
    plan = left("main", arms=["sham", "verdict_only"])
    assert plan["guide"] == (2 * 20 * (1 + 2),) * 2
    assert plan["revise"] == (2 * 2 * 10 * (2 * 2 + 1),) * 2
