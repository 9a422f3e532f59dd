"""Logs of lm-evaluation-harness: `samples_<task>_<date>.jsonl`, written with `--log_samples`.

A line per sample and filter: `doc` (the row of the data set), `doc_id`, `target`, `arguments`, `resps`,
`filtered_resps`, `filter` (not in logs before 2025), `metrics` (names, in newer logs) and a value per metric.
In multiple-choice tasks the reply is a log-likelihood per option. The model stands in no line: it is the name of
the folder.

Source: EleutherAI/lm-evaluation-harness, `lm_eval/evaluator.py` and `lm_eval/loggers/evaluation_tracker.py`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from magister.items._choices import LETTERS, Malformed, read_options
from magister.items.sources._logs import Log, Sample, Score, Unreadable, sample_id, shown
from magister.items.sources._rows import BrokenRow

_FIELDS = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"} | {
    "doc_hash",
    "prompt_hash",
    "target_hash",
}
_QUESTIONS = (
    "question",
    "Question",
    "query",
    "problem",
    "input",
    "prompt",
    "goal",
    "sentence",
    "text",
    "ctx",
)
_OPTIONS = ("choices", "options", "endings")
_GOLDS = ("answer", "Answer", "label", "gold", "target", "correct", "answerKey")
_INDEX = re.compile(r"\d{1,2}")
_NAME = re.compile(r"samples_(?P<task>.+?)(?:_\d{4}-\d\d-\d\dT[\d.-]+)?")
# What filters of the harness give where they find nothing.
_NOTHING = ("[invalid]", "[no match]", "")


def _in_order(value: Any) -> list[Any]:
    """Values of a list, or of the harness's `{gen_args_0: ..., gen_args_1: ...}` and `{arg_0: ...}`."""
    return list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []


def _continuations(arguments: Any) -> list[str]:
    """The option texts that were scored, where the task is one of log-likelihoods."""
    pairs = [_in_order(pair) for pair in _in_order(arguments)]
    if len(pairs) < 2 or not all(len(pair) > 1 and isinstance(pair[1], str) for pair in pairs):
        return []
    return [pair[1].strip() for pair in pairs]


def _options(doc: Mapping[str, Any], continuations: list[str]) -> Any:
    for name in _OPTIONS:
        if isinstance(doc.get(name), list | dict | str):
            try:
                found = read_options(doc[name])
            except Malformed:
                return doc[name]
            return list(found.texts) if found is not None else None
    lettered = [doc[letter] for letter in LETTERS if letter in doc]
    if len(lettered) > 1 and all(letter in doc for letter in LETTERS[: len(lettered)]):
        return lettered
    bare = all(text.upper() in LETTERS for text in continuations)
    return None if bare or len(set(continuations)) < len(continuations) else continuations


def _letter(value: Any, options: list[Any], doc: Mapping[str, Any]) -> Any:
    """The letter of an index; what is no index, or may as well be the text of an option, as it is."""
    text = str(value).strip()
    if isinstance(value, bool) or not _INDEX.fullmatch(text) or int(text) >= len(options):
        return value
    told = any(isinstance(doc.get(name), int) and str(doc[name]) == text for name in _GOLDS)
    also_text = any(str(option).strip() == text for option in options)
    return value if also_text and not told else LETTERS[int(text)]


def _answer(target: Any, options: Any, doc: Mapping[str, Any]) -> Any:
    """The right answer: the harness prints its targets, indices count from 0 and lists are Python's."""
    if isinstance(target, str) and target.strip().startswith("["):
        try:
            target = json.loads(target)
        except (ValueError, RecursionError):
            if target.strip().startswith(("['", '["')):
                raise Unreadable(
                    f"target: a printed list of texts, not one answer: {shown(target)}"
                ) from None
    if isinstance(options, list) and len(options) <= len(LETTERS):
        if isinstance(target, list):
            return [_letter(one, options, doc) for one in target]
        return _letter(target, options, doc)
    if isinstance(target, str) and "####" in target:
        return target.rpartition("####")[2].strip()
    return target


