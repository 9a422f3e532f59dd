"""The teaching board, from the responses up: replies, trajectories, metrics, standings, board and its copies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from magister.audit.recompute._cells import FACTS, Group, groups_of, own_groups
from magister.audit.recompute._crossed import (
    COMPARISONS_KEY,
    STANDINGS_KEY,
    Settings,
    fields_of,
    hold_standings,
)
from magister.audit.recompute._draws import REDRAWS, Draws
from magister.audit.recompute._league_metrics import KEY, Held, hold_group, left_over, missing_own
from magister.audit.recompute._ledger import Ints, Ledger, Sheet
from magister.audit.recompute._project import Project
from magister.audit.recompute._rows import (
    Reply,
    hold_asked,
    hold_correct,
    hold_guides,
    hold_join,
    hold_replies,
    items_by_id,
    replies_beside,
)
from magister.audit.recompute._teaching_board import hold_board
from magister.config.params import Params
from magister.config.teaching import League, played_leagues

_PLACE = ("arm", "teacher", "student", "item_id", "round")
_CELL = ("league", *_PLACE)
_KEPT = ("status", "answer", "correct", "text")


def recompute_teaching(project: Project, params: Params) -> None:
    """Every number of the teaching board, and of what it is read from.

    Args:
        project: the files; its ledger takes what is found.
        params: of the project.
    """
    for name, league in played_leagues(params.teaching, params.items.variants).items():
        with project.part(f"data/teaching/{name}"):
            _League(project, name, league, params.teaching.policy).hold()
    hold_board(project, list(params.teaching.leagues))


class _League:
    def __init__(self, project: Project, name: str, league: League, policy: str) -> None:
        self.project, self.name, self.league, self.policy = project, name, league, policy
        self.ledger = project.ledger
        self.folder = f"data/teaching/{name}"

    def hold(self) -> None:
        """All files of the league; raises MissingError where it cannot go on."""
        trajectories = self.project.sheet(f"{self.folder}/trajectories.parquet", _CELL)
        items, bands = self._items()
        facts = _facts(items, bands)
        own = self._replies(trajectories, items, facts)
        hold_league(self.ledger, self.name, trajectories, own, self._tables(), self.policy)

    def _tables(self) -> dict[str, Sheet]:
        keys = {"metrics": KEY, "standings": STANDINGS_KEY, "comparisons": COMPARISONS_KEY}
        return {name: self.project.sheet(f"{self.folder}/{name}.parquet", key) for name, key in keys.items()}

    def _items(self) -> tuple[pa.Table, pa.Table]:
        path = "data/items/items.parquet"
        if self.league.option_order:
            path = f"{self.folder}/items.parquet"
        elif self.league.items_variant is not None:
            path = f"data/items/variants/{self.league.items_variant}/items.parquet"
        items = self.project.table(path)
        items = items.filter(pc.is_in(items["dataset"], pa.array(self.league.datasets)))
        return items, self.project.table("data/items/bands.parquet", ["item_id", "band"])

    def _replies(self, trajectories: Sheet, items: pa.Table, facts: pa.Table) -> pa.Table:
        """Replies against responses and trajectories against replies; the teachers' own answers with their facts."""
        known = items_by_id(items)
        files: dict[str, dict[str, Reply]] = {}
        rounds = range(1, int(self.league.rounds or 1) + 1)

        def answers(folder: str, names: list[str], key: tuple[str, ...]) -> pa.Table:
            parts = []
            for name in names:
                sheet = self.project.sheet(f"{self.folder}/{folder}/{name}.parquet", key)
                asked = None
                if "asked" in sheet.table.column_names:
                    hold_asked(self.ledger, sheet)
                    asked = np.flatnonzero(sheet.numbers("asked") == 1)
                hold_replies(self.ledger, sheet, replies_beside(self.project, sheet.path, files), asked)
                hold_correct(self.ledger, sheet, known, asked)
                parts.append(sheet)
            return parts

        blind = answers("blind_answers", self.league.students, ("model", "item_id"))
        own = answers("zero_shot", self.league.teachers, ("model", "item_id"))
        revised = [
            sheet for t in rounds for sheet in answers(f"round{t}/revise", self.league.students, _PLACE)
        ]
        guides = []
        for t in rounds:
            for name in self.league.teachers:
                sheet = self.project.sheet(f"{self.folder}/round{t}/guide/{name}.parquet", _PLACE)
                hold_replies(self.ledger, sheet, replies_beside(self.project, sheet.path, files))
                hold_guides(self.ledger, sheet)
                guides.append(sheet)
            if set(self.league.arms) - {"verdict_only"}:
                guides.append(self.project.sheet(f"{self.folder}/round{t}/control_guides.parquet", _PLACE))
                hold_guides(self.ledger, guides[-1])
        self._hold_trajectories(trajectories, _together(blind), _together(revised), _together(guides), facts)
        self._hold_kept(trajectories, revised)
        answered = _together(own)
        return answered.select(["model", "item_id", "status", "correct"]).join(facts, "item_id")

    def _hold_trajectories(
        self, trajectories: Sheet, blind: pa.Table, revised: pa.Table, guides: pa.Table, facts: pa.Table
    ) -> None:
        """Every row of the long table is the reply and the guide of its cell and round, and a fact of its item."""
        first = trajectories.numbers("round") == 0
        ledger, path = self.ledger, trajectories.path

        def part(chosen: np.ndarray) -> Sheet:
            return Sheet(path, trajectories.table.filter(pa.array(chosen)), _CELL)

        begun, later = part(first), part(~first)
        same = {name: name for name in ("status", "answer", "correct", "request_id")}
        renamed = blind.rename_columns({"model": "student"})
        hold_join(ledger, begun, renamed, same, ["student", "item_id"], "trajectories: the blind answer")
        before = {"verdict": "none", "guide_status": "not_asked", "leak": "none", "guide_request_id": None}
        for name, word in before.items():
            wanted = np.full(len(begun), word, dtype=object)
            ledger.compare(begun, name, wanted, "trajectories: no guide before the blind answer")
        hold_join(ledger, later, revised, same, list(_PLACE), "trajectories: the revised answer")
        said = {
            "verdict": "verdict",
            "guide_status": "status",
            "leak": "leak",
            "guide_request_id": "request_id",
        }
        hold_join(ledger, later, guides, said, list(_PLACE), "trajectories: the guide")
        hold_join(
            ledger,
            trajectories,
            facts,
            {name: name for name in FACTS},
            ["item_id"],
            "trajectories: facts of items",
        )
        asked = len(set(zip(*(guides[name].to_pylist() for name in ("arm", "teacher")), strict=True)))
        for sheet, wanted, what in (
            (begun, blind.num_rows * asked, "blind answers of all teachers and arms"),
            (later, revised.num_rows, "revised answers"),
        ):
            if len(sheet) != wanted:
                ledger.add(path, what, "rows: trajectories", f"{len(sheet)} rows", f"{wanted} rows")

    def _hold_kept(self, trajectories: Sheet, revised: list[Sheet]) -> None:
        """Where a student was not asked, the answer before stands."""
        before = trajectories.table.select([*_PLACE, "status", "answer", "correct"])
        before = before.set_column(
            before.column_names.index("round"), "round", pc.add(before["round"], pa.scalar(1, pa.int32()))
        )
        for sheet in revised:
            kept = (sheet.numbers("asked") == 0) & np.array(
                [str(rule).startswith("kept:") for rule in sheet.texts("rule")] or [False]
            )[: len(sheet)]
            some = Sheet(sheet.path, sheet.table.filter(pa.array(kept)), _PLACE)
            same = {name: name for name in ("status", "answer", "correct")}
            hold_join(self.ledger, some, before, same, list(_PLACE), "revisions: the answer before stands")


