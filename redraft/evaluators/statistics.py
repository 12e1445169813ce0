"""Metrics that need no judge: the length of a summary relative to its document, how much it copies and repeats, where
its sentences come from, and how evenly. And intervals of such figures."""

from __future__ import annotations

import asyncio
import re
from abc import abstractmethod
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import fsum, log, sqrt
from statistics import NormalDist, fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from redraft.domain import Document, Evaluation, Finding, Span
from redraft.evaluators.base import Case, ConfiguredMetric
from redraft.text import origins
from redraft.text import units as text_units
from redraft.text.languages import ENGLISH, LanguageSpan, is_foreign, language_of, language_spans_in
from redraft.text.sentences import paragraphs, sentences
from redraft.text.vectors import SentenceVectors, Weights, rank, stop_words
from redraft.text.words import count_words, has_words

_SIZES = (1, 2, 3, 4)


class TextMetric(ConfiguredMetric):
    """A metric that compares the texts and asks no judge, in time linear in the length of the document."""

    @abstractmethod
    def measure(self, case: Case) -> Evaluation:
        """Measure a draft that has words."""

    async def evaluate(self, case: Case) -> Evaluation:
        """Measure the draft in a thread."""
        if not has_words(case.text):
            return self.not_applicable("the summary has no words")
        return await asyncio.to_thread(self.measure, case)


class Statistics(TextMetric):
    """Measures a summary against its document. A ratio with a zero denominator is None. The figures say nothing about
    quality, so there is no score."""

    name = "statistics"
    meaning = "How long the summary is, and how much it copies and repeats; no score."

    def measure(self, case: Case) -> Evaluation:
        """Measure the draft."""
        reader, texts = case.reader, [statement.sentence for statement in case.statements]
        tokens = (reader.document_tokens, reader.tokenizer.count(case.text))
        return self.measured(measures(reader.document.text, case.text, texts, tokens))


