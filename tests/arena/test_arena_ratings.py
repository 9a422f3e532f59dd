"""Ratings of a league: what may not change them, what they say where votes say little, and numbers known beforehand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from league_votes import Match, frame, of, round_robin, swap_sides

from magister.arena import rate
from magister.arena.ratings import Settings, rate_votes, unrated
from magister.arena.votes import code_votes
from magister.contracts.arena_tables import RATINGS
from magister.errors import UserError

NAMES = ["m0", "m1", "m2", "m3", "m4"]
NUMBERS = ["rating", "ci_low", "ci_high", "se", "sandwich_low", "sandwich_high", "p_first"]
RANKS = ["rank", "rank_low", "rank_high"]


@st.composite
def leagues(draw: st.DrawFn) -> pd.DataFrame:
    """Leagues of all kinds: sparse, disconnected, won outright, with and without instructions and annotators."""
    match = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from(["a", "b", "tie"]))
    matches = draw(st.lists(match.filter(lambda m: m[0] != m[1]), min_size=1, max_size=40))
    rows = frame(matches)
    for column, count in (("instruction_id", 6), ("annotator", 7), ("scenario", 2)):
        if draw(st.booleans()):
            labels = st.integers(0, count - 1).map(str)
            rows[column] = draw(st.lists(labels, min_size=len(rows), max_size=len(rows)))
    return rows


def plain(table: pd.DataFrame) -> list[dict[str, object]]:
    """Rows by scope, system and model, without the number of a component (a name of its own)."""
    rows = table.drop(columns="component").astype(object).where(table.notna(), None).to_dict("records")
    return sorted(rows, key=lambda row: (row["scope"], row["system"], row["model"]))


@settings(max_examples=40, deadline=None)
@given(leagues(), st.randoms(use_true_random=False))
def test_rows_sides_and_names_change_no_bit(votes: pd.DataFrame, random: object) -> None:
    found = rate(votes, resamples=150)
    order = list(range(len(votes)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert plain(rate(votes.iloc[order], resamples=150)) == plain(found)
    # Another side is another statement on positions, and on nothing else.
    swapped = [row | {"reason": ""} for row in plain(rate(swap_sides(votes), resamples=150))]
    assert swapped == [row | {"reason": ""} for row in plain(found)]
    others = list(NAMES)
    random.shuffle(others)  # type: ignore[attr-defined]
    renamed = dict(zip(NAMES, others, strict=True))
    told = votes.assign(model_a=votes["model_a"].map(renamed), model_b=votes["model_b"].map(renamed))
    back = {new: old for old, new in renamed.items()}
    again = rate(told, resamples=150)
    again["model"] = again["model"].map(back)
    assert plain(again) == plain(found)


@settings(max_examples=60, deadline=None)
@given(leagues(), st.sampled_from([0, 20, 60]), st.sampled_from(["half", "davidson"]))
def test_nothing_is_unknown_without_a_reason(votes: pd.DataFrame, resamples: int, ties: str) -> None:
    found = rate(votes, resamples=resamples, ties=ties, models=[*NAMES, "absent"])  # type: ignore[arg-type]
    assert set(found["model"]) == {*NAMES, "absent"}
    assert not np.isinf(found[NUMBERS].to_numpy(dtype=float)).any()
    for row in found.to_dict("records"):
        unknown = [name for name in ("rating", "ci_low", "ci_high") if pd.isna(row[name])]
        assert bool(unknown) <= (row["status"] != "ok"), row
        assert (row["status"] == "ok") or row["reason"], row
        if row["status"] == "ok":
            assert row["ci_low"] < row["ci_high"], row
        if not pd.isna(row["ci_low"]) and not pd.isna(row["ci_high"]):
            assert row["ci_high"] > row["ci_low"]
        assert row["n"] == row["wins"] + row["losses"] + row["ties"]
        assert pd.isna(row["rating"]) == (row["status"] == "not_computable") == (row["n"] == 0)
        if not pd.isna(row["rank_low"]):
            assert row["rank_low"] <= row["rank"] <= row["rank_high"], row
    ranked = found[found["status"] != "not_computable"]
    means = ranked.groupby(["system", "component"])["rating"].mean()
    assert np.allclose(means, 1000, atol=1e-4)


def test_the_table_is_that_of_the_contract() -> None:
    votes = code_votes(
        round_robin(4, 6).assign(scenario=["math", "code"] * 18), models=["m0", "m1", "m2", "m3", "x"]
    )
    table = rate_votes(votes, Settings(resamples=50), annotators="people").table
    assert table.schema == RATINGS.schema
    keys = list(zip(*(table[name].to_pylist() for name in RATINGS.key), strict=True))
    assert keys == sorted(set(keys))
    assert len(keys) == 3 * 2 * 5
    for name, allowed in RATINGS.allowed.items():
        assert set(table[name].to_pylist()) <= set(allowed)
    for name, (low, high) in RATINGS.ranges.items():
        assert all(low <= value <= high for value in table[name].to_pylist() if value is not None), name


def test_a_scenario_is_rated_on_its_own_votes() -> None:
    rows = pd.concat(
        [round_robin(3, 9, 1).assign(scenario="math"), round_robin(3, 9, 2).assign(scenario="code")]
    )
    found = rate(rows, by="scenario", resamples=50)
    assert list(dict.fromkeys(found["scope"])) == ["overall", "code", "math"]
    alone = rate(rows[rows["scenario"] == "math"], resamples=50)
    for column in ("rating", "ci_low", "rank_high", "group"):
        assert of(found, column, scope="math") == of(alone, column)


def test_a_league_in_two_parts_is_ranked_in_each() -> None:
    other = round_robin(2, 12).replace({"m0": "x", "m1": "y"})
    found = rate(pd.concat([round_robin(3, 8), other]), resamples=100)
    assert of(found, "component") == {"m0": 1, "m1": 1, "m2": 1, "x": 2, "y": 2}
    assert of(found, "rank") == {"m0": 1, "m1": 2, "m2": 3, "x": 1, "y": 2}
    assert any("not connected: 2 parts" in note for note in found.attrs["notes"])
    assert found["reason"].str.contains("no vote joins it to the others").all()
    assert of(found, "rating")["x"] == of(rate(other, resamples=0), "rating")["x"]


def test_a_never_beaten_model_is_unbounded_above_and_a_winless_one_below() -> None:
    rows = [("top", "m0", "a"), ("top", "m1", "a"), ("low", "m0", "b"), ("low", "m1", "b")] * 5
    rows += [("m0", "m1", "a"), ("m0", "m1", "b")] * 5
    found = rate(frame(rows), resamples=200)
    for system in ("elo", "bradley_terry"):
        status, low, high = (of(found, name, system) for name in ("status", "ci_low", "ci_high"))
        assert status == {"top": "unbounded", "m0": "ok", "m1": "ok", "low": "unbounded"}
        assert np.isnan([high["top"], low["low"]]).all()
        rating = of(found, "rating", system)
        assert low["top"] < rating["top"]
        assert high["low"] > rating["low"]
    assert 1000 < of(found, "rating")["top"] < 2000


def test_three_wins_in_three_votes_tell_nobody_apart() -> None:
    found = rate(frame([("x", "y", "a")] * 3))
    assert set(found["group"]) == {"a"}
    assert of(found, "rank_high") == {"x": 2, "y": 2}
    assert found["p_first"].isna().all()
    more = rate(frame([("x", "y", "a")] * 12))
    assert set(more["group"]) == {"a", "b"}


def test_repeated_instructions_are_no_new_evidence() -> None:
    single = frame([("x", "y", "a"), ("x", "y", "b"), ("x", "y", "a")] * 10, instruction_id=list(range(30)))
    copied = pd.concat([single] * 4)
    narrow, wide = rate(copied.drop(columns="instruction_id")), rate(copied)
    once = rate(single)
    assert of(wide, "se")["x"] == pytest.approx(of(once, "se")["x"], rel=0.03)
    assert of(narrow, "se")["x"] == pytest.approx(of(once, "se")["x"] / 2, rel=0.1)
    assert of(wide, "n_clusters") == {"x": 30, "y": 30}


def test_annotators_who_differ_widen_the_intervals() -> None:
    rng = np.random.default_rng(0)
    annotator = np.repeat(np.arange(10), 40)
    # Each has a taste of its own: half of them always say x, the others y.
    said = np.where(rng.random(400) < np.where(annotator % 2 == 0, 0.9, 0.1), "a", "b")
    rows = frame([("x", "y", s) for s in said], annotator=annotator, instruction_id=np.arange(400) % 100)
    with_them, without = rate(rows), rate(rows.drop(columns="annotator"))
    assert of(with_them, "se")["x"] > 3 * of(without, "se")["x"]
    widths = [of(t, "ci_high", "elo")["x"] - of(t, "ci_low", "elo")["x"] for t in (with_them, without)]
    assert widths[0] > 3 * widths[1]
    few = rate(rows[rows["annotator"] < 4])
    assert any("4 annotator(s): fewer than 5 are not resampled" in note for note in few.attrs["notes"])


def test_a_judge_that_always_picks_the_first_side_is_reported() -> None:
    rows = [("x", "y", "a"), ("y", "x", "a")] * 8
    found = rate(frame(rows))
    assert of(found, "rating") == {"x": 1000.0, "y": 1000.0}
    assert "position bias: side a won 16 of 16" in found.attrs["notes"][0]
    assert found["reason"].str.contains("position bias").all()
    # Sides in one order say nothing about positions.
    assert rate(frame([("x", "y", "a")] * 14 + [("x", "y", "b")] * 2)).attrs["notes"] == []
    # A strong model wins on both sides: that is no bias.
    assert rate(frame([("x", "y", "a"), ("y", "x", "b")] * 8)).attrs["notes"] == []


def test_the_shuffle_and_the_mean_field_agree_and_share_their_interval() -> None:
    votes = round_robin(5, 20)
    smooth, orders = rate(votes, systems=["elo"]), rate(votes, systems=["elo"], elo="shuffle")
    for model, rating in of(smooth, "rating", "elo").items():
        assert of(orders, "rating", "elo")[model] == pytest.approx(rating, abs=2)
    assert of(smooth, "ci_low", "elo") == of(orders, "ci_low", "elo")


def test_ratings_at_rest_are_found_where_the_path_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    votes = round_robin(4, 4000)
    fast = rate(votes, resamples=40, systems=["elo"])
    monkeypatch.setattr("magister.arena.resamples._AT_REST", np.inf)
    slow = rate(votes, resamples=40, systems=["elo"])
    for column in ("rating", "ci_low", "ci_high"):
        for model, value in of(slow, column, "elo").items():
            assert of(fast, column, "elo")[model] == pytest.approx(value, abs=1e-3)


def test_davidsons_ties_keep_the_order_and_spread_the_ratings() -> None:
    votes = round_robin(4, 60, tie=0.4)
    half, davidson = (of(rate(votes, ties=ties), "rating") for ties in ("half", "davidson"))  # type: ignore[arg-type]
    assert sorted(half, key=half.__getitem__) == sorted(davidson, key=davidson.__getitem__)
    assert davidson["m0"] > half["m0"] > 1000


def test_the_same_seed_gives_the_same_intervals_and_another_does_not() -> None:
    votes = round_robin(3, 20)
    first, again, other = rate(votes, seed=1), rate(votes, seed=1), rate(votes, seed=2)
    assert plain(first) == plain(again)
    assert of(first, "ci_low") != of(other, "ci_low")
    assert of(first, "rating") == of(other, "rating")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"seed": -1}, "a seed of 0 or more"),
        ({"level": 95}, "a level between 0 and 1"),
        ({"resamples": -5}, "0 resamples or at least 20"),
        ({"systems": ["trueskill"]}, "systems among elo, bradley_terry"),
        ({"ties": "drop"}, "ties as half or davidson"),
        ({"elo": "last"}, "mean_field or shuffle"),
        ({"prior_sd": 0}, "a prior_sd above 0"),
        ({"by": "model"}, "by=None or 'scenario'"),
        ({"by": "scenario"}, "the votes have no scenario"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(arguments: dict, said: str) -> None:
    with pytest.raises(UserError, match=said):
        rate(round_robin(2, 3), **arguments)


def test_a_scenario_called_overall_is_refused() -> None:
    with pytest.raises(UserError, match="a scenario is called 'overall'"):
        rate(round_robin(2, 3).assign(scenario="overall"), by="scenario")


# self-written leagues of every degenerate kind, and the handed ones


def test_degenerate_votes_are_errors_that_name_their_rows() -> None:
    with pytest.raises(UserError, match="row 2: 'x' on both sides"):
        rate(frame([("x", "y", "a"), ("x", "x", "a")]))
    with pytest.raises(UserError, match="row 1: winner 'z'; expected one of model_a"):
        rate(frame([("x", "y", "z")]))
    with pytest.raises(UserError, match=r"no vote counts: 1 of 1 row\(s\) have no winner"):
        rate(frame([("x", "y", None)]))
    reported = rate(frame([("x", "y", "a"), ("x", "y", "z")]), rejected="report")
    assert (reported.attrs["rejected"], set(reported["n"])) == (1, {1})


def outcome(case: dict) -> pd.DataFrame | str:
    """What `rate` makes of a handed league: a table, or the message of its error."""
    matches: list[Match] = [tuple(match) for match in case["matches"]]
    rows = frame(matches)
    if case["id"] == "duplicate_rows":
        rows = rows.assign(instruction_id="i", annotator="p")
    try:
        return rate(rows)
    except UserError as error:
        return str(error)


def test_every_handed_league_has_the_outcome_that_is_expected(cases: Path) -> None:
    lines = (cases / "arena" / "leagues.jsonl").read_text(encoding="utf-8").splitlines()
    found = {case["id"]: outcome(case) for case in map(json.loads, lines)}
    assert "on both sides" in found.pop("self_match")
    assert "winner 'model_x'" in found.pop("unknown_winner")
    assert "1 of 1 row(s) have no winner" in found.pop("missing_winner")
    tables = {name: table for name, table in found.items() if isinstance(table, pd.DataFrame)}
    assert tables.keys() == found.keys()
    ties = tables["ties_only"]
    assert set(ties["rating"]) == {1000.0}
    assert (ties["ci_high"] - ties["ci_low"]).min() > 10
    assert ties["reason"].str.contains("all ties").all()
    sweep = tables["one_side_wins_all"]
    assert set(sweep["status"]) == {"unbounded"}
    assert sweep["rating"].between(0, 2000).all()
    third = of(tables["winless_third"], "status")
    assert third == {"m1": "ok", "m2": "ok", "m3": "unbounded"}
    assert of(tables["order_dependence"], "rating", "elo") == {"m1": 1000.0, "m2": 1000.0}
    chain = of(tables["name_dependence"], "rating")
    assert chain["m3"] > chain["m2"] > chain["m1"]
    assert set(tables["duplicate_rows"]["n"]) == {1}
    assert "2 row(s) contradicting_duplicate" in " ".join(tables["duplicate_rows"].attrs["notes"])
    single = tables["single_match"]
    assert not ((single["ci_high"] - single["ci_low"]) == 0).any()
    assert tables["position_bias"]["reason"].str.contains("position bias").all()


MODELS = ("gpt-4", "claude-v1", "gpt-3.5-turbo", "vicuna-13b", "koala-13b", "alpaca-13b", "chatglm-6b")


@pytest.mark.parametrize(
    ("name", "system", "wanted"),
    [
        ("arena7471_votes", "elo", (1192, 1133, 1073, 996, 935, 848, 824)),
        ("arena_mad10_embedding_votes", "elo", (1048, 1008, 1012, 1002, 987, 982, 962)),
        ("arena_mad10_bert_votes", "elo", (1056, 1038, 1020, 1002, 967, 964, 954)),
        ("arena7471_votes", "bradley_terry", (1191, 1133, 1073, 996, 935, 848, 825)),
    ],
)
@pytest.mark.parametrize("method", ["mean_field", "shuffle"])
def test_ratings_of_the_handed_votes_are_the_known_ones(
    cases: Path, name: str, system: str, wanted: tuple[int, ...], method: str
) -> None:
    votes = pd.read_csv(cases / "arena" / f"{name}.csv")
    found = of(rate(votes, resamples=0, systems=[system], elo=method), "rating", system)  # type: ignore[arg-type]
    assert [found[model] for model in MODELS] == pytest.approx(wanted, abs=2)


def test_crowd_votes_are_rated_with_their_annotators(cases: Path) -> None:
    votes = pd.read_csv(cases / "arena" / "llmfao" / "crowd-comparisons.csv")
    side = {"left": "a", "right": "b", "tie": "tie"}
    votes = votes.assign(winner=votes["winner"].map(side))
    columns = {"model_a": "left", "model_b": "right", "instruction": "prompt", "annotator": "worker"}
    found = rate(votes, columns=columns, resamples=100)
    assert found["model"].nunique() == 59
    assert set(found["component"]) == {1}
    assert found.loc[found["status"] == "ok", ["ci_low", "ci_high"]].notna().all(axis=None)


@settings(max_examples=40, deadline=None)
@given(leagues())
def test_a_rank_interval_holds_the_ranks_of_all_that_share_a_letter(votes: pd.DataFrame) -> None:
    found = rate(votes, resamples=60, rejected="report")
    for _, part in found[found["rank_low"].notna()].groupby(["system", "component"]):
        for row in part.to_dict("records"):
            alike = part[[bool(set(row["group"]) & set(other)) for other in part["group"]]]
            ranks = alike["rank"].dropna()
            better, worse = (ranks < row["rank"]).sum(), (ranks > row["rank"]).sum()
            assert row["rank_low"] <= row["rank"] - better
            assert row["rank_high"] >= row["rank"] + worse


def test_three_votes_do_not_settle_who_is_first() -> None:
    votes = frame([("x", "y", "a"), ("x", "y", "a"), ("x", "y", "tie")])
    votes["instruction_id"] = ["1", "2", "3"]
    found = rate(votes, resamples=200)
    assert set(found["rank_high"]) == {2}


def test_a_league_that_nobody_voted_in_is_unknown() -> None:
    table = unrated(["x", "y"], Settings()).table.to_pylist()
    assert {row["status"] for row in table} == {"not_computable"}
    assert {row["rating"] for row in table} == {None}
