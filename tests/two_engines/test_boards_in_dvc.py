"""What DVC says of two committed runs: the numbers, the parameters and the charts that changed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
CARRIED = (
    *("Snakefile", "rules", "scripts", "src", "prompts", "profiles"),
    *("dvc.yaml", ".dvc/config", ".dvc/.gitignore", ".dvc/plots", ".dvcignore", ".gitignore"),
)
# Sections with defaults stand here too: DVC refuses to commit a stage whose parameters params.yaml lacks.
PARAMS: dict[str, Any] = {
    "models": {
        "ann": {
            "engine": "scripted",
            "script": "student",
            "script_args": {"accuracy": 0.4, "mode": "reguess"},
        },
        "tom": {
            "engine": "scripted",
            "script": "teacher",
            "script_args": {"mode": "verdict", "q": 0.9, "accuracy": 0.9},
        },
    },
    "items": {
        "datasets": {
            "sums": {
                "kind": "generated",
                "generator": "sums",
                "generator_args": {"options": 4},
                "domain": "mathematics",
                "n": 6,
                "seed": 7,
            }
        },
        "seed": 0,
    },
    "teaching": {
        "rounds": 1,
        "leagues": {"tiny": {"students": ["ann"], "teachers": ["tom"], "datasets": ["sums"]}},
        "answer_as": "text",
        "prompts": {"answer": "v1"},
    },
    "statistics": {"resamples": 200},
    "llm": {"replay": False},
}


@dataclass(frozen=True)
class Checkout:
    """A repository with the workflow, two commits of its results and the commands that compare them."""

    path: Path

    def say(self, *command: str) -> str:
        """Run a command and expect success; its standard output."""
        environment = {
            name: value
            for name, value in os.environ.items()
            # A hook or a shell of an outer repository must not steer this one.
            if not name.startswith(("GIT_", "DVC_")) and name != "PYTHONDONTWRITEBYTECODE"
        }
        environment |= {"PYTHONPATH": str(self.path / "src"), "DVC_NO_ANALYTICS": "1"}
        for who in ("AUTHOR", "COMMITTER"):
            environment |= {f"GIT_{who}_NAME": "test", f"GIT_{who}_EMAIL": "test@localhost"}
        done = subprocess.run(
            command, cwd=self.path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def dvc(self, *arguments: str) -> str:
        """Run DVC."""
        return self.say(sys.executable, "-m", "dvc", *arguments)

    def told(self, *arguments: str) -> Any:
        """What DVC says as JSON."""
        return json.loads(self.dvc(*arguments, "--json"))

    def publish(self, rounds: int) -> None:
        """Run the pipeline and commit its results to both."""
        params = PARAMS | {"teaching": PARAMS["teaching"] | {"rounds": rounds}}
        (self.path / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")
        self.say(sys.executable, "-m", "snakemake", "--quiet", "rules", "--cores", "2")
        self.dvc("commit", "--force")
        self.say("git", "add", "--all")
        self.say("git", "commit", "--quiet", "--message", f"{rounds} rounds")

    def numbers(self) -> dict[str, Any]:
        """`results/metrics.json` as it is."""
        loaded: dict[str, Any] = json.loads((self.path / "results/metrics.json").read_text(encoding="utf-8"))
        return loaded


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """One round committed, then two."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in CARRIED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    made = Checkout(folder)
    made.say("git", "init", "--quiet")
    made.publish(rounds=1)
    made.publish(rounds=2)
    return made


def test_the_numbers_of_the_board_are_metrics(checkout: Checkout) -> None:
    shown = checkout.told("metrics", "show")[""]["data"]
    assert list(shown) == ["results/metrics.json"]
    numbers = shown["results/metrics.json"]["data"]
    assert numbers == checkout.numbers()
    assert (numbers["tiny"]["tom"]["rounds"], numbers["tiny"]["tom"]["n_items"]) == (2, 6)


def test_a_comparison_names_what_changed_and_by_how_much(checkout: Checkout) -> None:
    assert checkout.told("params", "diff", "HEAD~1", "HEAD") == {
        "params.yaml": {"teaching.rounds": {"old": 1, "new": 2, "diff": 1}}
    }
    changed = checkout.told("metrics", "diff", "HEAD~1", "HEAD")
    assert list(changed) == ["results/metrics.json"]
    numbers = changed["results/metrics.json"]
    assert numbers["tiny.tom.rounds"] == {"old": 1, "new": 2, "diff": 1}
    gained = numbers["tiny.tom.CA"]
    assert gained["new"] == checkout.numbers()["tiny"]["tom"]["CA"]
    assert gained["diff"] == gained["new"] - gained["old"] != 0
    assert "tiny.tom.n_items" not in numbers


def test_the_curve_of_each_revision_is_drawn(checkout: Checkout) -> None:
    drawn = checkout.told("plots", "diff", "HEAD~1", "HEAD")["data"]
    assert set(drawn) == {"results/teaching_ca.csv", "results/teaching_rounds.csv"}
    (curve,) = drawn["results/teaching_rounds.csv"]
    points = {(point["rev"], point["series"], point["round"]) for point in curve["content"]["data"]["values"]}
    assert points == {
        *(("HEAD~1", "tiny: tom", number) for number in "01"),
        *(("HEAD", "tiny: tom", number) for number in "012"),
    }
    for (plot,) in drawn.values():
        assert "<DVC_METRIC_" not in json.dumps(plot["content"])


@pytest.mark.parametrize("command", [("show",), ("diff", "HEAD~1", "HEAD")])
def test_charts_are_a_page(checkout: Checkout, tmp_path: Path, command: tuple[str, ...]) -> None:
    checkout.dvc("plots", *command, "--out", str(tmp_path))
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert len(re.findall("vegaEmbed\\(", page)) == 2
    assert "tiny: tom" in page


def test_looking_leaves_the_repository_clean(checkout: Checkout) -> None:
    checkout.dvc("plots", "show")
    assert checkout.say("git", "status", "--porcelain") == ""
