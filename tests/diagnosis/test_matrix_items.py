"""Items of a study and Q-matrices by people, from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from matrix_tables import diagnosed, pipeline_items

from magister.diagnosis.item_files import diagnosed_items, read_items, texts_of
from magister.diagnosis.q_files import read_q
from magister.errors import UserError


def written(tmp_path: Path, text: str, name: str = "items.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_text_is_question_and_reference_solution_without_the_passage() -> None:
    found = diagnosed_items(pipeline_items("i1"), "domain").to_pylist()
    assert found == [{"item_id": "i1", "text": "What is i1?\na", "item_type": "maths"}]
    assert diagnosed_items(pipeline_items("i1"), "dataset")["item_type"].to_pylist() == ["d"]


def test_files_give_a_text_or_a_question_with_its_solution(tmp_path: Path) -> None:
    lines = [{"item_id": 1, "question": "Why?", "solution": "Because."}, {"item_id": 2, "question": "How?"}]
    path = written(tmp_path, "\n".join(map(json.dumps, lines)), "items.jsonl")
    assert read_items(path).to_pylist() == [
        {"item_id": "1", "text": "Why?\nBecause.", "item_type": None},
        {"item_id": "2", "text": "How?", "item_type": None},
    ]
    path = written(tmp_path, 'id,text,item_type\n01,"a, b",x\n02,c,\n')
    found = read_items(path, {"item_id": "id"})
    assert found.to_pylist() == [
        {"item_id": "01", "text": "a, b", "item_type": "x"},
        {"item_id": "02", "text": "c", "item_type": None},
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("item_id,text\ni1,a\ni1,b\n", "row 3, column 'item_id': the item 'i1' stands in row 2 too"),
        ("item_id,text\ni1,a\ni2, \n", "row 3, column 'text': the text is empty"),
        ("item_id,text\n,a\n", "row 2, column 'item_id': the item_id is empty"),
        ("item_id,stem\ni1,a\n", "expected the columns item_id and text, or item_id, question and solution"),
        ('item_id,text\ni1,"a\n', "row 2: not CSV"),
    ],
)
def test_a_mistake_in_an_items_file_names_row_and_column(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UserError) as error:
        read_items(written(tmp_path, text))
    assert says in str(error.value)


def test_a_list_is_no_text(tmp_path: Path) -> None:
    path = written(tmp_path, '{"item_id": "i1", "text": ["a"]}', "items.jsonl")
    with pytest.raises(UserError, match=r"row 1, column 'text': expected a text for the text, found a list"):
        read_items(path)
    with pytest.raises(UserError, match="no column 'z' for the text"):
        read_items(path, {"text": "z"})


def test_items_come_in_the_order_of_the_responses_and_a_lacking_one_is_named() -> None:
    items = diagnosed({"i1": "x", "i2": None, "i3": "y"})
    assert texts_of(items, ["i3", "i1"])["item_id"].to_pylist() == ["i3", "i1"]
    with pytest.raises(UserError, match=r"f\.csv: 1 of 2 items of the responses are not there, first 'i9'"):
        texts_of(items, ["i3", "i9"], "f.csv")


def test_a_q_matrix_has_the_items_of_the_responses_in_their_order(tmp_path: Path) -> None:
    prior = read_q(written(tmp_path, "item_id,p,q\nb,0,1\na,1,1\n"), ["a", "b"])
    assert prior.items == ("a", "b")
    assert prior.attributes == ("p", "q")
    assert prior.reference.tolist() == [[True, True], [False, True]]
    assert prior.probability.tolist() == [[1.0, 1.0], [0.0, 1.0]]
    bare = read_q(written(tmp_path, "p,q\n1,1\n0,1\n"), ["a", "b"])
    assert bare.reference.tolist() == prior.reference.tolist()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("item_id,p\na,1\nb,2\n", "row 3, column 'p': expected 0 or 1, found '2'"),
        ("item_id,p,q\na,1,1\nb,0,0\n", "row 3: the item 'b' needs no attribute"),
        ("item_id,p,q\na,1,0\nb,1,0\n", "column 'q': no item needs it"),
        ("item_id,p\na,1\nc,1\n", "row 3, column 'item_id': the responses have no item 'c'"),
        ("item_id,p\na,1\na,1\n", "row 3, column 'item_id': the item 'a' stands in row 2 too"),
        ("item_id,p\na,1\n", "1 items of the responses have no row, first 'b'"),
        ("item_id,p,q,r\na,1,1,1\nb,1,1,1\n", "3 attributes for 2 items"),
        ("p,q\n1,1\n", "1 rows without ids for 2 items"),
        ("item_id\na\nb\n", "no attributes"),
    ],
)
def test_a_mistake_in_a_q_matrix_names_row_and_column(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UserError) as error:
        read_q(written(tmp_path, text), ["a", "b"])
    assert says in str(error.value)


def test_the_handed_q_matrices_are_read(cases: Path) -> None:
    for name, (items, attributes) in {
        "fraction20_Q8": (20, 8),
        "fraction15_Q5": (15, 5),
        "ecpe_Q3": (28, 3),
    }.items():
        prior = read_q(cases / f"diagnosis/{name}.csv", [f"Item{at}" for at in range(items)])
        assert prior.reference.shape == (items, attributes)