def hold_league(
    ledger: Ledger,
    name: str,
    trajectories: Sheet,
    own: pa.Table,
    tables: dict[str, Sheet],
    policy: str,
    redraws: int = REDRAWS,
) -> None:
    """Metrics, standings and comparisons of a league against its trajectories.

    Args:
        ledger: for findings.
        name: of the league.
        trajectories: its cells.
        own: the teachers' own answers: model, item_id, status, correct and facts of the items.
        tables: `metrics`, `standings` and `comparisons`.
        policy: which cells count.
        redraws: resamples of our own.
    """
    settings = _settings(ledger, tables, policy)
    groups = groups_of(ledger, trajectories)
    if not groups or settings is None:
        return
    resamples, level = settings
    held = Held(ledger, tables["metrics"], name, policy, level, resamples)
    teachers = sorted({teacher for group in groups for arm, teacher in group.units if arm == "taught"})
    mine = own_groups(own, teachers)
    for group in (*groups, *mine):
        hold_group(held, group, redraws)
    for group in groups:
        missing_own(held, group)
    left_over(held)
    with_teachers = [group for group in groups if any(arm == "taught" for arm, _ in group.units)]
    keys: dict[str, list[tuple[str, ...]]] = {"standings": [], "comparisons": []}
    for some in (with_teachers, mine):
        for group in some:
            _hold_places(
                ledger,
                name,
                group,
                tables,
                (policy, resamples, level, redraws),
                alone=len(some) == 1,
                keys=keys,
            )
    for kind, wanted in keys.items():
        tables[kind].align(ledger, wanted, f"{kind} of a league")


