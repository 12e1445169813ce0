"""Position and spread: where in the document each sentence comes from, and how evenly these places are spread."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from redraft.domain import Document, Evaluation, Evidence, Finding, Span
from redraft.evaluators.base import Case, ConfiguredMetric
from redraft.text import origins
from redraft.text.languages import LanguageSpan, language_spans_in
from redraft.text.sentences import paragraphs, sentences
from redraft.text.vectors import SentenceVectors, Weights, rank
from redraft.text.words import count_words, has_words

BINS = 10
"""The number of equal parts of the document, besides thirds."""
_MAX_SECTIONS = 100


@dataclass(frozen=True, slots=True)
class Position(ConfiguredMetric):
    """Traces a summary to the paragraphs of its document without a judge. Sentences without a source count as without a
    verdict. The figures say nothing about quality, so there is no score; `spread` can be a goal. Beside them are those
    of the `reference`, another summary of the document, if there is one."""

    name = "position"
    meaning = "Where in the document the sentences of the summary come from; no score."
    version = 2

    async def evaluate(self, case: Case) -> Evaluation:
        """Measure the draft in time linear in the length of the document."""
        if not has_words(case.text):
            return self.not_applicable("the summary has no words")
        document, reference = case.document, self.judging.reference

        def measure() -> Evaluation:
            tracer = origins.OriginTracer([document.text], self.encoder)
            traced = tracer.trace(case.text)
            details = {**_figures(traced, document), "sentences": list(_places(traced, document.text))}
            details |= {"reference": _figures(tracer.trace(reference), document)} if reference else {}
            count = sum(1 for origin in traced if origin.links)
            return self.measured(details, judged=count, unjudged=len(traced) - count)

        return await asyncio.to_thread(measure)


def _figures(traced: Sequence[origins.SentenceOrigin], document: Document) -> dict[str, object]:
    """Return where in the document the sentences of a summary come from."""
    length = max(1, len(document.text))
    origin_masses, count = origins.masses(traced, length), sum(1 for origin in traced if origin.links)
    # The outermost level that has more than one section.
    levels = Counter(section.level for section in document.sections)
    outermost = min((level for level, number in levels.items() if number > 1), default=None)
    sections = [section for section in document.sections if section.level == outermost][:_MAX_SECTIONS]
    parts = [(section.span.start / length, section.span.end / length) for section in sections]
    section_shares = origins.shares(origin_masses, parts)
    return {
        "traced": count,
        "untraced": len(traced) - count,
        "thirds": origins.shares(origin_masses, 3),
        "bins": origins.shares(origin_masses, BINS),
        "sections": [
            {"title": section.title, "span": list(section.span), "share": share, "expected": end - start}
            for section, share, (start, end) in zip(sections, section_shares, parts, strict=True)
        ],
        "density": origins.density(origin_masses),
        "spread": origins.spread(origin_masses, min(count, BINS)),
        "spread_by_chance": origins.spread_by_chance(count, min(count, BINS)),
    }


def _places(traced: Sequence[origins.SentenceOrigin], text: str) -> Iterator[dict[str, object]]:
    """Return the places of each sentence by number, best first."""
    starts = [span.start for span in paragraphs(text)]
    for number, origin in enumerate(traced, 1):
        places = [
            {
                "span": list(link.span),
                "paragraph": bisect_right(starts, link.span.start),
                "position": (link.span.start + link.span.end) / 2 / len(text),
                "weight": link.weight,
                "method": link.method,
            }
            for link in origin.links
        ]
        yield {"id": number, "places": places, "margin": origin.margin}


UNTOLD = "untold"
"""The kind of a finding: a part of the document that the summary hardly mentions."""

# A part with less than this share of an even summary's sentences is a finding.
_LITTLE = 0.5
# A shorter sentence says too little to be added by itself.
_SHORTEST = 8
_SPEECH = re.compile('["“”„«»]')


@dataclass(frozen=True, slots=True)
class SpreadMetric(ConfiguredMetric):
    """The entropy of the sentences' places relative to an even spread, by tenths of the document or, for fewer
    sentences, as many parts. Needs no judge. Sentences without a source have no verdict. Documents need not be covered
    evenly, so drafts are revised for it only if it is a goal."""

    name = "spread"
    title = "Even spread"
    meaning = "How evenly the summary draws on all parts of the document, from 0 to 1."
    version = 2
    aim = "content"

    async def evaluate(self, case: Case) -> Evaluation:
        """Measure the draft in time linear in the length of the document."""
        if not has_words(case.text):
            return self.not_applicable("the summary has no words")
        text = case.document.text
        traced = await asyncio.to_thread(lambda: origins.OriginTracer([text], self.encoder).trace(case.text))
        count, origin_masses = sum(1 for origin in traced if origin.links), origins.masses(traced, len(text))
        parts = min(count, BINS)
        score = origins.spread(origin_masses, parts)
        if score is None:
            reason = f"only {count} of {len(traced)} sentences can be traced to the document"
            return self.not_applicable(reason) if len(traced) < 2 else self.failed(reason, len(traced))
        part_shares = origins.shares(origin_masses, parts)
        findings = await asyncio.to_thread(lambda: [*self._findings(case, part_shares)])
        details = {"shares": part_shares}
        return self.scored(score, judged=count, unjudged=len(traced) - count, findings=findings, details=details)

    def _findings(self, case: Case, part_shares: Sequence[float]) -> Iterator[Finding]:
        """Return the parts hardly mentioned, emptiest first, each with its most central sentence."""
        text, parts = case.document.text, len(part_shares)
        lacking = [at for at in sorted(range(parts), key=part_shares.__getitem__) if part_shares[at] < _LITTLE / parts]
        spans, worth = _ranked(text, language_spans_in(text)) if lacking else ([], ())
        for at in lacking:
            begin, end = at * len(text) // parts, (at + 1) * len(text) // parts
            within = [number for number, span in enumerate(spans) if begin <= span.start < end]
            # The sentence that is most similar to all others, preferably not dialogue.
            best = max(
                within, key=lambda number: (not _SPEECH.search(text, *spans[number]), worth[number]), default=None
            )
            if best is not None:
                evidence = case.reader.place(spans[best])
                start, end = (100 * edge // parts for edge in (at, at + 1))
                yield Finding(
                    self.name,
                    UNTOLD,
                    "add",
                    f"Say what matters most between {start}% and {end}% of the document, such as this.",
                    expected=evidence.text,
                    evidence=Evidence(evidence.text, evidence.span),
                )


@lru_cache(maxsize=2)
def _ranked(text: str, language_spans: Sequence[LanguageSpan]) -> tuple[list[Span], Weights]:
    """Return the informative sentences and their centrality; cached, since all drafts of a run use them."""
    spans: list[Span] = []
    languages: list[str] = []
    for within, language in language_spans:
        longer = [span for span in sentences(text, within, language) if count_words(text[slice(*span)]) >= _SHORTEST]
        spans += longer
        languages += [language] * len(longer)
    return spans, rank(SentenceVectors([text[start:end] for start, end in spans], languages))
