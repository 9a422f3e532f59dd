"""PROV-JSON, as another implementation of PROV reads it."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prov.graph import prov_to_graph
from prov.model import (
    ProvActivity,
    ProvAgent,
    ProvAssociation,
    ProvDerivation,
    ProvDocument,
    ProvEntity,
    ProvGeneration,
    ProvMembership,
    ProvUsage,
)

from magister.audit.exports.chain import chain_behind
from magister.audit.exports.prov_json import prov_document
from magister.audit.trail import read_trail
from magister.provenance import make_lineage, write_json
from tests.export_project import CODE, FINGERPRINT


@pytest.fixture
def document(project: Path) -> ProvDocument:
    written = prov_document(
        chain_behind(read_trail(project), ["results/teaching.parquet", "results/teaching.csv"])
    )
    return ProvDocument.deserialize(content=json.dumps(written), format="json")


def labelled(document: ProvDocument, kind: type) -> dict[str, Any]:
    return {str(record.label): record for record in document.get_records(kind)}


def value(record: Any, name: str) -> Any:
    (found,) = record.get_attribute(f"magister:{name}")
    return found


def test_files_runs_and_agents_are_all_there(document: ProvDocument) -> None:
    files = {label for label in labelled(document, ProvEntity) if not label.startswith("code of")}
    assert files == {
        *("data/own/frågor 1.jsonl", "prompts/ask.md", "scripts/make.py", "src/magister/helper.py"),
        *(
            "data/made/items.json",
            "data/made/answers.jsonl",
            "results/teaching.parquet",
            "results/teaching.csv",
        ),
    }
    assert set(labelled(document, ProvActivity)) == {"build (dataset=sums)", "complete", "teaching_board"}
    assert set(labelled(document, ProvAgent)) == {"magister 0.1.0", "tutor"}
    counts = {
        kind: len(list(document.get_records(kind)))
        for kind in (ProvUsage, ProvGeneration, ProvDerivation, ProvAssociation, ProvMembership)
    }
    assert counts == {
        ProvUsage: 1 + 2 + 2,
        ProvGeneration: 4,
        ProvDerivation: 1 + 2 + 2 * 2,
        ProvAssociation: 3 + 1,
        ProvMembership: 2,
    }


def test_every_relation_is_between_things_that_are_described(document: ProvDocument) -> None:
    described = {record.identifier for record in document.get_records() if record.is_element()}
    for relation in document.get_records():
        if relation.is_relation():
            for end in relation.args:
                assert end is None or end in described


def test_a_board_is_walked_back_to_its_sources(document: ProvDocument) -> None:
    graph = prov_to_graph(document)
    nodes = {str(node.label): node for node in graph.nodes if node.is_element()}
    board = nodes["results/teaching.parquet"]
    way = networkx.shortest_path(graph, board, nodes["data/own/frågor 1.jsonl"])
    assert [str(node.label) for node in way] == [
        *("results/teaching.parquet", "data/made/items.json", "data/own/frågor 1.jsonl")
    ]
    behind = {str(node.label) for node in networkx.descendants(graph, board)}
    assert {"teaching_board", "complete", "build (dataset=sums)", "tutor", "prompts/ask.md"} <= behind
    assert not networkx.has_path(graph, nodes["data/own/frågor 1.jsonl"], board)


def test_the_code_of_a_run_is_the_plan_that_the_package_followed(document: ProvDocument) -> None:
    run = labelled(document, ProvActivity)["teaching_board"]
    (followed,) = (
        association.args[2]
        for association in document.get_records(ProvAssociation)
        if association.args[0] == run.identifier
    )
    files = {str(record.identifier): str(record.label) for record in document.get_records(ProvEntity)}
    members = [
        files[str(member.args[1])]
        for member in document.get_records(ProvMembership)
        if member.args[0] == followed
    ]
    assert sorted(members) == list(CODE)


def test_an_entity_says_what_it_holds_and_what_it_is(document: ProvDocument, project: Path) -> None:
    entities = labelled(document, ProvEntity)
    items = entities["data/made/items.json"]
    assert value(items, "bytes") == (project / "data/made/items.json").stat().st_size
    assert value(items, "md5") in str(items.identifier)
    assert {str(kind) for kind in items.get_asserted_types()} == {"magister:Artifact"}
    board = entities["results/teaching.csv"]
    assert {str(kind) for kind in board.get_asserted_types()} == {"magister:Artifact", "magister:Target"}
    source = entities["prompts/ask.md"]
    assert {str(kind) for kind in source.get_asserted_types()} == {"magister:Source"}


def test_a_run_says_its_parameters_and_wildcards(document: ProvDocument) -> None:
    run = labelled(document, ProvActivity)["build (dataset=sums)"]
    assert json.loads(value(run, "wildcards")) == {"dataset": "sums"}
    assert json.loads(value(run, "params"))["rounds"] == 3
    assert len(value(run, "params_sha256")) == 64


def test_a_model_is_an_agent_with_its_fingerprint(document: ProvDocument) -> None:
    assert json.loads(value(labelled(document, ProvAgent)["tutor"], "fingerprint")) == FINGERPRINT


def test_there_are_no_times(document: ProvDocument) -> None:
    for run in document.get_records(ProvActivity):
        assert run.get_startTime() is None
        assert run.get_endTime() is None
    assert not any(generation.extra_attributes for generation in document.get_records(ProvGeneration))
    text = document.serialize(format="json")
    assert "prov:time" not in text


@given(st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=6), st.data())
@settings(max_examples=30)
def test_what_is_derived_from_what_is_what_the_trail_walks(
    drawn: list[set[int]], data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        for at, behind in enumerate(drawn):
            inputs = [Path(f"data/{other}.json") for other in sorted(behind) if other < at]
            record = make_lineage(
                "r", wildcards={"at": str(at)}, inputs=inputs, params={}, code={}, root=root
            )
            write_json(root / f"data/{at}.json", at, record)
        trail = read_trail(root, ["data"])
        target = f"data/{data.draw(st.integers(0, len(drawn) - 1))}.json"
        text = json.dumps(prov_document(chain_behind(trail, [target])))
        graph = prov_to_graph(ProvDocument.deserialize(content=text, format="json"))
        derived = networkx.DiGraph()
        derived.add_nodes_from(str(node.label) for node in graph.nodes if isinstance(node, ProvEntity))
        derived.add_edges_from(
            (str(one.label), str(other.label))
            for one, other, data in graph.edges(data=True)
            if isinstance(data["relation"], ProvDerivation)
        )
        assert {target} | networkx.descendants(derived, target) == set(trail.back(target))
