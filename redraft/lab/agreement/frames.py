"""Scores beside people's figures of the same items, as tidy data frames."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

import pandas as pd

from redraft.lab.agreement.measures import ClassSeparation, Correlation, between_systems, compare_verdicts, correlate
from redraft.lab.agreement.people import Dataset
from redraft.lab.agreement.trial import AgreementOutcome, Column

BIGRAMS = "share of bigrams in the document"
"""The baseline for every judge: it only knows which words follow each other."""
_WORD = re.compile(r"\w+")


def score_frame(dataset: Dataset, human: str, scores: Mapping[Any, Sequence[float | None]]) -> pd.DataFrame:
    """Return a row for each judge and item that people rated: `judge`, `document`, `system`, `people`, `ours`, and
    `filled`, in which a missing score is the mean of the judge's others."""
    items = dataset.items
    rated = pd.DataFrame(
        {
            "document": [item.document for item in items],
            "system": [item.system for item in items],
            "people": pd.Series([item.people.get(human) for item in items], dtype=float),
        }
    )
    frames = []
    for judge, values in scores.items():
        ours = pd.Series(values, dtype=float)
        frame = rated.assign(judge=pd.Series([judge] * len(items), dtype=object), ours=ours)
        frames.append(frame.assign(filled=ours.fillna(ours.mean())))
    return pd.concat(frames).dropna(subset="people")


def judged_frame(outcome: AgreementOutcome) -> pd.DataFrame:
    """Return the scores of every judge, and those of the baseline, beside people's figures."""
    scores = {column.name: column.scores for column in outcome.columns}
    return score_frame(outcome.dataset, outcome.design.human, {**scores, BIGRAMS: bigram_shares(outcome.dataset)})


def summary_correlation(rows: pd.DataFrame) -> Correlation:
    """Return the correlation over all summaries with a score."""
    rows = rows.dropna(subset="ours")
    return correlate(rows["ours"], rows["people"], rows["document"])


def system_correlation(rows: pd.DataFrame, ours: str = "ours") -> Correlation:
    """Return the correlation of the systems' means."""
    rows = rows.dropna(subset=ours)
    return between_systems(rows[ours], rows["people"], rows["system"], rows["document"])


def has_systems(rows: pd.DataFrame) -> bool:
    """Return whether the items with a score are by several known systems."""
    systems = rows.dropna(subset="ours")["system"]
    return systems.nunique() > 1 and "" not in set(systems)


def bigram_shares(dataset: Dataset) -> list[float]:
    """Return the share of each summary's word bigrams that occur in its document."""
    bigrams = {text: {*pairwise(_WORD.findall(text.lower()))} for text in {item.source for item in dataset.items}}
    shares: list[float] = []
    for item in dataset.items:
        words = [_WORD.findall(part.lower()) for part in item.sentences or (item.summary,)]
        pairs = [pair in bigrams[item.source] for sentence in words for pair in pairwise(sentence)]
        shares.append(fmean(pairs) if pairs else 0.0)
    return shares


def sentence_frame(dataset: Dataset, column: Column) -> pd.DataFrame | None:
    """Return a judge's verdicts on the sentences that people judged (`ours`, None if it abstains) beside people's; None
    if there are none, or the judge has no verdict on any."""
    rows = [
        (verdict, label, item.document)
        for item, outcome in zip(dataset.items, column.said, strict=True)
        for verdict, label in zip(outcome.sentences or (None,) * len(item.labels), item.labels, strict=True)
        if label is not None
    ]
    frame = pd.DataFrame(rows, columns=["ours", "people", "document"], dtype=object)
    return frame if frame["ours"].notna().any() else None


def sentence_separation(sentences: pd.DataFrame) -> ClassSeparation:
    """Return how well a judge separates right from wrong sentences, where it has a verdict."""
    with_verdict = sentences.dropna(subset="ours")
    return compare_verdicts(
        with_verdict["ours"].astype(bool), with_verdict["people"].astype(bool), with_verdict["document"]
    )
