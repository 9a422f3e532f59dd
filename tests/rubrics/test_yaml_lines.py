"""YAML that strangers wrote: lines are kept, and what is not plain data is refused."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magister.rubrics.findings import ScenarioError
from magister.rubrics.yaml_lines import MAX_BYTES, MAX_DEPTH, parse_yaml, read_yaml


def plain(text: str) -> object:
    return parse_yaml(text.encode(), "x.yaml").plain()


def refusal(data: str | bytes) -> str:
    with pytest.raises(ScenarioError) as caught:
        parse_yaml(data if isinstance(data, bytes) else data.encode(), "x.yaml")
    return str(caught.value)


def test_values_know_their_lines() -> None:
    tree = parse_yaml(b"a: 1\nb:\n  - x\n  -\n    c: |\n      two\n", "x.yaml")
    assert isinstance(tree.value, dict)
    assert tree.keys == {"a": 1, "b": 2}
    items = tree.value["b"].value
    assert isinstance(items, list)
    assert [item.line for item in items] == [3, 5]
    assert items[1].plain() == {"c": "two\n"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12:30", "12:30"),
        ("2024-01-31", "2024-01-31"),
        ("yes", "yes"),
        ("on", "on"),
        ("007", "007"),
        ("true", True),
        ("-3", -3),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("1e999", "1e999"),
        (".inf", ".inf"),
        ("~", None),
        ("'1'", "1"),
        ("9" * 40, "9" * 40),
    ],
)
def test_only_plain_numbers_and_truth_values_are_more_than_text(text: str, value: object) -> None:
    assert plain(f"a: {text}") == {"a": value}


def test_the_text_of_a_number_is_kept() -> None:
    tree = parse_yaml(b"a: 1.50", "x.yaml")
    assert isinstance(tree.value, dict)
    assert tree.value["a"].text == "1.50"


def test_a_repeated_key_is_refused_with_both_lines() -> None:
    said = refusal("a: 1\nb: 2\na: 3\n")
    assert "x.yaml:3" in said
    assert "line 1" in said


@pytest.mark.parametrize("text", ["a: !!python/object/apply:os.system [ls]", "!mine {}", "a: !!binary aGk="])
def test_tags_are_refused(text: str) -> None:
    assert "tag" in refusal(text)


def test_anchors_are_shared_and_merged() -> None:
    assert plain("a: &x {k: 1, l: 2}\nb: {<<: *x, l: 3}\nc: *x\n") == {
        "a": {"k": 1, "l": 2},
        "b": {"k": 1, "l": 3},
        "c": {"k": 1, "l": 2},
    }


def test_an_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "values" in refusal("\n".join(lines))


def test_an_alias_of_itself_is_refused() -> None:
    assert "alias" in refusal("a: &a [*a]")


def test_deep_nesting_is_refused() -> None:
    assert "levels deep" in refusal("[" * (MAX_DEPTH + 5) + "]" * (MAX_DEPTH + 5))


def test_a_second_document_is_refused() -> None:
    assert "x.yaml:2" in refusal("a: 1\n--- \nb: 2\n")


def test_an_empty_file_is_refused() -> None:
    assert "empty" in refusal("# nothing\n")


def test_what_is_not_utf8_is_refused_with_its_line() -> None:
    assert "x.yaml:2: not UTF-8: byte 0xff" in refusal(b"a: 1\nb: \xff\n")
    assert "UTF-16" in refusal("a: 1".encode("utf-16"))


def test_a_byte_order_mark_is_no_text() -> None:
    assert parse_yaml("a: 1".encode("utf-8-sig"), "x.yaml").plain() == {"a": 1}


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"# " + b"x" * MAX_BYTES)
    with pytest.raises(ScenarioError, match="MiB"):
        read_yaml(tmp_path / "x.yaml")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no such file"):
        read_yaml(tmp_path / "none.yaml")


def test_a_mistake_is_told_with_its_line() -> None:
    assert "x.yaml:3: invalid YAML" in refusal("a: 1\nb: 2\n  c: : 3\n")


def test_a_control_character_is_refused() -> None:
    assert "invalid YAML" in refusal("a: \x01\n")


# What a text file may hold as it is: no control characters, no line breaks of other kinds.
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(JSON)
def test_json_reads_back(value: object) -> None:
    text = json.dumps({"a": value}, ensure_ascii=False)
    assert parse_yaml(text.encode(), "x.yaml").plain() == {"a": value}


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(ScenarioError):
        assert parse_yaml(data, "x.yaml").line >= 1
