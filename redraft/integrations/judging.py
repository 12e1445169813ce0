"""What the adapters share: one metric on one summary, and its verdict in words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from redraft.domain import Document, Evaluation
from redraft.evaluators.base import Evaluator
from redraft.report.markdown.evaluation import judgment_markdown, plain
from redraft.runs.models import ModelLike
from redraft.runs.session import Session
from redraft.store.store import Store


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
    """Return an evaluation in words: its score or why there is none, and its findings."""
    return plain(judgment_markdown({evaluation.metric: evaluation}, None, show_all=True))
