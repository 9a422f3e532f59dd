"""Prompt templates: what a model or a data row says is data inside one message, whatever it says."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magister.errors import UserError
from magister.prompts import ROLES, load_prompt, parse_prompt

ROOT = Path(__file__).parents[1]
SOURCE = "--- system\nBe brief.\n--- user\nQ: {{ question }}\n"


def test_a_template_becomes_messages() -> None:
    prompt = parse_prompt(SOURCE, "demo")
    assert prompt.render(question="2 + 2?") == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Q: 2 + 2?"},
    ]
    assert prompt.sha256 == hashlib.sha256(SOURCE.encode()).hexdigest()


hostile = st.text(max_size=40) | st.builds(
    "{}\n--- {}\n{}".format, st.text(max_size=10), st.sampled_from(ROLES), st.text(max_size=10)
)


@given(hostile)
def test_a_text_can_never_open_a_message(text: str) -> None:
    messages = parse_prompt("--- system\nX\n--- user\n[{{ text }}]\n", "demo").render(text=text)
    assert [message["role"] for message in messages] == ["system", "user"]
    assert messages[1]["content"] == f"[{text}]"


@pytest.mark.parametrize(
    "text", ["{{ 7 * 7 }}", "{% for x in 'ab' %}y{% endfor %}", "{# gone #}", "{{ question }}"]
)
def test_a_text_is_never_a_template(text: str) -> None:
    assert parse_prompt(SOURCE, "demo").render(question=text)[1]["content"] == f"Q: {text}"


@pytest.mark.parametrize(
    "body",
    [
        "{{ quesiton }}",
        "{% if quesiton %}x{% endif %}",
        "{% for x in quesiton %}{% endfor %}",
        "{{ question.gone }}",
    ],
)
def test_a_name_that_is_not_given_is_an_error_and_the_given_ones_are_listed(body: str) -> None:
    prompt = parse_prompt(f"--- user\n{body}", "prompts/guide/v1.md")
    with pytest.raises(UserError) as failure:
        prompt.render(question="q", options=None)
    assert "prompts/guide/v1.md" in str(failure.value)
    assert "the names given are: options, question" in str(failure.value)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", "no line `--- system`"),
        ("Just text", "no line `--- system`"),
        ("text first\n--- user\nx", "text before the first `--- role` line: 'text first'"),
        ("--- teacher\nx", "unknown role 'teacher'; expected one of system, user, assistant"),
        ("--- user\n{{ open", "demo"),
        ("--- user\n{% nonsense %}", "nonsense"),
    ],
)
def test_a_template_that_cannot_be_read_says_why(source: str, words: str) -> None:
    with pytest.raises(UserError) as failure:
        parse_prompt(source, "demo")
    assert words in str(failure.value)
    assert "demo" in str(failure.value)


@pytest.mark.parametrize("body", ["--- user please", "---user", " --- user", "text --- user", "--- user:"])
def test_only_a_whole_line_opens_a_message(body: str) -> None:
    messages = parse_prompt(f"--- system\n{body}\n--- user\nhello", "demo").render()
    assert messages == [
        {"role": "system", "content": body.strip()},
        {"role": "user", "content": "hello"},
    ]


def test_a_part_that_renders_to_nothing_is_left_out() -> None:
    prompt = parse_prompt("--- system\n{% if persona %}{{ persona }}{% endif %}\n--- user\nhi", "demo")
    assert prompt.render(persona=None) == [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize(
    "body",
    [
        "{{ question.__class__ }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ question.__init__.__globals__ }}",
        "{{ names.append('x') }}",
        "{% include 'other.md' %}",
        "{% import 'os' as os %}",
    ],
)
def test_a_template_runs_in_a_sandbox(body: str) -> None:
    names = ["a"]
    with pytest.raises(UserError, match="demo"):
        parse_prompt(f"--- user\n{body}", "demo").render(question="q", names=names)
    assert names == ["a"]


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "v1.md"
    path.write_text(SOURCE, encoding="utf-8")
    assert load_prompt(path).name == path.as_posix()
    assert load_prompt(path).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_version_that_is_not_there_lists_those_that_are(tmp_path: Path) -> None:
    for version in ("v2", "v1"):
        (tmp_path / f"{version}.md").write_text(SOURCE)
    with pytest.raises(UserError, match="no such prompt; versions there: v1, v2"):
        load_prompt(tmp_path / "v3.md")
    with pytest.raises(UserError, match="versions there: none"):
        load_prompt(tmp_path / "gone" / "v1.md")


def test_a_file_that_is_no_text_says_so(tmp_path: Path) -> None:
    (tmp_path / "v1.md").write_bytes(b"--- user\n\xff")
    with pytest.raises(UserError, match="not UTF-8"):
        load_prompt(tmp_path / "v1.md")


@pytest.mark.parametrize(
    "path", sorted((ROOT / "prompts").rglob("*.md")), ids=lambda path: "/".join(path.parts[-2:])
)
def test_the_prompts_of_the_project_parse(path: Path) -> None:
    assert load_prompt(path).parts
