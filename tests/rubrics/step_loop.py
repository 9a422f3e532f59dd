"""The evolution of rubrics as steps: files in, files out, unrolled to a number of iterations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from magister.config.rubrics_judging import Judging, MetricChecks, Objective, SceneGen
from magister.llm import Speaker
from scripts.llm import complete
from scripts.rubrics import (
    best_rubric,
    decide_rubric,
    diagnose_rubric,
    dialogues,
    first_rubric,
    first_rubric_requests,
    judge_rubric_requests,
    refine_rubric,
    refine_rubric_requests,
    repair_score_requests,
    rubric_checks,
    rubric_profiles,
    rubric_scores,
    wave,
    wave_requests,
)
from scripts.step import run_step

ROOT = Path(__file__).resolve().parents[2]
Files = str | list[str]


def each(form: str, upto: int) -> list[str]:
    """A file of every iteration up to one."""
    return [form.format(i=number) for number in range(upto)]


def prompt(task: str) -> str:
    return str(ROOT / f"prompts/{task}/v1.md")


@dataclass
class StepLoop:
    """A set whose rubrics evolve, step by step in the working folder, as the rules do it.

    Attributes:
        speakers: everybody, by name.
        teachers: who is evaluated.
        judges: who scores.
        scenarios: files.
        last: the last iteration.
        waves: how many end every dialogue.
        anchors: file of anchors, if there is one.
        options: options in place of the defaults.
    """

    speakers: dict[str, Speaker]
    teachers: Sequence[str]
    judges: Sequence[str]
    scenarios: list[str]
    last: int = 2
    waves: int = 7
    anchors: str | list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, one in self.speakers.items():
            Path(f"{name}.json").write_text(json.dumps(one.fingerprint), encoding="utf-8")

    @property
    def models(self) -> dict[str, Any]:
        return {name: one.model.model_dump(mode="json") for name, one in self.speakers.items()}

    @property
    def cast(self) -> dict[str, Any]:
        return {
            "partners": {"student": "pupil"},
            "max_turns": 12,
            "semantics": "fixed",
            "models": list(self.teachers),
            "samples": 1,
        }

    @property
    def common(self) -> dict[str, Any]:
        return {
            "judging": Judging().model_dump(mode="json"),
            "checks": MetricChecks(redundant_r=1.0, off_target_length_r=1.0).model_dump(mode="json"),
            "objective": Objective().model_dump(mode="json"),
            "scenegen": SceneGen(metrics=4).model_dump(mode="json"),
            "statistics": {"resamples": 200, "level": 0.95, "seed": 0},
            "candidates": list(self.teachers),
            "judges": list(self.judges),
            "models": self.models,
            "source": "scenegen",
            "scale": [1, 5],
            "writer": "writer",
            "dimensions": None,
            "iterations": self.last,
        } | self.options

    def call(
        self,
        module: ModuleType,
        wildcards: dict[str, str],
        reads: dict[str, Files],
        writes: dict[str, str],
        **more: Any,
    ) -> None:
        """Run a step as its rule does; an input without files is left out."""
        arguments = ["--params", json.dumps(self.common | more), "--wildcards", json.dumps(wildcards)]
        arguments += ["--code", str(module.__file__)]
        for name, files in reads.items():
            paths = [files] if isinstance(files, str) else files
            arguments += ["--in", name, *paths] if paths else []
        for name, path in writes.items():
            arguments += ["--out", name, path]
        run_step(module.__name__, module.run, arguments)

    def answer(self, stem: str, model: str) -> None:
        self.call(
            complete,
            {"step": "x", "model": model},
            {"requests": f"{stem}.requests.jsonl", "fingerprint": f"{model}.json"},
            {"responses": f"{stem}.responses.jsonl"},
            model=self.models[model],
            max_error_share=0.0,
            replay=False,
        )

    def first(self) -> None:
        self.call(
            first_rubric_requests,
            {"model": "writer"},
            {"scenarios": self.scenarios, "fingerprint": "writer.json", "prompt": prompt("initial_metrics")},
            {"requests": "i0/write.requests.jsonl"},
            model=self.models["writer"],
        )
        self.answer("i0/write", "writer")
        reads: dict[str, Files] = {
            "scenarios": self.scenarios, "fingerprint": "writer.json", "prompt": prompt("initial_metrics"),
            "responses": "i0/write.responses.jsonl",
        }  # fmt: skip
        writes = {"rubrics": "i0/rubrics.json", "tasks": "i0/tasks.json", "record": "i0/record.parquet"}
        self.call(first_rubric, {}, reads, writes, model=self.models["writer"])

    def refined(self, number: int) -> None:
        reads: dict[str, Files] = {
            "scenarios": self.scenarios, "fingerprint": "writer.json",
            "refine_prompt": prompt("refine_metric"), "task_prompt": prompt("regenerate_task"),
            "decisions": each("i{i}/decisions.json", number), "rubrics": each("i{i}/rubrics.json", number),
            "tasks": each("i{i}/tasks.json", number), "flags": each("i{i}/flags.parquet", number),
            "diagnoses": each("i{i}/diagnosis.parquet", number), "evidence": each("i{i}/evidence.json", number),
            "records": each("i{i}/record.parquet", number)[1:],
        }  # fmt: skip
        stem = f"i{number}/write"
        wildcards = {"iteration": str(number), "model": "writer"}
        self.call(
            refine_rubric_requests,
            wildcards,
            reads,
            {"requests": f"{stem}.requests.jsonl"},
            model=self.models["writer"],
        )
        self.answer(stem, "writer")
        writes = {name: f"i{number}/{name}.json" for name in ("rubrics", "tasks")}
        writes |= {name: f"i{number}/{name}.parquet" for name in ("record", "task_changes")}
        self.call(
            refine_rubric,
            wildcards,
            reads | {"responses": f"{stem}.responses.jsonl"},
            writes,
            model=self.models["writer"],
        )

    def talked(self, number: int) -> None:
        past: list[str] = []
        for turn in range(1, self.waves + 1):
            folder = f"i{number}/wave{turn}"
            who = [*self.teachers, "pupil"]
            for name in who:
                self.call(
                    wave_requests,
                    {"wave": str(turn), "model": name},
                    {
                        "scenarios": self.scenarios,
                        "tasks": f"i{number}/tasks.json",
                        "waves": past,
                        "fingerprint": f"{name}.json",
                    },
                    {
                        "requests": f"{folder}/{name}.requests.jsonl",
                        "asked": f"{folder}/{name}.asked.parquet",
                    },
                    **self.cast,
                    model=self.models[name],
                    max_tokens=64,
                )
                self.answer(f"{folder}/{name}", name)
            self.call(
                wave,
                {"wave": str(turn)},
                {
                    "asked": [f"{folder}/{name}.asked.parquet" for name in who],
                    "responses": [f"{folder}/{name}.responses.jsonl" for name in who],
                    "fingerprints": [f"{name}.json" for name in who],
                },
                {"turns": f"{folder}/turns.parquet"},
                semantics="fixed",
            )
            past.append(f"{folder}/turns.parquet")
        self.call(
            dialogues,
            {},
            {"scenarios": self.scenarios, "tasks": f"i{number}/tasks.json", "waves": past},
            {"transcripts": f"i{number}/transcripts.parquet", "dialogues": f"i{number}/dialogues.parquet"},
            **self.cast,
        )

    def judged(self, number: int, **more: Any) -> None:
        at = f"i{number}"
        base: dict[str, Files] = {
            "scenarios": self.scenarios,
            "rubrics": f"{at}/rubrics.json",
            "tasks": f"{at}/tasks.json",
        }
        base |= {"transcripts": f"{at}/transcripts.parquet", "dialogues": f"{at}/dialogues.parquet"}
        self.call(rubric_checks, {"iteration": str(number)}, base, {"checks": f"{at}/checks.parquet"})
        base |= {"anchors": self.anchors}
        for name in self.judges:
            stem, wildcards = f"{at}/{name}", {"iteration": str(number), "model": name}
            prints = [f"{model}.json" for model in (*self.teachers, name)]
            own: dict[str, Files] = {"fingerprint": f"{name}.json"}
            self.call(
                judge_rubric_requests,
                wildcards,
                base
                | own
                | {
                    "checks": f"{at}/checks.parquet",
                    "fingerprints": prints,
                    "prompt": prompt("judge_rubric"),
                },
                {
                    "requests": f"{stem}.requests.jsonl",
                    "asked": f"{stem}.asked.parquet",
                    "settled": f"{stem}.settled.parquet",
                },
                model=self.models[name],
            )
            self.answer(stem, name)
            said: dict[str, Files] = {
                "asked": f"{stem}.asked.parquet",
                "responses": f"{stem}.responses.jsonl",
            }
            self.call(
                repair_score_requests,
                wildcards,
                {name: base[name] for name in ("scenarios", "rubrics", "tasks")}
                | own
                | said
                | {"prompt": prompt("repair_score")},
                {"requests": f"{stem}.repair.requests.jsonl", "repairs": f"{stem}.repairs.parquet"},
                model=self.models[name],
            )
            self.answer(f"{stem}.repair", name)
            mended: dict[str, Files] = {
                "settled": f"{stem}.settled.parquet", "repairs": f"{stem}.repairs.parquet",
                "repaired": f"{stem}.repair.responses.jsonl",
            }  # fmt: skip
            writes = {"scores": f"{stem}.scores.parquet", "anchor_scores": f"{stem}.anchor_scores.parquet"}
            self.call(rubric_scores, wildcards, base | own | said | mended, writes, model=self.models[name])
        scores: dict[str, Files] = {
            name: [f"{at}/{judge}.{name}.parquet" for judge in self.judges]
            for name in ("scores", "anchor_scores")
        }
        prints = [f"{model}.json" for model in (*self.teachers, *self.judges)]
        writes = {name: f"{at}/{name}.parquet" for name in ("diagnosis", "flags", "agreement")}
        writes["evidence"] = f"{at}/evidence.json"
        self.call(
            diagnose_rubric, {"iteration": str(number)}, base | scores | {"fingerprints": prints}, writes
        )
        self.call(
            decide_rubric,
            {"iteration": str(number)},
            scores
            | {name: base[name] for name in ("scenarios", "tasks")}
            | {"rubrics": f"{at}/rubrics.json", "flags": f"{at}/flags.parquet", "anchors": self.anchors}
            | {"decisions": each("i{i}/decisions.json", number)}
            | {
                "spoken": [f"i{i}/{judge}.scores.parquet" for i in range(number + 1) for judge in self.judges]
            },
            {"decisions": f"{at}/decisions.json"},
            **more,
        )

    def ended(self) -> None:
        every: dict[str, Files] = {
            name: each(f"i{{i}}/{file}", self.last + 1)
            for name, file in (
                ("rubrics", "rubrics.json"),
                ("flags", "flags.parquet"),
                ("decisions", "decisions.json"),
                ("agreements", "agreement.parquet"),
            )
        }
        for name in ("scores", "anchor_scores"):
            every[name] = [
                f"i{i}/{judge}.{name}.parquet" for i in range(self.last + 1) for judge in self.judges
            ]
        names = {"best": "json", "lineages": "json", "text": "md", "drift": "parquet"}
        self.call(
            best_rubric,
            {},
            every | {"anchors": self.anchors},
            {name: f"best/{name}.{suffix}" for name, suffix in names.items()},
        )
        self.call(
            rubric_profiles,
            {},
            every | {"best": "best/best.json"},
            {name: f"best/{name}.parquet" for name in ("metrics", "totals", "standings")}
            | {"beside": "best/beside.json"},
        )

    def run_all(self) -> None:
        for number in range(self.last + 1):
            if number:
                self.refined(number)
            else:
                self.first()
            self.talked(number)
            self.judged(number)
        self.ended()
