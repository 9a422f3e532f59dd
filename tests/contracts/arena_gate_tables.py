"""A small arena that keeps every promise, made by the functions that make a real one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.arena.ablation import Ablation, ablation_table, keyed_responses, pick_prefixes
from magister.arena.agreement import agreement_table
from magister.arena.board import arena_board
from magister.arena.comparisons import Choice, Chosen, choose_comparisons
from magister.arena.evolution import evolution_requests, parents, read_evolutions
from magister.arena.gallery import gallery
from magister.arena.instructions import Pool, SourceRows, gather_instructions
from magister.arena.judge import judge_requests, parse_judge
from magister.arena.keys import Policy, key_votes
from magister.arena.lift import Resampling, selection_lift
from magister.arena.people import Sheet, import_sheets
from magister.arena.random_arm import split_budget
from magister.arena.raters import rate_counts, rate_points
from magister.arena.ratings import Settings, rate_votes, unrated
from magister.arena.responses import read_arena_responses, response_requests, response_texts
from magister.arena.sheets import Sheets, annotation_sheet, shown_text
from magister.arena.similarity import Similarities, all_pairs
from magister.arena.similarity_judge import read_similarities, similarity_requests
from magister.arena.similarity_tables import tabled_similarities
from magister.arena.vectors import Vectors
from magister.arena.votes import code_votes
from magister.config.instructions import Evolution, InstructionLimits, InstructionSource
from magister.config.models import ModelConfig
from magister.contracts.arena_board_suite import arena_board_suite
from magister.contracts.arena_suite import PAIRS, ArenaPlan, ArenaTables, arena_suite
from magister.contracts.arena_tables import ANNOTATOR_KINDS, ARENA_ASKED, ARENA_SIMILARITIES, SELECTION_LIFT
from magister.contracts.gate import Suite
from magister.embeddings import vector_table
from magister.embeddings._embed import Embedded
from magister.llm import Request, Response, Speaker, uniform
from magister.prompts import load_prompt

PROMPTS = Path(__file__).resolve().parents[2] / "prompts"
K, SHARE = 5, 0.4
ARENA_PLAN = ArenaPlan(
    models=["ann", "bob", "cid", "dot"],
    scenarios=["sums", "talk"],
    rounds=2,
    budget=split_budget(K, SHARE),
    lam=0.5,
    similarity="embedding",
    shown=shown_text,
    judges=["bob", "jim"],
    exclude_self=True,
    key=True,
    people=True,
    resamples=60,
    seed=3,
    level=0.9,
    ablation_k=3,
)
JUDGED_PLAN = replace(ARENA_PLAN, similarity="judge")
Tables = dict[str, Any]
Say = Callable[[str, str, Mapping[str, Any]], str]
"""What a model says: its name, its task and the request."""
_SOURCES = {
    name: InstructionSource(scenario=name, kind="file", path=f"{name}.jsonl") for name in ARENA_PLAN.scenarios
}
_TOPICS = ("a river", "an old clock", "the first snow")
_FAILED = {"$ERROR$": "timeout", "$LONG$": "context_length"}


def statistics(plan: ArenaPlan) -> dict[str, Any]:
    """How intervals are made."""
    return {name: getattr(plan, name) for name in ("resamples", "seed", "level")}


def speaker(name: str) -> Speaker:
    """Somebody who can be asked; what is drawn for it stays when settings of models are added."""
    model = ModelConfig(engine="scripted", script="echo", system=name)
    return Speaker(name, model, {"model": name})


def replies(asked: Speaker, task: str, requests: Sequence[Request], say: Say) -> dict[str, Response]:
    """What is said to requests; a text that begins with `$CUT$` was cut, `$ERROR$` is a failed call."""
    found = {}
    for request in requests:
        key, text = request["custom_id"], say(asked.name, task, request)
        finish = "length" if text.startswith("$CUT$") else "stop"
        error = _FAILED.get(text)
        found[key] = Response(key, "" if error else text, None, None if error else finish, "m", 5, 3, error)
    return found


def talk(name: str, task: str, request: Mapping[str, Any]) -> str:
    """By chance: right sums mostly, a failure now and then, and judges who love the first place."""
    key = request["custom_id"]
    if task == "evolve":
        if uniform(key, "refuses") < 0.2:
            return "I'm sorry, but I can't help with that."
        return f"Say it in exactly {10 + int(90 * uniform(key, 'words'))} words, with an example of your own."
    if task == "judge":
        said = ("[[A]]", "[[A]]", "[[B]]", "[[tie]]", "Both have their merits.", "$ERROR$")
        return said[int(uniform(key, "verdict") ** 1.5 * len(said))]
    if task == "similarity":
        score = round(uniform(key, "score"), 2)
        said = (*[f'{{"similarity": {score}}}'] * 6, "Rather alike.", '{"similarity": 7}', "$ERROR$")
        return said[int(uniform(key, "reply") * len(said))]
    odd = (
        "",
        "$ERROR$",
        "$LONG$",
        "$CUT$ The answer is",
        "I'm sorry, but I can't help with that.",
        "Let me see.",
    )
    if uniform(key, "odd") < 0.3:
        return odd[int(uniform(key, "which") * len(odd))]
    sums = [int(word) for word in request["body"]["messages"][-1]["content"].split() if word.isdigit()]
    off = int(uniform(key, "right") < 0.4)
    return f"<think>Hm.</think> {'Well, ' * (len(name) % 3)}the answer is {sum(sums[:2]) + off}."


def arena_pool(say: Say, rounds: int) -> Pool:
    """Eight sums with a gold value and three open tasks, and two rounds of what grew from them."""
    rows = {
        "sums": [
            {"instruction": f"What is {n} + {n * n + 2} ?", "gold": str(n + n * n + 2)} for n in range(8)
        ],
        "talk": [{"instruction": f"Write a few sentences about {topic}."} for topic in _TOPICS],
    }
    rows["sums"].append({"instruction": "?"})
    sources = {
        name: SourceRows(
            "instruction", "gold" if name == "sums" else None, None, None, list(enumerate(some, 1)), []
        )
        for name, some in rows.items()
    }
    found = gather_instructions(_SOURCES, sources, InstructionLimits())
    pool, rejected = found.instructions, [found.rejected]
    plan, prompt = (
        Evolution(rounds=ARENA_PLAN.rounds, generators=["maker"]),
        load_prompt(PROMPTS / "evolve" / "v1.md"),
    )
    for number in range(1, rounds + 1):
        maker = speaker("maker")
        asked = evolution_requests(pool, number, plan, maker, prompt)
        assert set(asked) == set(parents(pool)["instruction_id"].to_pylist())
        said = replies(maker, "evolve", list(asked.values()), say)
        grown = read_evolutions(pool, number, plan, InstructionLimits(), asked, said)
        pool = pa.concat_tables([pool, grown.instructions])
        rejected.append(grown.rejected)
    return Pool(pool, pa.concat_tables(rejected))


def embedded(texts: Mapping[str, str | None]) -> pa.Table:
    """The rows of a file of vectors."""
    there = np.array([text is not None for text in texts.values()], dtype=bool)
    vectors = np.where(there[:, None], np.float32(1.0), np.float32(np.nan))
    count = len(texts)
    return vector_table(list(texts), Embedded(vectors, [None] * count, [1] * count, [False] * count, count))


def scored(pool: pa.Table, responses: pa.Table, say: Say, plan: ArenaPlan) -> pa.Table:
    """How alike a judge finds the responses; nothing where none is asked."""
    if plan.similarity != "judge":
        return ARENA_SIMILARITIES.schema.empty_table()
    prompt, who, parts = load_prompt(PROMPTS / "similarity" / "v1.md"), speaker("kit"), []
    for name in plan.scenarios:
        rows = pool.filter(pc.equal(pool["scenario"], name)).sort_by("instruction_id")
        texts = {}
        for model in plan.models:
            said = response_texts(responses.filter(pc.equal(responses["model"], model)))
            texts[model] = pa.array([said[key] for key in rows["instruction_id"].to_pylist()], pa.string())
        asked = similarity_requests(name, rows, texts, all_pairs(plan.models), who, prompt, max_tokens=9)
        parts.append(read_similarities(asked.table, replies(who, "similarity", asked.requests, say)))
    return pa.concat_tables(parts)


def chosen(pool: pa.Table, similarities: pa.Table, plan: ArenaPlan) -> Chosen:
    """Comparisons of all pairs, by the judge's scores, else by likenesses that are drawn."""
    rng = np.random.default_rng(5)
    parts = []
    for name in plan.scenarios:
        ids = pool.filter(pc.equal(pool["scenario"], name))["instruction_id"].combine_chunks()
        pairs = all_pairs(plan.models)
        values = rng.uniform(0, 1, size=(len(pairs), len(ids)))
        values[0, 0] = np.nan
        given = Similarities(pairs, values)
        if plan.similarity == "judge":
            own = similarities.filter(pc.equal(similarities["scenario"], name))
            given = tabled_similarities(own, ids, low=0.0)[1]
        vectors = Vectors("instructions", rng.normal(size=(len(ids), 4)), ids)
        choice = Choice(
            k=sum(plan.budget), lam=plan.lam, random_share=plan.budget[1] / sum(plan.budget), seed=1
        )
        parts.append(choose_comparisons(name, ids, [given], vectors, choice))
    return Chosen(
        *(pa.concat_tables([getattr(part, name) for part in parts]) for name in ("table", "counts"))
    )


