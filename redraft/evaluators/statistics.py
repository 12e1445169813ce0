"""Statistics: the length of a summary relative to its document, how much it copies, and how much it repeats."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Any

import numpy as np

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
    important = np.zeros(len(source.numbers), dtype=np.bool_)
    important[[source.numbers[word] for word, _ in counts.most_common(_WORDS) if word in source.numbers]] = True
    places = np.flatnonzero(important[source.places])
    if not len(places):
        return None
    tenths = np.bincount(places * _PARTS // len(source.places))
    shares = tenths[tenths > 0] / len(places)
    entropy = -float((shares * np.log(shares)).sum()) / log(_PARTS)
    return min(1.0, max(0.0, entropy))
