"""What the map from a text to its parents is made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from redraft.document import Span

Method = Literal["quotation", "words", "embedding", "model", "judge"]
"""What a link rests on: the same words in the same order, the same telling words, a like meaning, a model's word, or a
quote by which a judge has borne the sentence out."""

MOST = 3
"""How many places a sentence is traced to at most."""


@dataclass(frozen=True, slots=True)
class Link:
    """A place that a sentence comes from."""

    text: int
    """Which of the parents."""
    span: Span
    """The sentences there, or the words that are quoted."""
    weight: float
    """How much of what the sentence says stands at this place and those of the better links, from 0 to 1."""
    method: Method


@dataclass(frozen=True, slots=True)
class Traced:
    """A sentence of a text, and where it comes from."""

    span: Span
    """The sentence, in its own text."""
    links: tuple[Link, ...] = ()
    """The best first, at most three. None are above the floor where no parent says so: the sentence was invented."""
    margin: float = 0.0
    """How much better the best place is than any other, or how far below the floor the sentence is, from 0 to 1."""


def links_written(found: Sequence[Traced]) -> str:
    """What was traced, as it is kept."""
    return json.dumps(
        [
            [*one.span, one.margin, [[link.text, *link.span, link.weight, link.method] for link in one.links]]
            for one in found
        ]
    )


def links_read(kept: str) -> tuple[Traced, ...]:
    """The same again."""
    return tuple(
        Traced(
            Span(start, end),
            tuple(Link(text, Span(first, last), weight, method) for text, first, last, weight, method in links),
            margin,
        )
        for start, end, margin, links in json.loads(kept)
    )
