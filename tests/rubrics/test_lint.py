"""Each mistake that a scenario file can make has a finding with its line, and a good file has none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenario_files import DIALECT_A, DIALECT_B, OURS

from magister.rubrics.alike import compare_texts
from magister.rubrics.families import family_of
from magister.rubrics.findings import Finding
from magister.rubrics.lint import lint_files, scenario_files

CLEAN_A = DIALECT_A.replace("max: 5", "min: 1, max: 5").replace("recursion_limit: 7", "recursion_limit: 5")


def lint(folder: Path, text: str, name: str = "x.yaml") -> list[Finding]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return lint_files([path])


def codes(found: list[Finding]) -> list[str]:
    return [one.code for one in found]


@pytest.mark.parametrize("text", [CLEAN_A, OURS])
def test_a_good_file_has_no_finding(tmp_path: Path, text: str) -> None:
    assert lint(tmp_path, text) == []


CASES = {
    "misplaced_key": ("  format_mode: prompt\n", "format_mode: tool\n", "format_mode: tool"),
    "misplaced_key ": ("  name: demo\n", "  name: demo\n  mapping_file: x.json\n", "mapping_file"),
    "unknown_key": ("  name: demo\n", "  name: demo\n  promt: x\n", "promt"),
    "full_width_bar": ('content: "You are {pupil}."', "content: ｜ You", "｜"),
    "literal_newline": ('content: "You are {pupil}."', "content: 'You are {pupil}.\\nSo be it.'", "\\nSo"),
    "upper_case_keyword": ('["goodbye"]', '["Goodbye"]', '["Goodbye"]'),
    "unused_variable": ("    topic: [halves", "    mood: [glad]\n    topic: [halves", "- Ada"),
    "unreachable_agent": ("  pupil:\n", "  ghost: {model: talker, prompt: []}\n  pupil:\n", "ghost"),
    "no_path_to_end": ("exists_to=END", 'exists_to="tutor"', "START -> tutor"),
    "start_outside_window": ("recursion_limit: 5", "recursion_limit: 50", "start_prompt"),
    "no_range": (", min: 1, max: 5", "", "field: clarity"),
    "judge_family": ("model: beta-1", "model: org/alpha-2", "name: demo"),
    "judge_blind": ("Topic {task.topic}", "Topic", "Score from"),
    "judge_deaf": ("{messages.as_dialog()}", "", "Score from"),
    "duplicate_task": ("[halves, thirds]", "[halves, thirds, Halves]", "[halves"),
    "api_key_in_file": ("api_key: <KEY>", "api_key: sk-abcdef0123456789", "sk-abc"),
    "unknown_variable": ("You are {pupil}", "You are {pupli}", "{pupli}"),
    "yaml": ("agents:\n", "agents\n", "tutor:"),
    "router": ("any_keyword_route(", "eval(", "eval("),
}


@pytest.mark.parametrize("code", CASES)
def test_a_mistake_is_found_with_its_line(tmp_path: Path, code: str) -> None:
    old, new, part = CASES[code]
    assert old in CLEAN_A
    text = CLEAN_A.replace(old, new, 1)
    found = [one for one in lint(tmp_path, text) if one.code == code.strip()]
    assert len(found) == 1
    assert found[0].message
    assert found[0].advice
    if part in text:
        expected = text[: text.index(part)].count("\n") + 1
        assert abs(found[0].at.line - expected) <= 1


def test_latex_is_no_line_break(tmp_path: Path) -> None:
    text = CLEAN_A.replace('"You are {pupil}."', "'You are {pupil}: $a \\neq b \\nabla \\nu$.'")
    assert "literal_newline" not in codes(lint(tmp_path, text))


def test_a_task_about_something_else_is_found(tmp_path: Path) -> None:
    topics = [
        f"Plan a lesson on adding fractions with the denominator {n} for grade four" for n in range(2, 9)
    ]
    topics[4] = "Which wine suits fish?"
    text = CLEAN_A.replace(
        "topic: [halves, thirds]", "topic:\n" + "".join(f"      - {one}\n" for one in topics)
    )
    found = [one for one in lint(tmp_path, text) if one.code == "off_topic_task"]
    assert ["wine" in one.message for one in found] == [True]


def test_tools_and_missing_scoring_are_notes(tmp_path: Path) -> None:
    text = DIALECT_B.replace('"You like {topic}."', '"You like {topic}.", tools: [abacus]')
    found = lint(tmp_path, text[: text.index("evaluation:")])
    assert [(one.code, one.severity) for one in found if one.severity == "note"] == [
        ("no_evaluation", "note"),
        ("tools", "note"),
    ]


def test_two_files_of_one_name_are_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.yaml").write_text(OURS)
    (tmp_path / "y.yml").write_text(OURS)
    files = scenario_files([tmp_path, tmp_path / "y.yml"])
    assert [path.name for path in files] == ["x.yaml", "y.yml"]
    assert codes(lint_files(files)) == ["repeated_scenario"]


def test_a_broken_file_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: [")
    (tmp_path / "b.yaml").write_text(OURS.replace("Teach {topic}", "Teach {topc}"))
    assert codes(lint_files(scenario_files([tmp_path]))) == ["yaml", "unknown_variable"]


def test_families_are_first_words() -> None:
    assert family_of("org/Qwen2.5-72B-Instruct") == family_of("qwen-max") == "qwen"
    assert family_of("gpt-4o") != family_of("gemini-2.5-pro")


def test_handed_files_are_judged_as_they_are(handed: Path) -> None:
    found = {path.name: codes(lint_files([path])) for path in handed.glob("*.yaml")}
    assert "off_topic_task" in found["cross.yaml"]
    assert found["cross.yaml"].count("literal_newline") == 10
    assert "judge_blind" in found["cross.yaml"]
    assert "full_width_bar" in found["knowledge.yaml"]
    assert "judge_family" in found["question.yaml"]
    assert "off_topic_task" not in found["question.yaml"]
    assert "start_outside_window" in found["config_guided_task.yaml"]


def test_equal_and_nearly_equal_texts_are_told_apart() -> None:
    texts = ["Explain why 3/4 is more than 2/3", "explain why 3/4 is more than 2/3!", "Say a rhyme"]
    assert compare_texts(texts).repeated == [(1, 0, True)]
    texts[1] = "Explain why 3/4 is more than 2/3 now"
    assert compare_texts(texts).repeated == [(1, 0, False)]


@given(st.lists(st.text("abcd ", max_size=12), max_size=12))
def test_every_copy_is_found(texts: list[str]) -> None:
    found = compare_texts([*texts, *texts])
    assert {at for at, _, equal in found.repeated if equal} >= set(range(len(texts), 2 * len(texts)))
    assert all(earlier < at for at, earlier, equal in found.repeated if equal)
