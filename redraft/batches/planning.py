"""What a batch comes to at most, before anything is asked or stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from redraft.batches.asked import Asked
from redraft.batches.sources import documents_in
from redraft.errors import RedraftError, UsageError
from redraft.models.prices import PriceTable
from redraft.readers.documents import load
from redraft.reports.tables import Cell, Table
from redraft.runs.spending import Spending, spending_of


def plan_table(sources: Sequence[str], asked: Asked, prices: PriceTable) -> Table:
    """All documents added up: each is read, one after the other, and forgotten again."""
    sums: Counter[str] = Counter()
    dollars: float | None = 0.0
    troubles: Counter[str] = Counter()
    for _, source in documents_in(sources):
        try:
            document = load(source, wanted=asked.reading) if isinstance(source, str) else source
            one = spending_of(document, asked.settings, asked.order, prices)
        except UsageError:
            raise
        except RedraftError as error:
            troubles[error.message] += 1
            continue
        sums.update(_numbers(one))
        cost = one.cost(with_reasoning=True)
        dollars = None if dollars is None or cost is None else dollars + cost
    rows: list[tuple[Cell, ...]] = [*sums.items(), ("USD", dollars)]
    rows += [(f"cannot be read: {message}", n) for message, n in troubles.most_common()]
    return Table(
        "plan",
        "What it comes to",
        "At most, where the same was never asked before.",
        "Nothing was asked and nothing stored. Replies that must be asked for again come on top.",
        ("what", "all documents"),
        tuple(rows),
    )


def _numbers(one: Spending) -> dict[str, int]:
    plan = one.prepared.plan
    return {
        "documents": 1,
        "words": plan.document_words,
        "chunks": plan.chunks,
        "calls": one.calls,
        "prompt tokens": one.prompt_tokens,
        "reply tokens": one.completion_tokens,
        "tokens to think": one.reasoning,
    }