def judged(made: Sheets, say: Say, plan: ArenaPlan) -> tuple[list[pa.Table], list[pa.Table], list[pa.Table]]:
    """What judges were asked, their votes, and comparisons without one."""
    prompt, parts = load_prompt(PROMPTS / "judge_pair" / "v1.md"), []
    for name in plan.judges:
        who = speaker(name)
        asked = judge_requests(
            made.sheet, made.key, who, prompt, max_tokens=8, exclude_self=plan.exclude_self
        )
        found = parse_judge(asked.asked, replies(who, "judge", asked.requests, say), made.key)
        parts.append((asked.asked, found.votes, pa.concat_tables([asked.rejected, found.rejected])))
    asked_of, votes, rejected = zip(*parts, strict=True) if parts else ((), (), ())
    return list(asked_of), list(votes), list(rejected)


def filled(made: Sheets) -> list[Sheet]:
    """What two people wrote on their sheets: they like the longer response, and left out some."""
    sheets = []
    for name in ("pat", "quin"):
        rows = []
        for line, row in enumerate(made.sheet.to_pylist(), start=2):
            one, two = (len(row[f"response_{side}"]) for side in (1, 2))
            label = (
                ""
                if uniform(row["comparison_id"], name) < 0.3
                else "1"
                if one > two
                else "2"
                if two > one
                else "tie"
            )
            if uniform(row["comparison_id"], name, 1) < 0.2:
                label = "both_bad"
            rows.append((line, {"comparison_id": row["comparison_id"], "winner": label, "seconds": "3.5"}))
        rows.append((99, {"comparison_id": "c-of-yesterday", "winner": "1", "seconds": ""}))
        sheets.append(Sheet(f"data/annotations/{name}.csv", rows, annotator=name))
    return sheets


