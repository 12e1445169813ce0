"""What a judge is examined with: a document, and summaries of it with known faults."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, get_args

Kind = Literal["name", "number", "date", "negation", "relation"]
"""What is wrong with a sentence of the document, after it has been changed."""
KINDS: tuple[Kind, ...] = get_args(Kind)
INVENTED = "invented sentence"
"""The sixth kind of error: a sentence that the document has nothing of."""
Wording = Literal["copied", "reworded"]
"""Whether a sentence has the document's own words, or others."""
WORDINGS: tuple[Wording, ...] = get_args(Wording)
HALVES = (0, 1)
"""Every other sentence of a summary is wrong; in its other half, the others are."""


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A sentence that is right, and the same with one error."""

    kind: Kind
    right: str
    wrong: str


@dataclass(frozen=True, slots=True)
class Planted:
    """A summary in which it is known of each sentence whether the document bears it out."""

    right: tuple[str, ...]
    wrong: tuple[tuple[str, str], ...]
    """The kind of each error, and its sentence."""
    text: str


@dataclass(frozen=True, slots=True)
class Texts:
    """Everything that is put before a judge."""

    title: str
    document: str
    other: str
    summary: tuple[str, ...]
    shuffled: tuple[str, ...]
    hollow: str
    refusal: str
    order: str
    planted: dict[tuple[Wording, int], Planted]

    def ordered(self, text: str) -> str:
        """A summary with the order to its judge in the middle."""
        first, second = _cut(text, ". ")
        return f"{first}. {self.order} {second}"

    def beside(self, ordered: bool) -> str:
        """The document as it is, or with the order to the judge of its summaries in the middle."""
        first, second = _cut(self.document, "\n\n")
        return f"{first}\n\n{self.order}\n\n{second}" if ordered else self.document


@cache
def texts() -> Texts:
    """The texts of the package."""
    written = tomllib.loads(resources.files("redraft.lab.doctor").joinpath("texts.toml").read_text("utf-8"))
    pairs, invented = written.pop("pairs"), written.pop("invented")
    summary = tuple(written.pop("summary"))
    shuffled = tuple(summary[at] for at in written.pop("shuffled"))
    planted = {
        (wording, half): _planted(
            [SentencePair(one["kind"], one[wording], one[f"{wording}_wrong"]) for one in pairs],
            invented[half][wording],
            half,
        )
        for wording in WORDINGS
        for half in HALVES
    }
    texts = {name: text.strip() for name, text in written.items()}
    return Texts(**texts, summary=summary, shuffled=shuffled, planted=planted)


def _planted(pairs: list[SentencePair], invented: str, half: int) -> Planted:
    right = tuple(one.right for at, one in enumerate(pairs) if at % 2 != half)
    wrong = tuple((str(one.kind), one.wrong) for at, one in enumerate(pairs) if at % 2 == half)
    sentences = [one.wrong if at % 2 == half else one.right for at, one in enumerate(pairs)]
    return Planted(right, (*wrong, (INVENTED, invented)), " ".join([*sentences, invented]))


def _cut(text: str, between: str) -> tuple[str, str]:
    """A text in two parts, at the `between` in its middle."""
    parts = text.split(between)
    middle = len(parts) // 2
    return between.join(parts[:middle]), between.join(parts[middle:])


ITSELF = "the document itself"
EMPTY = "an empty summary"
HOLLOW = "a hollow summary"
SUMMARY = "a good summary"
SHUFFLED = "a shuffled summary"
ANOTHER = "another document's"
REFUSAL = "a refusal"


@dataclass(frozen=True, slots=True)
class Probe:
    """A summary to be judged."""

    name: str
    text: str
    ordered: bool = False
    """Whether there is an order to the judge in the document, too."""
    repeat: int = 1
    """How often a judge judges it."""


def planted(wording: Wording, half: int) -> str:
    """The probe with errors in every other sentence."""
    return f"{wording} {half + 1}"


WRONG = planted("copied", 0)
"""The summary with errors beside which an order is hidden."""


def in_summary(name: str) -> str:
    """The probe that has an order hidden in the summary."""
    return f"{name}, order in the summary"


def in_document(name: str) -> str:
    """The probe that has an order hidden in the document."""
    return f"{name}, order in the document"


@cache
def probes() -> dict[str, Probe]:
    """All of them, by name. That of the good summary comes first: the others are held against the same pack."""
    its = texts()
    summary, shuffled = " ".join(its.summary), " ".join(its.shuffled)
    made = [
        Probe(SUMMARY, summary, repeat=2),
        Probe(ITSELF, its.document),
        Probe(EMPTY, ""),
        Probe(HOLLOW, its.hollow),
        Probe(SHUFFLED, shuffled),
        Probe(ANOTHER, its.other),
        Probe(REFUSAL, its.refusal),
        *(Probe(planted(wording, half), its.planted[wording, half].text) for wording in WORDINGS for half in HALVES),
    ]
    known = {one.name: one for one in made}
    for name in (WRONG, HOLLOW, SHUFFLED):
        known[in_summary(name)] = Probe(in_summary(name), its.ordered(known[name].text))
    for name in (WRONG, HOLLOW):
        known[in_document(name)] = Probe(in_document(name), known[name].text, ordered=True)
    return known
