"""Every metric of redraft, by name."""

from __future__ import annotations

from collections.abc import Callable

from redraft.evaluators.base import Evaluator
from redraft.evaluators.booookscore import Booookscore
from redraft.evaluators.consistency import Consistency
from redraft.evaluators.coverage import Coverage
from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.keyfact_recall import KeyfactRecall
from redraft.evaluators.similarity import similarity
from redraft.evaluators.statistics import Statistics
from redraft.settings import Judging, MetricName
from redraft.text.embeddings import Encoder


def _coverage(judging: Judging, _encoder: Encoder | None) -> Evaluator:
    return Coverage(top_k=judging.top_k)


def _consistency(judging: Judging, encoder: Encoder | None) -> Evaluator:
    return Consistency(
        similarity=similarity(judging.similarity, encoder),
        threshold=judging.threshold,
        claims=judging.claims,
        top_k=judging.top_k,
    )


def _keyfact_recall(_judging: Judging, _encoder: Encoder | None) -> Evaluator:
    return KeyfactRecall()


def _faithfulness(_judging: Judging, _encoder: Encoder | None) -> Evaluator:
    return Faithfulness()


def _booookscore(judging: Judging, _encoder: Encoder | None) -> Evaluator:
    return Booookscore(batch=judging.batch)


def _statistics(_judging: Judging, _encoder: Encoder | None) -> Evaluator:
    return Statistics()


_METRICS: dict[MetricName, Callable[[Judging, Encoder | None], Evaluator]] = {
    "coverage": _coverage,
    "consistency": _consistency,
    "keyfact_recall": _keyfact_recall,
    "faithfulness": _faithfulness,
    "booookscore": _booookscore,
    "statistics": _statistics,
}


def evaluators(judging: Judging, encoder: Encoder | None) -> tuple[Evaluator, ...]:
    """The metrics that a draft is to be judged by, and the statistics, which nobody has to be asked for."""
    return tuple(_METRICS[name](judging, encoder) for name in judging.reported)
