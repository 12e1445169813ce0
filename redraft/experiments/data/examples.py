"""What a set consists of: documents with the summaries that people wrote of them, and what is wrong with a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from redraft.agreement.people import Trouble
from redraft.text.tokens import Tokenizer


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


def joined(examples: Iterable[Example], tokens: int, tokenizer: Tokenizer) -> Iterator[Example]:
    """One document of as many examples in their order as it takes to have so many tokens; and so on, as the
    traceability thesis joins the articles of XSum (section 4.4).

    The summaries are joined alike, the first of each. What is left at the end, and is shorter, is left out.
    """
    some: list[Example] = []
    long = 0
    for one in examples:
        if not one.summaries:
            continue
        some.append(one)
        long += tokenizer.count(one.text)
        if long >= tokens:
            first, last = some[0], some[-1]
            name = f"{first.id or first.place} to {last.id or last.place}"
            summary = " ".join(each.summaries[0].text for each in some)
            text = "\n\n".join(each.text for each in some)
            yield Example(first.place, name, f"{len(some)} articles, {name}", text, (Reference(summary),))
            some, long = [], 0


def as_line(example: Example) -> str:
    """An example as a line of our own form."""
    summaries = [{"query": one.query, "text": one.text} for one in example.summaries]
    content = {"id": example.id, "title": example.title, "text": example.text, "summaries": summaries}
    return json.dumps(content, ensure_ascii=False) + "\n"