def _hold_places(
    ledger: Ledger,
    name: str,
    group: Group,
    tables: dict[str, Sheet],
    given: tuple[str, int, float, int],
    *,
    alone: bool,
    keys: dict[str, list[tuple[str, ...]]],
) -> None:
    policy, resamples, level, redraws = given
    draws = Draws(group.items.strata, redraws, salt=1)
    for field in fields_of(name, group, policy, draws, alone=alone):
        hold_standings(
            ledger, tables["standings"], tables["comparisons"], field, Settings(resamples, level, draws)
        )
        who = field.teachers
        keys["standings"] += [(name, field.metric, teacher) for teacher in who]
        keys["comparisons"] += [(name, field.metric, a, b) for i, a in enumerate(who) for b in who[i + 1 :]]


def _settings(ledger: Ledger, tables: dict[str, Sheet], policy: str) -> tuple[int, float] | None:
    """Resamples and level of all rows of all tables, which are one; the policy is that of the parameters."""
    for sheet in tables.values():
        ledger.uniform(sheet, ("resamples", "level", "seed"))
        off = sheet.texts("policy") != policy
        ledger.refuse(sheet, "policy", np.asarray(off, dtype=bool), "settings: the policy of the parameters",
                      sheet.texts("policy"), policy)  # fmt: skip
    sheet = tables["metrics"]
    if not len(sheet):
        ledger.add(sheet.path, "", "rows: metrics of a league", "no rows", "a row per metric and slice")
        return None
    return int(_usual(sheet.numbers("resamples"))), float(_usual(sheet.numbers("level")))


def _usual(values: np.ndarray) -> float:
    numbers, counts = np.unique(values, return_counts=True)
    return float(numbers[counts.argmax()])


def _facts(items: pa.Table, bands: pa.Table) -> pa.Table:
    facts = items.select([name for name in ("item_id", *FACTS) if name not in ("band", "n_options")])
    facts = facts.append_column("n_options", pc.list_value_length(items["options"]).cast(pa.int32()))
    return facts.join(bands, "item_id", join_type="left outer")


def _together(sheets: list[Sheet]) -> pa.Table:
    return pa.concat_tables([sheet.table for sheet in sheets], promote_options="default")


__all__ = ["Ints", "hold_league", "recompute_teaching"]
