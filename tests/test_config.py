"""The configuration: a mistake is named by its key, with what was seen and what is allowed."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Annotated, Any, get_args

import pytest
import yaml
from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from magister import _params_doc
from magister._params_doc import params_markdown
from magister.config.models import PLAYED
from magister.config.params import Params, load_params, read_yaml, validate_params
from magister.config.teaching import Ablation, DerivedLeague, derived_leagues, played_leagues
from magister.contracts.schemas import ASKED_ABLATIONS
from magister.errors import UserError
from magister.llm.engines import scripted

ROOT = Path(__file__).parents[1]
Raw = dict[str, Any]
BASE: Raw = {
    "embedders": {"words": {"engine": "hashed"}},
    "models": {
        "ann": {"engine": "scripted", "script": "student"},
        "tom": {"engine": "scripted", "script": "teacher"},
    },
    "items": {"datasets": {"sums": {"kind": "generated", "generator": "sums", "n": 3}}},
    "teaching": {"leagues": {"main": {"students": ["ann"], "teachers": ["tom"], "datasets": ["sums"]}}},
}
WHEEL = {"wheel": "w", "version": "1", "sha256": "a" * 64, "member": "m", "member_sha256": "b" * 64}

SEEDS = {"kind": "generated", "scenario": "sums", "generator": "sums", "n": 3}
ARENA = {"models": ["una", "ugo"], "scenarios": ["sums"]}
RESPONDERS = {name: {"engine": "scripted", "script": "responder"} for name in ARENA["models"]}


def arena(**options: Any) -> Raw:
    """An arena of one league with some options set."""
    return {"sources": {"sums": SEEDS}, "embedder": "words", "leagues": {"duel": ARENA | options}}


def changed(path: str, value: Any) -> Raw:
    """The good parameters with one key set."""
    raw = copy.deepcopy(BASE)
    if path.startswith("arena"):
        raw["models"] |= RESPONDERS
    *parents, last = path.split("/")
    section = raw
    for name in parents:
        section = section.setdefault(name, {})
    section[last] = value
    return raw


def complaint(raw: Any) -> str:
    with pytest.raises(UserError) as failure:
        validate_params(raw)
    return str(failure.value)


def test_good_parameters_are_filled_in_with_defaults_and_not_changed() -> None:
    raw = copy.deepcopy(BASE)
    params = validate_params(raw)
    assert raw == BASE
    assert params.teaching.leagues["main"].rounds == 3
    assert params.models["ann"].limits.concurrency == 8


def test_what_is_dumped_validates_again() -> None:
    raw = changed("models/tom", {"engine": "llama_cpp", "weights": WHEEL})
    raw["models"]["una"] = {"engine": "llama_cpp", "weights": {"path": "una.gguf"}}
    params = validate_params(raw)
    assert validate_params(params.model_dump(mode="json")) == params
    assert Params.model_validate(params) == params


def test_a_league_has_the_rounds_of_all_unless_it_names_its_own() -> None:
    raw = changed("teaching/rounds", 2)
    raw["teaching"]["leagues"]["long"] = raw["teaching"]["leagues"]["main"] | {"rounds": 5}
    before = copy.deepcopy(raw)
    params = validate_params(raw)
    assert {name: league.rounds for name, league in params.teaching.leagues.items()} == {"main": 2, "long": 5}
    dumped = params.model_dump(mode="json")
    assert dumped["teaching"]["leagues"]["main"]["rounds"] == 2
    assert validate_params(dumped) == params
    assert raw == before


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("data/own/arena.csv", "expected a .csv file in data/external/, where both engines notice its edits"),
        ("data/external/../own/arena.csv", "expected a .csv file in data/external/"),
        ("data/external/arena.json", "expected a .csv file in data/external/"),
        ("/data/external/arena.csv", "expected a .csv file in data/external/"),
    ],
)
def test_boards_of_others_lie_where_both_engines_look(path: str, message: str) -> None:
    assert message in complaint(changed("teaching/external/boards", [path]))
    good = ["data/external/arena.csv", "data/external/2025/bench.csv"]
    assert validate_params(changed("teaching/external/boards", good)).teaching.external.boards == good
    assert "stands there twice" in complaint(changed("teaching/external/boards", good[:1] * 2))


def test_names_on_a_board_are_those_of_our_models() -> None:
    names = {"Chatbot Arena": {"tom": "Tom (2025)", "una": "Una"}}
    message = complaint(changed("teaching/external/names", names))
    assert "teaching.external.names.Chatbot Arena: unknown model 'una'; known: ann, tom" in message


def test_a_name_of_a_board_is_that_of_one_model() -> None:
    message = complaint(changed("teaching/external/names", {"Arena": {"tom": "Tom", "ann": "Tom"}}))
    assert "teaching.external.names: Arena: 'Tom' stands for ann and tom" in message


def test_the_roles_of_every_shipped_player_are_known() -> None:
    scripted.find_player("student")
    # `echo` and `flaky`, of the engine itself, answer whatever they are asked.
    shipped = {
        name for name, play in scripted._PLAYERS.items() if play.__module__ in scripted._PLAYER_MODULES
    }
    assert shipped == set(PLAYED)


NUMBERS = [
    pytest.param(field, id=f"{model.__name__}.{name}")
    for model in _params_doc._sections()
    for name, field in model.model_fields.items()
    if _params_doc._type(field.annotation) in ("number", "whole number")
]


@pytest.mark.parametrize("field", NUMBERS)
def test_no_option_takes_true_for_a_number_or_text_for_a_whole_one(field: FieldInfo) -> None:
    option: TypeAdapter[Any] = TypeAdapter(Annotated[field.annotation, *field.metadata])
    with pytest.raises(ValidationError, match="expected a number"):
        option.validate_python(True)
    if _params_doc._type(field.annotation) == "whole number":
        with pytest.raises(ValidationError, match="expected a whole number"):
            option.validate_python("2")


def test_rounds_set_for_all_change_the_default_run() -> None:
    raw: Any = read_yaml(ROOT / "params.yaml")
    rounds = [
        {name: league.rounds for name, league in validate_params(raw).teaching.leagues.items()}
        for raw["teaching"]["rounds"] in (3, 2)
    ]
    assert rounds == [{"embedded": 3, "scripted": 2}, {"embedded": 2, "scripted": 2}]


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("itemz", {}, ["  itemz: unknown option, did you mean 'items'?", "known: arena, diagnosis, embedders, items"]),
        (
            "items/datasets/sums/generater",
            "sums",
            ["items.datasets.sums.generater: unknown option", "'generator'", "(seen: 'sums')"],
        ),
        ("models/ann/limits/concurency", 3, ["models.ann.limits.concurency", "did you mean 'concurrency'?"]),
        ("teaching/prompts/gide", "v2", ["teaching.prompts.gide", "known: answer, guide, revise"]),
        ("teaching/rounds", True, ["  teaching.rounds: expected a number, found true or false (seen: True)"]),
        ("teaching/rounds", "2", ["  teaching.rounds: expected a whole number, found text", "(seen: '2')"]),
        (
            "teaching/rounds",
            2.5,
            ["teaching.rounds: Input should be a valid integer, got a number with a fractional part (seen: 2.5)"],
        ),
        ("items/datasets/sums/n", True, ["items.datasets.sums.n: expected a number, found true or false"]),
        ("models/ann/sampling/seed", "7", ["models.ann.sampling.seed: expected a whole number, found text"]),
        ("models/ann/sampling/temperature", True, ["models.ann.sampling.temperature: expected a number"]),
        ("items/band_cuts", [0.2, 0.4, 0.6, True], ["items.band_cuts.3: expected a number"]),
        (
            "teaching/leagues/main/teachers",
            ["tom", "ann"],
            ["teaching.leagues.main.teachers: 'ann' has `script: student`, which cannot answer as one of the teachers"],
        ),
        (
            "models/ann/script",
            "reviewer",
            ["teaching.leagues.main.students: 'ann' has `script: reviewer`", "`script: student` or `script: teacher`"],
        ),
        ("models/ann/xyz", 1, ["models.ann.xyz: unknown option; known: "]),
        (
            "models/tom",
            {"engine": "llama_cpp", "weights": {"path": "a", "sha": "b"}},
            ["models.tom.weights.sha: unknown option, did you mean 'sha256'?; known: path, sha256"],
        ),
        (
            "models/tom",
            {"engine": "llama_cpp", "weights": WHEEL | {"wheel": 1}},
            ["models.tom.weights.wheel: Input should be a valid string (seen: 1)", "1 problem(s)"],
        ),
        ("models/ann/engine", "gpt", ["models.ann.engine", "'llama_cpp', 'openai' or 'scripted'", "'gpt'"]),
        ("models/ann", {"engine": "scripted"}, ["models.ann: engine 'scripted' needs 'script'"]),
        ("models/ann", {"engine": "llama_cpp"}, ["models.ann: engine 'llama_cpp' needs 'weights'"]),
        ("models/ann", {"engine": "openai", "base_url": "x"}, ["models.ann: engine 'openai' needs 'served_name'"]),
        ("models/ann", {"engine": "openai", "served_name": "x"}, ["models.ann: engine 'openai' needs 'base_url'"]),
        ("models/bad name", BASE["models"]["ann"], ["models.bad name: String should match pattern"]),
        ("models", {}, ["models", "at least 1"]),
        ("items/datasets/sums", {"kind": "generated", "n": 1}, ["items.datasets.sums", "needs 'generator'"]),
        ("items/datasets/sums", {"kind": "generated", "generator": "sums"}, ["items.datasets.sums", "needs 'n'"]),
        ("items/datasets/sums", {"kind": "wheel"}, ["items.datasets.sums: kind 'wheel' needs 'wheel'"]),
        ("items/datasets/sums", {"kind": "file"}, ["items.datasets.sums: kind 'file' needs 'path'"]),
        ("teaching/leagues/main/students", ["eve"], ["main.students: unknown model 'eve'", "known: ann, tom"]),
        ("teaching/leagues/main/teachers", ["eve"], ["teaching.leagues.main.teachers: unknown model 'eve'"]),
        ("teaching/leagues/main/datasets", ["eve"], ["main.datasets: unknown dataset 'eve'", "known: sums"]),
        ("items/ladder", ["eve"], ["items.ladder: unknown model 'eve'"]),
        ("items/distractor_models", ["eve"], ["items.distractor_models: unknown model 'eve'"]),
        ("items/rewriter", "eve", ["items.rewriter: unknown model 'eve'"]),
        ("items/reviewer", "eve", ["items.reviewer: unknown model 'eve'"]),
        ("items/reviewer", "tom", ["items.reviewer needs items.rewriter to be a model"]),
        ("items/variants", {"a b": {"order": 1}}, ["items.variants.a b: String should match pattern"]),
        ("items/variants/same", {}, ["items.variants.same: nothing differs from the items as built"]),
        ("items/variants/same", {"order": 0, "max_tokens": 9}, ["items.variants.same: nothing differs"]),
        ("items/variants/back", {"order": -1}, ["items.variants.back.order", "(seen: -1)"]),
        ("items/variants/new", {"order": 1, "reviewer": "tom"}, ["variants.new: 'reviewer' needs 'paraphraser'"]),
        ("items/variants/new", {"paraphraser": "eve"}, ["items.variants.new.paraphraser: unknown model 'eve'"]),
        (
            "items/variants/new",
            {"paraphraser": "tom", "reviewer": "eve"},
            ["items.variants.new.reviewer: unknown model 'eve'; known: ann, tom"],
        ),
        ("teaching/leagues/main/items_variant", "new", ["main.items_variant: unknown variant 'new'; known: none"]),
        ("teaching/leagues/main/students", ["ann", "ann"], ["teaching.leagues.main.students: ann stands there twice"]),
        ("teaching/leagues/main/teachers", ["tom", "tom"], ["teaching.leagues.main.teachers: tom stands there twice"]),
        ("teaching/leagues/main/datasets", ["sums", "sums"], ["teaching.leagues.main.datasets: sums stands"]),
        ("teaching/leagues/main/arms", ["sham", "sham"], ["teaching.leagues.main.arms: sham stands there twice"]),
        ("items/ladder", ["ann", "ann"], ["items.ladder: ann stands there twice"]),
        ("items/distractor_models", ["ann", "ann"], ["items.distractor_models: ann stands there twice"]),
        ("teaching/leagues/main/students", "ann", ["teaching.leagues.main.students", "valid list", "'ann'"]),
        ("teaching/leagues/main/students", [], ["teaching.leagues.main.students", "at least 1"]),
        ("teaching/leagues/main/rounds", "many", ["teaching.leagues.main.rounds", "whole number", "'many'"]),
        ("teaching/leagues/main/rounds", 7, ["teaching.leagues.main.rounds", "less than or equal to 6", "7"]),
        ("teaching/rounds", 0, ["  teaching.rounds: ", "greater than or equal to 1", "(seen: 0)"]),
        ("teaching/rounds", 2.5, ["  teaching.rounds: ", "integer", "(seen: 2.5)"]),
        ("teaching/leagues/main/blind", "half", ["teaching.leagues.main.blind", "'strict', 'paper' or 'off'"]),
        ("teaching/leagues/main/arms", ["shame"], ["teaching.leagues.main.arms.0", "'sham'", "'shame'"]),
        ("teaching/leagues/main/ablations", ["shuffle"], ["teaching.leagues.main.ablations.0", "'shuffle'"]),
        ("teaching/leagues/main/ablations", ["prompts"] * 2, ["teaching.leagues.main.ablations: prompts stands there"]),
        ("teaching/leagues/main/option_order", -1, ["teaching.leagues.main.option_order", "equal to 0", "-1"]),
        ("teaching/leagues/main/prompts", {"gide": "v2"}, ["main.prompts.gide: unknown option, did you mean 'guide'?"]),
        ("items/band_cuts", [0.5], ["items.band_cuts", "4 items"]),
        ("items/band_cuts", [0.2, 0.4, 0.4, 0.8], ["items: band_cuts must ascend"]),
        ("arena/leagues/duel", ARENA, ["arena.embedder: name one of embedders"]),
        ("arena", arena(scenarios=["chess"]), ["arena.leagues.duel.scenarios: no source has the scenario 'chess'"]),
        ("arena/sources/sums", {"kind": "file", "scenario": "x"}, ["arena.sources.sums: kind 'file' needs 'path'"]),
        ("arena/evolution", {"rounds": 1}, ["arena.evolution: 'rounds' needs 'generators'"]),
        ("arena/evolution", {"rounds": 1, "generators": ["eve"]}, ["arena.evolution.generators: unknown model 'eve'"]),
        ("arena/evolution", {"operations": ["x"]}, ["arena.evolution.operations.0", "'deepen'"]),
        ("arena/ablation_k", 0, ["arena.ablation_k", "greater than or equal to 1", "0"]),
        ("arena/embedder", "bert", ["arena.embedder: unknown embedder 'bert'; known: words"]),
        ("arena", arena(models=["una", "eve"]), ["arena.leagues.duel.models: unknown model 'eve'"]),
        ("arena", arena(models=["una", "una"]), ["arena.leagues.duel.models: una stands there twice"]),
        ("arena", arena(models=["una"]), ["arena.leagues.duel.models", "at least 2"]),
        ("arena", arena(models=["una", "ann"]), ["duel.models: 'ann' has `script: student`", "`script: responder`"]),
        ("arena", arena(judges=["una"]), ["duel.judges: 'una' has `script: responder`", "`script: pair_judge`"]),
        ("arena", arena(judges=["eve"]), ["arena.leagues.duel.judges: unknown model 'eve'"]),
        ("arena", arena(people=["votes.csv"]), ["arena.leagues.duel.people", "'votes.csv'", "data/annotations/"]),
        ("arena", arena(people=["data/annotations/../x.csv"]), ["arena.leagues.duel.people", "data/annotations/"]),
        ("arena", arena(people=["data/annotations/x.csv"] * 2), ["arena.leagues.duel.people", "stands there twice"]),
        ("arena", arena(random_share=1.5), ["arena.leagues.duel.random_share", "less than or equal to 1", "1.5"]),
        ("arena", arena(similarity="bleu"), ["arena.leagues.duel.similarity", "'token' or 'judge'", "'bleu'"]),
        ("embedders/a", {"engine": "minilm"}, ["embedders.a: engine 'minilm' needs 'weights'"]),
        ("embedders/a", {"engine": "endpoint"}, ["embedders.a: engine 'endpoint' needs 'served_name'"]),
        ("statistics/level", 95, ["statistics.level", "less than 1", "95"]),
        ("statistics", None, ["statistics", "(seen: None)"]),
        ("items", [], ["items"]),
    ],
)  # fmt: skip
def test_a_mistake_is_named_by_its_key_with_what_is_allowed(path: str, value: Any, words: list[str]) -> None:
    message = complaint(changed(path, value))
    for word in words:
        assert word in message
    assert message.startswith("params.yaml: 1 problem(s)")
    assert message.endswith("docs/params.md.")
    assert "(top)" not in message


def test_an_arena_is_filled_in_and_validates_again() -> None:
    params = validate_params(changed("arena", arena(people=["data/annotations/ann.csv"])))
    assert params.arena.ablation_k == 10
    assert params.arena.leagues["duel"].k == 10
    assert validate_params(params.model_dump(mode="json")) == params


def test_a_teacher_cannot_have_the_name_of_an_arm() -> None:
    raw = changed("models/sham", BASE["models"]["tom"])
    raw["teaching"]["leagues"]["main"]["teachers"] = ["sham"]
    assert "teaching.leagues.main.teachers: 'sham' is the name of a control arm" in complaint(raw)


def test_a_league_has_the_prompts_of_all_but_for_those_it_names() -> None:
    raw = changed("teaching/prompts", {"answer": "v2", "guide": "v3"})
    raw["teaching"]["leagues"]["own"] = raw["teaching"]["leagues"]["main"] | {"prompts": {"guide": "v1"}}
    params = validate_params(raw)
    versions = {name: league.prompts.model_dump() for name, league in params.teaching.leagues.items()}  # type: ignore[union-attr]
    assert versions == {
        "main": {"answer": "v2", "guide": "v3", "revise": "v1"},
        "own": {"answer": "v2", "guide": "v1", "revise": "v1"},
    }
    assert validate_params(params.model_dump(mode="json")) == params


def derived(**league: Any) -> dict[str, DerivedLeague]:
    """What is derived from the league `main`, changed so."""
    raw = changed("teaching/leagues/main", BASE["teaching"]["leagues"]["main"] | league)
    return derived_leagues(validate_params(raw).teaching, ("shuffled", "redrawn"))


def test_every_ablation_of_a_league_is_a_league_of_its_own() -> None:
    raw = changed("items/variants", {"shuffled": {"order": 1}, "redrawn": {"distractors": 1}})
    raw["teaching"]["leagues"]["main"]["ablations"] = list(get_args(Ablation))
    params = validate_params(raw)
    found = derived_leagues(params.teaching, params.items.variants)
    assert {name: (one.base, one.ablation, one.setting) for name, one in found.items()} == {
        "main--rounds-6": ("main", "more_rounds", "6 rounds"),
        "main--may-tell": ("main", "answer_revelation", "may tell the answer"),
        "main--prompts-v2": ("main", "prompts", "prompts v2"),
        "main--prompts-v3": ("main", "prompts", "prompts v3"),
        "main--order-1": ("main", "option_order", "option order 1"),
        "main--order-2": ("main", "option_order", "option order 2"),
        "main--items-shuffled": ("main", "item_variants", "items shuffled"),
        "main--items-redrawn": ("main", "item_variants", "items redrawn"),
    }
    assert get_args(Ablation) == ASKED_ABLATIONS


CHANGED = {"more_rounds": "rounds", "item_variants": "items_variant", "answer_revelation": "may_tell_answer"}


@pytest.mark.parametrize("ablation", get_args(Ablation))
def test_a_derived_league_differs_from_its_own_in_the_setting_alone(ablation: Ablation) -> None:
    raw = changed(
        "teaching/leagues/main",
        BASE["teaching"]["leagues"]["main"] | {"arms": ["sham"], "ablations": [ablation]},
    )
    raw["items"]["variants"] = {"shuffled": {"order": 1}}
    params = validate_params(raw)
    base = params.teaching.leagues["main"].model_dump()
    for one in derived_leagues(params.teaching, params.items.variants).values():
        assert one.league.ablations == []
        differing = {name for name, value in one.league.model_dump().items() if value != base[name]}
        assert differing == {"ablations", CHANGED.get(ablation, ablation)}
    names = params.items.variants
    assert list(played_leagues(params.teaching, names)) == ["main", *derived_leagues(params.teaching, names)]


def test_item_variants_need_a_variant_that_the_league_has_not() -> None:
    raw = changed("items/variants", {"shuffled": {"order": 1}})
    raw["teaching"]["leagues"]["main"] |= {"ablations": ["item_variants"], "items_variant": "shuffled"}
    with pytest.raises(UserError, match=r"main\.ablations: item_variants .* items\.variants has no other"):
        validate_params(raw)


@pytest.mark.parametrize(
    ("league", "names"),
    [
        ({"may_tell_answer": True, "ablations": ["answer_revelation"]}, ["main--may-not-tell"]),
        ({"option_order": 1, "ablations": ["option_order"]}, ["main--order-2", "main--order-3"]),
        (
            {"prompts": dict.fromkeys(("answer", "guide", "revise"), "v3"), "ablations": ["prompts"]},
            ["main--prompts-v2", "main--prompts-v1"],
        ),
        ({"prompts": {"guide": "v2"}, "ablations": ["prompts"]}, ["main--prompts-v2", "main--prompts-v3"]),
        ({"rounds": 5, "ablations": ["more_rounds"]}, ["main--rounds-6"]),
        ({"ablations": []}, []),
    ],
)
def test_a_setting_is_always_another_one(league: dict[str, Any], names: list[str]) -> None:
    assert list(derived(**league)) == names


def test_an_ablation_that_changes_nothing_is_refused() -> None:
    raw = changed("teaching/leagues/main/ablations", ["more_rounds"])
    raw["teaching"]["rounds"] = 6
    said = complaint(raw)
    assert (
        "teaching.leagues.main.ablations: more_rounds plays 6 rounds, and this league has 6 already" in said
    )
    assert "give the league fewer rounds" in said


def test_a_derived_league_needs_a_name_that_is_free() -> None:
    raw = changed("teaching/leagues/main/ablations", ["option_order"])
    raw["teaching"]["leagues"]["main--order-2"] = BASE["teaching"]["leagues"]["main"]
    said = complaint(raw)
    assert "teaching.leagues.main.ablations: option_order plays a league 'main--order-2'" in said
    assert "rename that one" in said


def test_a_derived_league_needs_a_name_that_is_not_too_long() -> None:
    name = "m" * 55
    raw = copy.deepcopy(BASE)
    raw["teaching"]["leagues"] = {name: BASE["teaching"]["leagues"]["main"] | {"ablations": ["option_order"]}}
    assert len(max(derived_leagues(validate_params(raw).teaching, ()))) == 64
    raw["teaching"]["leagues"][name]["ablations"] = ["more_rounds"]
    said = complaint(raw)
    assert f"plays a league '{name}--rounds-6'; its 65 characters are too many" in said
    assert "give the league a shorter one" in said


def test_all_mistakes_are_listed_at_once() -> None:
    raw = changed("models/ann/engine", "gpt")
    raw["teaching"]["leagues"]["main"]["rounds"] = 0
    message = complaint(raw)
    assert "2 problem(s)" in message
    assert "models.ann.engine" in message
    assert "teaching.leagues.main.rounds" in message


@pytest.mark.parametrize("raw", [None, [], "text", 3])
def test_what_is_no_mapping_is_refused(raw: Any) -> None:
    assert "expected a mapping of sections, found" in complaint(raw)


def test_parameters_cannot_be_changed_once_checked() -> None:
    params = validate_params(BASE)
    with pytest.raises(ValueError, match="frozen"):
        params.teaching.leagues["main"].rounds = 5  # type: ignore[misc]


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "params.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_file_is_read_and_checked(tmp_path: Path) -> None:
    assert load_params(written(tmp_path, yaml.safe_dump(BASE))) == validate_params(BASE)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("models: [", "not valid YAML"),
        ("models: !!python/object/apply:os.getcwd []", "not valid YAML"),
        (b"\xff\xfe\x00", "not UTF-8 text"),
        ("", "expected a mapping of sections, found NoneType"),
        ("models:\n  ann: {}\n  tom: {}\n  ann: {}\n", "the key 'ann' stands there twice"),
        ("models: {}\nitems: {}\nmodels: {}\n", "the key 'models' stands there twice"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, content: str | bytes, words: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(UserError) as failure:
        load_params(path)
    assert words in str(failure.value)
    assert str(path) in str(failure.value)


def test_a_merged_key_may_be_overridden(tmp_path: Path) -> None:
    text = (
        "models:\n  ann: &one {engine: scripted, script: student}\n  tom: {<<: *one, script: teacher}\n"
        + yaml.safe_dump({name: BASE[name] for name in ("embedders", "items", "teaching")})
    )
    assert load_params(written(tmp_path, text)) == validate_params(BASE)


@pytest.mark.parametrize(("place", "words"), [("gone.yaml", "not found"), (".", "cannot be read")])
def test_a_file_that_is_not_there_says_so(tmp_path: Path, place: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        load_params(tmp_path / place)


@pytest.mark.parametrize("path", sorted([*ROOT.glob("params.yaml"), *ROOT.glob("configs/*.yaml")]))
def test_the_parameters_of_the_project_are_good(path: Path) -> None:
    load_params(path)


def test_the_page_on_parameters_is_up_to_date() -> None:
    page = (ROOT / "docs" / "params.md").read_text(encoding="utf-8")
    assert page == params_markdown(), (
        "docs/params.md is not what src/magister/config/ says; "
        "write it again: python -m magister._params_doc > docs/params.md"
    )


def test_every_option_is_on_the_page_with_a_description() -> None:
    page = params_markdown()
    for model in _params_doc._sections():
        for name in model.model_fields:
            assert f"| `{name}` | " in page
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert all(len(row.replace("\\|", "").split(" | ")) == 4 for row in rows)
    assert all(row.rstrip(" |").rsplit(" | ", 1)[1].strip() for row in rows)
