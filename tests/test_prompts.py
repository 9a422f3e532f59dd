"""Prompt templates: what a model or a data row says is data inside one message, whatever it says."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment, meta

from magister.answers import extract_choice, split_guidance
from magister.errors import UserError
from magister.prompts import ROLES, load_prompt, parse_prompt
from magister.teaching.guides import Turn
from magister.teaching.options import read_options_block

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


WORDED = [(task, version) for task in ("answer", "guide", "revise") for version in ("v2", "v3")]
LEAGUE: dict[str, Any] = {
    "passage": "A passage.", "question": "A question?", "options": "A) this\nB) that", "answer_as": "text",
    "shots": True, "arm": "taught", "last_answer": "My reply", "verdict": "wrong", "guidance": "A hint.",
    "may_tell_answer": False, "history": [Turn("First reply", "correct", "First hint."), Turn("Last reply")],
}  # fmt: skip


def rendered(task: str, version: str, **values: Any) -> list[dict[str, str]]:
    return load_prompt(ROOT / "prompts" / task / f"{version}.md").render(**LEAGUE | values)


@pytest.mark.parametrize(("task", "version"), WORDED)
def test_another_wording_says_the_same_in_other_words(task: str, version: str) -> None:
    first, other = rendered(task, "v1"), rendered(task, version)
    assert [message["role"] for message in first] == [message["role"] for message in other]
    for one, two in zip(first, other, strict=True):
        assert one["content"] != two["content"] or two["content"] in LEAGUE.values()
    names = []
    for each in ("v1", version):
        source = (ROOT / "prompts" / task / f"{each}.md").read_text(encoding="utf-8")
        names.append(meta.find_undeclared_variables(Environment(autoescape=True).parse(source)))
    assert names[0] == names[1]
    for value in ("question", "passage", "options"):
        assert (LEAGUE[value] in first[-1 if task != "revise" else -3]["content"]) == (
            LEAGUE[value] in other[-1 if task != "revise" else -3]["content"]
        )


@pytest.mark.parametrize("version", ["v1", "v2", "v3"])
def test_every_wording_forbids_telling_the_answer_unless_it_may_be_told(version: str) -> None:
    told, untold = (rendered("guide", version, may_tell_answer=may)[0]["content"] for may in (True, False))
    assert untold.startswith(told.removesuffix("."))
    assert "answer" in untold.removeprefix(told.removesuffix("."))
    assert rendered("guide", version, may_tell_answer=True)[1:] == rendered("guide", version)[1:]


@pytest.mark.parametrize("version", ["v1", "v2", "v3"])
def test_every_wording_hands_on_history_verdict_and_guidance(version: str) -> None:
    read = rendered("guide", version, options=None)[-1]["content"]
    for words in ("First reply", "is correct.", "First hint.", "Last reply"):
        assert words in read
    assert "A) this" not in read
    assert "correct" not in rendered("guide", version, history=LEAGUE["history"][1:])[-1]["content"]
    heard = rendered("revise", version)[-1]["content"]
    assert "is wrong. A hint." in heard
    assert "is correct. A hint." in rendered("revise", version, verdict="correct")[-1]["content"]
    unjudged = rendered("revise", version, verdict="none")[-1]["content"]
    assert "A hint." in unjudged
    assert not any(word in unjudged for word in ("correct", "wrong"))
    alone = rendered("revise", version, arm="self_revise", verdict="none", guidance="")[-1]["content"]
    assert not any(word in alone for word in ("correct", "wrong", ":"))


@pytest.mark.parametrize("version", ["v1", "v2", "v3"])
def test_demonstrations_can_be_left_out_and_show_the_form_that_is_asked_for(version: str) -> None:
    assert [message["role"] for message in rendered("revise", version, shots=False)] == [
        "system", "user", "assistant", "user",
    ]  # fmt: skip
    for answer_as, form in (("text", r"Answer: (?![A-Z]\)).+"), ("letter", r"Answer: [A-D]\) .+")):
        shown = [
            message["content"]
            for task in ("answer", "revise")
            for message in rendered(task, version, answer_as=answer_as)
            if message["role"] == "assistant" and message["content"] != LEAGUE["last_answer"]
        ]
        assert len(shown) == 6
        assert all(re.fullmatch(form, reply) for reply in shown)


@pytest.mark.parametrize("version", ["v1", "v2", "v3"])
@pytest.mark.parametrize("answer_as", ["text", "letter"])
def test_demonstrations_are_right(version: str, answer_as: str) -> None:
    """Answers shown are read as options of the question shown, and the verdicts shown are read as they stand."""
    for task in ("answer", "revise"):
        messages = rendered(task, version, answer_as=answer_as)[1:-3]
        options: list[str] = []
        for message in messages:
            if message["role"] == "user":
                options = read_options_block(message["content"]) or options
            else:
                assert extract_choice(message["content"], options, "stop").status == "ok"
    verdicts = [split_guidance(m["content"]) for m in rendered("guide", version) if m["role"] == "assistant"]
    assert [guide.verdict for guide in verdicts] == ["correct", "wrong", "wrong"]
    assert all(guide.guidance for guide in verdicts)
