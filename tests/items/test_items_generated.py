"""Generated rows."""

from __future__ import annotations

import pytest

from magister.config.items import Dataset
from magister.errors import UserError
from magister.items import load_source, normalise_rows


def generated(generator, n, seed=0, **args):
    return Dataset.model_validate(
        {"kind": "generated", "generator": generator, "n": n, "seed": seed, "generator_args": args}
    )


def rows_of(dataset):
    return load_source("g", dataset).rows


def test_sums_are_right_distinct_and_the_same_each_time():
    rows = rows_of(generated("sums", 200, seed=3))
    assert rows == rows_of(generated("sums", 200, seed=3))
    assert rows[:50] == rows_of(generated("sums", 50, seed=3))
    assert rows != rows_of(generated("sums", 200, seed=4))
    assert len({row["question"] for row in rows}) == 200
    for row in rows:
        a, b = row["question"].removeprefix("What is ").removesuffix("?").split(" + ")
        assert 10 <= int(a) <= 99
        assert 10 <= int(b) <= 99
        assert int(row["answer"]) == int(a) + int(b)


def test_sums_with_options_are_choice_items_that_pass_the_gate():
    dataset = generated("sums", 300, options=4)
    pool, rejected = normalise_rows("sums", dataset, load_source("sums", dataset))
    assert (pool.num_rows, rejected.num_rows) == (300, 0)
    for row in pool.to_pylist():
        assert len(set(row["options"])) == 4
        assert row["options"]["ABCD".index(row["key"])] == row["gold"]
        assert all(int(option) >= 0 for option in row["options"])
    assert set(pool["key"].to_pylist()) == set("ABCD")


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (generated("sums", 8101), "there are 8100 questions"),
        (generated("sums", 5, options=1), "options must be 2 to"),
        (generated("sums", 5, options="4"), "options must be 2 to"),
        (generated("sums", 5, digits=3), "unknown arguments digits"),
    ],
)
def test_sums_say_what_they_cannot_do(dataset, message):
    with pytest.raises(UserError, match=message):
        load_source("g", dataset)


def test_a_reasoning_gym_task_gives_open_questions_the_same_each_time():
    dataset = generated("chain_sum", 12, seed=7, min_terms=2, max_terms=2)
    raw = load_source("g", dataset)
    assert raw.rows == rows_of(dataset)
    pool, rejected = normalise_rows("g", dataset, raw)
    assert pool.num_rows + rejected.num_rows == 12
    assert all(gold.lstrip("-").isdigit() for gold in pool["gold"].to_pylist())
    assert pool["options"].null_count == pool.num_rows


def test_tasks_that_depend_on_the_order_of_sets_are_the_same_too(monkeypatch):
    first = rows_of(generated("ransom_note", 5))
    monkeypatch.setenv("PYTHONHASHSEED", "99")
    assert rows_of(generated("ransom_note", 5)) == first


def test_an_unknown_generator_comes_with_near_names():
    with pytest.raises(UserError, match=r"unknown generator 'chain_sums'\. Near names: chain_sum"):
        load_source("g", generated("chain_sums", 3))


def test_wrong_arguments_of_a_generator_are_a_clear_error():
    with pytest.raises(
        UserError, match=r"generator 'chain_sum' with \{'colour': 'red'\}: TypeError: .*colour"
    ):
        load_source("g", generated("chain_sum", 3, colour="red"))
    with pytest.raises(UserError, match="use `n` and `seed`"):
        load_source("g", generated("chain_sum", 3, size=5))
