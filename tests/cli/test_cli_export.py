"""`magister export`: what it writes, what it refuses, and that it leaves nothing half done."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import Run, widest

from tests.export_project import commit, make_project

DATE = "2026-11-30T13:26:07+02:00"


@pytest.fixture
def export(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call the command in a finished project that is committed."""
    project = make_project(tmp_path / "project")
    commit(project, DATE)
    monkeypatch.chdir(project)

    def call(*arguments: str) -> object:
        done = run("export", *arguments)
        assert widest(done.out) <= 80
        return done

    return call


def root_of(folder: Path) -> dict[str, object]:
    document = json.loads((folder / "ro-crate-metadata.json").read_text(encoding="utf-8"))
    (root,) = (one for one in document["@graph"] if one["@id"] == "./")
    return root


def test_prov_is_one_json_document(export: Run) -> None:
    done = export("out/board.prov.json", "--as", "prov")
    assert (done.code, done.err) == (0, "")
    assert "5 files, 3 runs of rules, 1 model" in " ".join(done.out.split())
    document = json.loads(Path("out/board.prov.json").read_text(encoding="utf-8"))
    assert len(document["activity"]) == 3


def test_in_toto_is_a_line_for_each_artifact_and_says_that_nobody_signed(export: Run) -> None:
    done = export("board.intoto.jsonl", "--as", "in-toto")
    assert done.code == 0
    assert "3 statements, not signed" in " ".join(done.out.split())
    lines = Path("board.intoto.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["subject"][0]["name"] for line in lines] == [
        *("data/made/answers.jsonl", "data/made/items.json", "results/teaching.parquet")
    ]


@pytest.mark.parametrize("form", ["prov", "in-toto"])
def test_the_same_results_give_the_same_bytes(export: Run, form: str) -> None:
    for name in ("one", "two"):
        assert export(name, "--as", form).code == 0
    assert Path("one").read_bytes() == Path("two").read_bytes()


def test_a_crate_has_the_date_of_the_last_commit_and_the_projects_licence(export: Run) -> None:
    done = export("board.crate", "--as", "ro-crate", "--of", "results/teaching.csv")
    assert (done.code, done.err) == (0, "")
    root = root_of(Path("board.crate"))
    assert root["datePublished"] == DATE
    assert root["license"] == {"@id": "https://spdx.org/licenses/Apache-2.0"}
    assert Path("board.crate").stat().st_mode & 0o700 == 0o700
    assert not [path for path in Path().iterdir() if path.name.startswith(".board")]


def test_a_date_and_an_empty_folder_may_be_given(export: Run) -> None:
    Path("board.crate").mkdir()
    assert export("board.crate", "--as", "ro-crate", "--date", "2027-01-02", "--files", "reference").code == 0
    assert root_of(Path("board.crate"))["datePublished"] == "2027-01-02"
    assert not Path("board.crate/data").exists()


def refuses(export: Run, expected: str, *arguments: str) -> None:
    before = sorted(Path().rglob("*"))
    done = export(*arguments)
    assert done.code == 2
    assert expected in done.err
    assert sorted(Path().rglob("*")) == before


def test_nothing_is_written_over(export: Run) -> None:
    refuses(export, "README.md is there already", "README.md", "--as", "prov")
    refuses(export, "prompts is there already", "prompts", "--as", "ro-crate")
    refuses(export, "prompts is there already", "prompts", "--as", "prov")


@pytest.mark.parametrize("form", ["prov", "ro-crate"])
def test_folders_of_the_pipeline_are_left_alone(export: Run, form: str) -> None:
    refuses(export, "results/ belongs to the pipeline", "results/export", "--as", form)


def test_options_of_a_crate_are_refused_elsewhere(export: Run) -> None:
    refuses(export, "--date, --title: only with --as ro-crate, found --as prov",
            *("x", "--as", "prov", "--date", "2027-01-02", "--title", "t"))  # fmt: skip


def test_a_date_of_another_form_is_refused(export: Run) -> None:
    refuses(
        export, "--date '2.1.2027': expected an ISO 8601 date", "x", "--as", "ro-crate", "--date", "2.1.2027"
    )


def test_without_a_commit_the_date_has_to_be_given(export: Run) -> None:
    Path(".git").rename("git")
    refuses(export, "no commit here, so the date is not known", "x", "--as", "ro-crate")


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda: Path("params.yaml").write_text("teaching: {}\n"), "params.yaml: teaching is not as it was"),
        (lambda: Path("dvc.lock").unlink(), "dvc.lock: not there"),
        (lambda: Path("Snakefile").unlink(), "Snakefile: not there"),
        (lambda: Path("requirements/run.lock").unlink(), "requirements/run.lock: not there"),
        (lambda: Path("prompts/ask.md").unlink(), "prompts/ask.md: not there, so it cannot be copied"),
        (lambda: Path("prompts/ask.md").write_text("?"), "prompts/ask.md: not the content"),
    ],
)
def test_a_crate_of_what_is_not_so_is_not_written(
    export: Run, spoil: Callable[[], object], expected: str
) -> None:
    spoil()
    refuses(export, expected, "x", "--as", "ro-crate")


def test_a_disk_that_cannot_be_written_leaves_nothing(export: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from rocrate.rocrate import ROCrate

    def full(self: ROCrate, folder: str) -> None:
        (Path(folder) / "half").write_text("x")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ROCrate, "write", full)
    refuses(export, "x: cannot be written: No space left on device", "x", "--as", "ro-crate")


def test_outside_a_project_it_says_where_to_run(run: Run) -> None:
    done = run("export", "x", "--as", "prov")
    assert (done.code, "Run from the project's folder" in done.err) == (2, True)
