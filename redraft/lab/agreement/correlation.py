"""Scores and people's figures of the same items, as data frames."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from statistics import fmean

import pandas as pd

from redraft.lab.agreement.measures import ClassSeparation, compare_verdicts
from redraft.lab.agreement.people import Dataset, HumanItem
from redraft.lab.agreement.trial import AgreementOutcome, Column

BIGRAMS = "share of bigrams in the document"
"""The baseline for every judge: it only knows which words follow each other."""
_WORD = re.compile(r"\w+")


def dataset_series(dataset: Dataset, field: str, scores: Sequence[float | None]) -> pd.DataFrame:
    """Return some scores (`ours`) and people's figures, with documents and systems, for the items that have both."""
    frame = pd.DataFrame(
        {
            "ours": pd.Series(scores, dtype=float),
            "people": pd.Series([item.people.get(field) for item in dataset.items], dtype=float),
            "documents": [item.document for item in dataset.items],
            "systems": [item.system for item in dataset.items],
        }
    )
    return frame.dropna(subset=["ours", "people"])


def score_series(outcome: AgreementOutcome, column: Column) -> pd.DataFrame:
    """Return a judge's scores beside people's figures."""
    return dataset_series(outcome.dataset, outcome.design.human, column.scores)


def filled_series(outcome: AgreementOutcome, column: Column) -> pd.DataFrame:
    """Return the same over all items with people's figures; a missing score is replaced by the mean of the others."""
    scores = pd.Series(column.scores, dtype=float)
    return dataset_series(outcome.dataset, outcome.design.human, scores.fillna(scores.mean()))


def bigram_baseline(outcome: AgreementOutcome) -> pd.DataFrame:
    """Return the baseline: for each summary, the share of its bigrams that occur in its document."""
    return dataset_series(outcome.dataset, outcome.design.human, [bigram_share(item) for item in outcome.dataset.items])


def has_systems(series: pd.DataFrame) -> bool:
    """Return whether the items are by several known systems."""
    return series["systems"].nunique() > 1 and "" not in set(series["systems"])


def bigram_share(item: HumanItem) -> float:
    """Return the share of a summary's word bigrams that occur in its document."""
    known = _bigrams(item.source)
    own = [pair for part in item.sentences or (item.summary,) for pair in pairwise(_WORD.findall(part.lower()))]
    return fmean(pair in known for pair in own) if own else 0.0


@lru_cache(maxsize=256)
def _bigrams(text: str) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(_WORD.findall(text.lower())))


def sentence_series(dataset: Dataset, column: Column) -> pd.DataFrame | None:
    """Return a judge's verdicts on the sentences that people judged (`ours`, None if it abstains) beside people's; None
    if there are none, or the judge has no verdict on any."""
    rows = [
        (verdict, label, item.document)
        for item, outcome in zip(dataset.items, column.said, strict=True)
        for verdict, label in zip(outcome.sentences or (None,) * len(item.labels), item.labels, strict=True)
        if label is not None
    ]
    frame = pd.DataFrame(rows, columns=["ours", "people", "documents"], dtype=object)
    return frame if frame["ours"].notna().any() else None


def sentence_separation(sentences: pd.DataFrame) -> ClassSeparation:
    """Return how well a judge separates right from wrong sentences, where it has a verdict."""
    judged = sentences.dropna(subset="ours")
    return compare_verdicts(judged["ours"].astype(bool), judged["people"].astype(bool), judged["documents"])