def rated(votes: pa.Table, plan: ArenaPlan) -> pa.Table:
    """Ratings of all votes and of those of each kind, as the pipeline makes them."""
    settings = Settings(**statistics(plan))
    if not votes.num_rows:
        return unrated(plan.models, settings).table
    kinds = [kind for kind in ANNOTATOR_KINDS if pc.any(pc.equal(votes["annotator_kind"], kind)).as_py()]
    some = {"all": votes}
    if len(kinds) > 1:
        some |= {kind: votes.filter(pc.equal(votes["annotator_kind"], kind)) for kind in kinds}
    return pa.concat_tables(
        [
            rate_votes(code_votes(part, models=plan.models), settings, annotators=name).table
            for name, part in some.items()
        ]
    )


def lifted(votes: pa.Table, plan: ArenaPlan) -> pa.Table:
    """Selection lift overall and by scenario."""
    scopes = {"overall": votes}
    scopes |= {name: votes.filter(pc.equal(votes["scenario"], name)) for name in plan.scenarios}
    tables = [
        selection_lift(some, rater=rate_points, resampling=Resampling(**statistics(plan)), scope=scope)
        for scope, some in scopes.items()
        if len(set(some["arm"].to_pylist())) > 1
    ]
    return pa.concat_tables([SELECTION_LIFT.schema.empty_table(), *tables])


def ablated(pool: pa.Table, responses: pa.Table, plan: ArenaPlan, policy: Policy) -> pa.Table:
    """The ablation of the selection, by vectors that are drawn."""
    trial = Ablation(k=plan.ablation_k, lams=tuple(sorted({0.0, plan.lam})), draws=3, **statistics(plan))
    tables = []
    for name in plan.scenarios:
        some = pool.filter(pc.equal(pool["scenario"], name))
        keyed = keyed_responses(name, some, responses, plan.models, policy)
        rng = np.random.default_rng(6)
        vectors = [
            Vectors(who, rng.normal(size=(len(keyed.ids), 4)), keyed.ids) for who in [*plan.models, "pool"]
        ]
        texts = {
            who: pa.array([f"{who} says {place % 3}" for place in range(len(keyed.ids))], pa.string())
            for who in plan.models
        }
        picked = pick_prefixes(keyed, texts, vectors[:-1], vectors[-1], trial)
        tables.append(ablation_table(keyed, picked, trial))
    return pa.concat_tables(tables)


