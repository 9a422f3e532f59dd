"""Whatever models say, and whatever fails, tables as the pipeline makes them keep every promise."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from gate_tables import READING, RULES, Rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from magister.config.models import ModelConfig
from magister.contracts.ablations_suite import AblationPlan, LeagueAblations, ablations_suite
from magister.contracts.boards_suite import BoardRow, boards_suite
from magister.contracts.gate import RowCount, Suite
from magister.contracts.items_suite import ItemsPlan, ItemTables, items_suite
from magister.contracts.schemas import BANDS, CONTRACTS, DISTRACTORS, POOL
from magister.contracts.teaching_suite import LeaguePlan, LeagueTables, teaching_suite
from magister.items import (
    band_items,
    build_items,
    free_answer_requests,
    harvest_distractors,
    parse_free_answers,
)
from magister.llm import Request, Response, Speaker, fingerprint
from magister.prompts import load_prompt
from magister.provenance import conform
from magister.teaching.ablations import Variant, ablate
from magister.teaching.answers import answer_requests, parse_answers
from magister.teaching.board import teaching_board
from magister.teaching.guides import control_guides, guide_requests, histories, parse_guides
from magister.teaching.metrics import teaching_metrics
from magister.teaching.revisions import parse_revisions, previous_answers, revise_requests
from magister.teaching.standings import standings
from magister.teaching.trajectories import teaching_trajectories, zero_shot_table

PROMPTS = Path(__file__).resolve().parents[2] / "prompts"
TEXTS = [
    "Answer: 12", "B", "I think it is C) 14.", "The answer is 13, or maybe 14.", "", "  \n", "$ERROR$",
    "I'm sorry, but I can't help with that.", "<think>It is B", "<think>It is B</think>C", "\\boxed{12}",
    "Verdict: wrong\nGuidance: Add the tens first.", "Verdict: correct", "Wrong! The answer is 12.",
    '{"verdict": "wrong", "guidance": "Take \\u00e9 care: not B, not 14."}', "Well done. ㎏ ﷺ 12", "Option B is wrong.",
    "Verdict: wrong\nGuidance: It is 12, so choose A.", "12\n13", "x" * 200, "14 km",
]  # fmt: skip
ERRORS = ["context_length", "timeout", "server"]
replies_drawn = st.one_of(
    st.tuples(st.sampled_from(TEXTS), st.sampled_from(["stop", "length", "content_filter", None]), st.none()),
    st.tuples(st.sampled_from(TEXTS), st.just("stop"), st.none()),
    st.tuples(st.just(""), st.none(), st.sampled_from(ERRORS)),
)
Drawn = tuple[str, str | None, str | None]


class Cast:
    """Speakers whose replies are drawn; equal requests get equal replies."""

    def __init__(self, drawn: Sequence[Drawn]) -> None:
        self.drawn = drawn
        self.said: dict[str, Response] = {}

    def speaker(self, name: str) -> Speaker:
        model = ModelConfig(engine="scripted", script="echo", system=name)
        return Speaker(name, model, fingerprint(name, model, None))

    def answer(self, requests: Sequence[Request]) -> dict[str, Response]:
        for request in requests:
            text, finish, error = self.drawn[len(self.said) % len(self.drawn)]
            key = request["custom_id"]
            self.said.setdefault(key, Response(key, text, None, finish, "m", 5, 3, error))
        return self.said


def made(contract: str, *tables: pa.Table) -> pa.Table:
    """Tables as they are written and read together."""
    return pa.concat_tables([conform(table, CONTRACTS[contract]) for table in tables])


def broken(suite: Suite) -> dict[str, Rows]:
    """Everything beyond the contracts that does not hold, with the rows."""
    held, expectations = suite
    found: dict[str, Rows] = {}
    for expectation in expectations:
        _, table = held[expectation.table]
        if isinstance(expectation, RowCount):
            if table.num_rows != expectation.rows:
                found[f"{expectation.table}:rows"] = [{"found": table.num_rows, "expected": expectation.rows}]
        elif not expectation.passed.all():
            found[f"{expectation.table}:{expectation.name}"] = table.filter(
                pa.array(~expectation.passed)
            ).to_pylist()
    return found


def pool() -> pa.Table:
    """Two questions with options and two open ones."""
    rows = [
        {
            "item_id": f"i{n}", "dataset": "d", "domain": "maths", "cluster_id": f"c{n}", "question": f"{n} + 12?",
            "gold": "12", "source_row": n, "flags": [], "options": ["12", "13", "14", "15"] if n < 2 else None,
            "key": "A" if n < 2 else None,
        }
        for n in range(4)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=POOL.schema)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(replies_drawn, min_size=3, max_size=20))
def test_items_keep_every_promise(drawn: list[Drawn]) -> None:
    cast, source = Cast(drawn), pool()
    prompt, free = (load_prompt(PROMPTS / task / "v1.md") for task in ("answer", "free"))
    models, answers = ["weak", "odd"], []
    for name in models:
        requests = free_answer_requests(source, cast.speaker(name), free, samples=3, max_tokens=9)
        answers.append(parse_free_answers(source, requests, cast.answer(requests), name, 3))
    free_answers = made("free_answers", *answers)
    distractors = harvest_distractors(source, free_answers).table
    items, rejected = build_items(source, distractors, options=4, pad="numeric_neighbours", seed=0)
    ladder = ["small", "big"]
    marks = []
    for name in ladder:
        requests = answer_requests(items, cast.speaker(name), prompt, answer_as="text", max_tokens=9)
        marks.append(parse_answers(items, requests, cast.answer(requests), name))
    ladder_answers, cuts = made("answers", *marks), (0.2, 0.4, 0.6, 0.8)
    tables = ItemTables(
        pool=made("pool", source),
        pool_rejected=CONTRACTS["rejected"].schema.empty_table(),
        free_answers=free_answers,
        distractors=made("distractors", distractors),
        items=made("items", items),
        rejected=made("rejected", rejected),
        ladder_answers=ladder_answers,
        bands=made("bands", band_items(items, ladder_answers, ladder, cuts).table),
    )
    assert broken(items_suite(tables, ItemsPlan(["d"], models, 3, ladder, cuts), RULES)) == {}


@pytest.mark.parametrize("blindness", ["strict", "paper", "off"])
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(replies_drawn, min_size=3, max_size=30))
def test_leagues_and_boards_keep_every_promise(blindness: Any, drawn: list[Drawn]) -> None:
    cast, source = Cast(drawn), pool()
    items = made(
        "items",
        build_items(source, DISTRACTORS.schema.empty_table(), options=4, pad="numeric_neighbours", seed=0)[0],
    )
    plan = LeaguePlan(
        "main", ["ann", "bob"], ["tom", "una"], ["sham", "self_revise", "verdict_only"], 2, ["d"], blindness
    )
    answer, guide, revise = (load_prompt(PROMPTS / task / "v1.md") for task in ("answer", "guide", "revise"))

    def own(name: str) -> pa.Table:
        requests = answer_requests(items, cast.speaker(name), answer, answer_as="text", max_tokens=9)
        return made("answers", parse_answers(items, requests, cast.answer(requests), name))

    blind = {name: own(name) for name in plan.students}
    guides: list[pa.Table] = []
    revised: list[pa.Table] = []
    asked: dict[str, list[pa.Table]] = {"guides": [], "revisions": []}
    latest = dict(blind)
    for number in range(1, plan.rounds + 1):
        told = [
            made("guides", control_guides(items, list(plan.students), ["sham", "self_revise"], number, 0))
        ]
        for arm, name in itertools.product(plan.teacher_arms, plan.teachers):
            history = histories([*blind.values(), *revised], guides, arm, name)
            requests, index = guide_requests(
                items, history, cast.speaker(name), guide, number=number, arm=arm, blind=blindness,
                may_tell_answer=False, max_tokens=9,
            )  # fmt: skip
            asked["guides"].append(made("asked", index))
            told.append(made("guides", parse_guides(items, index, cast.answer(requests))))
        guides += told
        for name in plan.students:
            heard = pa.concat_tables(told)
            heard = heard.filter(pc.equal(heard["student"], name))
            before = previous_answers(latest[name], set(plan.exchanges))
            requests, index = revise_requests(
                items, heard, before, cast.speaker(name), revise, answer_as="text", shots=False, max_tokens=9
            )
            asked["revisions"].append(made("asked", index))
            table = made("revisions", parse_revisions(items, heard, index, before, cast.answer(requests)))
            latest[name] = table
            revised.append(table)
    bands = BANDS.schema.empty_table()
    answers, said, revisions = (pa.concat_tables(part) for part in (blind.values(), guides, revised))
    trajectories = made("trajectories", teaching_trajectories("main", items, bands, answers, said, revisions))
    zero_shot = pa.concat_tables([own(name) for name in plan.teachers])
    metrics = teaching_metrics(
        trajectories,
        zero_shot_table("main", items, bands, zero_shot),
        policy="wrong",
        resamples=20,
        level=0.9,
        seed=0,
    )
    ranked, compared = standings(
        trajectories,
        zero_shot_table("main", items, bands, zero_shot),
        policy="wrong",
        resamples=20,
        level=0.9,
        seed=0,
    )
    tables = LeagueTables(
        items=items,
        bands=bands,
        blind_answers=answers,
        zero_shot=zero_shot,
        guides_asked=pa.concat_tables(asked["guides"]),
        guides=said,
        revisions_asked=pa.concat_tables(asked["revisions"]),
        revisions=revisions,
        trajectories=trajectories,
        metrics=made("metrics", metrics),
        standings=made("standings", ranked),
        comparisons=made("comparisons", compared),
    )
    assert broken(teaching_suite(tables, plan, READING)) == {}
    own, options = (
        zero_shot_table("main", items, bands, zero_shot),
        {"policy": "wrong", "level": 0.9, "seed": 0},
    )
    again = Variant("item_variants", "the same", trajectories.filter(pc.field("round") < 2), own)
    found = ablate(trajectories, own, [again], resamples=20, **options)  # type: ignore[arg-type]
    ablations = LeagueAblations(
        made("ablations", found.ablations),
        made("ablation_agreement", found.agreement),
        made("contamination", found.contamination),
        tables.metrics,
    )
    ablated = AblationPlan("main", plan.teachers, plan.students, plan.rounds, [("item_variants", "the same")])
    assert broken(ablations_suite(ablations, ablated)) == {}
    board = made("teaching_board", teaching_board(metrics, ranked))
    rows = [BoardRow("main", arm, teacher, plan.rounds) for arm, teacher in plan.exchanges]
    assert broken(boards_suite(board, metrics, ranked, rows)) == {}
