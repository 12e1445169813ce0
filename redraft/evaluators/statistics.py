"""Metrics that need no judge: the length of a summary relative to its document, how much it copies and repeats, where
its sentences come from, and how evenly. And intervals of such figures."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum, log, sqrt
from statistics import NormalDist, fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from redraft.domain import Document, Evaluation, Evidence, Finding, Span
from redraft.evaluators.base import Case, ConfiguredMetric, Evaluator
from redraft.text import origins
from redraft.text import units as text_units
from redraft.text.languages import ENGLISH, LanguageSpan, is_foreign, language_of, language_spans_in
from redraft.text.sentences import paragraphs, sentences
from redraft.text.vectors import SentenceVectors, Weights, rank, stop_words
from redraft.text.words import count_words, has_words

_SIZES = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Statistics(Evaluator):
    """Measures a summary against its document. A ratio with a zero denominator is None. The figures say nothing about
    quality, so there is no score."""

    name = "statistics"
    meaning = "How long the summary is, and how much it copies and repeats; no score."

    async def evaluate(self, case: Case) -> Evaluation:
        """Measure the draft in time linear in the length of the document."""
        if not has_words(case.text):
            return self.not_applicable("the summary has no words")
        reader, texts = case.reader, [statement.sentence for statement in case.statements]
        tokens = (reader.document_tokens, reader.tokenizer.count(case.text))
        return self.measured(await asyncio.to_thread(measures, reader.document.text, case.text, texts, tokens))


def measures(document: str, summary: str, texts: Sequence[str], tokens: tuple[int, int]) -> dict[str, Any]:
    """Return the figures of a summary with these sentences; `tokens` are those of the document and of the summary."""
    index, words_in_document, sentences_in_document = _source(document, language_spans_in(document))
    summary_units = text_units.units(summary)
    of_summary = {"tokens": tokens[1], "words": count_words(summary), "sentences": len(texts)}
    of_source = {"tokens": tokens[0], "words": words_in_document, "sentences": sentences_in_document}
    matches = text_units.longest_matches(summary_units, index)
    coverage, density = text_units.extractive(matches) or (None, None)
    return {
        "summary": of_summary,
        "source": of_source,
        "compression": {
            unit: of_source[unit] / of_summary[unit] if of_summary[unit] else None for unit in ("tokens", "sentences")
        },
        "extractive": {"coverage": coverage, "density": density},
        "novel_ngrams": {str(size): text_units.novel(summary_units, matches, size) for size in _SIZES},
        "repeated_ngrams": {str(size): text_units.repeated(summary_units, size) for size in _SIZES},
        "redundancy": text_units.redundancy([text_units.words(text) for text in texts]),
        "uniformity": uniformity(summary_units, index, language_of(summary)),
    }


@lru_cache(maxsize=2)
def _source(text: str, tongues: Sequence[LanguageSpan]) -> tuple[text_units.UnitIndex, int, int]:
    """Return the document's units, words and sentences; cached, since all drafts of a run use them."""
    spans = [sentence for span, language in tongues for sentence in sentences(text, span, language)]
    return text_units.indexed(text), count_words(text), sum(has_words(text[start:end]) for start, end in spans)


_WORDS = 20
_PARTS = 10
# Parts of contractions, and some inflected forms, that stop word lists lack.
_REMAINS = """
ain aren couldn d did didn does doesn doing don hadn haven isn ll m mustn needn s shouldn t ve wasn weren won wouldn
"""


def uniformity(summary: Sequence[str], source: text_units.UnitIndex, language: str = ENGLISH) -> float | None:
    """Return how evenly the source mentions the summary's twenty most frequent content words, from 0 to 1; None where
    it never does. It is the entropy over tenths of the source, relative to an even spread; ties go to the words that
    come first."""
    stopped = stop_words(language) if is_foreign(language) else stop_words().union(_REMAINS.split())
    counts = Counter(unit for unit in summary if unit[0].isalnum() and unit not in stopped)
    numbers, units_of_source = source
    important = np.zeros(len(numbers), dtype=np.bool_)
    important[[numbers[word] for word, _ in counts.most_common(_WORDS) if word in numbers]] = True
    places = np.flatnonzero(important[units_of_source])
    if not len(places):
        return None
    tenths = np.bincount(places * _PARTS // len(units_of_source))
    shares = tenths[tenths > 0] / len(places)
    entropy = -float((shares * np.log(shares)).sum()) / log(_PARTS)
    return min(1.0, max(0.0, entropy))


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


RESAMPLES = 1000
"""BooookScore's number; enough for a 95% interval."""
SEED = 0
_OUTER = (2.5, 97.5)
_QUANTILE = NormalDist().inv_cdf(0.975)
# A figure that is defined in fewer resamples than this share has no useful interval.
_MIN = 0.5

Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """A 95% interval."""

    low: float
    high: float


def draws(groups: int) -> Floats:
    """Return how often each group is drawn in each resample."""
    generator = np.random.default_rng(SEED)
    return generator.multinomial(groups, np.full(groups, 1 / groups), size=RESAMPLES).astype(np.float64)


def interval(values: Any) -> Interval | None:
    """Return the interval of resampled values; None where too many have no value, or where there are too few groups."""
    finite = np.asarray(values, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    if len(finite) < _MIN * len(values) or len(values) < 2:
        return None
    low, high = np.percentile(finite, _OUTER)
    return Interval(float(low), float(high))


MIN_VALUES = 5
"""With fewer values there is no interval of their mean: it would hardly exceed the range of the values."""
_DIGITS = 6


def interval_of_mean(values: Sequence[float]) -> Interval | None:
    """Return the interval of resampled means, regardless of the order of the values; None for fewer than 5."""
    if len(values) < MIN_VALUES:
        return None
    ends = interval(draws(len(values)) @ np.sort(np.asarray(values, dtype=np.float64)) / len(values))
    return Interval(round(ends.low, _DIGITS), round(ends.high, _DIGITS)) if ends else None


def interval_of_share(share: float, count: int) -> Interval:
    """Return the Wilson interval of a share of so many items."""
    z = _QUANTILE
    middle, half = share + z * z / (2 * count), z * sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2)
    low, high = ((middle + side) / (1 + z * z / count) for side in (-half, half))
    return Interval(low if share else 0.0, high if share < 1 else 1.0)


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not None; None if there are none."""
    numbers = [value for value in values if value is not None]
    return fmean(numbers) if numbers else None


def total(values: Iterable[float]) -> float | int:
    """Return the sum of the items' values: an integer wherever no judges differ."""
    result = fsum(values)
    return int(result) if result.is_integer() else result
