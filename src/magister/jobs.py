"""How many jobs a run is, module by module."""

from __future__ import annotations

from pathlib import Path

from magister.config.arena import Arena, ArenaLeague
from magister.config.base import WheelFile
from magister.config.diagnosis import Diagnosis, Study
from magister.config.items import Items
from magister.config.params import Params
from magister.config.rubrics import Rubrics, RubricSet
from magister.config.teaching import played_leagues
from magister.contracts.schemas import TEACHER_ARMS


def count_jobs(params: Params) -> int:
    """Jobs of a run from nothing: each step that asks a model is three (requests, answers, table).

    Args:
        params: the parameters.
    """
    jobs = _llm_jobs(params) + _items_jobs(params.items) + _teaching_jobs(params) + _arena_jobs(params.arena)
    jobs += _diagnosis_jobs(params.diagnosis) + _rubrics_jobs(params.rubrics)
    # The gate of the boards, where there are some; the target.
    boards = (params.teaching.leagues, params.arena.leagues, params.diagnosis.studies, params.rubrics.sets)
    return jobs + any(map(bool, boards)) + 1


def _llm_jobs(params: Params) -> int:
    """Weights and fingerprints."""
    files = [model.weights for model in params.models.values()]
    files += [file for each in params.embedders.values() for file in (each.weights, each.tokenizer)]
    fetched = {file.member for file in files if isinstance(file, WheelFile)}
    return len(fetched) + len(params.models) + len(params.embedders)


def _items_jobs(items: Items) -> int:
    if not items.datasets:
        return 0
    wheels = sum(dataset.kind == "wheel" for dataset in items.datasets.values())
    jobs = wheels + len(items.datasets)
    jobs += 3 * (len(items.distractor_models) + len(items.ladder))
    jobs += 2 * ((items.rewriter != "rules") + (items.reviewer is not None))
    jobs += 5  # harvest, build, rewrite, band, gate
    for variant in items.variants.values():
        jobs += 1 + 2 * ((variant.paraphraser is not None) + (variant.reviewer is not None))
    return jobs


def _teaching_jobs(params: Params) -> int:
    """Leagues, their ablations and their boards."""
    teaching = params.teaching
    if not teaching.leagues:
        return 0
    jobs = 0
    for league in played_leagues(teaching, params.items.variants).values():
        rounds = league.rounds or teaching.rounds
        models = len(league.students) + len(league.teachers)
        jobs += 3 * models * (1 + rounds) + (rounds if set(league.arms) - set(TEACHER_ARMS) else 0)
        jobs += 4  # trajectories, metrics, standings, gate
        jobs += league.option_order > 0  # another order of the options
    jobs += 3 * len(teaching.leagues)  # their ablations, the gate of these, and plots
    return jobs + 4  # the board, the boards of others, the ablations' page, plots


def _arena_jobs(arena: Arena) -> int:
    """The pool, leagues and their boards."""
    if not arena.sources:
        return 0
    wheels = sum(source.kind == "wheel" for source in arena.sources.values())
    evolution = arena.evolution
    jobs = wheels + 1 + evolution.rounds * (2 * len(evolution.generators) + 1)
    if not arena.leagues:
        return jobs
    respondents = {name for league in arena.leagues.values() for name in league.models}
    jobs += 4 * len(respondents) + 1  # with vectors; those of the instructions
    jobs += sum(map(_arena_league_jobs, arena.leagues.values()))
    return jobs + 2  # the board, the ablation's page


def _arena_league_jobs(league: ArenaLeague) -> int:
    judges = len(league.judges) + (league.similarity_judge is not None)
    # Selection, sheet, annotations, ratings, report, ablation, gate, plot.
    return 3 * judges + league.key + bool(league.people) + 8


def _diagnosis_jobs(diagnosis: Diagnosis) -> int:
    """Answers, studies and their board."""
    if not diagnosis.studies:
        return 0
    examined = {name for study in diagnosis.studies.values() for name in study.models}
    jobs = 3 * len(examined)
    jobs += sum(_study_jobs(study, diagnosis) for study in diagnosis.studies.values())
    return jobs + 1  # the board


def _study_jobs(study: Study, diagnosis: Diagnosis) -> int:
    # Responses, screening, fit, checks, profiles, gate, plots.
    jobs = 7
    if study.q is not None:
        return jobs + 1
    tried = {study.attributes} if study.attributes else set(diagnosis.choice.tried)
    # Texts, vectors, clusterings, curve, prior, labels, Q-matrix.
    return jobs + 7 + 2 * len(tried) + (0 if diagnosis.labeller is None else 2)


def _rubrics_jobs(rubrics: Rubrics) -> int:
    """Sets of scenarios and their board."""
    if not rubrics.sets:
        return 0
    return sum(map(_set_jobs, rubrics.sets.values())) + 1  # the board


def _set_jobs(one: RubricSet) -> int:
    """Jobs of a set; of its waves as many as its scenario files ask for."""
    from magister.rubrics.reader import read_scenario
    from magister.rubrics.wave_plan import speakers_by_wave
    from magister.rubrics.waves import Cast

    cast = Cast(one.partners, one.max_turns, one.semantics)
    waves = speakers_by_wave([read_scenario(Path(path)) for path in one.scenarios], cast, one.models)
    # Requests and answers of each speaker, and the turns.
    spoken = sum(2 * len(names) + 1 for names in waves)
    # Dialogues, checks, diagnosis, decision; of a judge requests, answers, both again for repairs, scores.
    each = spoken + 4 + 5 * len(one.judges)
    # Rubrics: a step, and two before it where a model writes.
    written = 1 + 2 * (one.source == "scenegen") + 3 * one.iterations
    return (one.iterations + 1) * each + written + 3  # the best, profiles, gate
