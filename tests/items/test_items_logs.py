"""Logs of lm-evaluation-harness and Inspect AI, as items and as models' answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from items_helpers import write_jsonl
from log_files import (
    answers,
    config,
    eval_file,
    generated,
    import_log,
    json_file,
    likelihoods,
    log,
    sample,
    samples_file,
    with_content,
)

from magister.errors import UserError
from magister.items import check_items, read_log

# lm-evaluation-harness


def test_a_multiple_choice_log_gives_items_with_their_keys(tmp_path):
    rows = [likelihoods(number, [-1.0, -2.0, -3.0], number % 3) for number in range(6)]
    pool, rejected = import_log(samples_file(tmp_path, rows), "lm_eval")
    assert rejected == []
    assert sorted((row["question"][-2:], row["key"], row["gold"]) for row in pool) == [
        ("0?", "A", "cat"), ("1?", "B", "dog"), ("2?", "C", "cow"),
        ("3?", "A", "cat"), ("4?", "B", "dog"), ("5?", "C", "cow"),
    ]  # fmt: skip


def test_options_without_a_list_are_the_scored_continuations(tmp_path):
    row = likelihoods(1, [-1.0, -2.0, -3.0], 2)
    del row["doc"]["choices"]
    pool, _ = import_log(samples_file(tmp_path, [row]), "lm_eval")
    assert (pool[0]["options"], pool[0]["key"]) == (["cat", "dog", "cow"], "C")


def test_lettered_fields_are_options(tmp_path):
    doc = {"Question": "Which one barks?", "A": "cat", "B": "dog", "Answer": "B"}
    row = likelihoods(1, [-1.0, -2.0], 1, doc=doc, target="1", arguments=[["Q", " A"], ["Q", " B"]])
    pool, _ = import_log(samples_file(tmp_path, [row]), "lm_eval")
    assert (pool[0]["options"], pool[0]["gold"]) == (["cat", "dog"], "dog")


def test_a_printed_index_counts_from_0_where_the_doc_has_it_as_a_number(tmp_path):
    numbers = {"question": "How many?", "choices": ["1", "3", "0"]}
    rows = [
        likelihoods(1, [-1.0, -2.0, -3.0], 1, doc=numbers | {"answer": 1}),
        likelihoods(2, [-1.0, -2.0, -3.0], 1, doc=numbers | {"question": "And here?", "answer": "1"}),
    ]
    pool, _ = import_log(samples_file(tmp_path, rows), "lm_eval")
    assert {row["question"]: row["gold"] for row in pool} == {"How many?": "3", "And here?": "1"}


def test_hidden_labels_are_no_golds(tmp_path):
    hidden = [likelihoods(number, [-1.0, -2.0, -3.0], -1) for number in range(3)]
    pool, rejected = import_log(samples_file(tmp_path, hidden), "lm_eval")
    assert pool == []
    assert {row["reason"] for row in rejected} == {"key_outside_options"}
    one = [likelihoods(number, [-1.0, -2.0, -3.0], 0) for number in range(9)]
    pool, rejected = import_log(samples_file(tmp_path, one), "lm_eval")
    assert {row["reason"] for row in rejected} == {"one_key_dataset"}


def test_lines_of_several_filters_are_one_item_and_are_counted(tmp_path):
    rows = [
        generated(1, "2", "2", 1.0),
        generated(1, "2", "2", 1.0, "flexible"),
        generated(2, "x", "[invalid]", 0.0),
    ]
    path = samples_file(tmp_path, rows)
    report = check_items(path, config("lm_eval"))
    assert (report.n_rows, report.n_accepted, report.rejected) == (2, 2, {})
    assert report.folded == {"same item under another filter or epoch": 1}
    pool, _ = import_log(path, "lm_eval")
    assert sorted(row["gold"] for row in pool) == ["2", "3"]


def test_two_items_under_one_id_are_rejected(tmp_path):
    rows = [generated(1, "2", "2", 1.0), generated(2, "3", "3", 1.0) | {"doc_id": 1}]
    _, rejected = import_log(samples_file(tmp_path, rows), "lm_eval")
    assert [row["reason"] for row in rejected] == ["duplicate_id", "duplicate_id"]


def test_fields_of_the_doc_can_be_mapped(tmp_path):
    row = generated(1, "2", "2", 1.0)
    row["doc"] = {"stem": "What is it?", "subject": "sums"}
    path = samples_file(tmp_path, [row])
    with pytest.raises(UserError, match=r"no record has a question .* 'stem', 'subject'"):
        import_log(path, "lm_eval")
    pool, _ = import_log(path, "lm_eval", columns={"question": "stem", "domain": "subject"})
    assert (pool[0]["question"], pool[0]["domain"]) == ("What is it?", "sums")


def test_answers_of_a_log_join_its_items(tmp_path):
    rows = [likelihoods(0, [-1.0, -2.0, -3.0], 0), likelihoods(1, [-1.0, -2.0, -3.0], 1)]
    path = samples_file(tmp_path, rows)
    pool, _ = import_log(path, "lm_eval")
    found = answers(path, "lm_eval")
    assert {row["item_id"] for row in found} == {row["item_id"] for row in pool}
    assert {(row["model"], row["task"], row["measure"]) for row in found} == {
        ("org__model-7b", "toy_task", "acc,none")
    }
    assert {(row["source_id"], row["answer"], row["correct"], row["status"]) for row in found} == {
        ("0", "A", True, "ok"), ("1", "A", False, "ok"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "status", "correct"),
    [
        (generated(1, "2", "2", 1.0), "ok", True),
        (generated(1, "9", "9", 0), "ok", False),
        (generated(1, "words", "[invalid]", 0.0), "no_answer", False),
        (generated(1, "", "", 0.0), "no_answer", False),
        (generated(1, None, "", 0.0), "missing", None),
        (generated(1, "2", "2", 0.0) | {"resps": []}, "missing", None),
        (generated(1, "2", "2", None), "unscored", None),
        (generated(1, "2", "2", float("nan")), "unscored", None),
        (generated(1, "2", "2", 0.5), "not_binary", None),
        (generated(1, "2", "2", [1, 0]), "not_binary", None),
        (generated(1, "2", "2", 10**400), "not_binary", None),
        (likelihoods(1, [float("nan"), -1.0, -2.0], 1, acc=0.0), "error", None),
    ],
)
def test_what_is_missing_failed_or_not_scored_is_never_wrong(tmp_path, line, status, correct):
    (row,) = answers(samples_file(tmp_path, [line]), "lm_eval")
    assert (row["status"], row["correct"]) == (status, correct)
    assert (row["reason"] == "") == (status == "ok")


def test_each_metric_and_filter_is_a_measure_of_its_own(tmp_path):
    rows = [generated(1, "2", "[invalid]", 0.0), generated(1, "2", "2", 1.0, "flexible")]
    found = answers(samples_file(tmp_path, rows), "lm_eval")
    assert [(row["measure"], row["correct"]) for row in found] == [
        ("exact_match,flexible", True), ("exact_match,strict", False),
    ]  # fmt: skip


def test_old_logs_do_not_name_their_filters_nor_their_metrics(tmp_path):
    rows = [generated(1, "2", "2", 1.0), generated(1, "2", "2", 0.0)]
    for row in rows:
        del row["filter"], row["metrics"]
        row["arguments"] = [["Q", {"until": ["Q"]}]]
    found = answers(samples_file(tmp_path, rows), "lm_eval")
    assert [(row["measure"], row["correct"]) for row in found] == [
        ("exact_match,filter 1", True), ("exact_match,filter 2", False),
    ]  # fmt: skip


def test_a_repeated_sample_is_an_error_that_names_both_lines(tmp_path):
    rows = [generated(1, "2", "2", 1.0), generated(1, "2", "2", 1.0)]
    with pytest.raises(UserError, match="records 1 and 2 are both sample '1'"):
        answers(samples_file(tmp_path, rows), "lm_eval")


def test_a_log_that_does_not_say_who_answered_needs_a_name(tmp_path):
    path = write_jsonl(tmp_path / "mine.jsonl", [generated(1, "2", "2", 1.0)])
    with pytest.raises(UserError, match="does not say which model"):
        answers(path, "lm_eval")
    assert answers(path, "lm_eval", "m")[0]["model"] == "m"


# Inspect AI


def test_both_forms_of_a_log_give_the_same(tmp_path):
    content = log([sample("a"), sample("b", "I", target=["C"]), sample("c", "C", target="A")])
    plain, packed = json_file(tmp_path, content), eval_file(tmp_path, content)
    pool, rejected = import_log(plain, "inspect")
    assert rejected == []
    assert {(row["question"][-2:], row["key"]) for row in pool} == {("a?", "B"), ("b?", "C"), ("c?", "A")}
    assert import_log(packed, "inspect") == (pool, rejected)
    assert answers(packed, "inspect") == answers(plain, "inspect")
    for header in ("_journal/start.json", "start.json"):
        assert import_log(eval_file(tmp_path, content, header), "inspect") == (pool, rejected)


def test_messages_parts_and_attachments_are_read(tmp_path):
    said = [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "What is this?"}, {"type": "image", "image": "x"}],
        },
    ]
    records = [
        sample("a", input=said),
        sample("b", input="attachment://0f", attachments={"0f": "A long question?"}),
        sample(
            "c",
            output=with_content([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "B"}]),
        ),
    ]
    path = json_file(tmp_path, log(records))
    pool, _ = import_log(path, "inspect", columns={"domain": "subject"})
    assert {row["question"] for row in pool} >= {"What is this?", "A long question?"}
    assert {row["domain"] for row in pool} == {"animals"}
    assert {row["source_id"]: row["text"] for row in answers(path, "inspect")}["c"] == "B"


@pytest.mark.parametrize(
    ("record", "status", "correct"),
    [
        (sample(1), "ok", True),
        (sample(1, "I"), "ok", False),
        (sample(1, 1), "ok", True),
        (sample(1, 0.0), "ok", False),
        (sample(1, True), "ok", True),
        (sample(1, "N"), "no_answer", False),
        (sample(1, "P"), "not_binary", None),
        (sample(1, 0.5), "not_binary", None),
        (sample(1, [1, 0]), "not_binary", None),
        (sample(1, None), "unscored", None),
        (sample(1, float("nan")), "unscored", None),
        (sample(1, scores=None), "unscored", None),
        (sample(1, "I", error={"message": "timed out", "traceback": ""}), "error", None),
        (sample(1, "I", output={"error": "no route", "choices": []}), "error", None),
        (sample(1, "I", output={"choices": []}), "missing", None),
        (sample(1, "C", invalidation={"author": "x"}), "missing", None),
        (sample(1, "I", output=with_content("ANS", "max_tokens")), "truncated", False),
        (sample(1, "I", output=with_content("no", "content_filter")), "refusal", False),
        (sample(1, "I", limit={"type": "token", "limit": 10}), "truncated", False),
        (sample(1, "I", output=with_content("")), "no_answer", False),
    ],
)
def test_a_failed_or_unscored_sample_is_never_wrong(tmp_path, record, status, correct):
    (row,) = answers(json_file(tmp_path, log([record])), "inspect")
    assert (row["status"], row["correct"]) == (status, correct)
    assert (row["reason"] == "") == (status == "ok")


def test_several_scorers_and_values_are_measures(tmp_path):
    scores = {"match": {"value": "I"}, "judge": {"value": {"form": 1, "sense": 0}}}
    found = answers(json_file(tmp_path, log([sample(1, scores=scores)])), "inspect")
    assert {(row["measure"], row["correct"]) for row in found} == {
        ("match", False), ("judge.form", True), ("judge.sense", False),
    }  # fmt: skip


def test_samples_that_the_log_lacks_are_missing(tmp_path):
    content = log([sample("a"), sample("a", epoch=2), sample("b")], status="cancelled")
    content["eval"]["dataset"]["sample_ids"] = ["a", "b", "c"]
    content["eval"]["config"] = {"epochs": 2}
    found = {
        (row["source_id"], row["sample"]): row["status"]
        for row in answers(json_file(tmp_path, content), "inspect")
    }
    assert found == {
        ("a", 1): "ok", ("a", 2): "ok", ("b", 1): "ok", ("b", 2): "missing", ("c", 1): "missing", ("c", 2): "missing",
    }  # fmt: skip
    content["eval"]["config"]["limit"] = 2
    assert len(answers(json_file(tmp_path, content), "inspect")) == 3


def test_epochs_of_a_sample_are_one_item(tmp_path):
    path = json_file(tmp_path, log([sample("a"), sample("a", epoch=2)]))
    pool, rejected = import_log(path, "inspect")
    assert (len(pool), rejected) == (1, [])


def test_broken_records_are_rejected_with_their_names(tmp_path):
    path = json_file(tmp_path, log([sample("a"), 7, sample(None), sample("b", choices="AB")]))
    _, rejected = import_log(path, "inspect")
    assert [(row["source_row"], row["reason"]) for row in rejected] == [
        (2, "malformed_row"), (3, "malformed_row"), (4, "malformed_row"),
    ]  # fmt: skip
    assert rejected[0]["detail"] == "samples[1]: sample: expected an object, found 7"
    with pytest.raises(UserError, match=r"3 records cannot be read; record 2: samples\[1\]"):
        answers(path, "inspect")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[]", "log: expected an object"),
        ("{", "not JSON"),
        ('{"samples": 1}', "samples: expected a list"),
        ('{"eval": {}, "status": "error"}', "no samples; the log's status is 'error'"),
        ('{"samples": [{}]}', "eval: expected an object"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_what_is_no_log_is_a_clear_error(tmp_path, content, expected):
    path = tmp_path / "log.json"
    path.write_text(content)
    with pytest.raises(UserError, match=expected):
        import_log(path, "inspect")


@pytest.mark.parametrize(("name", "form"), [("a.csv", "inspect"), ("a.json", "lm_eval"), ("a", "lm_eval")])
def test_a_log_of_another_kind_is_refused(tmp_path, name, form):
    with pytest.raises(UserError, match="is a file of kind"):
        read_log(tmp_path / name, form)


# Any JSON


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["1", "[invalid]"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
SOME = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@contextmanager
def expected_errors(path: Path) -> Iterator[None]:
    """A UserError that names the file may end what stands inside."""
    message = path.name
    with suppress(UserError):
        try:
            yield
        except UserError as error:
            message = str(error)
            raise
    assert path.name in message


def both_ways(path: Path, form: str) -> None:
    """Nothing but a UserError comes out, whatever is in the log."""
    with expected_errors(path):
        pool, rejected = import_log(path, form)
        assert len({row["item_id"] for row in pool}) == len(pool)
        assert all(row["reason"] and row["source_row"] >= 1 for row in rejected)
    with expected_errors(path):
        for row in answers(path, form, "m"):
            assert (row["correct"] is None) == (
                row["status"] in ("error", "missing", "unscored", "not_binary")
            )


FIELDS = sorted(likelihoods(0, [-1.0, -2.0, -3.0], 0))


@SOME
@given(st.lists(JSON | st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, JSON)), max_size=4))
def test_any_json_in_an_lm_eval_log_raises_nothing_but_a_user_error(tmp_path, rows):
    path = tmp_path / "samples_t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    both_ways(path, "lm_eval")


@SOME
@given(st.sampled_from(FIELDS), JSON)
def test_one_strange_field_in_an_lm_eval_record_raises_nothing_but_a_user_error(tmp_path, name, value):
    path = tmp_path / "samples_t.jsonl"
    path.write_text(json.dumps(likelihoods(0, [-1.0, -2.0, -3.0], 0, **{name: value})) + "\n")
    both_ways(path, "lm_eval")


@SOME
@given(st.sampled_from(sorted([*sample(1), "error", "limit", "invalidation", "attachments", "score"])), JSON)
def test_one_strange_field_in_an_inspect_sample_raises_nothing_but_a_user_error(tmp_path, name, value):
    both_ways(json_file(tmp_path, log([sample(1, **{name: value}), sample(2)])), "inspect")


@SOME
@given(JSON | st.fixed_dictionaries({}, optional={"eval": JSON, "samples": JSON, "status": JSON}))
def test_any_json_as_an_inspect_log_raises_nothing_but_a_user_error(tmp_path, content):
    both_ways(json_file(tmp_path, content), "inspect")
