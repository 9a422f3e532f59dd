"""The mastery board as text and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from magister.diagnosis.board import Row, model_rows
from magister.display import columns, counted, ljust, shorten, wrap
from magister.display import escape_markdown as escape

MOST_MODELS = 20
"""Models shown on a terminal and in Markdown; all are in the table."""
_SIGNS = {"mastered": "+", "not_mastered": "-", "undetermined": "?"}
_FROM_PRIOR = "."
_VERDICTS = {
    "supported": "profiles SUPPORTED by their controls",
    "not_supported": "profiles NOT SUPPORTED by their controls",
    "undetermined": "UNDETERMINED whether the profiles can be believed",
}
_HOW_TO_READ = {
    "supported": "",
    "not_supported": "Do not read the profiles below as skills of models: the controls do as well without them.",
    "undetermined": "Read the profiles below as a description of this fit, not as skills of models.",
}
_PREDICTORS = {
    "dina": "DINA",
    "fixed_q": "reference Q",
    "item_mean": "items' means",
    "2pl": "2PL",
    "placebo": "shuffled",
}
_LABEL_STATUSES = {"provisional": "prov.", "reviewed": "rev.", "given": "given"}
_STATISTICS = {
    "score_sd": "SD of models' scores",
    "score_skew": "skewness of scores",
    "item_share": "items' shares right",
    "pair_correlation": "pairs of items",
    "loglik": "held-out log-likelihood",
    "auc": "held-out AUC",
    "brier": "held-out Brier score",
    "share_kept": "share of reference kept",
    "fit_loglik": "log-likelihood of the fit",
    "joint": "joint test",
}
_CORRECTIONS = {
    "prior_confirmed": "confirmed",
    "added_process": "with an attribute added",
    "reassigned": "reassigned to another attribute",
    "reduced": "with an attribute dropped",
}
_KEYS = (
    "+ mastered (p 0.8 or more), - not mastered (0.2 or less), ? undetermined, . no answered item tells: p is the "
    "prior's. mean: of p over attributes. m/u/n: models that master it, undetermined, do not. tau, gamma: accuracy and "
    "consistency of classifying models. Labels are provisional (prov.), reviewed (rev.) or given.",
    "DINA: this study's fit. reference Q: the same with Q as it was believed to be. 2PL: a single ability. Differences "
    "are those of DINA less the other's, paired; above 0 DINA predicts better. Their intervals are for models and "
    "items like these. Shuffled priors are held against the real one fitted in their way.",
)
Table = list[list[str]]


def render_text(board: pa.Table, documents: Mapping[str, Mapping[str, Any]], width: int = 80) -> str:
    """The board as text; "-" in a number's place is unknown.

    Args:
        board: MASTERY_BOARD table.
        documents: `beside` by study.
        width: columns available, at least 80; longer names are cut.

    Returns:
        Lines of at most `width` columns, ending in a newline. The verdict comes first.
    """
    width = max(width, 80)
    if not documents:
        return "No study has been diagnosed yet.\n"
    lines: list[str] = []
    for study in sorted(documents):
        document = documents[study]
        support = document["verdict"]["support"]
        lines += wrap(f"Mastery, study {study}: {_VERDICTS[support]}", width)
        for reason in document["verdict"]["reasons"]:
            lines += wrap(f"  - {reason}", width, "    ")
        for text in (_HOW_TO_READ[support], _sizes(document)):
            lines += wrap(text, width)
        lines.append("")
        for title, table in _tables(document):
            lines += [*_columns(title, table, width), ""]
        lines += _grid(board, study, document, width)
        for note in _notes(document):
            lines += wrap(note, width)
        lines.append("")
    return "\n".join(lines)


def render_markdown(board: pa.Table, documents: Mapping[str, Mapping[str, Any]]) -> str:
    """The board as Markdown with the same content as `render_text`.

    Args:
        board: MASTERY_BOARD table.
        documents: `beside` by study.

    Returns:
        Markdown, ending in a newline.
    """
    if not documents:
        return "No study has been diagnosed yet.\n"
    lines: list[str] = []
    for study in sorted(documents):
        document = documents[study]
        support = document["verdict"]["support"]
        lines += [f"### Mastery: {escape(study)}", "", f"**{_VERDICTS[support]}**", ""]
        lines += [*(f"- {escape(reason)}" for reason in document["verdict"]["reasons"]), ""]
        for text in (_HOW_TO_READ[support], _sizes(document)):
            lines += [escape(text), ""] if text else []
        for title, table in [*_tables(document), *_model_table(board, study, document)]:
            head, *rows = table
            lines += [f"| {escape(title)} | " + " | ".join(map(escape, head[1:])) + " |"]
            lines += ["|:---|" + "---:|" * (len(head) - 1)]
            lines += ["| " + " | ".join(map(escape, row)) + " |" for row in rows]
            lines.append("")
        lines += [*(f"- {escape(note)}" for note in _notes(document)), ""]
    return "\n".join(lines)


def _sizes(document: Mapping[str, Any]) -> str:
    sizes = document["sizes"]
    responses = ", ".join(f"{status} {count}" for status, count in sizes["responses"].items())
    screened = []
    for kind, found in sizes["screening"].items():
        flags = ", ".join(f"{flag} {count}" for flag, count in found["flags"].items())
        screened.append(
            f"{found['left_out']} of {counted(found['n'], kind)} left out" + (f" ({flags})" if flags else "")
        )
    return (
        f"{counted(sizes['models'], 'model')}, {counted(sizes['items'], 'item')}, "
        f"{counted(sizes['attributes'], 'attribute')}. Responses: {responses or 'none'}. Screening: "
        f"{', '.join(screened)}."
    )


def _tables(document: Mapping[str, Any]) -> Iterator[tuple[str, Table]]:
    """The controls and the attributes: a title, a head, and rows."""
    predictions = document["predictions"]
    if predictions:
        found = {(row["predictor"], row["measure"]): row for row in predictions}
        rows = []
        for predictor, words in _PREDICTORS.items():
            row = found[predictor, "loglik"]
            rows.append(
                [
                    words,
                    _estimate(row["value"], row["ci_low"], row["ci_high"], 3),
                    _estimate(
                        row["difference"], row["difference_ci_low"], row["difference_ci_high"], 3, signed=True
                    ),
                    _number(found[predictor, "auc"]["value"], 3),
                    _number(found[predictor, "brier"]["value"], 3),
                ]
            )
        yield "held out", [["", "log-likelihood", "DINA less it", "AUC", "Brier"], *rows]
    checks = [row for row in document["checks"] if row["check"] in ("placebo", "posterior_predictive")]
    for check, title, against in (
        ("placebo", "shuffled priors", "shuffled (range)"),
        ("posterior_predictive", "replicated responses", "replicated (95 %)"),
    ):
        shown = {row["statistic"]: row for row in checks if row["check"] == check}
        rows = [
            [
                words,
                _number(shown[name]["value"], 3),
                _estimate(shown[name]["expected"], shown[name]["low"], shown[name]["high"], 3),
                _number(shown[name]["p"], 3),
            ]
            for name, words in _STATISTICS.items()
            if name in shown
        ]
        if rows:
            yield title, [["", "seen" if check != "placebo" else "real", against, "p"], *rows]
    attributes = _ordered(document)
    if attributes:
        rows = [
            [
                f"{number:>2} {row['label']}",
                _LABEL_STATUSES[row["label_status"]],
                str(row["n_items"]),
                _share(row["prevalence"], row["ci_low"], row["ci_high"]),
                "/".join(str(row["states"][name]) for name in ("mastered", "undetermined", "not_mastered")),
                _number(row["accuracy"], 2),
                _number(row["consistency"], 2),
            ]
            for number, row in enumerate(attributes, start=1)
        ]
        yield "attributes", [["", "label", "items", "prevalence", "m/u/n", "tau", "gamma"], *rows]


def _ordered(document: Mapping[str, Any]) -> list[Row]:
    return sorted(document["attributes"], key=lambda row: str(row["attribute"]))


def _cell(row: Row | None) -> str:
    if row is None:
        return " "
    return _FROM_PRIOR if row["basis"] == "prior" else _SIGNS[row["state"]]


def _grid(board: pa.Table, study: str, document: Mapping[str, Any], width: int) -> list[str]:
    """A line a model, a sign an attribute; as many attributes beside one another as fit."""
    attributes = [row["attribute"] for row in _ordered(document)]
    rows = model_rows(board, study)
    if not rows:
        return ["No model has a profile.", ""]
    shown = rows[:MOST_MODELS]
    name_width = max(min(max(columns(model) for model, _, _ in shown) + 1, width - 40), 8)
    names = shorten([model for model, _, _ in shown], name_width - 1)
    per_line = width - name_width - 6
    lines = []
    for start in range(0, len(attributes), per_line):
        part = attributes[start : start + per_line]
        numbers = range(start + 1, start + len(part) + 1)
        tens = "".join(str(n // 10 % 10) if n % 10 == 0 else " " for n in numbers)
        if tens.strip():
            lines.append(f"{'':<{name_width}} {'':<4} {tens}".rstrip())
        lines.append(f"{'models':<{name_width}} mean {''.join(str(n % 10) for n in numbers)}")
        for model, mean, by_attribute in shown:
            cells = "".join(_cell(by_attribute.get(name)) for name in part)
            lines.append(f"{ljust(names[model], name_width)} {mean:.2f} {cells}".rstrip())
    if len(rows) > len(shown):
        lines += wrap(f"{len(rows) - len(shown)} more models with a lower mean are in the table.", width)
    return [*lines, ""]


def _model_table(board: pa.Table, study: str, document: Mapping[str, Any]) -> Iterator[tuple[str, Table]]:
    attributes = [row["attribute"] for row in _ordered(document)]
    rows = model_rows(board, study)
    if rows:
        head = ["", "mean", *(str(n) for n in range(1, len(attributes) + 1))]
        body = [
            [model, f"{mean:.2f}", *(_cell(by_attribute.get(name)) for name in attributes)]
            for model, mean, by_attribute in rows[:MOST_MODELS]
        ]
        if len(rows) > MOST_MODELS:
            body.append(
                [
                    f"{len(rows) - MOST_MODELS} more with a lower mean are in the table",
                    *[""] * (len(head) - 1),
                ]
            )
        yield "models", [head, *body]


def _columns(title: str, table: Table, width: int) -> list[str]:
    """A table of texts, numbers to the right; long names are cut."""
    rows = [[title, *table[0][1:]], *table[1:]]
    widths = [max(columns(row[place]) for row in rows) + 2 for place in range(1, len(rows[0]))]
    longest = max(columns(row[0]) for row in rows) + 1
    first = max(min(width - sum(widths), longest), 12)
    names = shorten([row[0] for row in rows], first - 1)
    lines = []
    for row in rows:
        cells = "".join(
            " " * (wide - columns(cell)) + cell for cell, wide in zip(row[1:], widths, strict=True)
        )
        lines.append((ljust(names[row[0]], first) + cells).rstrip())
    return lines


def _notes(document: Mapping[str, Any]) -> list[str]:
    items = document["sizes"]["items"]
    changed = ", ".join(
        f"{document['corrections'][name]} {words}"
        for name, words in _CORRECTIONS.items()
        if name in document["corrections"]
    )
    notes = [f"Q-matrix, of {counted(items, 'item')}: {changed}."] if changed else []
    if document["pooled"]:
        notes.append(
            f"{counted(document['pooled'], 'item')} hardly told who masters what is needed: c - g was held at its "
            "least."
        )
    notes += _twins(document)
    reasons: dict[str, list[str]] = {}
    for row in document["predictions"]:
        if row["reason"] and row["measure"] == "loglik":
            reasons.setdefault(row["reason"], []).append(_PREDICTORS[row["predictor"]])
    for row in document["checks"]:
        if row["reason"] and row["check"] in ("placebo", "posterior_predictive"):
            reasons.setdefault(row["reason"], []).append(_STATISTICS[row["statistic"]])
    notes += [f"{', '.join(names)}: {reason}." for reason, names in reasons.items()]
    measured = next((row for row in document["predictions"] if row["n"]), None)
    if measured is not None:
        notes.append(
            f"{measured['n']} responses held out ({100 * measured['share']:g} % of each model's, seed "
            f"{measured['seed']}) of {counted(measured['n_models'], 'model')} and "
            f"{counted(measured['n_items'], 'item')}; intervals: {100 * measured['level']:g} %."
        )
    return [*notes, *_KEYS]


def _twins(document: Mapping[str, Any]) -> list[str]:
    attributes = _ordered(document)
    number = {row["attribute"]: place for place, row in enumerate(attributes, start=1)}
    twins = [row for row in attributes if row["duplicate_of"] is not None]
    if not twins:
        return []
    said = ", ".join(f"{number[row['attribute']]} as {number[row['duplicate_of']]}" for row in twins)
    return [f"Attributes mastered by the same models, not to be told apart: {said}."]


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _estimate(
    value: float | None, low: float | None, high: float | None, digits: int, *, signed: bool = False
) -> str:
    if value is None:
        return "-"
    sign = "+" if signed else ""
    text = f"{value:{sign}.{digits}f}"
    if low is None or high is None:
        return text
    return f"{text} [{low:{sign}.{digits}f}, {high:{sign}.{digits}f}]"


def _share(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "-"
    text = f"{100 * value:.0f} %"
    return text if low is None or high is None else f"{text} [{100 * low:.0f}, {100 * high:.0f}]"
