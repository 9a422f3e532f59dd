"""What the texts of a cluster are about: terms by class-based TF-IDF, and its central and boundary items."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from magister.diagnosis.clusters import Partition
from magister.errors import UserError

# A command of LaTeX, as it stands; a run of writing without spaces between words; a word, with letters first, so that
# numbers are no terms.
_UNSPACED = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f"
_TOKEN = re.compile(
    rf"\\[A-Za-z]+|[{_UNSPACED}]+"
    rf"|(?<![^\W{_UNSPACED}])(?:(?![{_UNSPACED}])[^\W\d_])(?:(?![{_UNSPACED}])[\w'’-])*"
)
_RUN = re.compile(f"[{_UNSPACED}]")
_SAME = 12
"""Digits to which weights count as equal."""
_CANDIDATES = 4
"""Terms looked at for each that is wanted: some say no more than a better one."""


def words(text: str) -> list[str]:
    r"""The words of a text, as terms are made of them.

    Case-folded after NFKC; commands of LaTeX keep their case (`\Delta` is not `\delta`). Numbers are left out. Writing
    without spaces between words (Chinese, Japanese, Thai) is cut into pairs of neighbouring signs.
    """
    found: list[str] = []
    for token in _TOKEN.findall(unicodedata.normalize("NFKC", text)):
        if token.startswith("\\"):
            found.append(token)
        elif _RUN.match(token):
            found += [token[at : at + 2] for at in range(max(1, len(token) - 1))]
        else:
            found.append(token.casefold().rstrip("'’-"))
    return found


def _terms(text: str) -> list[str]:
    """Words that are not among the commonest of English, and pairs of neighbouring ones."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    said = words(text)
    telling = [word not in ENGLISH_STOP_WORDS and (len(word) > 1 or not word.isascii()) for word in said]
    single = [word for word, kept in zip(said, telling, strict=True) if kept]
    pairs = [
        f"{one} {two}"
        for one, two, first, second in zip(said, said[1:], telling, telling[1:], strict=False)
        if first and second and not (_RUN.match(one) or _RUN.match(two))
    ]
    return single + pairs


def cluster_terms(texts: Sequence[str], partition: Partition, *, count: int = 10) -> list[list[str]]:
    """The terms that tell each cluster from the others.

    Weight of term t in cluster c: tf_tc log(1 + A / f_t), where tf_tc is its share of the cluster's terms, f_t how
    often it stands in all clusters, and A the mean number of terms of a cluster. A term counts where two items of
    the cluster have it (one, in a cluster of one). One that has a word of a better term says
    little new and is passed over. Equal weights go by the alphabet.

    Args:
        texts: of the items, in the order of the partition.
        partition: items in K clusters.
        count: most terms of a cluster.

    Returns:
        K lists of terms, the most telling first; shorter or empty where the texts have no more.

    Raises:
        UserError: the texts are not as many as the items.

    References:
        M. Grootendorst, BERTopic, arXiv 2203.05794, section 3.3.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    if len(texts) != len(partition.items):
        raise UserError(f"{len(texts)} texts for {len(partition.items)} items; expected one each")
    found_in = [_terms(text) for text in texts]
    if not any(found_in):
        return [[] for _ in partition.attributes]
    counter = CountVectorizer(analyzer=list)
    counts = counter.fit_transform(found_in)
    names = np.array(counter.get_feature_names_out(), dtype=object)
    total = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel()
    mean = total.sum() / len(partition.attributes)
    idf = np.log1p(mean / total)
    found = []
    for attribute, size in enumerate(partition.sizes.tolist()):
        own = counts[np.flatnonzero(partition.labels == attribute)]
        often = np.asarray(own.sum(axis=0), dtype=np.float64).ravel()
        items = np.asarray((own > 0).sum(axis=0)).ravel()
        weight = (often / max(1.0, often.sum()) * idf).round(_SAME)
        able = np.flatnonzero(items >= min(2, size))
        # Terms come in the order of the alphabet, and the sort keeps it.
        order = able[np.argsort(-weight[able], kind="stable")][: _CANDIDATES * count]
        found.append(_new_terms(names[order].tolist(), count))
    return found


def _new_terms(ordered: Sequence[str], count: int) -> list[str]:
    kept: list[str] = []
    seen: set[str] = set()
    for term in ordered:
        parts = term.split(" ")
        if len(kept) == count:
            break
        if seen.isdisjoint(parts):
            kept.append(term)
            seen.update(parts)
    return kept


class Shown(NamedTuple):
    """Items of an attribute that are shown for all of them.

    Attributes:
        central: ids of the most central items, the most central first.
        boundary: ids of those nearest to another attribute, the nearest first; none that is central.
    """

    central: list[str]
    boundary: list[str]


def shown_items(clusters: pa.Table, *, central: int, boundary: int) -> dict[str, Shown]:
    """Choose the items that are shown for each attribute.

    Args:
        clusters: Q_CLUSTERS table.
        central: how many central ones at most.
        boundary: how many at the boundary at most.

    Returns:
        By attribute.
    """
    ranked: dict[str, list[str]] = {}
    ordered = clusters.sort_by([(name, "ascending") for name in ("attribute", "rank", "item_id")])
    for attribute, item in zip(ordered["attribute"].to_pylist(), ordered["item_id"].to_pylist(), strict=True):
        ranked.setdefault(attribute, []).append(item)
    return {name: Shown(items[:central], items[central:][::-1][:boundary]) for name, items in ranked.items()}


def label_of_terms(terms: Sequence[str], attribute: str) -> str:
    """A label of terms alone: the first three, or the attribute's name where there are none."""
    return ", ".join(terms[:3]) or attribute
