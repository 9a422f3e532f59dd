"""The run crate, opened as a stranger opens it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml
from prov.model import ProvDocument
from rocrate.rocrate import ROCrate

from magister.audit.exports.chain import chain_behind
from magister.audit.exports.names import Files
from magister.audit.exports.parameters import parameters
from magister.audit.exports.run_crate import CrateFacts, run_crate
from magister.audit.exports.software import direct_packages
from magister.audit.trail import read_trail
from magister.errors import UserError
from tests.export_project import FINGERPRINT, PARAMS

DATE = "2026-11-30T13:26:07+00:00"
PROCESS = "https://w3id.org/ro/wfrun/process/0.5"
WORKFLOW = "https://w3id.org/ro/wfrun/workflow/0.5"
WORKFLOW_CRATE = "https://w3id.org/workflowhub/workflow-ro-crate/1.0"

pytestmark = pytest.mark.filterwarnings("error")


def write(project: Path, out: Path, *targets: str, **facts: Any) -> Path:
    packages = direct_packages(
        (project / "pyproject.toml").read_text(), (project / "requirements/run.lock").read_text()
    )
    crate = run_crate(
        chain_behind(read_trail(project), targets),
        CrateFacts(**({"date": DATE, "license": "Apache-2.0"} | facts)),
        list(parameters(yaml.safe_load((project / "params.yaml").read_text()))),
        packages,
    )
    crate.write(out)
    return out


@pytest.fixture
def folder(project: Path, tmp_path: Path) -> Path:
    return write(project, tmp_path / "crate", "results/teaching.parquet", "results/teaching.csv")


@pytest.fixture
def crate(folder: Path) -> ROCrate:
    return ROCrate(folder)


def many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def ids(value: Any) -> list[str]:
    return [entity.id for entity in many(value)]


def run_of(crate: ROCrate) -> Any:
    return crate.root_dataset["mentions"]


# RO-Crate 1.1


def test_the_descriptor_says_which_versions_it_is_of(folder: Path) -> None:
    document = json.loads((folder / "ro-crate-metadata.json").read_text(encoding="utf-8"))
    assert document["@context"] == [
        "https://w3id.org/ro/crate/1.1/context",
        "https://w3id.org/ro/terms/workflow-run/context",
    ]
    (descriptor,) = (one for one in document["@graph"] if one["@id"] == "ro-crate-metadata.json")
    assert descriptor["about"] == {"@id": "./"}
    assert descriptor["conformsTo"] == [{"@id": "https://w3id.org/ro/crate/1.1"}, {"@id": WORKFLOW_CRATE}]


def test_the_root_has_all_that_is_asked_of_it(crate: ROCrate) -> None:
    root = crate.root_dataset
    assert root.type == "Dataset"
    assert root["name"] == "Magister: results/teaching.csv, teaching"
    assert "3 runs of rules" in root["description"]
    assert root.properties()["datePublished"] == DATE
    assert root["license"].id == "https://spdx.org/licenses/Apache-2.0"
    assert root["license"].type == "CreativeWork"


def test_every_file_is_there_with_its_size_and_hashes(crate: ROCrate, folder: Path, project: Path) -> None:
    described = {unquote(one.id): one for one in crate.data_entities}
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {*described, "ro-crate-metadata.json"} == there
    for path, entity in described.items():
        content = (folder / path).read_bytes()
        assert entity["contentSize"] == str(len(content))
        assert entity["md5"] == hashlib.md5(content).hexdigest()
        assert entity["sha256"] == hashlib.sha256(content).hexdigest()
        assert entity["encodingFormat"]
        if (project / path).is_file():
            assert content == (project / path).read_bytes()
    assert set(ids(crate.root_dataset["hasPart"])) == {entity.id for entity in crate.data_entities}


def test_nothing_points_at_what_is_not_described(crate: ROCrate) -> None:
    outside = {"https://w3id.org/ro/crate/1.1", "https://doi.org/10.1093/bioinformatics/bts480"}
    outside |= {"https://snakemake.readthedocs.io"}
    for entity in crate.get_entities():
        for value in entity.properties().values():
            for one in many(value):
                if isinstance(one, dict) and one["@id"] not in outside:
                    assert crate.get(one["@id"]) is not None, (entity.id, one)


def test_lineage_comes_along_with_its_file(crate: ROCrate) -> None:
    beside = crate.get("results/teaching.csv.lineage.json")
    assert beside["about"].id == "results/teaching.csv"


# Workflow RO-Crate 1.0


def test_the_main_entity_is_the_workflow_in_snakemake(crate: ROCrate) -> None:
    workflow = crate.mainEntity
    assert workflow.id == "Snakefile"
    assert set(workflow.type) == {"File", "SoftwareSourceCode", "ComputationalWorkflow"}
    assert workflow["name"]
    assert workflow["version"] == "0.1.0"
    language = workflow["programmingLanguage"]
    assert language.id == "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
    assert (language.type, language["name"], language["version"]) == (
        "ComputerLanguage",
        "Snakemake",
        "9.27.1",
    )
    assert set(ids(workflow["hasPart"])) == {"rules/make.smk", "scripts/make.py", "src/magister/helper.py"}


def test_the_readme_is_about_the_crate(crate: ROCrate) -> None:
    readme = crate.get("README.md")
    assert readme["about"].id == "./"
    assert readme["encodingFormat"] == "text/markdown"


# Process Run Crate 0.5 and Workflow Run Crate 0.5


def test_the_profiles_are_named_with_their_versions(crate: ROCrate) -> None:
    profiles = crate.root_dataset["conformsTo"]
    assert [(one.id, one.type, one["version"]) for one in profiles] == [
        (PROCESS, "CreativeWork", "0.5"),
        (WORKFLOW, "CreativeWork", "0.5"),
        (WORKFLOW_CRATE, "CreativeWork", "1.0"),
    ]


def test_the_run_is_an_action_of_the_workflow_that_the_root_mentions(crate: ROCrate) -> None:
    run = run_of(crate)
    assert run.type == "CreateAction"
    assert run.id.startswith("#run/")
    assert run["instrument"].id == crate.mainEntity.id
    assert run["name"]
    assert run["description"]
    assert run["actionStatus"] == "http://schema.org/CompletedActionStatus"


def test_times_that_no_record_holds_stay_unsaid(crate: ROCrate) -> None:
    assert not {"startTime", "endTime"} & set(run_of(crate))


def test_inputs_are_the_sources_and_the_parameters(crate: ROCrate) -> None:
    read = [one for one in run_of(crate)["object"] if "File" in many(one.type)]
    assert {one["name"] for one in read} == {"data/own/frågor 1.jsonl", "prompts/ask.md", "params.yaml"}
    slots = {one["name"] for one in crate.mainEntity["input"] if one["additionalType"] == "File"}
    assert slots == {"data/own/frågor 1.jsonl", "prompts/ask.md"}
    for one in read:
        if one["name"] != "params.yaml":
            assert one["exampleOfWork"] in crate.mainEntity["input"]
    # The workflow finds it by its name: a slot that it does not fill would be one too many.
    assert "exampleOfWork" not in crate.get("params.yaml")


def test_outputs_are_the_targets_and_nothing_between(crate: ROCrate) -> None:
    made = run_of(crate)["result"]
    assert ids(made) == ["results/teaching.csv", "results/teaching.parquet"]
    assert [one["exampleOfWork"].id for one in made] == ids(crate.mainEntity["output"])
    for slot in crate.mainEntity["output"]:
        assert (slot.type, slot["additionalType"]) == ("FormalParameter", "File")


def test_parameters_are_values_of_typed_slots(crate: ROCrate) -> None:
    values = {one["name"]: one for one in run_of(crate)["object"] if one.type == "PropertyValue"}
    assert set(values) == {one.name for one in parameters(PARAMS)}
    for one in values.values():
        slot = one["exampleOfWork"]
        assert slot in crate.mainEntity["input"]
        assert (slot.type, slot["name"]) == ("FormalParameter", one["name"])
    kinds = {name: one["exampleOfWork"]["additionalType"] for name, one in values.items()}
    assert (values["teaching.rounds"]["value"], kinds["teaching.rounds"]) == (3, "Integer")
    assert (values["teaching.share"]["value"], kinds["teaching.share"]) == (0.5, "Float")
    assert (values["teaching.blind"]["value"], kinds["teaching.blind"]) == (True, "Boolean")
    assert (values["teaching.students"]["value"], kinds["teaching.students"]) == (["ann", "bo"], "Text")
    assert values["teaching.students"]["exampleOfWork"]["multipleValues"] is True
    assert json.loads(values["teaching.mixed"]["value"]) == PARAMS["teaching"]["mixed"]
    assert "value" not in values["models.tutor.system"]


def test_the_software_is_named_with_its_versions(crate: ROCrate) -> None:
    software = crate.mainEntity["softwareRequirements"]
    assert {one.type for one in software} == {"SoftwareApplication"}
    versions = {(one["name"], one["softwareVersion"]) for one in software if one["name"] != "tutor"}
    assert versions == {
        *(("magister", "0.1.0"), ("numpy", "2.4.6"), ("numpy", "2.5.5")),
        *(("snakemake", "9.27.1"), ("typing-extensions", "4.15.0")),
    }


def test_a_model_is_software_with_its_fingerprint(crate: ROCrate) -> None:
    (model,) = (one for one in crate.mainEntity["softwareRequirements"] if one["name"] == "tutor")
    parts = {part["name"]: part.get("value") for part in model["additionalProperty"]}
    assert parts == FINGERPRINT


def test_the_runs_of_rules_come_along_as_prov(crate: ROCrate, folder: Path) -> None:
    entity = crate.get("provenance/prov.json")
    assert entity["about"].id == run_of(crate).id
    document = ProvDocument.deserialize(source=str(folder / "provenance/prov.json"), format="json")
    labels = {str(record.label) for record in document.get_records() if record.is_element()}
    assert {"results/teaching.parquet", "teaching_board", "prompts/ask.md"} <= labels


# Choices


def test_the_same_project_gives_the_same_bytes(project: Path, folder: Path, tmp_path: Path) -> None:
    again = write(project, tmp_path / "again", "results/teaching.csv", "results/teaching.parquet")
    names = sorted(path.relative_to(folder) for path in folder.rglob("*"))
    assert names == sorted(path.relative_to(again) for path in again.rglob("*"))
    for name in names:
        if (folder / name).is_file():
            assert (folder / name).read_bytes() == (again / name).read_bytes()


def test_files_may_be_referenced_by_hash_instead_of_copied(project: Path, tmp_path: Path) -> None:
    folder = write(project, tmp_path / "crate", files=Files.reference)
    crate = ROCrate(folder)
    assert (folder / "results/teaching.parquet").is_file()
    assert not (folder / "data").exists()
    content = (project / "data/made/items.json").read_bytes()
    (items,) = (one for one in crate.data_entities if one["name"] == "data/made/items.json")
    assert items.id == f"urn:magister:file:{hashlib.md5(content).hexdigest()}/data/made/items.json"
    assert items["alternateName"] == "data/made/items.json"
    assert items["sha256"] == hashlib.sha256(content).hexdigest()
    assert items["contentSize"] == str(len(content))
    # The same name as in PROV: the two can be joined.
    document = json.loads((folder / "provenance/prov.json").read_text(encoding="utf-8"))
    name = items.id.removeprefix(document["prefix"]["file"])
    assert f"file:{name}" in document["entity"]


def test_a_file_that_is_gone_can_be_referenced_and_not_copied(project: Path, tmp_path: Path) -> None:
    (project / "prompts/ask.md").unlink()
    with pytest.raises(UserError, match=r"prompts/ask.md: not there, .*--files reference"):
        write(project, tmp_path / "one")
    crate = ROCrate(write(project, tmp_path / "other", files=Files.reference))
    (asked,) = (one for one in crate.data_entities if one["name"] == "prompts/ask.md")
    assert "md5" in asked
    assert not {"sha256", "contentSize"} & set(asked)


def test_a_file_outside_the_project_is_never_copied(project: Path, tmp_path: Path) -> None:
    weights = tmp_path / "weights: 1.gguf"
    weights.write_bytes(b"w")
    beside = project / "data/made/items.json.lineage.json"
    record = json.loads(beside.read_text(encoding="utf-8"))
    record["inputs"][str(weights)] = hashlib.md5(b"w").hexdigest()
    beside.write_text(json.dumps(record), encoding="utf-8")
    folder = write(project, tmp_path / "crate")
    (entity,) = (one for one in ROCrate(folder).data_entities if one["name"] == str(weights))
    assert entity.id.startswith("urn:magister:file:")
    assert entity["sha256"] == hashlib.sha256(b"w").hexdigest()
    assert not list(folder.rglob("*.gguf"))


@pytest.mark.parametrize(
    ("given", "name", "address"),
    [
        ("Ada Lovelace", "Ada Lovelace", "#agent/Ada%20Lovelace"),
        ("Ada <https://x.org/a>", "Ada", "https://x.org/a"),
    ],
)
def test_who_ran_it_is_said_where_it_is_given(
    project: Path, tmp_path: Path, given: str, name: str, address: str
) -> None:
    crate = ROCrate(write(project, tmp_path / "crate", agent=given))
    agent = run_of(crate)["agent"]
    assert (agent.id, agent.type, agent["name"]) == (address, "Person", name)
    assert crate.root_dataset["author"] == agent


def test_who_ran_it_is_unsaid_otherwise(crate: ROCrate) -> None:
    assert "agent" not in run_of(crate)
    assert not crate.get_by_type("Person")


def test_another_licence_and_title_are_taken(project: Path, tmp_path: Path) -> None:
    facts = {"license": "https://example.org/terms", "title": "My league"}
    root = ROCrate(write(project, tmp_path / "crate", **facts)).root_dataset
    assert (root["license"].id, root["name"]) == ("https://example.org/terms", "My league")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"license": "Apache 2"}, "expected an SPDX identifier"),
        ({"agent": "Ada <x>"}, "expected NAME or NAME <ADD"),
    ],
)
def test_a_fact_of_another_form_is_refused(
    project: Path, tmp_path: Path, facts: dict[str, str], expected: str
) -> None:
    with pytest.raises(UserError, match=expected):
        write(project, tmp_path / "crate", **facts)
