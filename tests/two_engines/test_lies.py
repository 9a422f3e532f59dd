"""Eight ways in which two engines that do not know of one another certify what is not so; none of them here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from tests.two_engines.conftest import RATING, Done, Project, rewrite, tiny_params

Rebuild = Callable[[Project], Done]
METRICS = "data/teaching/tiny/metrics.parquet"


def resamples(project: Project) -> set[int]:
    """What the metrics say they were made with."""
    return set(pq.read_table(project.path / METRICS)["resamples"].to_pylist())


def test_l1_outputs_without_records_are_not_certified_for_other_parameters(cloned: Project) -> None:
    assert "persist" not in (cloned.path / "dvc.yaml").read_text(encoding="utf-8")
    assert not (cloned.path / ".snakemake").exists()
    cloned.edit("statistics.resamples", 300)
    cloned.dvc("repro")
    assert resamples(cloned) == {300}
    cloned.is_quiet()


def test_l2_an_edited_intermediate_is_not_certified(
    project: Project, edited: Project, rebuild: Rebuild
) -> None:
    rewrite(project, "data/teaching/tiny/blind_answers/pupil.parquet", "text")
    project.edit("statistics.resamples", 300)
    rebuild(project)
    assert project.md5s() == edited.md5s()
    project.is_quiet()


def test_l2_an_edited_intermediate_that_no_cache_holds_is_named_and_made_again(project: Project) -> None:
    before = project.md5s()
    rewrite(project, "data/items/items.parquet", "question")
    shutil.rmtree(project.path / ".dvc" / "cache")
    done = project.snakemake()
    assert "data/items/items.parquet: " in done.text
    assert "rewrite_items" in done.ran
    assert project.md5s() == before


def test_l2_an_edit_that_keeps_time_and_size_is_not_certified(project: Project) -> None:
    before, table = project.md5s(), project.path / METRICS
    times, content = table.stat(), bytearray(table.read_bytes())
    content[len(content) // 2] ^= 1
    table.write_bytes(content)
    os.utime(table, ns=(times.st_atime_ns, times.st_mtime_ns))
    done = project.snakemake()
    assert f"put back from DVC's cache: 1 file: {METRICS}" in done.text
    assert not done.ran
    assert project.md5s() == before
    project.is_quiet()


def test_l3_two_parameters_that_change_places_are_noticed(project: Project) -> None:
    project.edit("statistics.seed", 300)
    project.snakemake()
    project.edit("statistics", {"resamples": 300, "seed": 200})
    assert "teaching_metrics/tiny" in project.snakemake().ran
    assert resamples(project) == {300}


def test_l4_files_of_a_model_that_was_removed_go(built: Project, project: Project, tmp_path: Path) -> None:
    params = tiny_params()
    del params["models"]["teller"]
    params["teaching"]["leagues"]["tiny"]["teachers"].remove("teller")
    project.write_params(params)
    project.snakemake()
    assert not [name for name in project.md5s() if "teller" in name]
    fresh = built.clone(tmp_path / "fresh")
    fresh.dvc("pull")
    fresh.write_params(params)
    fresh.dvc("repro")
    outs = [
        {
            name: stage["outs"]
            for name, stage in yaml.safe_load((each.path / "dvc.lock").read_text())["stages"].items()
        }
        for each in (project, fresh)
    ]
    assert outs[0] == outs[1]


def test_l4_a_file_that_only_this_folder_holds_stays_and_nothing_is_certified(project: Project) -> None:
    note = project.path / "data" / "items" / "my notes.txt"
    note.write_text("do not lose me", encoding="utf-8")
    lock = (project.path / "dvc.lock").read_bytes()
    project.edit("statistics.resamples", 300)
    done = project.try_run("snakemake", "--cores", "2")
    assert done.code == 1
    assert "data/items/my notes.txt" in done.text
    assert "Not recorded in dvc.lock" in done.text
    assert note.read_text(encoding="utf-8") == "do not lose me"
    assert (project.path / "dvc.lock").read_bytes() == lock
    note.unlink()
    assert not project.snakemake().ran
    project.is_quiet()


def test_l5_a_configuration_beside_params_yaml_is_refused(project: Project) -> None:
    before, lock = project.md5s(), (project.path / "dvc.lock").read_bytes()
    (project.path / "other.yaml").write_text("statistics: {resamples: 300}\n", encoding="utf-8")
    done = project.try_run("snakemake", "--cores", "2", "--configfile", "other.yaml")
    assert done.code != 0
    assert "statistics.resamples" in done.text
    assert "Edit the file" in done.text
    assert "Traceback" not in done.text
    assert not done.ran
    assert project.md5s() == before
    assert (project.path / "dvc.lock").read_bytes() == lock
    # A look at what would run does no harm.
    project.snakemake("--dry-run", "--configfile", "other.yaml")


def test_l5_saying_that_files_are_current_is_refused(project: Project) -> None:
    project.edit("statistics.resamples", 300)
    done = project.try_run("snakemake", "--cores", "2", "--touch")
    assert done.code != 0
    assert "magister restore" in done.text
    assert "teaching" in project.dvc("status").text


def test_l6_a_late_stage_in_a_fresh_clone_leaves_what_stands_before_it(cloned: Project) -> None:
    upstream = {
        name: md5 for name, md5 in cloned.md5s().items() if name.startswith(("data/models", "data/items"))
    }
    times = {name: (cloned.path / name).stat().st_mtime_ns for name in upstream}
    cloned.edit("teaching.policy", "drop")
    ran = cloned.dvc("repro", "boards").ran
    assert RATING - {"validate_boards"} <= ran <= RATING
    assert {name: (cloned.path / name).stat().st_mtime_ns for name in upstream} == times


def test_l7_what_the_run_cache_restores_is_not_taken_for_what_was_made_last(
    project: Project, edited: Project
) -> None:
    project.dvc("repro", "--force")
    project.edit("statistics.resamples", 300)
    project.snakemake()
    project.edit("statistics.resamples", 200)
    project.dvc("repro")
    assert resamples(project) == {200}
    project.edit("statistics.resamples", 300)
    project.snakemake()
    assert project.md5s() == edited.md5s()
    project.is_quiet()


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that any user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="magister-user-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def interpreter_for(user: dict[str, object], folder: Path) -> Path:
    """A folder with `python`, `snakemake` and `dvc` that a user can start, on the packages of this environment."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    candidates = [sys.executable, shutil.which(name), f"/usr/bin/{name}", f"/usr/local/bin/{name}"]
    for candidate in filter(None, candidates):
        with suppress(OSError):
            probe = subprocess.run([candidate, "-c", ""], cwd=folder, check=False, **user)  # type: ignore[call-overload]
            if probe.returncode == 0:
                break
    else:
        pytest.skip(f"another user can start no {name} here")
    commands = folder / "bin"
    commands.mkdir()
    (commands / "python").symlink_to(candidate)
    for command in ("snakemake", "dvc"):
        script = commands / command
        script.write_text(f'#!/bin/sh\nexec "{commands}/python" -m {command} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    return commands


def test_l8_a_user_who_is_not_root_can_rebuild(built: Project, shared_folder: Path) -> None:
    project = built.copy(shared_folder / "project")
    home = shared_folder / "home"
    home.mkdir()
    user: dict[str, object] = {}
    if os.geteuid() == 0:
        nobody = 65534
        user = {"user": nobody, "group": nobody, "extra_groups": []}
        for path in [home, project.path, *project.path.rglob("*")]:
            os.chown(path, nobody, nobody, follow_symlinks=False)
    commands = interpreter_for(user, shared_folder)
    environment = project.environment()
    environment |= {
        "PATH": f"{commands}{os.pathsep}{environment['PATH']}",
        "PYTHONPATH": os.pathsep.join([environment["PYTHONPATH"], sysconfig.get_paths()["purelib"]]),
        **dict.fromkeys(("HOME", "XDG_CACHE_HOME", "DVC_SITE_CACHE_DIR"), str(home)),
    }

    def run(*command: str) -> str:
        done = subprocess.run(
            [str(commands / command[0]), *command[1:]],
            cwd=project.path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            **user,  # type: ignore[call-overload]
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return str(done.stdout + done.stderr)

    project.edit("statistics.resamples", 300)
    run("dvc", "repro")
    project.edit("statistics.resamples", 400)
    run("snakemake", "--cores", "2")
    assert resamples(project) == {400}
    assert "up to date" in run("dvc", "status")
    made = (project.path / METRICS).stat()
    assert made.st_uid != 0
    assert made.st_mode & 0o200
