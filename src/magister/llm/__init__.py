"""A model call: requests, answers, the store between them and the engines that answer.

Request and response files are in the OpenAI Batch format. `complete` goes from one to the other and asks for
nothing that the store already holds.
"""

from magister.llm._check import CheckResult, check_models
from magister.llm._complete import Summary, complete
from magister.llm._files import write_pieces
from magister.llm._fingerprints import fingerprint
from magister.llm._progress import Progress, ProgressLine
from magister.llm._requests import (
    Request,
    build_request,
    canonical_json,
    chat_body,
    check_requests,
    read_requests,
    request_key,
    write_requests,
)
from magister.llm._responses import Response, read_responses
from magister.llm._rows import ERROR_CODES, Row, failure, is_finished
from magister.llm._speaker import Speaker
from magister.llm._store import Store, read_row
from magister.llm.engines import Engine, create_engine
from magister.llm.engines.scripted import ScriptedReply, player, uniform

__all__ = [
    "ERROR_CODES",
    "CheckResult",
    "Engine",
    "Progress",
    "ProgressLine",
    "Request",
    "Response",
    "Row",
    "ScriptedReply",
    "Speaker",
    "Store",
    "Summary",
    "build_request",
    "canonical_json",
    "chat_body",
    "check_models",
    "check_requests",
    "complete",
    "create_engine",
    "failure",
    "fingerprint",
    "is_finished",
    "player",
    "read_requests",
    "read_responses",
    "read_row",
    "request_key",
    "uniform",
    "write_pieces",
    "write_requests",
]
