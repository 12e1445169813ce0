"""What a set consists of: documents with the summaries that people wrote of them, and what is wrong with a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from redraft.agreement.people import Trouble


class Reference(NamedTuple):
    """A summary that is part of a set, and what it answers where it answers a question."""

    text: str
    query: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """One document of a set."""

    place: str
    id: str
    title: str
    text: str
    summaries: tuple[Reference, ...] = ()


class Form(NamedTuple):
    """How the entries of a file look: under which fields they have what, and what makes an example of one."""

    name: str
    fields: frozenset[str]
    """By these an entry is known: it has all of them."""
    read: Callable[[str, Mapping[str, Any]], Example]
    """Makes an example of an entry at a place; an `UnreadableError` says what it lacks."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file holds."""

    path: str
    form: str
    examples: tuple[Example, ...]
    troubles: tuple[Trouble, ...] = ()
    bytes: int = 0
    sha256: str = ""
    oddities: tuple[Trouble, ...] = field(default=())

    def summaries(self) -> Iterator[tuple[Example, Reference]]:
        """Each summary with its document."""
        return ((example, one) for example in self.examples for one in example.summaries)