def make_arena(say: Say = talk, plan: ArenaPlan = ARENA_PLAN, policy: Policy = "wrong") -> Tables:
    """All tables of an arena, from what is said in it."""
    pool = arena_pool(say, plan.rounds)
    prompt, answers, vectors = load_prompt(PROMPTS / "respond" / "v1.md"), [], {}
    for name in plan.models:
        who = speaker(name)
        asked = response_requests(pool.instructions, who, prompt, max_tokens=64)
        found = read_arena_responses(asked, replies(who, "respond", list(asked.values()), say), name)
        answers.append(found)
        vectors[f"vectors/{name}"] = embedded(response_texts(found))
    responses = pa.concat_tables(answers)
    similarities = scored(pool.instructions, responses, say, plan)
    comparisons = chosen(pool.instructions, similarities, plan)
    made = annotation_sheet(comparisons.table, pool.instructions, responses, seed=7)
    asked_of, votes, rejected = judged(made, say, plan)
    keyed = key_votes(
        made.key if plan.key else made.key.slice(0, 0), pool.instructions, responses, policy=policy
    )
    people = import_sheets(filled(made) if plan.people else [], made.key)
    votes = pa.concat_tables([*votes, keyed.votes, people.votes])
    texts = dict(sorted((row["instruction_id"], row["text"]) for row in pool.instructions.to_pylist()))
    return {
        "instructions": pool.instructions,
        "instructions_rejected": pool.rejected,
        "responses": responses,
        **vectors,
        "instruction_vectors": embedded(texts),
        "similarities": similarities,
        "pairs": comparisons.counts.cast(PAIRS.schema),
        "selections": comparisons.table,
        "sheet": made.sheet,
        "sheet_key": made.key,
        "sheet_missing": made.rejected,
        "asked": pa.concat_tables([ARENA_ASKED.schema.empty_table(), *asked_of]),
        "votes": votes,
        "votes_rejected": pa.concat_tables([*rejected, keyed.rejected, people.rejected]),
        "verdicts": keyed.verdicts,
        "ratings": rated(votes, plan),
        "lift": lifted(votes, plan),
        "agreement": agreement_table(votes, made.key, rate=rate_counts, **statistics(plan)),
        "gallery": gallery(votes, made.sheet, made.key),
        "ablation": ablated(pool.instructions, responses, plan, policy),
    }


@cache
def arena_tables() -> Tables:
    """All tables of one arena."""
    return make_arena()


def arena_expected(tables: Tables, plan: ArenaPlan = ARENA_PLAN) -> Suite:
    """The suite of an arena."""
    vectors = [tables[f"vectors/{name}"] for name in plan.models]
    own = {name: table for name, table in tables.items() if not name.startswith("vectors/")}
    return arena_suite(ArenaTables(**own, vectors=vectors), plan)


@cache
def judged_tables() -> Tables:
    """All tables of an arena whose selection rests on a judge's scores."""
    return make_arena(plan=JUDGED_PLAN)


def judged_expected(tables: Tables, plan: ArenaPlan = JUDGED_PLAN) -> Suite:
    """What the suite of an arena says of a judge's scores."""
    held, expectations = arena_expected(tables, plan)
    own = [check for check in expectations if check.table == "similarities"]
    return {"similarities": held["similarities"]}, own


def unjudged_expected(tables: Tables, plan: ArenaPlan = ARENA_PLAN) -> Suite:
    """What the suite of an arena says of all else."""
    held, expectations = arena_expected(tables, plan)
    rest = {name: table for name, table in held.items() if name != "similarities"}
    return rest, [check for check in expectations if check.table != "similarities"]


def arena_board_tables() -> Tables:
    """The ratings of two leagues, and the board that is read from them."""
    ratings = {"small": arena_tables()["ratings"], "tiny": arena_tables()["ratings"].slice(3, 9)}
    return {
        "arena_board": arena_board(ratings),
        **{f"ratings/{name}": table for name, table in ratings.items()},
    }


def arena_board_expected(tables: Tables, plan: ArenaPlan = ARENA_PLAN) -> Suite:
    """The suite of the arena board."""
    ratings = {name.removeprefix("ratings/"): table for name, table in tables.items() if "/" in name}
    return arena_board_suite(tables["arena_board"], ratings)
