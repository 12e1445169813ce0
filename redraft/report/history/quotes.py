"""What the judges of a draft quoted from the document for its sentences or did not find there.

A quote counts only if it confirms its sentence and was found in the document when it was judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from redraft.domain import Document, Evaluation, Span
from redraft.errors import StoreError
from redraft.evaluators.metric_info import GOOD_VERDICTS
from redraft.store.runs import Run
from redraft.store.store import Store

MAX_PLACES = 3
"""The maximum number of quotes per sentence."""
By = Literal["judge", "words"]
"""The source of a sentence's place: a judge who quoted it, or the words that sentence and document share."""
Details = Mapping[str, Any]
_AROUND = "What is said about this: "
_YARDSTICKS = {"coverage": "pack", "keyfact_recall": "keyfacts"}
"""The detail of an evaluation that names what it judged by."""


def quotes_of(store: Store, draft: str, document: Document) -> dict[int, tuple[Span, ...]]:
    """Return by sentence the places that the judges of a draft quoted for it, best first.

    Sentences are numbered as the judges number them: those with words, from 1. Quotes for a whole sentence come first,
    then those for its claims by importance, then those for the questions it answers.
    """
    quotes: dict[int, list[Span]] = {}
    for sentence, span in _quotes(store, store.runs.get(store.runs.draft(draft).run), store.judgments.of(draft)):
        if span and 0 <= span.start < span.end <= len(document.text):
            _add(quotes.setdefault(sentence, []), span)
    return {sentence: tuple(spans[:MAX_PLACES]) for sentence, spans in quotes.items()}


def _add(spans: list[Span], span: Span) -> None:
    """Add a place; it is merged with those it overlaps, at the position of the first of them."""
    overlapping = [place for place in spans if place.overlaps(span)]
    position = spans.index(overlapping[0]) if overlapping else len(spans)
    spans[:] = [place for place in spans if place not in overlapping]
    starts, ends = zip(span, *overlapping, strict=True)
    spans.insert(position, Span(min(starts), max(ends)))


def _quotes(store: Store, run: Run, evaluations: Mapping[str, Evaluation]) -> Iterator[tuple[int, Span | None]]:
    """Yield the sentences and places of what judges confirmed."""
    sentences, claims, questions = (
        [item for item in listed(evaluations, metric, name) if item.get("verdict") == GOOD_VERDICTS[metric]]
        for metric, name in (("faithfulness", "sentences"), ("consistency", "claims"), ("coverage", "questions"))
    )
    yield from ((int(sentence["id"]), span_of(sentence.get("place"))) for sentence in sentences)
    claims.sort(key=lambda claim: -int(claim.get("importance") or 0))
    yield from ((int(claim["sentence"]), span_of(claim.get("place"))) for claim in claims)
    key = yardstick_of(run, evaluations, "coverage") if "coverage" in evaluations else None
    try:
        asked_questions = store.packs.get(key).questions if key else ()
    except StoreError:
        return
    evidence = {question.id: question.evidence.span for question in asked_questions}
    for question in questions:
        yield from ((int(number), evidence.get(int(question["id"]))) for number in question.get("sentences", ()))


def yardstick_of(run: Run, evaluations: Mapping[str, Evaluation], metric: str) -> str | None:
    """Return the id of the pack or key facts that a draft was or will be judged by; None if none is named."""
    part = _YARDSTICKS[metric]
    # The evaluation's own id comes first: there may be later packs or key facts.
    key = (evaluations[metric].details.get(part) if metric in evaluations else None) or getattr(run.judging, part, None)
    return str(key) if key else None


def query_in_words(query: str) -> str:
    """Return the question that a tree of key facts answers, for people. What the built-in model asks is worded anew;
    it stays as it is where it is stored and in requests."""
    rest = query.removeprefix(_AROUND)
    return query if rest == query else f"What does the document say about {rest}"


def listed(evaluations: Mapping[str, Evaluation], metric: str, name: str) -> Sequence[Details]:
    """Return what an evaluation lists under a name, such as the questions that were answered."""
    items = evaluations[metric].details.get(name) if metric in evaluations else None
    return items if isinstance(items, list | tuple) else ()


def span_of(place: object) -> Span | None:
    """Return the place of an evaluation's item in the document; None if it has none."""
    return Span(*place) if isinstance(place, list | tuple) and len(place) == len(Span._fields) else None


def basis(by: Mapping[int, By], what: str) -> str:
    """Return a sentence on which citations or footnotes are a judge's quotes and which match by wording; empty if there
    are none."""
    quoted = [str(number) for number, source in sorted(by.items()) if source == "judge"]
    if not quoted:
        return f"All {what}s were matched by wording, not by a judge." if by else ""
    if len(quoted) == len(by):
        return f"All {what}s are quotes by which a judge confirmed a claim."
    quotes = f"{what} {quoted[0]} is a quote" if len(quoted) == 1 else f"{what}s {', '.join(quoted)} are quotes"
    return f"{quotes.capitalize()} by which a judge confirmed a claim; the others were matched by wording."
