"""The whole evolution of a rubric without a workflow: requests, the scripted engine, replies, as the steps do it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from rubric_tables import prompt, speaker
from score_tables import PLAN

from magister.config.rubrics_judging import Judging, MetricChecks, Objective, SceneGen
from magister.contracts.rubrics_tables import DIALOGUE_ASKED
from magister.llm import Request, Response, Row, Speaker
from magister.llm._responses import _response
from magister.llm.engines.scripted import ScriptedEngine
from magister.rubrics.checks import check_dialogues, vetoed
from magister.rubrics.coevolve import flat_tasks, parse_tasks, task_requests, unexercised
from magister.rubrics.decision import decide, select_best
from magister.rubrics.diagnosis import Known, diagnose
from magister.rubrics.families import kin
from magister.rubrics.flags import flag_metrics
from magister.rubrics.heard import Heard, heard_dialogues
from magister.rubrics.initial import about, initial_requests, parse_initial
from magister.rubrics.iterations import Document, frozen
from magister.rubrics.judging import Panel, judge_requests
from magister.rubrics.objective import objective
from magister.rubrics.reader import parse_scenario
from magister.rubrics.readings import parse_scores, repair_requests
from magister.rubrics.refine import flagged_metrics, judges_words, parse_refinements, refine_requests
from magister.rubrics.rubric import Rubric
from magister.rubrics.scenario import Scenario
from magister.rubrics.tasks import first_tasks
from magister.rubrics.waves import Cast, advance, dialogue_table, open_dialogues

SCENARIO = """
globals: {{recursion_limit: 12}}
models:
  anybody: {{type: openai, api_key: <KEY>, api_base: <BASE>, model: m}}
agents:
  teacher:
    model: anybody
    prompt: [{{role: system, content: "You teach. The problem: {{question}}"}}]
  student:
    model: anybody
    prompt: [{{role: system, content: You learn.}}]
directions:
  - START -> teacher
  - teacher -> router:any_keyword_route(keywords=["<end>"], exists_to=END, else_to="student")
  - student -> teacher
tasks:
  start_prompt: {{role: user, content: "Today: {{question}}"}}
  mode: union
  content:
    question: [{questions}]
