"""What code can see in a dialogue before any judge is asked: turns of others, given answers, lengths, vetoes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from magister.answers import find_leak
from magister.contracts.rubrics_score_tables import CHECK_KINDS, RUBRIC_CHECKS
from magister.errors import UserError
from magister.rubrics.heard import Heard
from magister.rubrics.patterns import PatternError, regex
from magister.rubrics.scenario import Veto

# What the parts in a lesson are called, by who plays them.
_ROLES = (
    frozenset({"student", "pupil", "learner", "学生", "同学", "学员"}),
    frozenset({"teacher", "tutor", "coach", "instructor", "老师", "教师", "导师"}),
)
_LABEL = r"(?m)^[ \t>#*_【\[（(]*(?:{})[ \t*_】\]）)]*[:：][ \t*_]*\S"
EMPTY_TURN = "empty_turn"
ROLE_LEAK = "role_leak"


class _Finding(NamedTuple):
    status: str
    detail: str = ""
    turn: int | None = None


def check_dialogues(dialogues: Sequence[Heard], vetoes: Sequence[Veto] = ()) -> pa.Table:
    """Run all checks.

    `empty_turn` and `role_leak` (the candidate speaks the part of another) are always run and forbid nothing; each
    rule of the scenario is run under its own name and forbids scoring where it fails.

    Args:
        dialogues: what is checked.
        vetoes: the scenario's rules.

    Returns:
        RUBRIC_CHECKS table, a row per dialogue and check.

    Raises:
        UserError: a rule lacks what it needs, or has the name of another.
    """
    names = [veto.name for veto in vetoes]
    double = sorted({name for name in names if names.count(name) > 1 or name == EMPTY_TURN})
    if double:
        raise UserError(f"veto rules: {', '.join(double)}: this name is taken; give each rule its own")
    rows = []
    for dialogue in sorted(dialogues, key=lambda one: (one.scenario, one.dialogue_id)):
        place = {"scenario": dialogue.scenario, "dialogue_id": dialogue.dialogue_id}
        found = {EMPTY_TURN: (EMPTY_TURN, _empty(dialogue), False)}
        if ROLE_LEAK not in names:
            found[ROLE_LEAK] = (ROLE_LEAK, _role_leak(dialogue, dialogue.candidate), False)
        for veto in vetoes:
            found[veto.name] = (veto.kind, _veto(dialogue, veto), True)
        for name, (kind, finding, forbids) in found.items():
            rows.append(
                place
                | {"check": name, "kind": kind, "status": finding.status, "detail": finding.detail}
                | {"vetoes": forbids and finding.status == "failed", "turn": finding.turn}
            )
    return pa.Table.from_pylist(rows, schema=RUBRIC_CHECKS.schema)


def vetoed(checks: pa.Table) -> dict[str, str]:
    """Why dialogues may not be scored, by id; dialogues that may are not in it.

    Args:
        checks: RUBRIC_CHECKS table of one scenario.
    """
    why: dict[str, list[str]] = {}
    rows = checks.filter(checks["vetoes"]).sort_by([("dialogue_id", "ascending"), ("check", "ascending")])
    for row in rows.to_pylist():
        turn = "" if row["turn"] is None else f" in turn {row['turn']}"
        why.setdefault(row["dialogue_id"], []).append(f"{row['check']}{turn}: {row['detail']}")
    return {name: "; ".join(reasons) for name, reasons in why.items()}


def _veto(dialogue: Heard, veto: Veto) -> _Finding:
    agent = veto.agent or dialogue.candidate
    if veto.kind not in CHECK_KINDS:
        raise UserError(f"{veto.at}: veto {veto.name}: unknown kind {veto.kind!r}")
    if veto.kind == "role_leak":
        return _role_leak(dialogue, agent, [str(word) for word in veto.arguments.get("keywords", ())])
    if veto.kind == "answer_leak":
        return _answer_leak(dialogue, agent, str(_need(veto, "variable")))
    if veto.kind == "turns":
        return _turns(dialogue, agent, veto)
    if veto.kind == "keywords":
        words = [str(word) for word in _need(veto, "keywords")]
        return _matches(dialogue, agent, "(?i)" + "|".join(map(re.escape, words)), "says a forbidden word")
    return _pattern(dialogue, agent, str(_need(veto, "pattern")), veto)


def _need(veto: Veto, name: str) -> Any:
    value = veto.arguments.get(name)
    if not value:
        raise UserError(f"{veto.at}: veto {veto.name} ({veto.kind}): {name!r} is missing")
    return value


def _own(dialogue: Heard, agent: str) -> list[tuple[int, str]]:
    return [(at, turn.text) for at, turn in enumerate(dialogue.turns, start=1) if turn.speaker == agent]


def _empty(dialogue: Heard) -> _Finding:
    if not dialogue.turns:
        return _Finding("failed", "nobody says anything")
    for at, turn in enumerate(dialogue.turns, start=1):
        if not turn.text.strip():
            return _Finding("failed", f"{turn.speaker} says nothing", at)
    return _Finding("passed")


def _role_leak(dialogue: Heard, agent: str, labels: Sequence[str] = ()) -> _Finding:
    """Whether an agent writes lines of somebody else: a line that opens with the other's name and a colon.

    Args:
        dialogue: what was said.
        agent: in whose turns.
        labels: how else such a line may open, the colon included if there is one.
    """
    own = next((roles for roles in _ROLES if agent.casefold() in roles), frozenset({agent.casefold()}))
    others = {turn.speaker for turn in dialogue.turns} - {agent}
    for roles in _ROLES:
        # Where the agent's name says which part it plays, the other part is not its own whatever its name here.
        if roles is not own and (any(name.casefold() in roles for name in others) or own in _ROLES):
            others |= roles
    others = {name for name in others if name.casefold() not in own}
    if not others and not labels:
        return _Finding("not_applicable", "nobody else speaks")
    pattern = "(?i)" + "|".join(
        [*([_LABEL.format("|".join(sorted(map(re.escape, others))))] if others else [])]
        + [rf"(?m)^[ \t>#*_【\[（(]*{re.escape(label)}" for label in labels]
    )
    return _matches(dialogue, agent, pattern, "writes a line of somebody else")


def _answer_leak(dialogue: Heard, agent: str, variable: str) -> _Finding:
    """Whether an agent states the answer before anybody else has."""
    gold = dialogue.variables.get(variable, "").strip()
    if not gold:
        return _Finding("not_applicable", f"the task has no {variable!r}")
    question = " ".join(text for name, text in sorted(dialogue.variables.items()) if name != variable)
    for at, turn in enumerate(dialogue.turns, start=1):
        leak = find_leak(turn.text, [], "", gold, question=question)
        if any(not span.in_question for span in leak.spans):
            if turn.speaker != agent:
                return _Finding("passed", f"{turn.speaker} says the answer first")
            return _Finding("failed", "states the answer", at)
    return _Finding("passed")


def _turns(dialogue: Heard, agent: str, veto: Veto) -> _Finding:
    least, most = veto.arguments.get("at_least"), veto.arguments.get("at_most")
    if least is None and most is None:
        raise UserError(f"{veto.at}: veto {veto.name} (turns): 'at_least' or 'at_most' is missing")
    count = len(_own(dialogue, agent))
    wanted = f"{'' if least is None else least}..{'' if most is None else most}"
    if (least is not None and count < int(least)) or (most is not None and count > int(most)):
        return _Finding("failed", f"{agent} has {count} turns; {wanted} are wanted")
    return _Finding("passed")


def _pattern(dialogue: Heard, agent: str, pattern: str, veto: Veto) -> _Finding:
    """A scenario's own pattern, read as its gates read theirs."""
    own = _own(dialogue, agent)
    if not own:
        return _Finding("not_applicable", f"{agent} says nothing")
    try:
        reader = regex(pattern)
    except PatternError as error:
        raise UserError(f"{veto.at}: veto {veto.name}: pattern {pattern!r}: {error}") from None
    for at, text in own:
        if reader.search(text):
            return _Finding("failed", "matches the pattern", at)
    return _Finding("passed")


def _matches(dialogue: Heard, agent: str, pattern: str, said: str) -> _Finding:
    own = _own(dialogue, agent)
    if not own:
        return _Finding("not_applicable", f"{agent} says nothing")
    # Arrow's engine needs time in proportion to the text, whatever the pattern.
    found = pc.match_substring_regex(pa.array([text for _, text in own], pa.string()), pattern).to_pylist()
    for (at, _), hit in zip(own, found, strict=True):
        if hit:
            return _Finding("failed", said, at)
    return _Finding("passed")


def check_counts(checks: pa.Table) -> Mapping[str, Mapping[str, int]]:
    """How many dialogues came to what, by check and status."""
    counts: dict[str, dict[str, int]] = {}
    for row in checks.select(["check", "status"]).to_pylist():
        own = counts.setdefault(row["check"], dict.fromkeys(("passed", "failed", "not_applicable"), 0))
        own[row["status"]] += 1
    return {name: counts[name] for name in sorted(counts)}
