"""Files behind a number as they are shown: those of one rule stand together under what their paths share."""

from __future__ import annotations

from fnmatch import fnmatch

from hypothesis import given
from hypothesis import strategies as st

from magister.audit.card import Source
from magister.audit.sources import pattern, siblings

part = st.text("abc", min_size=1, max_size=4)
path = st.lists(part, min_size=1, max_size=4).map("/".join)


def test_what_differs_is_a_star() -> None:
    paths = ["d/round1/guide/x.parquet", "d/round2/guide/xy.parquet"]
    assert pattern(paths) == "d/round*/guide/x*.parquet"
    assert pattern(["a/b.json"]) == "a/b.json"


def test_paths_of_different_depth_keep_both_ends() -> None:
    assert pattern(["data/a/r.jsonl", "data/b/c/r.jsonl"]) == "data/.../r.jsonl"


@given(st.lists(path, min_size=1, max_size=5))
def test_every_path_fits_the_pattern(paths: list[str]) -> None:
    assert all(fnmatch(one, pattern(paths).replace(".../", "*")) for one in paths)


def test_files_of_a_rule_and_a_kind_stand_together_at_their_nearest_step() -> None:
    md5 = "0" * 32
    sources = [
        Source("b/2.parquet", "artifact", 2, md5, "guide"),
        Source("b/1.parquet", "artifact", 4, md5, "guide"),
        Source("b/1.jsonl", "artifact", 3, md5, "guide"),
        Source("p/x.md", "source", 3, md5),
        Source("p/y.md", "source", 3, md5),
        Source("store/m/1.jsonl", "store", 5, md5),
        Source("store/n/2.jsonl", "store", 5, md5),
    ]
    found = [(group.pattern, len(group.files)) for group in siblings(sources)]
    assert found == [
        ("b/*.parquet", 2),
        ("p/x.md", 1),
        ("p/y.md", 1),
        ("b/1.jsonl", 1),
        ("store/*/*.jsonl", 2),
    ]
