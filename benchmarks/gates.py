"""What the gate of a large league costs: a million rows of trajectories by default, without a model.

python benchmarks/gates.py --items 2000 --students 20 --teachers 5 --rounds 4
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from magister.answers import CHOICE_RULES, VERDICT_RULES
from magister.contracts.gate import run_gate
from magister.contracts.schemas import ANSWERS, ASKED, BANDS, GUIDES, ITEMS, REVISIONS, TRAJECTORIES, Contract
from magister.contracts.teaching_suite import LeaguePlan, LeagueTables, ReadingRules, teaching_suite
from magister.teaching.metrics import teaching_metrics
from magister.teaching.standings import standings
from magister.teaching.trajectories import teaching_trajectories, zero_shot_table

Codes = NDArray[np.int64]
LETTERS = np.array(list("ABCD"))


def filled(contract: Contract, rows: int, **columns: Any) -> pa.Table:
    """A table of a contract: an array, or one value for all rows; what is not named is null."""
    made = []
    for column in contract.schema:
        value = columns.get(column.name)
        if isinstance(value, np.ndarray | pa.Array | list):
            made.append(pa.array(value, column.type))
        else:
            made.append(pa.repeat(pa.scalar(value, column.type), rows))
    return pa.Table.from_arrays(made, schema=contract.schema)


def named(kind: str, codes: Codes) -> pa.Array:
    """Names `kind-0`, `kind-1`, ... by number."""
    names = pa.array([f"{kind}-{n}" for n in range(int(codes.max()) + 1)])
    return names.take(pa.array(codes))


def said(letter: NDArray[np.str_], key: NDArray[np.str_], request: pa.Array) -> dict[str, Any]:
    """A reply that commits to an option."""
    return {
        "text": np.char.add("Answer: ", letter), "answer": letter, "correct": letter == key, "status": "ok",
        "rule": "answer_colon", "span_start": 8, "span_end": 9, "request_id": request,
    }  # fmt: skip


def league(plan: LeaguePlan, n_items: int, rng: np.random.Generator) -> LeagueTables:
    """All tables of a league in which everybody answers something."""
    keys = LETTERS[np.arange(n_items) % 4]
    ids = named("item", np.arange(n_items))
    items = filled(
        ITEMS, n_items, item_id=ids, dataset="sums", domain="mathematics", cluster_id=ids, question="What?",
        options=[["1", "2", "3", "4"]] * n_items, origins=[["native"] * 4] * n_items, key=keys, gold="1",
        multi=False, rewrite_status="native", needs_options=False, options_in_question=False,
    )  # fmt: skip

    def answers(kind: str, models: int) -> pa.Table:
        who, item = (axis.ravel() for axis in np.indices((models, n_items)))
        request = named("request", np.arange(who.size))
        reply = said(LETTERS[rng.integers(0, 4, who.size)], keys[item], request)
        return filled(ANSWERS, who.size, model=named(kind, who), item_id=ids.take(pa.array(item)), **reply)

    shape = (len(plan.teachers), len(plan.students), n_items, plan.rounds)
    teacher, student, item, turn = (axis.ravel() for axis in np.indices(shape))
    place = {
        "arm": "taught", "teacher": named("teacher", teacher), "student": named("student", student),
        "item_id": ids.take(pa.array(item)), "round": turn + 1,
    }  # fmt: skip
    n = teacher.size
    asked, revised = named("guide", np.arange(n)), named("revision", np.arange(n))
    text = "Verdict: wrong\nGuidance: Add once more, carry the ten, and compare."
    return LeagueTables(
        items=items,
        bands=filled(BANDS, 0),
        blind_answers=answers("student", len(plan.students)),
        zero_shot=answers("teacher", len(plan.teachers)),
        guides_asked=filled(ASKED, n, **place, request_id=asked),
        guides=filled(
            GUIDES, n, **place, request_id=asked, status="ok", verdict="wrong", verdict_rule="label",
            guidance=text[25:], leak="none", text=text,
        ),
        revisions_asked=filled(ASKED, n, **place, request_id=revised),
        revisions=filled(
            REVISIONS, n, **place, asked=True, **said(LETTERS[rng.integers(0, 4, n)], keys[item], revised)
        ),
        trajectories=filled(TRAJECTORIES, 0),
        metrics=pa.table({}),
        standings=pa.table({}),
        comparisons=pa.table({}),
    )  # fmt: skip


def main() -> None:
    """Print the seconds of the suite and of the gate, and the memory at its peak."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("items", 2000), ("students", 20), ("teachers", 5), ("rounds", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    students, teachers = (
        [f"{kind}-{n}" for n in range(getattr(arguments, f"{kind}s"))] for kind in ("student", "teacher")
    )
    plan = LeaguePlan("large", students, teachers, [], arguments.rounds, ["sums"])
    made = league(plan, arguments.items, np.random.default_rng(0))
    trajectories = teaching_trajectories(
        "large", made.items, made.bands, made.blind_answers, made.guides, made.revisions
    ).sort_by([(name, "ascending") for name in TRAJECTORIES.key])
    own = zero_shot_table("large", made.items, made.bands, made.zero_shot)
    metrics = teaching_metrics(trajectories, own, policy="wrong", resamples=100, level=0.95, seed=0)
    ranked, compared = standings(trajectories, own, policy="wrong", resamples=100, level=0.95, seed=0)
    found = {"trajectories": trajectories, "metrics": metrics, "standings": ranked, "comparisons": compared}
    tables = LeagueTables(**(vars(made) | found))
    rules = ReadingRules([rule.id for rule in CHOICE_RULES], (), [rule.id for rule in VERDICT_RULES])
    begin = time.perf_counter()
    suite = teaching_suite(tables, plan, rules)
    worked_out = time.perf_counter()
    report = run_gate("teaching", *suite)
    end = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    failed = sorted({entry["check"] for entry in report["expectations"] if not entry["success"]}, key=str)
    print(f"{trajectories.num_rows} rows of trajectories, {len(report['expectations'])} expectations")
    print(
        f"promises across tables {worked_out - begin:.1f} s, gate {end - worked_out:.1f} s, peak {peak:.1f} GiB"
    )
    print(f"failed: {', '.join(map(str, failed)) or 'none'}")


if __name__ == "__main__":
    main()
