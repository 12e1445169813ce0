"""Spread: how evenly a summary draws on its document, for those who want that to be a goal."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from redraft.domain import Evaluation, Evidence, Finding, Span
from redraft.evaluators.base import Case, Evaluator
from redraft.evaluators.position import BINS
from redraft.settings import Judging
from redraft.text.embeddings import Encoder
from redraft.text.languages import Tongue, tongues_in
from redraft.text.origins.tracing import Origins
from redraft.text.positions import bins, masses, shares, spread
from redraft.text.ranking import rank
from redraft.text.sentences import sentences
from redraft.text.vectors import SentenceVectors, Weights
from redraft.text.words import count_words, has_words

UNTOLD = "untold"
"""A part of the document of which a summary says little."""

# A part with less than this share of what an even summary would have of it is a finding.
_LITTLE = 0.5
# A shorter sentence says too little to be worked in by itself.
_SHORTEST = 8
_SPEECH = re.compile('["“”„«»]')


@dataclass(frozen=True, slots=True)
class Spread(Evaluator):
    """The entropy of where the sentences come from, against that of an even spread: by tenths of the document, or by as
    many parts as there are sentences, where these are fewer.

    Nobody is asked. Sentences that come from nowhere have no verdict. A document need not be told of evenly, so nothing
    is redrafted for this unless it is named as a goal.
    """

    encoder: Encoder | None = None

    name = "spread"
    version = 2
    aim = "content"

    def configured(self, judging: Judging, encoder: Encoder | None) -> Spread:  # noqa: ARG002  (nothing else of it)
        """With the encoder of the run."""
        return replace(self, encoder=encoder)

    async def evaluate(self, case: Case) -> Evaluation:
        """Measure, in time linear in the length of the document."""
        if not has_words(case.text):
            return self.not_applicable("the summary has no word")
        return await asyncio.to_thread(self._scored, case)

    def _scored(self, case: Case) -> Evaluation:
        text = case.document.text
        traced = Origins([text], self.encoder).trace(case.text)
        count = sum(1 for one in traced if one.links)
        found = masses(traced, len(text))
        parts = min(count, BINS)
        score = spread(found, parts)
        if score is None:
            reason = f"only {count} of {len(traced)} sentences can be traced to the document"
            return self.not_applicable(reason) if len(traced) < 2 else self.failed(reason, len(traced))
        told = shares(found, bins(parts))
        return self.scored(
            score,
            judged=count,
            unjudged=len(traced) - count,
            findings=self._findings(case, told),
            details={"shares": told},
        )

    def _findings(self, case: Case, told: Sequence[float]) -> Iterator[Finding]:
        """The parts that are hardly told of, the emptiest first, each with its sentence that matters most."""
        text, parts = case.document.text, len(told)
        lacking = [at for at in sorted(range(parts), key=told.__getitem__) if told[at] < _LITTLE / parts]
        for at in lacking:
            span = _most_central(text, Span(at * len(text) // parts, (at + 1) * len(text) // parts))
            if span is not None:
                evidence = case.desk.place(span)
                start, end = (100 * edge // parts for edge in (at, at + 1))
                yield Finding(
                    self.name,
                    UNTOLD,
                    "add",
                    f"Say what matters most between {start} % and {end} % of the document, such as this.",
                    expected=evidence.text,
                    evidence=Evidence(evidence.text, evidence.span),
                )


def _most_central(text: str, part: Span) -> Span | None:
    """Of a part of a document the sentence that is most like all others, and nobody's speech where there is one."""
    spans, worth = _ranked(text, tongues_in(text))
    within = [at for at, span in enumerate(spans) if part.start <= span.start < part.end]
    best = max(within, key=lambda at: (not _SPEECH.search(text, *spans[at]), worth[at]), default=None)
    return None if best is None else spans[best]


@lru_cache(maxsize=2)
def _ranked(text: str, tongues: Sequence[Tongue]) -> tuple[list[Span], Weights]:
    """The sentences that say enough, and how central they are. Every draft of a run is held against the same ones."""
    found = [
        (one, language)
        for span, language in tongues
        for one in sentences(text, span, language)
        if count_words(text[one.start : one.end]) >= _SHORTEST
    ]
    vectors = SentenceVectors([text[one.start : one.end] for one, _ in found], [language for _, language in found])
    return [one for one, _ in found], rank(vectors)
