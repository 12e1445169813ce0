"""The nouns of redraft. Plain frozen values; nothing here imports anything else of the package."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import NamedTuple


def content_id(text: str) -> str:
    """The id under which a text is stored: the SHA-256 of its UTF-8 form."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Span(NamedTuple):
    """A half-open range of character offsets into a document."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Section:
    """A titled stretch of a document: a chapter, a part. `level` 1 is the outermost."""

    title: str
    level: int
    span: Span


@dataclass(frozen=True, slots=True)
class Document:
    """A source text. `text` is what the offsets of every span refer to."""

    id: str
    title: str
    text: str
    sections: tuple[Section, ...] = ()
    source: str = ""
    encoding: str = "utf-8"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a document that fits a token budget."""

    index: int
    span: Span
    tokens: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A partial summary: of one chunk (level 0), or of consecutive pieces one level below."""

    level: int
    index: int
    first_chunk: int
    last_chunk: int
    text: str
    words: int
    tokens: int
    limit: int
    attempts: int = 1
    flaw: str = ""
    """Why this text was kept although it is not valid; empty for a valid one."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A chunk that could not be summarized, and why."""

    chunk: int
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call, or a run, consumed."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_prompt_tokens: int = 0
    reasoning_tokens: int = 0
    reported: bool = True
    """False where the provider sent no usage and the figures are ours."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The ledger of a run, added up."""

    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    cached_prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    """None where a call was made to a model without a known price."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Draft:
    """One version of a summary."""

    id: str
    run: str
    round: int
    node: str
    text: str
    words: int
    notes: tuple[str, ...] = field(default=())
