"""`magister verify`: whatever is changed is named, and nothing else is."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import yaml
from finished import Finished, rewrite, rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from magister.audit import answers
from magister.audit.scene import read_scene
from magister.audit.verification import BOARDS
from magister.errors import UserError
from magister.pipeline import MANIFEST, read_manifest

ANSWERS = "data/teaching/answers.parquet"
REQUESTS = "data/teaching/answer/pupil.requests.jsonl"
RESPONSES = "data/teaching/answer/pupil.responses.jsonl"
STORED = "store/pupil/teaching.answer.jsonl"


def test_an_untouched_project_passes_and_everything_was_looked_at(finished: Finished) -> None:
    found = finished.verify()
    assert found.findings == []
    assert found.exit_code == 0
    looked_at = {check.name: check.n for check in found.checks}
    assert looked_at.pop("requests are what their custom_id says") == 3
    assert looked_at.pop("responses are those of the store") == 3
    assert looked_at.pop(f"content as {MANIFEST} records it") == len(read_manifest(finished.root / MANIFEST))
    # No league is played here: what is worked out again has tests of its own.
    assert looked_at.pop(BOARDS) == 0
    assert all(n > 0 for n in looked_at.values())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(data=st.data())
def test_one_flipped_bit_anywhere_fails_and_names_the_file(built: Finished, data: st.DataObject) -> None:
    files = [path for path in read_manifest(built.root / MANIFEST) if (built.root / path).stat().st_size]
    path = data.draw(st.sampled_from(sorted(files)))
    before = (built.root / path).read_bytes()
    at, bit = data.draw(st.integers(0, len(before) - 1)), data.draw(st.integers(0, 7))
    content = bytearray(before)
    content[at] ^= 1 << bit
    try:
        (built.root / path).write_bytes(content)
        found = built.verify()
        assert found.exit_code == 1
        assert path in {finding.path for finding in found.findings}
    finally:
        (built.root / path).write_bytes(before)


def drop(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(0, 2), table.slice(3)])


def swap_values(table: pa.Table) -> pa.Table:
    details = table["detail"].to_pylist()
    details[1], details[2] = details[2], details[1]
    return rows(detail=details)


KEY = "dataset=sums, source_row={}, reason=empty"


@pytest.mark.parametrize(
    ("change", "places", "seen"),
    [
        (drop, [KEY.format(2)], "no such row"),
        (swap_values, [f"{KEY.format(1)}: detail", f"{KEY.format(2)}: detail"], "'detail 2'"),
        (lambda table: pa.concat_tables([table, rows(6).slice(5)]), [KEY.format(5)], "a row"),
        (lambda table: pa.concat_tables([table, table.slice(4)]), [KEY.format(4)] * 2, "a second row"),
        (lambda table: table.take(pa.array([1, 0, 2, 3, 4])), ["row 0", KEY.format(0)], KEY.format(1)),
        (lambda table: table.drop_columns(["raw"]), ["column raw", ""], "nothing"),
    ],
)
def test_rows_that_differ_are_named_by_their_keys(
    finished: Finished, change: Callable[[pa.Table], pa.Table], places: list[str], seen: str
) -> None:
    path = finished.root / ANSWERS
    rewrite(path, change(pq.read_table(path)))
    found = [finding for finding in finished.verify().findings if finding.path == ANSWERS]
    assert [finding.place for finding in found] == places
    assert found[0].seen == seen


def test_without_the_cache_the_file_is_named_with_both_hashes(finished: Finished) -> None:
    path = finished.root / ANSWERS
    rewrite(path, swap_values(pq.read_table(path)))
    expected = read_manifest(finished.root / MANIFEST)[ANSWERS]
    place = finished.cache / expected[:2] / expected[2:]
    place.unlink()
    (finding,) = finished.verify().findings
    assert (finding.path, finding.place, finding.expected) == (ANSWERS, "", expected)


def edit_line(path: Path, old: bytes, new: bytes) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    assert old in lines[1]
    lines[1] = lines[1].replace(old, new, 1)
    path.write_bytes(b"".join(lines))


def key_of(path: Path, line: int) -> str:
    return str(json.loads(path.read_bytes().splitlines()[line])["custom_id"])


def test_an_edited_response_is_named_and_is_not_that_of_the_store(finished: Finished) -> None:
    key = key_of(finished.root / RESPONSES, 1)
    edit_line(finished.root / RESPONSES, b'"content":"', b'"content":"Surely. ')
    found = finished.verify().findings
    assert {finding.path for finding in found} == {RESPONSES}
    assert {finding.check for finding in found} >= {"responses are those of the store"}
    assert all(finding.place == f"line 2, custom_id {key}" for finding in found)


def test_an_edited_answer_of_the_store_is_named(finished: Finished) -> None:
    key = key_of(finished.root / STORED, 1)
    edit_line(finished.root / STORED, b'"content":"', b'"content":"Surely. ')
    assert finished.places(STORED) == [f"line 2, custom_id {key}"]
    assert finished.places(RESPONSES, RESPONSES) == [
        f"line {1 + [key_of(finished.root / RESPONSES, at) for at in range(3)].index(key)}, custom_id {key}"
    ]


def test_an_edited_request_is_not_what_its_key_says(finished: Finished) -> None:
    key = key_of(finished.root / REQUESTS, 1)
    edit_line(finished.root / REQUESTS, b"What is", b"What was")
    found = [finding for finding in finished.verify().findings if finding.path == REQUESTS]
    assert {finding.place for finding in found} == {f"line 2, custom_id {key}"}
    assert {finding.check for finding in found} >= {"requests are what their custom_id says"}


def test_many_requests_are_read_on_all_cores_and_named_all_the_same(
    finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit_line(finished.root / REQUESTS, b"What is", b"What was")
    before = finished.verify().findings
    other = REQUESTS.replace("pupil", "other")
    for suffix in ("", ".lineage.json"):
        shutil.copy(finished.root / f"{REQUESTS}{suffix}", finished.root / f"{other}{suffix}")
    shutil.copy(finished.root / "data/models/pupil.json", finished.root / "data/models/other.json")
    monkeypatch.setattr(answers, "_MUCH", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    check = answers.check_requests(read_scene(finished.root))
    assert check.n == 6
    expected = [each for each in before if each.check == answers.REQUESTS]
    assert [each for each in check.findings if each.path == REQUESTS] == expected
    assert [each.place for each in check.findings if each.path == other] == [each.place for each in expected]


@pytest.mark.parametrize("file", [REQUESTS, RESPONSES])
def test_a_request_without_its_response_is_named(finished: Finished, file: str) -> None:
    """Even where the records were written anew."""
    path = finished.root / file
    key = key_of(path, 1)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    finished.record()
    check = next(each for each in finished.verify().checks if each.name == "responses are those of the store")
    assert [(finding.path, finding.place) for finding in check.findings] == [(RESPONSES, f"custom_id {key}")]


def test_parameters_are_named_in_the_file_and_in_what_was_made_with_them(finished: Finished) -> None:
    params = yaml.safe_load((finished.root / "params.yaml").read_text())
    params["teaching"]["rounds"] = 2
    (finished.root / "params.yaml").write_text(yaml.safe_dump(params))
    finished.jobs = [
        replace(job, params={"rounds": 2}) if job.params == {"rounds": 1} else job for job in finished.jobs
    ]
    found = {
        (finding.path, finding.place, finding.seen, finding.expected)
        for finding in finished.verify().findings
    }
    assert ("params.yaml", "teaching.rounds", "2", "1") in found
    assert (ANSWERS, "params.rounds", "1", "2") in found


def Job_with(job: object, params: dict[str, int]) -> object:
    from dataclasses import replace

    return replace(job, params=params)  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("scripts/work.py", "for data/models/pupil.json and 7 more"),
        ("prompts/answer/v1.md", f"for {REQUESTS}"),
    ],
)
def test_edited_code_and_prompts_are_named_with_what_they_have_made(
    finished: Finished, path: str, place: str
) -> None:
    with (finished.root / path).open("a") as file:
        file.write("# edited\n")
    assert any(each.startswith(place) for each in finished.places(path))


def test_a_new_module_beside_the_code_is_named_by_its_folder(finished: Finished) -> None:
    (finished.root / "scripts/other.py").write_text("print()\n")
    assert finished.places("scripts") == [""]


def test_a_record_that_names_another_input_is_named(finished: Finished) -> None:
    finished.table("results/arena.parquet", rows(4), [ANSWERS])
    finished.table(ANSWERS, rows(4), [RESPONSES])
    finished.record()
    assert finished.places("results/arena.parquet") == [f"input {ANSWERS}"]


def test_a_file_that_nothing_has_made_and_one_that_nothing_asks_for_are_named(finished: Finished) -> None:
    (finished.root / "data/teaching/notes.txt").write_text("mine")
    finished.table("data/teaching/old.parquet", rows(), [])
    finished.jobs.pop()
    found = {(each.path, each.check): each for each in finished.verify().findings}
    assert ("data/teaching/notes.txt", "lineage of every artifact") in found
    asked = found["data/teaching/old.parquet", "made as the parameters and rules ask"]
    assert asked.expected == "no job of a full run makes it"


@pytest.mark.parametrize(
    "path", [ANSWERS, "results/teaching.csv", "results/teaching.csv.lineage.json", STORED]
)
def test_a_file_that_is_gone_is_named(finished: Finished, path: str) -> None:
    (finished.root / path).unlink()
    found = [each for each in finished.verify().findings if each.path == path]
    assert found[0].seen == "not there"


@pytest.mark.parametrize("target", ["teaching", "results/teaching.parquet", ANSWERS])
def test_a_file_behind_the_target_that_is_gone_is_named(finished: Finished, target: str) -> None:
    (finished.root / ANSWERS).unlink()
    assert "not there" in {each.seen for each in finished.verify(target).findings if each.path == ANSWERS}


def test_a_file_of_the_target_that_nothing_else_reads_may_not_be_gone(finished: Finished) -> None:
    (finished.root / "data/teaching/vectors.npy").unlink()
    found = {(each.path, each.check) for each in finished.verify("teaching").findings}
    assert ("data/teaching/vectors.npy", f"content as {MANIFEST} records it") in found
    assert ("data/teaching/vectors.npy.lineage.json", "lineage of every artifact") in found


def test_a_lineage_that_goes_round_is_named(finished: Finished) -> None:
    finished.table("data/teaching/one.parquet", rows(), [])
    finished.table("data/teaching/two.parquet", rows(), ["data/teaching/one.parquet"])
    finished.table("data/teaching/one.parquet", rows(), ["data/teaching/two.parquet"])
    finished.table("data/teaching/three.parquet", rows(), ["data/teaching/one.parquet"])
    check = next(each for each in finished.verify().checks if each.name == "lineage of every artifact")
    assert [(each.path, each.seen) for each in check.findings] == [
        ("data/teaching/one.parquet", "made from itself, by way of data/teaching/two.parquet"),
        ("data/teaching/two.parquet", "made from itself, by way of data/teaching/one.parquet"),
    ]


def test_a_manifest_that_was_written_to_fit_an_edit_is_not_what_dvc_records(finished: Finished) -> None:
    path = finished.root / ANSWERS
    lock, store = ((finished.root / name).read_bytes() for name in ("dvc.lock", "store.dvc"))
    rewrite(path, swap_values(pq.read_table(path)))
    finished.record()
    (finished.root / "dvc.lock").write_bytes(lock)
    (finished.root / "store.dvc").write_bytes(store)
    found = {(each.path, each.place) for each in finished.verify().findings}
    assert (MANIFEST, "data/teaching") in found
    # What was made from it still says which content it was made from.
    assert ("results/teaching.parquet", f"input {ANSWERS}") in found


def test_a_manifest_that_is_older_than_what_dvc_records_is_named_and_not_the_files(
    finished: Finished,
) -> None:
    """As after `dvc repro`, where it takes a stage from its run cache."""
    manifest = (finished.root / MANIFEST).read_bytes()
    finished.table(ANSWERS, rows(4), [RESPONSES])
    finished.table("results/teaching.parquet", rows(3), [ANSWERS])
    finished.record()
    (finished.root / MANIFEST).write_bytes(manifest)
    found = [each for each in finished.verify().findings if each.check.endswith("records it")]
    assert [(each.path, each.place) for each in found] == [(MANIFEST, "data/teaching"), (MANIFEST, "results")]


def test_vectors_and_pages_are_named_by_row_and_line(finished: Finished) -> None:
    vectors = finished.root / "data/teaching/vectors.npy"
    values = np.load(vectors)
    values[1, 0] = 9
    np.save(vectors, values)
    page = finished.root / "results/teaching.csv"
    page.write_text(page.read_text().replace("0.25", "0.75"))
    assert finished.places("data/teaching/vectors.npy") == ["row 1, column 0"]
    assert finished.places("results/teaching.csv") == ["line 3"]


def test_a_table_that_breaks_its_contract_is_named_though_it_is_recorded_so(finished: Finished) -> None:
    path = finished.root / ANSWERS
    table = pq.read_table(path)
    rewrite(path, pa.concat_tables([table.slice(1), table.slice(0, 1)]))
    finished.record()
    check = next(each for each in finished.verify().checks if each.name == "tables keep their contracts")
    assert [(each.path, each.place) for each in check.findings] == [(ANSWERS, KEY.format(0))]
    assert pc.count(table["raw"]).as_py() == 5


@pytest.mark.parametrize(
    ("target", "seen"),
    [
        ("teaching", {ANSWERS}),
        ("results/teaching.parquet", {ANSWERS}),
        ("results/teaching.csv.lineage.json", {ANSWERS}),
        ("data/models/pupil.json", set()),
        ("arena", {"results/arena.parquet"}),
        ("boards", {ANSWERS, "results/arena.parquet"}),
        (None, {ANSWERS, "results/arena.parquet"}),
    ],
)
def test_a_target_is_looked_at_with_all_that_stands_behind_it(
    finished: Finished, target: str | None, seen: set[str]
) -> None:
    for path in (ANSWERS, "results/arena.parquet"):
        table = pq.read_table(finished.root / path)
        rewrite(finished.root / path, drop(table))
    assert {each.path for each in finished.verify(target).findings} == seen


def test_a_target_that_is_none_is_refused_with_those_that_are(finished: Finished) -> None:
    with pytest.raises(UserError, match="Modules: boards, llm, teaching"):
        finished.verify("teachnig")


@pytest.mark.parametrize("name", [MANIFEST, "dvc.lock"])
def test_without_a_record_nothing_fails_and_it_cannot_be_told(finished: Finished, name: str) -> None:
    (finished.root / name).unlink()
    found = finished.verify()
    assert found.findings == []
    assert found.exit_code == 2
    assert all(name in str(check.unchecked) for check in found.unchecked)


def test_a_damaged_manifest_is_said_to_be_damaged(finished: Finished) -> None:
    (finished.root / MANIFEST).write_text("nonsense\n")
    found = finished.verify()
    assert found.exit_code == 2
    assert any(f"{MANIFEST}, line 1" in str(check.unchecked) for check in found.unchecked)
