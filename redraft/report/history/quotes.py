"""What the judges of a draft quoted from the document for its sentences or did not find there, and which facts they
find in the draft.

A quote counts only if it confirms its sentence and was found in the document when it was judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from redraft.domain import Document, Evaluation, Pack, Span
from redraft.errors import StoreError
from redraft.evaluators.metric_info import BAD_VERDICTS, GOOD_VERDICTS
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.sanitizer import one_line

MAX_PLACES = 3
"""The maximum number of quotes per sentence."""
By = Literal["judge", "words"]
"""The source of a sentence's place: a judge who quoted it, or the words that sentence and document share."""
Details = Mapping[str, Any]
FactKey = tuple[object, ...]
"""The key of a question in a pack, or of a key fact with its tree."""
_FACTS = {
    "coverage": ("pack", "questions", ("id",)),
    "keyfact_recall": ("keyfacts", "facts", ("chunk", "perspective", "id")),
}


@dataclass(frozen=True, slots=True)
class StatedFact:
    """Whether a draft states a fact according to its judges, and the numbers of the sentences that do."""

    holds: bool
    sentences: tuple[int, ...]


def quotes_of(store: Store, draft: str, document: Document) -> dict[int, tuple[Span, ...]]:
    """Return by sentence the places that the judges of a draft quoted for it, best first.

    Sentences are numbered as the judges number them: those with words, from 1. Quotes for a whole sentence come first,
    then those for its claims by importance, then those for the questions it answers.
    """
    judged = store.judgments.of(draft)
    quoted: dict[int, list[Span]] = {}
    for sentence, span in _quoted(store, store.runs.get(store.runs.draft(draft).run), judged):
        if 0 <= span.start < span.end <= len(document.text):
            quoted.setdefault(sentence, []).append(span)
    return {sentence: _merged(spans)[:MAX_PLACES] for sentence, spans in quoted.items()}


def refused_sentences(store: Store, draft: str) -> frozenset[str]:
    """Return the sentences of a draft that its judges did not find in the document after reading all of it."""
    findings = (finding for evaluation in store.judgments.of(draft).values() for finding in evaluation.findings)
    return frozenset(one_line(finding.sentence) for finding in findings if finding.is_absence)


def _quoted(store: Store, run: Run, judged: Mapping[str, Evaluation]) -> Iterator[tuple[int, Span]]:
    for one in _fine(judged, "faithfulness", "sentences"):
        if span := span_of(one.get("place")):
            yield int(one["id"]), span
    claims = _fine(judged, "consistency", "claims")
    for one in sorted(claims, key=lambda claim: -int(claim.get("importance") or 0)):
        if span := span_of(one.get("place")):
            yield int(one["sentence"]), span
    pack = _pack(store, run, judged)
    evidence = {question.id: question.evidence.span for question in pack.questions} if pack else {}
    for one in _fine(judged, "coverage", "questions"):
        if span := evidence.get(int(one["id"])):
            yield from ((int(number), span) for number in one.get("sentences", ()))


def stated_facts(judged: Mapping[str, Evaluation], metric: str, yardstick: str) -> dict[FactKey, StatedFact]:
    """Return whether a draft states each question of a pack, or each key fact, according to its judges. `yardstick` is
    the id of the pack or key facts; empty if the draft was judged by others."""
    part, name, key = _FACTS[metric]
    evaluation = judged.get(metric)
    if evaluation is None or evaluation.details.get(part, yardstick) != yardstick:
        return {}
    return {
        tuple(one[field] for field in key): StatedFact(
            verdict == GOOD_VERDICTS[metric], tuple(one.get("sentences", ()))
        )
        for one in listed(judged, metric, name)
        # Items without a verdict, or on which the judges disagree, are left out.
        if (verdict := one.get("verdict")) == GOOD_VERDICTS[metric] or verdict in BAD_VERDICTS[metric]
    }


def yardstick_of(run: Run, judged: Mapping[str, Evaluation], metric: str) -> str | None:
    """Return the id of the pack or key facts that a draft was or will be judged by; None if none is named."""
    part = _FACTS[metric][0]
    # The evaluation's own id comes first: there may be later packs or key facts.
    key = (judged[metric].details.get(part) if metric in judged else None) or getattr(run.judging, part, None)
    return str(key) if key else None


def _pack(store: Store, run: Run, judged: Mapping[str, Evaluation]) -> Pack | None:
    key = yardstick_of(run, judged, "coverage") if "coverage" in judged else None
    try:
        return store.packs.get(key) if key else None
    except StoreError:
        return None


def _fine(judged: Mapping[str, Evaluation], metric: str, name: str) -> Iterator[Details]:
    return (one for one in listed(judged, metric, name) if one.get("verdict") == GOOD_VERDICTS[metric])


def listed(judged: Mapping[str, Evaluation], metric: str, name: str) -> Sequence[Details]:
    """Return what an evaluation lists under a name, such as the questions that were answered."""
    found = judged[metric].details.get(name) if metric in judged else None
    return found if isinstance(found, list | tuple) else ()


def span_of(place: object) -> Span | None:
    """Return the place of an evaluation's item in the document; None if it has none."""
    return Span(*place) if isinstance(place, list | tuple) and len(place) == len(Span._fields) else None


def _merged(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Return the places with overlapping ones merged, each at the position of the first of them."""
    found: list[Span] = []
    for span in spans:
        over = [one for one in found if one.overlaps(span)]
        at = found.index(over[0]) if over else len(found)
        whole = Span(min(one.start for one in (span, *over)), max(one.end for one in (span, *over)))
        found = [one for one in found if one not in over]
        found.insert(at, whole)
    return tuple(found)


_PAIR = 2


def basis(by: Mapping[int, By], what: str) -> str:
    """Return a sentence on which citations or footnotes are a judge's quotes and which match by wording; empty if there
    are none."""
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
    """Return numbers in short form, such as 1 to 4, 6 and 9."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    said = [part for run in runs for part in ([f"{run[0]} to {run[-1]}"] if len(run) > _PAIR else map(str, run))]
    return f"{', '.join(said[:-1])} and {said[-1]}" if len(said) > 1 else said[0]
