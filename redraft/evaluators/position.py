"""Position: from where in its document each sentence of a summary comes, and how evenly that is spread."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from redraft.domain import Document, Evaluation, Section
from redraft.evaluators.base import Case, Evaluator
from redraft.settings import Judging
from redraft.text.embeddings import Encoder
from redraft.text.origins.links import Traced
from redraft.text.origins.tracing import Origins
from redraft.text.positions import bins, density, masses, parts_of, shares, spread, spread_by_chance
from redraft.text.sentences import paragraphs
from redraft.text.words import has_words

BINS = 10
"""In how many parts of equal length a document is looked at, besides thirds."""
_MOST_SECTIONS = 100


@dataclass(frozen=True, slots=True)
class Position(Evaluator):
    """Traces a summary to the paragraphs of its document; nobody is asked.

    A sentence that no place bears out is counted as one without a verdict. None of the figures says how good the
    summary is, so there is no score: that of `spread` is a goal for those who want it to be one.
    """

    encoder: Encoder | None = None
    reference: str | None = None
    """Another summary of the document, whose figures stand beside those of this one."""

    name = "position"
    version = 2

    def configured(self, judging: Judging, encoder: Encoder | None) -> Position:
        """With the encoder and the reference of the run."""
        return replace(self, encoder=encoder, reference=judging.reference)

    async def evaluate(self, case: Case) -> Evaluation:
        """Measure, in time linear in the length of the document."""
        if not has_words(case.text):
            return self.not_applicable("the summary has no word")
        return await asyncio.to_thread(self._measured, case)

    def _measured(self, case: Case) -> Evaluation:
        document = case.document
        origins = Origins([document.text], self.encoder)
        traced = origins.trace(case.text)
        details = {**self._figures(traced, document), "sentences": list(_places(traced, document.text))}
        if self.reference:
            details["reference"] = self._figures(origins.trace(self.reference), document)
        found = sum(1 for one in traced if one.links)
        return self.measured(details, judged=found, unjudged=len(traced) - found)

    def _figures(self, traced: Sequence[Traced], document: Document) -> dict[str, object]:
        length = max(1, len(document.text))
        found, count = masses(traced, length), sum(1 for one in traced if one.links)
        sections = _outermost(document.sections)
        parts = parts_of([one.span for one in sections], length)
        return {
            "traced": count,
            "untraced": len(traced) - count,
            "thirds": shares(found, bins(3)),
            "bins": shares(found, bins(BINS)),
            "sections": [
                {"title": one.title, "span": list(one.span), "share": share, "expected": end - start}
                for one, share, (start, end) in zip(sections, shares(found, parts), parts, strict=True)
            ],
            "density": density(found),
            "spread": spread(found, min(count, BINS)),
            "spread_by_chance": spread_by_chance(count, min(count, BINS)),
        }


def _places(traced: Sequence[Traced], text: str) -> Iterator[dict[str, object]]:
    """The sentences by number, each with its places, the best first."""
    starts = [span.start for span in paragraphs(text)]
    for number, one in enumerate(traced, 1):
        places = [
            {
                "span": list(link.span),
                "paragraph": bisect_right(starts, link.span.start),
                "position": (link.span.start + link.span.end) / 2 / len(text),
                "weight": link.weight,
                "method": link.method,
            }
            for link in one.links
        ]
        yield {"id": number, "places": places, "margin": one.margin}


def _outermost(sections: Sequence[Section]) -> Sequence[Section]:
    """The sections of the outermost level that has several."""
    levels = {one.level for one in sections}
    for level in sorted(levels):
        found = [one for one in sections if one.level == level]
        if len(found) > 1:
            return found[:_MOST_SECTIONS]
    return ()
