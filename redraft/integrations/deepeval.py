"""Metrics of redraft for deepeval: `SummaryMetric("consistency", threshold=0.9, judges=["openai:gpt-5"])`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase, SingleTurnParams

from redraft.errors import JudgingError
from redraft.integrations.judging import evaluated, explained
from redraft.runs.models import ModelLike
from redraft.runs.sync import run_blocking
from redraft.settings import JudgeConfig


class SummaryMetric(BaseMetric):
    """Judges `actual_output` as a summary of the document in `input`; the reason lists the findings.

    A summary that could not be judged raises `redraft.RedraftError`, which deepeval records as the metric's error.
    """

    _required_params: ClassVar = [SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT]

    def __init__(
        self,
        metric: str = "consistency",
        threshold: float = 0.9,
        *,
        judges: Sequence[ModelLike] = (),
        store: str | Path | None = None,
        judging: JudgeConfig | None = None,
    ) -> None:
        """`judges`, `store` and `judging` are those of `redraft.Session`."""
        # deepeval copies a metric by the attributes that are named like arguments.
        self.metric, self.threshold, self.judges, self.store, self.judging = metric, threshold, judges, store, judging

    def measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """Judge, also where a loop is running, as in a notebook."""
        return run_blocking(self.a_measure(test_case))

    async def a_measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        """Judge; deepeval calls this from its own loop."""
        texts, judging = (test_case.input, test_case.actual_output or ""), {"judging": self.judging}
        evaluation = await evaluated(*texts, self.metric, self.judges, self.store, judging)
        self.reason, self.score = explained(evaluation), evaluation.score
        self.success = self.score is not None and self.score >= self.threshold
        if self.score is None:
            raise JudgingError(self.reason)
        return self.score

    def is_successful(self) -> bool:
        """Return whether the score reaches the threshold."""
        return bool(self.success)

    @property
    def __name__(self) -> str:
        return f"redraft {self.metric}"
