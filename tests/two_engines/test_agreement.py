"""`dvc.yaml` is written by hand: here it is held against the rules that Snakemake would run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from magister.config.params import Params
from magister.pipeline import read_jobs
from magister.pipeline._bridge import SECTIONS
from magister.provenance import code_files
from tests.two_engines.conftest import (
    ROOT,
    RUBRIC_PLAYERS,
    make_project,
    tiny_arena,
    tiny_diagnosis,
    tiny_params,
    tiny_rubrics,
    write_tiny_matrix,
    write_tiny_scenario,
)

DVC: dict[str, Any] = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))
STAGES: dict[str, dict[str, Any]] = DVC["stages"]
RULE_FILES: dict[str, str] = {}
for path in sorted((ROOT / "rules").glob("*.smk")):
    # A module may have parts: rules/<module>_<part>.smk.
    module = path.stem.split("_")[0]
    RULE_FILES[module] = RULE_FILES.get(module, "") + path.read_text(encoding="utf-8") + "\n\n"
# Names under which the rules know slices of the parameters.
ALIASES = {"DATASETS": "items", "model_params": "models"}
ALIASES |= dict.fromkeys(("LEAGUES", "DERIVED", "PLAYED", "league_of", "derived_of"), "teaching")
ALIASES |= dict.fromkeys(("ARENA", "ARENAS", "arena_of", "arena_options"), "arena")
ALIASES |= dict.fromkeys(
    ("DIAGNOSIS", "STUDIES", "study_of", "study_options", "diagnosis_options", "of_studies"), "diagnosis"
)
ALIASES |= dict.fromkeys(
    ("RUBRICS", "SETS", "SPEAKERS", "set_of", "set_options", "rubric_options", "own_options", "of_sets"),
    "rubrics",
)
ALIASES |= dict.fromkeys(("embedder_files", "embedder_values", "embedder_fingerprint"), "embedders")
READS_OF_COMPLETE = {"models", "llm"}


def rules_of(stage: str) -> set[str]:
    """Rules that a stage's command allows."""
    found = re.search(r"--allowed-rules (.+) -- (\w+)$", STAGES[stage]["cmd"])
    assert found
    assert found[2] == stage
    return set(found[1].split())


def within(path: str, places: list[str]) -> bool:
    """Whether a path is one of some places or lies in one."""
    return any(Path(path).is_relative_to(place) for place in places)


@dataclass(frozen=True)
class Output:
    """A file that a run would make.

    Attributes:
        path: from the project's folder.
        rule: which makes it.
        inputs: what it is made from, source files too.
    """

    path: str
    rule: str
    inputs: list[str]


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> list[Output]:
    """What a run of a project with every module would make."""
    params = tiny_params()
    players = {"one": "responder", "other": "responder", "referee": "pair_judge"} | RUBRIC_PLAYERS
    params["models"] |= {name: {"engine": "scripted", "script": script} for name, script in players.items()}
    params |= {
        "embedders": {"words": {"engine": "hashed"}},
        "arena": tiny_arena(),
        "diagnosis": tiny_diagnosis(),
        "rubrics": tiny_rubrics(),
    }
    project = make_project(tmp_path_factory.mktemp("summary") / "project", params)
    write_tiny_matrix(project.path)
    write_tiny_scenario(project.path)
    (project.path / "data/annotations/ann.csv").write_text("comparison_id,winner\nold,1\n", encoding="utf-8")
    return [
        Output(path, job.rule, [*job.inputs, *job.code])
        for job in read_jobs(project.path)
        for path in job.outputs
    ]


def test_there_is_a_stage_for_every_module_and_its_command_names_its_rules() -> None:
    modules = set(RULE_FILES) - {"common", "gates"}
    assert set(STAGES) == modules
    for stage in STAGES:
        defined = set(re.findall(r"^rule (\w+):", RULE_FILES[stage], re.MULTILINE)) - {"complete"}
        assert defined <= rules_of(stage), stage
        assert not STAGES[stage].get("persist")
    gates = set(re.findall(r"^rule (\w+):", RULE_FILES["gates"], re.MULTILINE))
    assert gates == {name for stage in STAGES for name in rules_of(stage) if name.startswith("validate_")}


def test_every_output_lies_in_the_folder_of_its_stage(summary: list[Output]) -> None:
    assert len(summary) > 400
    for row in summary:
        owners = [stage for stage in STAGES if within(row.path, STAGES[stage]["outs"])]
        assert len(owners) == 1, row.path
        assert row.rule in rules_of(owners[0]), row.path


def test_every_input_is_a_dependency_or_made_by_the_stage(summary: list[Output]) -> None:
    for row in summary:
        stage = next(stage for stage in STAGES if within(row.path, STAGES[stage]["outs"]))
        for name in row.inputs:
            assert within(name, [*STAGES[stage]["deps"], *STAGES[stage]["outs"]]), (stage, row.rule, name)


def test_no_dependency_is_one_that_nothing_reads(summary: list[Output]) -> None:
    for stage in STAGES:
        read = {name for row in summary if within(row.path, STAGES[stage]["outs"]) for name in row.inputs}
        scripts = [path for path in (ROOT / "scripts").glob("*/*.py") if path.stem in rules_of(stage)]
        for script in scripts:
            read |= set(code_files(".".join(script.relative_to(ROOT).with_suffix("").parts), ROOT))
        read |= {f"prompts/{name}" for name in re.findall(r'prompt_file\("(\w+)"', RULE_FILES[stage])}
        for dep in STAGES[stage]["deps"]:
            # Snakemake itself reads rules; this small project has no files, reviews, boards or weights and asks no
            # model for items.
            unread = ("data/own", "data/external", "data/raw/models", "data/models")
            if stage == "diagnosis":
                unread = ("data/annotations", *unread)
            if not dep.startswith("rules/") and dep not in unread:
                assert any(within(name, [dep]) for name in read), (stage, dep)


def test_the_parameters_of_a_stage_are_those_its_rules_read() -> None:
    assert set(SECTIONS) == set(Params.model_fields)
    for stage in STAGES:
        text = RULE_FILES[stage]
        read = set(re.findall(r"PARAMS\.(\w+)|FULL\[\"(\w+)\"\]", text))
        sections = {name for pair in read for name in pair if name}
        sections |= {section for alias, section in ALIASES.items() if re.search(rf"\b{alias}\b", text)}
        if "complete" in rules_of(stage):
            sections |= READS_OF_COMPLETE
        if stage == "llm":
            # The rule `complete` is defined here and runs in the other stages.
            sections -= {"llm"}
        assert sections == set(STAGES[stage]["params"]), stage


def test_every_input_of_a_rule_is_handed_to_its_script() -> None:
    for name, text in RULE_FILES.items():
        for block in re.findall(r"^rule \w+:\n(?:    .*\n|\n)+", text, re.MULTILINE):
            if "shell:" not in block:
                continue
            rule = block.split(":", 1)[0]
            inputs = block.split("    input:\n", 1)[1].split("    output:", 1)[0]
            named = set(re.findall(r"^        (\w+)=", inputs, re.MULTILINE)) - {"code"}
            handed = set(re.findall(r'"(\w+)"', block.split("shell:", 1)[1]))
            assert named <= handed, (name, rule, named - handed)
