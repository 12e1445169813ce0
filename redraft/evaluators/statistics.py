"""Statistics: the length of a summary relative to its document, how much it copies, and how much it repeats."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum, log, sqrt
from statistics import NormalDist, fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from redraft.domain import Evaluation
from redraft.evaluators.base import Case, Evaluator
from redraft.text import units as text_units
from redraft.text.languages import ENGLISH, LanguageSpan, is_foreign, language_of, language_spans_in
from redraft.text.sentences import sentences
from redraft.text.vectors import stop_words
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


RESAMPLES = 1000
"""BooookScore's number; enough for a 95% interval."""
SEED = 0
_OUTER = (2.5, 97.5)
_QUANTILE = NormalDist().inv_cdf(0.975)
# A figure that is defined in fewer resamples than this share has no useful interval.
_MIN = 0.5

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class Interval(NamedTuple):
    """A 95% interval."""

    low: float
    high: float


def places(groups: Sequence[str]) -> Whole:
    """Return the groups as numbers that depend only on their names, so that item order makes no difference."""
    return np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)[1].astype(np.int64)


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