def measures(document: str, summary: str, texts: Sequence[str], tokens: tuple[int, int]) -> dict[str, Any]:
    """Return the figures of a summary with these sentences; `tokens` are those of the document and of the summary."""
    index, words, sentence_count = _source(document, language_spans_in(document))
    source = {"tokens": tokens[0], "words": words, "sentences": sentence_count}
    draft = {"tokens": tokens[1], "words": count_words(summary), "sentences": len(texts)}
    units = text_units.units(summary)
    matches = text_units.longest_matches(units, index)
    coverage, density = text_units.extractive(matches) or (None, None)
    return {
        "summary": draft,
        "source": source,
        "compression": {unit: source[unit] / draft[unit] if draft[unit] else None for unit in ("tokens", "sentences")},
        "extractive": {"coverage": coverage, "density": density},
        "novel_ngrams": {str(size): text_units.novel(units, matches, size) for size in _SIZES},
        "repeated_ngrams": {str(size): text_units.repeated(units, size) for size in _SIZES},
        "redundancy": text_units.redundancy([text_units.words(text) for text in texts]),
        "uniformity": uniformity(units, index, language_of(summary)),
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


class Position(TextMetric):
    """Traces a summary to the paragraphs of its document without a judge. Sentences without a source count as without a
    verdict. The figures say nothing about quality, so there is no score; `spread` can be a goal. Beside them are those
    of the `reference`, another summary of the document, if there is one."""

    name = "position"
    meaning = "Where in the document the sentences of the summary come from; no score."
    version = 2

    def measure(self, case: Case) -> Evaluation:
        """Measure the draft."""
        document, reference = case.document, self.judging.reference
        starts, length = [span.start for span in paragraphs(document.text)], len(document.text)
        tracer = origins.OriginTracer([document.text], self.encoder)
        traced = tracer.trace(case.text)
        details = _figures(traced, document)
        # The places of each sentence by number, best first.
        details["sentences"] = [
            {
                "id": number,
                "places": [
                    {
                        "span": list(link.span),
                        "paragraph": bisect_right(starts, link.span.start),
                        "position": (link.span.start + link.span.end) / 2 / length,
                        "weight": link.weight,
                        "method": link.method,
                    }
                    for link in origin.links
                ],
                "margin": origin.margin,
            }
            for number, origin in enumerate(traced, 1)
        ]
        details |= {"reference": _figures(tracer.trace(reference), document)} if reference else {}
        return self.measured(details, judged=details["traced"], unjudged=details["untraced"])


def _figures(traced: Sequence[origins.SentenceOrigin], document: Document) -> dict[str, Any]:
    """Return where in the document the sentences of a summary come from."""
    length = max(1, len(document.text))
    origin_masses, count = origins.masses(traced, length), sum(1 for origin in traced if origin.links)
    # The outermost level that has more than one section.
    levels = Counter(section.level for section in document.sections)
    outermost = min((level for level, number in levels.items() if number > 1), default=None)
    sections = [section for section in document.sections if section.level == outermost][:_MAX_SECTIONS]
    parts = [(section.span.start / length, section.span.end / length) for section in sections]
    return {
        "traced": count,
        "untraced": len(traced) - count,
        "thirds": origins.shares(origin_masses, 3),
        "bins": origins.shares(origin_masses, BINS),
        "sections": [
            {"title": section.title, "span": list(section.span), "share": share, "expected": end - start}
            for section, share, (start, end) in zip(sections, origins.shares(origin_masses, parts), parts, strict=True)
        ],
        "density": origins.density(origin_masses),
        "spread": origins.spread(origin_masses, min(count, BINS)),
        "spread_by_chance": origins.spread_by_chance(count, min(count, BINS)),
    }


UNTOLD = "untold"
"""The kind of a finding: a part of the document that the summary hardly mentions."""

# A part with less than this share of an even summary's sentences is a finding.
_LITTLE = 0.5
# A shorter sentence says too little to be added by itself.
_SHORTEST = 8
_SPEECH = re.compile('["“”„«»]')


class SpreadMetric(TextMetric):
    """The entropy of the sentences' places relative to an even spread, by tenths of the document or, for fewer
    sentences, as many parts. Needs no judge. Sentences without a source have no verdict. Documents need not be covered
    evenly, so drafts are revised for it only if it is a goal."""

    name = "spread"
    title = "Even spread"
    meaning = "How evenly the summary draws on all parts of the document, from 0 to 1."
    version = 2
    aim = "content"

    def measure(self, case: Case) -> Evaluation:
        """Score the draft, and find the parts hardly mentioned."""
        text = case.document.text
        traced = origins.OriginTracer([text], self.encoder).trace(case.text)
        count, origin_masses = sum(1 for origin in traced if origin.links), origins.masses(traced, len(text))
        score = origins.spread(origin_masses, parts := min(count, BINS))
        if score is None:
            reason = f"only {count} of {len(traced)} sentences can be traced to the document"
            return self.not_applicable(reason) if len(traced) < 2 else self.failed(reason, len(traced))
        shares = origins.shares(origin_masses, parts)
        # The emptiest first.
        lacking = [at for at in sorted(range(parts), key=shares.__getitem__) if shares[at] < _LITTLE / parts]
        spans, worth = _ranked(text, language_spans_in(text)) if lacking else ([], ())
        findings: list[Finding] = []
        for at in lacking:
            begin, end = at * len(text) // parts, (at + 1) * len(text) // parts
            within = [number for number, span in enumerate(spans) if begin <= span.start < end]
            if not within:
                continue
            # The sentence that is most similar to all others, preferably not dialogue.
            best = max(within, key=lambda number: (not _SPEECH.search(text, *spans[number]), worth[number]))
            evidence = case.reader.place(spans[best])
            place = f"between {100 * at // parts}% and {100 * (at + 1) // parts}% of the document"
            request = f"Say what matters most {place}, such as this."
            findings.append(Finding(self.name, UNTOLD, "add", request, expected=evidence.text, evidence=evidence))
        unjudged = len(traced) - count
        return self.scored(score, judged=count, unjudged=unjudged, findings=findings, details={"shares": shares})


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


class Interval(NamedTuple):
    """A 95% interval."""

    low: float
    high: float


def draws(groups: int) -> NDArray[np.float64]:
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
