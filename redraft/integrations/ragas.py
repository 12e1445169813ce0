"""Metrics of redraft for ragas: `await RedraftScore("consistency", judges=["openai:gpt-5"]).ascore(...)`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.result import MetricResult

from redraft.fields import list_argument
from redraft.integrations.judging import evaluated, explained
from redraft.runs.models import ModelLike
from redraft.settings import JudgeConfig
from redraft.store.store import Store


class RedraftScore(BaseMetric):
    """Judges `response` as a summary of `reference_contexts`, like ragas's own `SummaryScore`; the reason lists the
    findings. Where there is no score, the value is NaN, as for all metrics of ragas, and the reason says why."""

    def __init__(
        self,
        metric: str = "consistency",
        *,
        judges: Sequence[ModelLike] = (),
        store: Store | str | Path | None = None,
        judging: JudgeConfig | None = None,
    ) -> None:
        """`judges`, `store` and `judging` are those of `redraft.Session`."""
        super().__init__(name=metric)
        self.judges, self.store, self.judging = judges, store, judging

    async def ascore(self, reference_contexts: Sequence[str], response: str) -> MetricResult:
        """Judge a summary of a document, which may come in several parts."""
        text = "\n\n".join(list_argument(reference_contexts, "reference_contexts"))
        evaluation = await evaluated(text, response, self.name, self.judges, self.store, {"judging": self.judging})
        value = float("nan") if evaluation.score is None else evaluation.score
        return MetricResult(value=value, reason=explained(evaluation))
