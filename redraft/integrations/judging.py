"""What the adapters share: one metric on one summary, and its verdict in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from redraft.domain import Document, Evaluation, Finding
from redraft.evaluators.base import Evaluator
from redraft.runs.model_pool import ModelLike
from redraft.runs.session import Session
from redraft.store.store import Store
from redraft.text.sanitizer import one_line

_LONGEST = 300


async def evaluated(
    document: str,
    summary: str,
    metric: str | Evaluator,
    judges: Sequence[ModelLike],
    store: Store | str | Path | None,
    options: dict[str, Any],
) -> Evaluation:
    """Return what one metric says of a summary. Verdicts stay in the store: asking again costs nothing."""
    async with Session(store, judges=judges) as session:
        text = Document.from_text(document, "Document")
        result = await session.evaluate(text, summary, metrics=[metric], **options)
    return result.evaluations[metric if isinstance(metric, str) else metric.name]


def explained(evaluation: Evaluation) -> str:
    """Return an evaluation in words: its score or why there is none, and a line for each finding."""
    if evaluation.score is None:
        return f"{evaluation.metric} has no score: {one_line(evaluation.reason, _LONGEST)}"
    first = f"{evaluation.metric} {evaluation.score:.2f}, {len(evaluation.findings)} findings"
    return "\n".join([first, *(f"- {'; '.join(_parts(finding))}" for finding in evaluation.findings)])


def _parts(finding: Finding) -> Iterator[str]:
    yield finding.explanation
    named = (("summary", finding.sentence), ("question", finding.question), ("expected", finding.expected))
    for name, text in (*named, ("document", finding.evidence.text if finding.evidence else "")):
        if text:
            yield f"{name}: “{one_line(text, _LONGEST)}”"
