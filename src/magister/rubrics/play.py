"""Plays dialogues on files outside the pipeline: the same requests, store and responses, wave after wave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from magister.contracts.rubrics_tables import DIALOGUE_ASKED
from magister.llm import Response, Speaker, complete, read_responses, write_requests
from magister.rubrics.waves import Advanced, Cast, Dialogue, advance, dialogue_table


@dataclass(frozen=True)
class Place:
    """Where a play keeps its files, and how models are asked.

    Attributes:
        folder: takes a folder per wave, with a request and a response file per model.
        store: folder of all stores; what it holds is not asked again.
        task: name of the play in the store.
        weights: files with weights by model, for engines that load them.
        max_error_share: share of infrastructure errors above which a wave fails and can be resumed.
    """

    folder: Path
    store: Path
    task: str
    weights: Mapping[str, Path]
    max_error_share: float


@dataclass(frozen=True)
class Played:
    """What was said.

    Attributes:
        transcripts: TRANSCRIPTS table.
        dialogues: DIALOGUES table.
        waves: how many waves it took.
        asked: requests that were asked now.
        cached: requests that the store answered.
    """

    transcripts: pa.Table
    dialogues: pa.Table
    waves: int
    asked: int
    cached: int


def play(
    dialogues: Sequence[Dialogue],
    cast: Cast,
    speakers: Mapping[str, Speaker],
    place: Place,
    *,
    max_tokens: int,
    report: Callable[[int, int], None] | None = None,
) -> Played:
    """Play dialogues to their end.

    Killed at any byte and called again, it goes on where it stopped: no finished request is asked twice, and the
    files come out the same.

    Args:
        dialogues: at their beginning.
        cast: who speaks for whom.
        speakers: models by name.
        place: files.
        max_tokens: longest turn.
        report: told of each wave (its number, how many turns are due).

    Raises:
        UserError: a model cannot be asked, or too many requests of a wave got no answer.
    """
    step = advance(dialogues, DIALOGUE_ASKED.schema.empty_table(), {}, cast, speakers, max_tokens=max_tokens)
    transcripts: list[pa.Table] = [step.transcripts]
    asked = cached = number = 0
    while step.asked.num_rows:
        number += 1
        if report is not None:
            report(number, step.asked.num_rows)
        responses: dict[str, Response] = {}
        for name in sorted(step.requests):
            if step.requests[name]:
                said, new, known = _ask(step, name, speakers[name], place, number)
                responses |= said
                asked, cached = asked + new, cached + known
        step = advance(step.dialogues, step.asked, responses, cast, speakers, max_tokens=max_tokens)
        transcripts.append(step.transcripts)
    return Played(pa.concat_tables(transcripts), dialogue_table(step.dialogues, cast), number, asked, cached)


def _ask(
    step: Advanced, name: str, speaker: Speaker, place: Place, number: int
) -> tuple[dict[str, Response], int, int]:
    """Ask one model for its turns of a wave."""
    folder = place.folder / f"wave{number:03d}"
    requests, responses = folder / f"{name}.requests.jsonl", folder / f"{name}.responses.jsonl"
    write_requests(requests, step.requests[name])
    done = complete(
        requests,
        responses,
        name=name,
        model=speaker.model,
        fingerprint=speaker.fingerprint,
        store_root=place.store,
        task=place.task,
        weights=place.weights.get(name),
        max_error_share=place.max_error_share,
    )
    return {row.custom_id: row for row in read_responses(responses)}, done.asked, done.cached
