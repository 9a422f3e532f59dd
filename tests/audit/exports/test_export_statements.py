"""in-toto statements: one an artifact, bound to bytes, chained by hashes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from magister.audit.exports.chain import chain_behind
from magister.audit.exports.statements import statements
from magister.audit.trail import read_trail
from tests.export_project import CODE, FINGERPRINT, PARAMS


@pytest.fixture
def made(project: Path) -> list[dict[str, Any]]:
    return list(
        statements(chain_behind(read_trail(project), ["results/teaching.parquet", "results/teaching.csv"]))
    )


def by_name(made: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {statement["subject"][0]["name"]: statement for statement in made}


def test_each_artifact_has_one_statement_in_order(made: list[dict[str, Any]]) -> None:
    assert [[subject["name"] for subject in statement["subject"]] for statement in made] == [
        ["data/made/answers.jsonl"],
        ["data/made/items.json"],
        ["results/teaching.csv"],
        ["results/teaching.parquet"],
    ]


def test_a_statement_is_of_the_published_types(made: list[dict[str, Any]]) -> None:
    for statement in made:
        assert set(statement) == {"_type", "subject", "predicateType", "predicate"}
        assert statement["_type"] == "https://in-toto.io/Statement/v1"
        assert statement["predicateType"] == "https://slsa.dev/provenance/v1"
        assert set(statement["predicate"]) == {"buildDefinition", "runDetails"}
        definition = statement["predicate"]["buildDefinition"]
        assert {"buildType", "externalParameters"} <= set(definition)
        assert ":" in definition["buildType"]
        assert ":" in statement["predicate"]["runDetails"]["builder"]["id"]
        assert "metadata" not in statement["predicate"]["runDetails"]


def test_a_subject_is_bound_to_its_bytes(made: list[dict[str, Any]], project: Path) -> None:
    for name, statement in by_name(made).items():
        content = (project / name).read_bytes()
        assert statement["subject"][0]["digest"] == {
            "md5": hashlib.md5(content).hexdigest(),
            "sha256": hashlib.sha256(content).hexdigest(),
        }


def test_a_dependency_is_another_statements_subject_or_a_source(made: list[dict[str, Any]]) -> None:
    named = by_name(made)
    sources = set()
    for statement in made:
        for dependency in statement["predicate"]["buildDefinition"]["resolvedDependencies"]:
            if dependency["annotations"]["role"] == "code":
                continue
            if dependency["name"] in named:
                assert dependency["digest"] == named[dependency["name"]]["subject"][0]["digest"]
            else:
                sources.add(dependency["name"])
    assert sources == {"data/own/frågor 1.jsonl", "prompts/ask.md"}


def test_parameters_wildcards_code_and_models_are_stated(made: list[dict[str, Any]]) -> None:
    items = by_name(made)["data/made/items.json"]["predicate"]["buildDefinition"]
    assert items["externalParameters"] == {
        "rule": "build",
        "wildcards": {"dataset": "sums"},
        "params": PARAMS["teaching"],
    }
    code = [one["name"] for one in items["resolvedDependencies"] if one["annotations"]["role"] == "code"]
    assert code == list(CODE)
    answers = by_name(made)["data/made/answers.jsonl"]["predicate"]["buildDefinition"]
    assert answers["internalParameters"]["models"] == {"tutor": FINGERPRINT}


def test_a_source_that_is_gone_is_stated_by_what_the_record_knows(project: Path) -> None:
    (project / "prompts/ask.md").unlink()
    made = by_name(list(statements(chain_behind(read_trail(project)))))
    (asked,) = (
        one
        for one in made["data/made/answers.jsonl"]["predicate"]["buildDefinition"]["resolvedDependencies"]
        if one["name"] == "prompts/ask.md"
    )
    assert set(asked["digest"]) == {"md5"}
