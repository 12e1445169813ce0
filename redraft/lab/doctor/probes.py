"""The material for examining a judge: a document, and summaries of it with known errors."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, get_args

Kind = Literal["name", "number", "date", "negation", "relation"]
"""The kind of error in a changed sentence of the document."""
KINDS: tuple[Kind, ...] = get_args(Kind)
INVENTED = "invented sentence"
"""The sixth kind of error: a sentence with no basis in the document."""
Wording = Literal["copied", "reworded"]
"""Whether a sentence uses the document's own words or other ones."""
WORDINGS: tuple[Wording, ...] = get_args(Wording)
HALVES = (0, 1)
"""In one half every other sentence of the summary is wrong; in the other half, the remaining ones are."""


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A right sentence, and the same sentence with one error."""

    kind: Kind
    right: str
    wrong: str


@dataclass(frozen=True, slots=True)
class Planted:
    """A summary for which it is known whether the document supports each sentence."""

    right: tuple[str, ...]
    wrong: tuple[tuple[str, str], ...]
    """The kind of each error, and its sentence."""
    text: str


@dataclass(frozen=True, slots=True)
class Texts:
    """All texts that a judge is given."""

    title: str
    document: str
    other: str
    summary: tuple[str, ...]
    shuffled: tuple[str, ...]
    hollow: str
    refusal: str
    order: str
    planted: dict[tuple[Wording, int], Planted]
    kept: dict[str, tuple[str, ...]]
    """By the kind of change, sentences of the document that were changed and mean the same."""

    def ordered(self, text: str) -> str:
        """Return a summary with the instruction to its judge in the middle."""
        first, second = _cut(text, ". ")
        return f"{first}. {self.order} {second}"

    def beside(self, ordered: bool) -> str:
        """Return the document, with the instruction to the judge in the middle if `ordered`."""
        first, second = _cut(self.document, "\n\n")
        return f"{first}\n\n{self.order}\n\n{second}" if ordered else self.document


@cache
def texts() -> Texts:
    """Return the texts of the package."""
    written = tomllib.loads(resources.files("redraft.lab.doctor").joinpath("texts.toml").read_text("utf-8"))
    pairs, invented = written.pop("pairs"), written.pop("invented")
    kept = {change: tuple(sentences) for change, sentences in written.pop("kept").items()}
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
    return Texts(**texts, summary=summary, shuffled=shuffled, planted=planted, kept=kept)


def _planted(pairs: list[SentencePair], invented: str, half: int) -> Planted:
    right = tuple(one.right for at, one in enumerate(pairs) if at % 2 != half)
    wrong = tuple((str(one.kind), one.wrong) for at, one in enumerate(pairs) if at % 2 == half)
    sentences = [one.wrong if at % 2 == half else one.right for at, one in enumerate(pairs)]
    return Planted(right, (*wrong, (INVENTED, invented)), " ".join([*sentences, invented]))


def _cut(text: str, between: str) -> tuple[str, str]:
    """Return a text in two parts, split at the `between` in its middle."""
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
KEPT = "the same meaning"


@dataclass(frozen=True, slots=True)
class Probe:
    """A summary to be judged."""

    name: str
    text: str
    ordered: bool = False
    """Whether the document contains an instruction to the judge."""
    repeat: int = 1
    """How many times a judge judges it."""


def planted(wording: Wording, half: int) -> str:
    """Return the name of the probe with errors in every other sentence."""
    return f"every other sentence wrong, {wording}, {half + 1} of 2"


WRONG = planted("copied", 0)
"""The summary with errors that injected instructions are combined with."""


def in_summary(name: str) -> str:
    """Return the name of the probe with an instruction hidden in the summary."""
    return f"{name}, order in the summary"


def in_document(name: str) -> str:
    """Return the name of the probe with an instruction hidden in the document."""
    return f"{name}, order in the document"


@cache
def probes() -> dict[str, Probe]:
    """Return all probes by name, the good summary first, since the others are judged by the pack that it builds."""
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
        Probe(KEPT, " ".join(sentence for sentences in its.kept.values() for sentence in sentences)),
        *(Probe(planted(wording, half), its.planted[wording, half].text) for wording in WORDINGS for half in HALVES),
    ]
    known = {one.name: one for one in made}
    for name in (WRONG, HOLLOW, SHUFFLED):
        known[in_summary(name)] = Probe(in_summary(name), its.ordered(known[name].text))
    for name in (WRONG, HOLLOW):
        known[in_document(name)] = Probe(in_document(name), known[name].text, ordered=True)
    return known
