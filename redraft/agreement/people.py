"""What people say of summaries, whichever file it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redraft.agreement.raters import Ratings


@dataclass(frozen=True, slots=True)
class Field:
    """Something that people were asked about summaries."""

    best: float | None = None
    """What they give a summary that has nothing wrong with it; None where that is not what they were asked."""
    metrics: tuple[str, ...] = ()
    """The metrics that measure the same."""


@dataclass(frozen=True, slots=True)
class Item:
    """One summary, or one claim, with what people say of it by field."""

    id: str
    document: str
    """Which document it is of: all items of one document are drawn together."""
    summary: str
    people: Mapping[str, float]
    source: str = ""
    """The document's text."""
    system: str = ""
    """Who wrote it, where that is known."""
    sentences: tuple[str, ...] = ()
    """The sentences of the summary as people judged them, where they did so one by one."""
    labels: tuple[bool | None, ...] = ()
    """Whether people find each of them right; None where they did not say."""
    votes: Ratings = ()
    """What each of several people said, a row for everything that they were asked about."""
    kinds: tuple[str, ...] = ()
    """What was done to it or is wrong with it, where that is known."""
    pair: str = ""
    """Of two items of one pair people find one better than the other."""

    @property
    def text(self) -> str:
        """The summary as a judge reads it: what people judged as a sentence is one there too."""
        return "\n\n".join(self.sentences) or self.summary


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something in a file that could not be read: where, and what is wrong with it."""

    place: str
    message: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """All that could be read of a file."""

    name: str
    fields: Mapping[str, Field]
    items: tuple[Item, ...]
    troubles: tuple[Trouble, ...] = ()
