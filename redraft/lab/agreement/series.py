"""What is compared: a judge's scores and people's figures of the same items, and what stands in the place of none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import fmean

from redraft.lab.agreement.people import Dataset, HumanItem
from redraft.lab.agreement.trial import AgreementOutcome, Column, ItemOutcome

BIGRAMS = "share of bigrams in the document"
"""What any judge is to be held against: it knows nothing but which words follow which."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ScoreSeries:
    """Numbers of the same items, by whoever gave them."""

    name: str
    of: int
    """How many items there are that people say something of."""
    places: tuple[int, ...]
    """Which items they are."""
    ours: tuple[float, ...]
    people: tuple[float, ...]
    documents: tuple[str, ...]
    systems: tuple[str, ...]

    @property
    def has_systems(self) -> bool:
        """Whether several systems can be told apart."""
        return len(set(self.systems)) > 1 and "" not in self.systems


def series(outcome: AgreementOutcome, column: Column) -> ScoreSeries:
    """A judge's scores beside people's, where both are there."""
    return _series(outcome.dataset, outcome.design.human, column.name, column.scores)


def filled(outcome: AgreementOutcome, column: Column) -> ScoreSeries:
    """The same over all items that people say something of: one without a score has the mean of the others."""
    known = [score for score in column.scores if score is not None]
    middle = fmean(known) if known else None
    scores = [middle if score is None else score for score in column.scores]
    return _series(outcome.dataset, outcome.design.human, column.name, scores)


def baseline(outcome: AgreementOutcome) -> ScoreSeries:
    """The share of each summary's bigrams that its document has."""
    scores = [bigram_share(item) for item in outcome.dataset.items]
    return _series(outcome.dataset, outcome.design.human, BIGRAMS, scores)


def _series(dataset: Dataset, field: str, name: str, scores: Sequence[float | None]) -> ScoreSeries:
    there = [n for n, item in enumerate(dataset.items) if field in item.people]
    both = [n for n in there if scores[n] is not None]
    items = [dataset.items[n] for n in both]
    return ScoreSeries(
        name,
        len(there),
        tuple(both),
        tuple(score for n in both if (score := scores[n]) is not None),
        tuple(item.people[field] for item in items),
        tuple(item.document for item in items),
        tuple(item.system for item in items),
    )


def bigram_share(item: HumanItem) -> float:
    """Of a summary's pairs of words that follow each other, the share that its document has."""
    known = _bigrams(item.source)
    own = [pair for part in item.sentences or (item.summary,) for pair in pairwise(_words(part))]
    return fmean(pair in known for pair in own) if own else 0.0


@lru_cache(maxsize=256)
def _bigrams(text: str) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(_words(text)))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


@dataclass(frozen=True, slots=True)
class SentenceSeries:
    """Verdicts on single sentences beside people's: where the judge abstains there is none."""

    said: tuple[bool | None, ...]
    people: tuple[bool, ...]
    documents: tuple[str, ...]

    @property
    def judged(self) -> list[int]:
        """Those on which the judge has a verdict."""
        return [n for n, verdict in enumerate(self.said) if verdict is not None]


def sentence_series(dataset: Dataset, column: Column) -> SentenceSeries | None:
    """All sentences that people judged; None where they judged none, or the metric says nothing of any."""
    found = list(_sentences(dataset, column.said))
    if all(said is None for said, _, _ in found):
        return None
    return SentenceSeries(*(tuple(part) for part in zip(*found, strict=True)))


def _sentences(dataset: Dataset, said: Sequence[ItemOutcome]) -> Iterator[tuple[bool | None, bool, str]]:
    for item, one in zip(dataset.items, said, strict=True):
        verdicts = one.sentences or (None,) * len(item.labels)
        for verdict, label in zip(verdicts, item.labels, strict=True):
            if label is not None:
                yield verdict, label, item.document
