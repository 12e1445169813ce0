"""What marking chunks comes to, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redraft.agents.fact_checker import MARKS_TOKENS
from redraft.domain import Document
from redraft.experiments.chunk_size.marking import Batch, SizeDesign, batches_of
from redraft.experiments.planning import Step, step_of, table_of
from redraft.models.prices import PriceTable
from redraft.prompts.factual import JUDGE_CHUNK
from redraft.reports.tables import Table
from redraft.runs.model_pool import hire
from redraft.settings import Limits

_ABOUT = (
    "Each time is one chunk before one judge. The first figures are what it comes to at most. The expected ones are a"
    " rule of thumb: replies of 60 % of their room."
)


def plan_table(documents: Sequence[Document], design: SizeDesign, prices: PriceTable) -> Table:
    """What there is to do, what it may cost, and what it will cost as a rule."""
    steps = [step for batch in batches_of(documents, design) for step in _steps(batch, design, prices)]
    return table_of(steps, _ABOUT, prices)


def _steps(batch: Batch, design: SizeDesign, prices: PriceTable) -> Iterator[Step]:
    """What every judge has to read of the chosen chunks of one size of one document."""
    prepared, times = batch.prepared, len(batch.chunks)
    overhead = prepared.tokenizer.count(prepared.book.template(JUDGE_CHUNK))
    told = (times, times * overhead + sum(chunk.tokens for chunk in batch.chunks), times * MARKS_TOKENS)
    for one in hire(prepared.settings, design.order().judging, Limits(), prices):
        if one.role == "judge":
            yield step_of(prepared.document, f"chunks of {batch.size} tokens", one.settings, times, [told])
