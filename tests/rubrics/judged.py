"""Dialogues and judges that the tests of judging share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from rubric_tables import prompt, response, speaker

from magister.config.rubrics_judging import Judging
from magister.contracts.rubrics_score_tables import RUBRIC_ASKED, RUBRIC_REPAIRS, RUBRIC_SCORES
from magister.llm import ScriptedReply, Speaker
from magister.provenance._artifact import conform
from magister.rubrics.families import Kin
from magister.rubrics.heard import Heard, Said
from magister.rubrics.judging import Asked, Panel, judge_requests
from magister.rubrics.readings import parse_scores, repair_requests
from magister.rubrics.rubric import Rubric

Reply = str | ScriptedReply
MODELS = ("model_a", "model_b")


def heard(name: str, *texts: str, **more: Any) -> Heard:
    """A dialogue; teacher and student take turns, the teacher first."""
    turns = tuple(
        Said(("teacher", "student")[at % 2], text) for at, text in enumerate(texts or ("Why?", "So."))
    )
    values: dict[str, Any] = {
        "scenario": "sums", "task_id": f"t-{name}", "model": MODELS[0], "candidate": "teacher",
        "variables": {"question": f"What is {name}?"},
    } | more  # fmt: skip
    return Heard(name, turns=turns, **values)


def kin(name: str, family: str = "") -> Kin:
    """A model that is nobody else's."""
    return Kin(name, f"identity of {name}", family or name)


def panel(judge: str = "jim", candidates: Sequence[str] = MODELS, **families: str) -> Panel:
    """A scripted judge and who is judged."""
    return Panel(
        speaker(judge, "echo"),
        kin(judge, families.get(judge, "")),
        {name: kin(name, families.get(name, "")) for name in candidates},
    )


def ask(dialogues: Sequence[Heard], made: Rubric, judging: Judging, **more: Any) -> Asked:
    """What a judge is asked by the shipped prompt."""
    who = more.pop("panel", None) or panel()
    found = judge_requests(dialogues, made, who, judging, prompt("judge_rubric"), **more)
    assert conform(found.asked, RUBRIC_ASKED).equals(
        found.asked.sort_by([(n, "ascending") for n in RUBRIC_ASKED.key])
    )
    return found


def judge(
    dialogues: Sequence[Heard],
    made: Rubric,
    judging: Judging,
    say: Callable[[str], Reply] | Mapping[str, Reply],
    mend: Callable[[str], Reply] = lambda text: "I cannot say.",
    **more: Any,
) -> pa.Table:
    """All the way from dialogues to RUBRIC_SCORES: `say` replies to a conversation's text, `mend` to a repair."""
    asked = ask(dialogues, made, judging, **more)
    who: Speaker = (more.get("panel") or panel()).judge
    texts = {request["custom_id"]: str(request["body"]["messages"]) for request in asked.requests}
    answer = say if callable(say) else lambda text: next(said for part, said in say.items() if part in text)
    responses = {key: response(key, answer(text)) for key, text in texts.items()}
    repairs = repair_requests(asked.asked, responses, made, who, judging, prompt("repair_score"))
    assert conform(repairs.repairs, RUBRIC_REPAIRS).num_rows == len(repairs.requests)
    mended = {
        request["custom_id"]: response(request["custom_id"], mend(str(request["body"]["messages"])))
        for request in repairs.requests
    }
    scores = parse_scores(
        dialogues, asked.asked, responses, repairs.repairs, mended, made, judging, asked.settled
    )
    assert conform(scores, RUBRIC_SCORES).equals(scores.combine_chunks())
    return scores