def _likelihoods(filtered: Any) -> list[float] | None:
    """Log-likelihoods of the options; None where the reply is a text."""
    if not isinstance(filtered, list) or len(filtered) < 2:
        return None
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in filtered):
        return None
    try:
        return [float(pair[0]) for pair in filtered]
    except (TypeError, ValueError, OverflowError):
        return None


def _reply(resps: Any, filtered: Any) -> tuple[str, str, str, str | None]:
    """Status, reason, text and scored answer."""
    chances = _likelihoods(filtered)
    if chances is not None:
        if any(chance != chance for chance in chances):
            return "error", "a log-likelihood is not a number", "", None
        best = max(chances)
        one = chances.count(best) == 1 and chances.index(best) < len(LETTERS)
        return "ok", "", "", LETTERS[chances.index(best)] if one else None
    text = resps
    while isinstance(text, list) and text:
        text = text[0]
    if not isinstance(text, str):
        return "missing", "no reply in the log", "", None
    answer = filtered
    while isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    answer = answer if isinstance(answer, str) else None
    if not text.strip():
        return "no_answer", "empty reply", text, None
    if answer is not None and answer.strip() in _NOTHING:
        return "no_answer", "the filter found no answer", text, None
    return "ok", "", text, answer


def _scores(record: Mapping[str, Any], filtered_by: str, answer: str | None) -> tuple[Score, ...]:
    named = record.get("metrics")
    if isinstance(named, list) and all(isinstance(name, str) for name in named):
        names = list(dict.fromkeys(named))
    else:
        names = [name for name in record if name not in _FIELDS]
    suffix = f",{filtered_by}" if filtered_by else ""
    return tuple(Score(f"{name}{suffix}", record.get(name), answer) for name in names)


def _sample(number: int, record: Mapping[str, Any]) -> Sample:
    doc = record.get("doc")
    if not isinstance(doc, dict):
        raise Unreadable(f"doc: expected an object, found {shown(doc)}")
    source_id = sample_id(record.get("doc_id"), "doc_id")
    question = next((doc[name] for name in _QUESTIONS if doc.get(name)), None)
    options = _options(doc, _continuations(record.get("arguments")))
    status, reason, text, answer = _reply(record.get("resps"), record.get("filtered_resps"))
    row = dict(doc) | {"id": source_id, "question": question, "options": options}
    row["answer"] = _answer(record.get("target"), options, doc)
    filtered_by = record.get("filter") if isinstance(record.get("filter"), str) else ""
    return Sample(number, source_id, 1, row, status, reason, text, _scores(record, str(filtered_by), answer))


def _told_apart(samples: list[Sample]) -> list[Sample]:
    """Number the filters of old logs, whose lines do not say which one made them."""
    total = Counter(sample.source_id for sample in samples if _unnamed(sample))
    found: Counter[str] = Counter()
    result = []
    for sample in samples:
        if _unnamed(sample) and total[sample.source_id] > 1:
            found[sample.source_id] += 1
            place = f",filter {found[sample.source_id]}"
            scores = tuple(replace(score, measure=score.measure + place) for score in sample.scores)
            sample = replace(sample, scores=scores)
        result.append(sample)
    return result


def _unnamed(sample: Sample) -> bool:
    return bool(sample.scores) and not any("," in score.measure for score in sample.scores)


def lm_eval_log(records: Iterable[tuple[int, dict[str, Any]]], broken: list[BrokenRow], path: Path) -> Log:
    """Read the records of a log.

    Args:
        records: line and content of each.
        broken: lines that are no JSON objects.
        path: the file: its name says the task, its folder the model.

    Returns:
        The log; a record that is no sample becomes a broken row.
    """
    samples: list[Sample] = []
    broken = list(broken)
    for number, record in records:
        try:
            samples.append(_sample(number, record))
        except Unreadable as error:
            raw = json.dumps(record, ensure_ascii=False, default=str)
            broken.append(BrokenRow(number, str(error), raw))
    match = _NAME.fullmatch(path.stem)
    task = match["task"] if match else path.stem
    model = path.parent.name if match else ""
    return Log(str(path), model, task, _told_apart(samples), broken)
