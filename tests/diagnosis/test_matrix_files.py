"""Users' files of responses: shapes, values, and every mistake by file, row and column."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matrix_tables import drawn

from magister.contracts.diagnosis_tables import RESPONSES_REJECTED
from magister.diagnosis.matrix_files import MatrixForm, read_matrix
from magister.diagnosis.responses import ABSENT, UNPARSED, grid_table
from magister.errors import UserError
from magister.provenance._artifact import conform


def written(tmp_path: Path, text: str, name: str = "r.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def rejections(found) -> list[tuple]:
    table = conform(found.rejected, RESPONSES_REJECTED)
    return [(row["row"], row["column"], row["reason"]) for row in table.to_pylist()]


def test_items_in_rows_and_models_in_columns(tmp_path: Path) -> None:
    path = written(tmp_path, "item_id,a,b\ni1,1,0\ni2,0.0,true\ni3,,NA\ni4,FALSE,1.0\n")
    found = read_matrix(path)
    found.check()
    assert drawn(found.grid) == {"a": "10u0".replace("u", "0"), "b": "01.1"}
    assert (found.grid.count(UNPARSED), found.grid.count(ABSENT)) == (1, 1)
    assert found.items is None


def test_what_an_empty_cell_and_an_unreadable_reply_mean_is_the_users_word(tmp_path: Path) -> None:
    path = written(tmp_path, "item_id,a\ni1,1\ni2,\ni3,0\n")
    assert drawn(read_matrix(path, MatrixForm(unparsed="missing")).grid) == {"a": "1u0"}
    found = read_matrix(path, MatrixForm(empty="missing"))
    assert drawn(found.grid) == {"a": "1.0"}
    assert found.grid.count(UNPARSED) == 0


def test_models_in_rows_with_and_without_names(tmp_path: Path) -> None:
    named = read_matrix(written(tmp_path, "model,x,y\na,1,0\nb,0,1\n"))
    assert drawn(named.grid) == {"a": "10", "b": "01"}
    assert named.grid.items == ("x", "y")
    bare = read_matrix(written(tmp_path, '"x","y"\n1,0\n0,1\n'))
    assert bare.grid.models == ("row 1", "row 2")
    assert bare.unnamed
    assert bare.notes == ("rows have no ids and are called 'row 1' to 'row 2'",)


def test_the_layout_is_asked_for_where_the_columns_do_not_tell(tmp_path: Path) -> None:
    path = written(tmp_path, "name,x,y\na,1,0\nb,0,1\n")
    with pytest.raises(UserError, match=r"r\.csv: whether its rows are items or models cannot be told"):
        read_matrix(path)
    by_model = read_matrix(path, MatrixForm("model_by_item")).grid
    by_item = read_matrix(path, MatrixForm("item_by_model")).grid
    assert by_model.models == ("a", "b") == by_item.items
    assert np.array_equal(by_model.correct, by_item.correct.T)


def test_a_row_per_response_in_any_order(tmp_path: Path) -> None:
    path = written(tmp_path, "model,item_id,correct\nb,i2,1\na,i1,0\na,i2,true\n")
    found = read_matrix(path)
    assert drawn(found.grid) == {"a": "01", "b": ".1"}
    lines = [{"model": "b", "item_id": "i2", "correct": True}, {"model": "a", "item_id": "i1", "correct": 0}]
    lines += [
        {"model": "a", "item_id": "i2", "correct": 1.0},
        {"model": "b", "item_id": "i1", "correct": None},
    ]
    same = read_matrix(written(tmp_path, "\n".join(map(json.dumps, lines)), "r.jsonl"))
    assert drawn(same.grid) == drawn(found.grid)
    typed = {name: [line[name] for line in lines[:2]] for name in ("model", "item_id")}
    pq.write_table(pa.table(typed | {"correct": [True, False]}), tmp_path / "x.parquet")
    assert drawn(read_matrix(tmp_path / "x.parquet").grid) == {"a": "0.", "b": ".1"}


def test_what_a_run_has_written_is_read_with_its_statuses(tmp_path: Path) -> None:
    text = "model,item_id,status,correct\na,i1,ok,1\na,i2,refusal,0\nb,i1,error,\nb,i2,missing,\n"
    found = read_matrix(written(tmp_path, text))
    assert drawn(found.grid) == {"a": "10", "b": "e."}
    pq.write_table(grid_table(found.grid), tmp_path / "m.parquet")
    again = read_matrix(tmp_path / "m.parquet")
    assert np.array_equal(again.grid.status, found.grid.status)
    assert drawn(read_matrix(tmp_path / "m.parquet", MatrixForm(unparsed="missing")).grid) == {
        "a": "1u",
        "b": "e.",
    }


def test_columns_have_the_names_that_the_user_gives(tmp_path: Path) -> None:
    path = written(tmp_path, "qid,kind,n,stem,a,b\n07,x,5,Why?,1,0\n08,,3,How?,0,1\n")
    form = MatrixForm(columns={"item_id": "qid", "item_type": "kind", "question": "stem"}, ignore=("n",))
    found = read_matrix(path, form)
    assert found.grid.models == ("a", "b")
    assert found.grid.items == ("07", "08")
    assert found.items.to_pylist() == [
        {"item_id": "07", "text": "Why?", "item_type": "x"},
        {"item_id": "08", "text": "How?", "item_type": None},
    ]


def test_a_value_that_is_no_response_is_listed_with_its_place_and_missing(tmp_path: Path) -> None:
    path = written(tmp_path, "item_id,a,b\ni1,1,2\ni2,yes,0\ni3,1,1\ni4,0,1\n")
    found = read_matrix(path)
    assert rejections(found) == [(2, "b", "bad_value"), (3, "a", "bad_value")]
    assert drawn(found.grid) == {"a": "1.10", "b": ".011"}
    (first, _) = found.rejected.to_pylist()
    assert (first["model"], first["item_id"], first["raw"]) == ("b", "i1", "2")
    with pytest.raises(
        UserError, match=r"r\.csv: row 2, column 'b': expected 1, 0, .* found '2' \(2 such places\)"
    ):
        found.check()


def test_a_column_of_other_things_is_a_mistake_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "item_id,subject,a\ni1,maths,1\ni2,law,0\n")
    with pytest.raises(
        UserError, match=r"row 2, column 'subject': .* found 'maths'; most values of 'subject' are no"
    ):
        read_matrix(path)


def test_rows_that_cannot_be_read_and_rows_without_an_id_are_listed(tmp_path: Path) -> None:
    path = written(tmp_path, 'item_id,a,b\ni1,1,0\ni2,1\n,1,1\n"i3",0,1\n')
    found = read_matrix(path)
    assert rejections(found) == [(3, "", "unreadable"), (4, "item_id", "no_id")]
    assert drawn(found.grid) == {"a": "10", "b": "01"}
    with pytest.raises(UserError, match=r"row 3: expected 3 cells, found 2 \(2 such places\)"):
        found.check()


def test_an_id_that_stands_twice_counts_once_if_its_rows_agree_and_not_at_all_otherwise(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, "item_id,a,b\ni1,1,0\ni2,1,1\ni1,1,0\ni2,1,0\ni3,0,0\n")
    found = read_matrix(path)
    assert rejections(found) == [(3, "", "conflict"), (4, "", "duplicate"), (5, "", "conflict")]
    assert drawn(found.grid) == {"a": "1.0", "b": "0.0"}
    long = written(tmp_path, "model,item_id,correct\na,i1,1\na,i2,1\na,i1,1\na,i2,0\na,i3,0\n", "long.csv")
    found = read_matrix(long)
    assert rejections(found) == [(3, "", "conflict"), (4, "", "duplicate"), (5, "", "conflict")]
    assert drawn(found.grid) == {"a": "1.0"}
    with pytest.raises(
        UserError, match=r"long\.csv: row 3: model 'a' and item 'i2' stand in 2 rows, which differ"
    ):
        found.check()


def test_rows_of_a_long_file_without_a_model_an_item_or_a_known_status_are_listed(tmp_path: Path) -> None:
    text = "model,item_id,status,correct\n,i1,ok,1\na,,ok,1\na,i1,fine,1\na,i2,ok,\na,i3,ok,1\na,i4,ok,?\na,i5,ok,0\n"
    found = read_matrix(written(tmp_path, text))
    assert rejections(found) == [
        (2, "model", "no_id"),
        (3, "item_id", "no_id"),
        (4, "status", "unknown_status"),
        (5, "status", "bad_value"),
        (7, "correct", "bad_value"),
    ]
    assert drawn(found.grid) == {"a": "..1.0"}


@pytest.mark.parametrize(
    ("text", "form", "says"),
    [
        ("", MatrixForm(), "no rows"),
        ("item_id,a\n", MatrixForm(), "no rows; expected a row per item, model or response"),
        ("item_id,a,a\ni1,1,0\n", MatrixForm(), "stand there twice: a"),
        ("item_id\ni1\n", MatrixForm(), "no column of responses beside 'item_id'"),
        ("item_id,a\ni1,1\n", MatrixForm(ignore=("z",)), "no column 'z' (ignore); found 'item_id', 'a'"),
        ("item_id,a\ni1,1\n", MatrixForm(columns={"model": "z"}), "no column 'z' (model)"),
        ("item_id,a\ni1,1\n", MatrixForm(columns={"rater": "a"}), "'rater' is no role"),
        ("item_id,a\ni1,1\n", MatrixForm("long"), "no column for model, correct"),
        ("item_id,a\ni1,1\n", MatrixForm("diagonal"), "layout 'diagonal': expected one of"),  # type: ignore[arg-type]
        ("item_id,a\ni1,1,1\n", MatrixForm(), "row 2: expected 2 cells, found 3"),
        ("item_id,text,a\ni1,,1\n", MatrixForm(), "row 2, column 'text': the text is empty"),
    ],
)
def test_a_file_that_cannot_be_read_at_all_says_why(
    tmp_path: Path, text: str, form: MatrixForm, says: str
) -> None:
    with pytest.raises(UserError) as error:
        read_matrix(written(tmp_path, text), form).check()
    assert says in str(error.value)


def test_lists_in_json_are_no_responses(tmp_path: Path) -> None:
    lines = [{"item_id": "i1", "a": [1]}, {"item_id": "i2", "a": 1}, {"item_id": "i3", "a": 0}]
    found = read_matrix(written(tmp_path, "\n".join(map(json.dumps, lines)), "r.jsonl"))
    assert rejections(found) == [(1, "a", "bad_value")]
    pq.write_table(pa.table({"item_id": ["i1"], "a": [[1]]}), tmp_path / "r.parquet")
    with pytest.raises(UserError, match="column 'a'"):
        read_matrix(tmp_path / "r.parquet")


WORDS = {"1": ["1", "1.0", "true", "True", " 1"], "0": ["0", "0.0", "FALSE", "false"], "u": [""], ".": ["NA"]}
SHAPES = st.lists(st.text("10u.", min_size=3, max_size=3), min_size=1, max_size=4)


@settings(max_examples=40)
@given(SHAPES, st.data())
def test_all_layouts_of_a_matrix_are_one_matrix(tmp_path_factory, lines: list[str], data) -> None:
    folder = tmp_path_factory.mktemp("layouts")
    models, items = [f"m{at}" for at in range(len(lines))], ["x", "y", "z"]
    cells = [[data.draw(st.sampled_from(WORDS[mark])) for mark in line] for line in lines]
    down = ["model,x,y,z", *(",".join([name, *row]) for name, row in zip(models, cells, strict=True))]
    across = [",".join(["item_id", *models])]
    across += [",".join([item, *(row[at] for row in cells)]) for at, item in enumerate(items)]
    long = [f"{m},{i},{cells[a][b]}" for a, m in enumerate(models) for b, i in enumerate(items)]
    shuffled = data.draw(st.permutations(long))
    files = [("d.csv", down), ("a.csv", across), ("l.csv", ["model,item_id,correct", *shuffled])]
    expected = {name: line.replace("u", "0") for name, line in zip(models, lines, strict=True)}
    for name, text in files:
        found = read_matrix(written(folder, "\n".join(text) + "\n", name))
        assert found.rejected.num_rows == 0
        assert drawn(found.grid) == expected
        assert found.grid.count(UNPARSED) == "".join(lines).count("u")


def test_quoted_cells_are_read_as_unquoted_ones(tmp_path: Path) -> None:
    plain = "item_id,a,b\ni1,1,0\ni2,,NA\n"
    quoted = '"item_id","a","b"\r\n"i1",1,0\r\n"i2","","NA"\r\n'
    assert drawn(read_matrix(written(tmp_path, plain)).grid) == drawn(
        read_matrix(written(tmp_path, quoted)).grid
    )


def test_the_handed_matrices_are_read_as_they_are(cases: Path) -> None:
    for name, shape in {
        "fraction20": (536, 20),
        "fraction15": (536, 15),
        "ecpe": (2922, 28),
        "simdina": (400, 9),
    }.items():
        found = read_matrix(cases / f"diagnosis/{name}_X.csv")
        found.check()
        assert found.grid.correct.shape == shape
        assert (found.grid.correct >= 0).all()
        assert found.grid.models[0] == "row 1"


def test_mmlu_pro_has_the_accuracy_that_is_known_of_it(cases: Path) -> None:
    form = MatrixForm(
        columns={"item_id": "question_id", "item_type": "category"}, ignore=("src", "n_options", "answer")
    )
    found = read_matrix(cases / "diagnosis/mmlu_pro_12032x29.csv", form)
    found.check()
    assert found.grid.correct.shape == (29, 12_032)
    assert (found.grid.count(UNPARSED), found.grid.count(ABSENT)) == (32_697, 1_713)
    row = found.grid.correct[found.grid.models.index("Meta-Llama-3_1-70B-Instruct")]
    assert (row == 1).mean() == pytest.approx(0.6282, abs=5e-5)