"""
TEACHERS = {"strong": 0.9, "middle": 0.5, "weak": 0.1}


def scenario(tasks: int = 12, closed: int = 0) -> Scenario:
    """A lesson on sums; on `closed` of the tasks no teacher asks anything."""
    questions = [f"What is {number} + {number + 3}?" for number in range(tasks)]
    questions = [f"{text} (closed)" if at < closed else text for at, text in enumerate(questions)]
    return parse_scenario(
        SCENARIO.format(questions=", ".join(f'"{text}"' for text in questions)), "sums.yaml"
    )


@dataclass
class Iteration:
    """What one iteration made; `rubric` is None for a stub."""

    rubric: Rubric | None
    tasks: Scenario | None = None
    document: Document = field(default_factory=dict)
    flags: pa.Table | None = None
    diagnosis: pa.Table | None = None
    scores: pa.Table | None = None
    record: pa.Table | None = None
    calls: int = 0


@dataclass
class Loop:
    """A scenario whose rubric evolves, and everybody's answers so far: equal requests are asked once."""

    start: Scenario
    writer: Speaker
    judges: tuple[Speaker, ...]
    judging: Judging = field(default_factory=Judging)
    objective: Objective = field(default_factory=Objective)
    options: SceneGen = field(default_factory=lambda: SceneGen(metrics=4))
    checks: MetricChecks = field(
        default_factory=lambda: MetricChecks(redundant_r=1.0, off_target_length_r=1.0)
    )
    store: dict[str, Response] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    iterations: list[Iteration] = field(default_factory=list)

    def say(self, who: Speaker, requests: Iterable[Request]) -> dict[str, Response]:
        wanted = list(requests)
        new = {row["custom_id"]: row for row in wanted if row["custom_id"] not in self.store}
        rows: list[Row] = []
        ScriptedEngine(who.name, who.model).run(list(new.values()), rows.append)
        self.store |= {row["custom_id"]: _response(row) for row in rows}
        self.asked[who.name] += len(new)
        return {row["custom_id"]: self.store[row["custom_id"]] for row in wanted}

    @property
    def calls(self) -> int:
        return self.asked.total()

    def run(self, last: int) -> list[Iteration]:
        """All iterations up to the last."""
        for number in range(last + 1):
            before = self.calls
            made = self._stub(number) or self._play(number, last, *self._next(number))
            made.calls = self.calls - before
            self.iterations.append(made)
        return self.iterations

    @property
    def decisions(self) -> list[Document]:
        return [one.document for one in self.iterations]

    @property
    def best(self) -> Iteration:
        return self.iterations[select_best(self.decisions)]

    def _stub(self, number: int) -> Iteration | None:
        if not number:
            return None
        last = self.iterations[-1].document
        return Iteration(None, document=frozen(last)) if last.get("stop", True) else None

    def _next(self, number: int) -> tuple[Rubric, Scenario, pa.Table]:
        """The rubric and the tasks of an iteration: the first ones, or the best ones refined."""
        if not number:
            tasks = first_tasks(self.start, self.options.held_out)
            requests = initial_requests(tasks, self.writer, prompt("initial_metrics"), self.options)
            first = parse_initial(tasks, requests, self.say(self.writer, requests.values()), self.options)
            return first.rubric, tasks, first.record
        best = self.iterations[self.decisions[-1]["best"]]
        assert best.rubric is not None
        assert best.tasks is not None
        assert best.flags is not None
        assert best.scores is not None
        assert best.diagnosis is not None
        seen = [one.record for one in self.iterations[1:] if one.record is not None]
        rewritten = {name for table in seen for name in table["metric_id"].to_pylist()}
        spared = unexercised(best.diagnosis, best.flags, rewritten, self.options)
        told = about(best.tasks)
        tasks = best.tasks
        if spared:
            flat = flat_tasks(best.scores, spared)
            wanted = task_requests(
                tasks,
                best.rubric,
                flat,
                told,
                self.writer,
                prompt("regenerate_task"),
                self.options,
                iteration=number,
            )
            tasks = parse_tasks(
                tasks, flat, wanted, self.say(self.writer, wanted.values()), self.options
            ).scenario
        flagged = flagged_metrics(best.flags, spared)
        requests = refine_requests(
            best.rubric,
            flagged,
            judges_words(best.scores, flagged),
            told,
            self.writer,
            prompt("refine_metric"),
            self.options,
            iteration=number,
        )
        made = parse_refinements(
            best.rubric, flagged, requests, self.say(self.writer, requests.values()), self.options
        )
        return made.rubric, tasks, made.record

    def dialogues(self, tasks: Scenario) -> list[Heard]:
        """All teachers on all tasks, in waves."""
        who = {
            name: speaker(name, "rubric_teacher", quality=quality, salt="x")
            for name, quality in TEACHERS.items()
        }
        who["pupil"] = speaker("pupil", "rubric_student")
        cast = Cast({"student": "pupil"})
        state = open_dialogues([tasks], list(TEACHERS))
        asked, transcripts = DIALOGUE_ASKED.schema.empty_table(), []
        responses: dict[str, Response] = {}
        while True:
            step = advance(state, asked, responses, cast, who, max_tokens=64)
            state, asked = step.dialogues, step.asked
            transcripts.append(step.transcripts)
            if not asked.num_rows:
                break
            responses = {}
            for name, requests in step.requests.items():
                responses |= self.say(who[name], requests)
        return heard_dialogues(pa.concat_tables(transcripts), dialogue_table(state, cast), tasks)

    def score(self, made: Rubric, dialogues: list[Heard]) -> pa.Table:
        """What all judges say of dialogues."""
        veto = vetoed(check_dialogues(dialogues))
        candidates = {
            name: kin(name, speaker(name, "rubric_teacher").model, {"name": name}) for name in TEACHERS
        }
        tables = []
        for judge in self.judges:
            panel = Panel(judge, kin(judge.name, judge.model, judge.fingerprint), candidates)
            asked = judge_requests(dialogues, made, panel, self.judging, prompt("judge_rubric"), vetoed=veto)
            responses = self.say(judge, asked.requests)
            repairs = repair_requests(
                asked.asked, responses, made, judge, self.judging, prompt("repair_score")
            )
            mended = self.say(judge, repairs.requests)
            tables.append(
                parse_scores(
                    dialogues,
                    asked.asked,
                    responses,
                    repairs.repairs,
                    mended,
                    made,
                    self.judging,
                    asked.settled,
                )
            )
        return pa.concat_tables(tables)

    def _play(self, number: int, last: int, made: Rubric, tasks: Scenario, record: pa.Table) -> Iteration:
        dialogues = self.dialogues(tasks)
        scores = self.score(made, dialogues)
        known = Known(lengths={one.dialogue_id: one.length for one in dialogues})
        diagnosis = diagnose(scores, made, known, PLAN)
        flags = flag_metrics(diagnosis, made, self.checks)
        evidence = objective(scores, made, known, self.objective, PLAN)
        document = decide(
            number, last, made, evidence, flags, self.decisions, self.objective, calls=self.calls
        )
        return Iteration(made, tasks, document, flags, diagnosis, scores, record)


def judge(name: str, **args: Any) -> Speaker:
    """A scripted judge."""
    return speaker(name, "rubric_judge", **args)


def writer(**args: Any) -> Speaker:
    """A scripted writer of metrics and tasks."""
    return speaker("writer", "rubric_writer", **args)
