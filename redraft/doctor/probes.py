"""What is put before a judge: summaries, each beside the document or beside the document with an order hidden in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from redraft.doctor.texts import HALVES, WORDINGS, Wording, texts

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
