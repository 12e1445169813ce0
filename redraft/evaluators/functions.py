"""Metrics that are plain functions of a case."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from redraft.domain import Evaluation, Finding
from redraft.errors import UsageError
from redraft.evaluators.base import Case, Evaluator
from redraft.evaluators.metric_info import UNASKED

Scored = float | bool | None
"""What a function returns: a score from 0 to 1, whether the summary passes, or None where the metric does not apply."""
MetricFunction = Callable[[Case], Scored | Awaitable[Scored]]
"""A metric as a function, which may be asynchronous. Its name is the metric's; the first paragraph of its docstring
says what a summary has to be."""
Metric = str | Evaluator | MetricFunction
"""A metric by its name, as an object, or as a function."""


@dataclass(frozen=True, slots=True)
class FunctionMetric(Evaluator):
    """A metric that calls a function. Where it falls short and has a docstring, its finding asks for what that says."""

    name: str
    function: MetricFunction

    aim = "form"

    async def evaluate(self, case: Case) -> Evaluation:
        """Call the function, in a thread unless it is asynchronous."""
        said = await asyncio.to_thread(self.function, case)
        score = await said if inspect.isawaitable(said) else said
        if score is None:
            return self.not_applicable(f"{self.name} returned None")
        wanted = " ".join((inspect.getdoc(self.function) or "").partition("\n\n")[0].split())
        finding = Finding(self.name, self.name, "change", f"Change the summary so that this is true: {wanted}")
        return self.scored(score, findings=[finding] if score < 1 and wanted else [], details={UNASKED: True})


def as_evaluator(metric: Evaluator | MetricFunction) -> Evaluator:
    """Return a metric as an object. Raises `UsageError` if it is neither an object nor a function."""
    if (not callable(metric) and not isinstance(metric, Evaluator)) or isinstance(metric, type):
        raise UsageError(
            f"{metric!r:.80} is not a metric",
            hint="name one, or pass a redraft.Rubric, a function of a redraft.Case, or an instance of a"
            " subclass of redraft.Evaluator",
        )
    return metric if isinstance(metric, Evaluator) else FunctionMetric(getattr(metric, "__name__", ""), metric)
