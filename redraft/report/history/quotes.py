"""What the judges of a draft have quoted from the document for its sentences, or not found there, and which facts they
find in it.

Only what bears a sentence out is a quote of it, and only where it was found in the document when it was judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from redraft.domain import Document, Evaluation, Pack, Span
from redraft.errors import StoreError
from redraft.evaluators.metric_info import FINE, LACKING
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.sanitizer import one_line

MOST = 3
"""How many quotes a sentence has at most."""
By = Literal["judge", "words"]
"""Who says where a sentence stands in the document: a judge, who has quoted it, or the words that both have."""
Details = Mapping[str, Any]
FactKey = tuple[object, ...]
"""Which question of a pack it is, or which key fact of which tree."""
_FACTS = {
    "coverage": ("pack", "questions", ("id",)),
    "keyfact_recall": ("keyfacts", "facts", ("chunk", "perspective", "id")),
}


@dataclass(frozen=True, slots=True)
class StatedFact:
    """Whether a draft states a fact, as its judges say, and the numbers of the sentences that do."""

    holds: bool
    sentences: tuple[int, ...]


def quotes_of(store: Store, draft: str, document: Document) -> dict[int, tuple[Span, ...]]:
    """By sentence the places that the judges of a draft have quoted for it, the best first.

    Sentences are counted as judges have them: those with words, from 1. What is quoted for a sentence as a whole comes
    first, then what is quoted for its claims, the most important first, then for the questions that it answers.
    """
    judged = store.judgments.of(draft)
    quoted: dict[int, list[Span]] = {}
    for sentence, span in _quoted(store, store.runs.get(store.runs.draft(draft).run), judged):
        if 0 <= span.start < span.end <= len(document.text):
            quoted.setdefault(sentence, []).append(span)
    return {sentence: _merged(spans)[:MOST] for sentence, spans in quoted.items()}


def absent_in(store: Store, draft: str) -> frozenset[str]:
    """The sentences of a draft that its judges did not find in the document, after they have read all of it."""
    findings = (one for said in store.judgments.of(draft).values() for one in said.findings)
    return frozenset(one_line(one.sentence) for one in findings if one.is_absence)


def _quoted(store: Store, run: Run, judged: Mapping[str, Evaluation]) -> Iterator[tuple[int, Span]]:
    for one in _fine(judged, "faithfulness", "sentences"):
        if span := span_of(one.get("place")):
            yield int(one["id"]), span
    claims = _fine(judged, "consistency", "claims")
    for one in sorted(claims, key=lambda claim: -int(claim.get("importance") or 0)):
        if span := span_of(one.get("place")):
            yield int(one["sentence"]), span
    pack = _pack(store, run, judged)
    evidence = {one.id: one.evidence.span for one in pack.questions} if pack else {}
    for one in _fine(judged, "coverage", "questions"):
        if span := evidence.get(int(one["id"])):
            yield from ((int(number), span) for number in one.get("sentences", ()))


def held_of(judged: Mapping[str, Evaluation], metric: str, yardstick: str) -> dict[FactKey, StatedFact]:
    """What the judges of a draft say of the questions of a pack, or of key facts, with the id that this has: whether
    it states them. Nothing where it was judged by others."""
    part, name, key = _FACTS[metric]
    told = judged.get(metric)
    if told is None or told.details.get(part, yardstick) != yardstick:
        return {}
    return {
        tuple(one[field] for field in key): StatedFact(verdict == FINE[metric], tuple(one.get("sentences", ())))
        for one in listed(judged, metric, name)
        # Without a verdict, or where the judges do not agree, nobody has said.
        if (verdict := one.get("verdict")) == FINE[metric] or verdict in LACKING[metric]
    }


def yardstick_of(run: Run, judged: Mapping[str, Evaluation], metric: str) -> str | None:
    """The id of the pack, or of the key facts, that a draft was or is to be judged by; None where none is named."""
    part = _FACTS[metric][0]
    # The evaluation says which it went by: there may be later ones by now.
    key = (judged[metric].details.get(part) if metric in judged else None) or getattr(run.judging, part, None)
    return str(key) if key else None


def _pack(store: Store, run: Run, judged: Mapping[str, Evaluation]) -> Pack | None:
    key = yardstick_of(run, judged, "coverage") if "coverage" in judged else None
    try:
        return store.packs.get(key) if key else None
    except StoreError:
        return None


def _fine(judged: Mapping[str, Evaluation], metric: str, name: str) -> Iterator[Details]:
    return (one for one in listed(judged, metric, name) if one.get("verdict") == FINE[metric])


def listed(judged: Mapping[str, Evaluation], metric: str, name: str) -> Sequence[Details]:
    """Return what an evaluation lists under a name, such as the questions that were answered."""
    found = judged[metric].details.get(name) if metric in judged else None
    return found if isinstance(found, list | tuple) else ()


def span_of(place: object) -> Span | None:
    """Return the place in the document that an item of an evaluation has; None where it has none."""
    return Span(*place) if isinstance(place, list | tuple) and len(place) == len(Span._fields) else None


def _merged(spans: Sequence[Span]) -> tuple[Span, ...]:
    """The same places, those that overlap as one, each where the first of them stood."""
    found: list[Span] = []
    for span in spans:
        over = [one for one in found if one.start < span.end and span.start < one.end]
        at = found.index(over[0]) if over else len(found)
        whole = Span(min(one.start for one in (span, *over)), max(one.end for one in (span, *over)))
        found = [one for one in found if one not in over]
        found.insert(at, whole)
    return tuple(found)


_PAIR = 2


def basis(by: Mapping[int, By], what: str) -> str:
    """Who says so of citations or footnotes, by their numbers, in a sentence; empty where there are none."""
    judged, matched = ([number for number, its in sorted(by.items()) if its == who] for who in ("judge", "words"))
    if not judged or not matched:
        how = (
            "are quotes by which a judge confirmed the sentence"
            if judged
            else "were matched by wording, not by a judge"
        )
        return f"All {what}s {how}." if by else ""
    one, other = (
        f"{what} {_numbered(judged)} is a quote" if len(judged) == 1 else f"{what}s {_numbered(judged)} are quotes",
        f"{_numbered(matched)} {'was' if len(matched) == 1 else 'were'} matched by wording",
    )
    return f"{one[:1].upper()}{one[1:]} by which a judge confirmed the sentence; {other}."


def _numbered(numbers: Sequence[int]) -> str:
    """Numbers in few letters: 1 to 4, 6 and 9."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    said = [part for one in runs for part in ([f"{one[0]} to {one[-1]}"] if len(one) > _PAIR else map(str, one))]
    return f"{', '.join(said[:-1])} and {said[-1]}" if len(said) > 1 else said[0]
