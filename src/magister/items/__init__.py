"""An item: a question with its options and key, from a source, through the data gate, to a difficulty band.

Pure functions over Arrow tables; only `sources` opens files, and only those it is handed.
"""

from magister.items._bands import Bands, band_items, ladder_report
from magister.items._build import build_items
from magister.items._check import CheckReport, check_items
from magister.items._distractors import MAX_CHARS, Harvest, harvest_distractors
from magister.items._formats import format_options
from magister.items._free import free_answer_requests, parse_free_answers
from magister.items._neighbours import numeric_neighbours
from magister.items._normalise import normalise_rows, truncate_raw
from magister.items._order import key_balance
from magister.items._paraphrase import apply_paraphrases, paraphrase_bodies, paraphrase_review_bodies
from magister.items._permute import permute_options
from magister.items._replies import Reply
from magister.items._rewrite import apply_rewrites, review_bodies, rewrite_bodies
from magister.items._text import fold_option
from magister.items._variants import VariedItems, vary_items
from magister.items.sources import (
    LOG_SUFFIXES,
    BrokenRow,
    Columns,
    Log,
    RawRows,
    load_source,
    log_responses,
    read_columns,
    read_log,
    read_rows,
)

__all__ = [
    "LOG_SUFFIXES",
    "MAX_CHARS",
    "Bands",
    "BrokenRow",
    "CheckReport",
    "Columns",
    "Harvest",
    "Log",
    "RawRows",
    "Reply",
    "VariedItems",
    "apply_paraphrases",
    "apply_rewrites",
    "band_items",
    "build_items",
    "check_items",
    "fold_option",
    "format_options",
    "free_answer_requests",
    "harvest_distractors",
    "key_balance",
    "ladder_report",
    "load_source",
    "log_responses",
    "normalise_rows",
    "numeric_neighbours",
    "paraphrase_bodies",
    "paraphrase_review_bodies",
    "parse_free_answers",
    "permute_options",
    "read_columns",
    "read_log",
    "read_rows",
    "review_bodies",
    "rewrite_bodies",
    "truncate_raw",
    "vary_items",
]
