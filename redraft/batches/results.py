"""What came of a batch: item by item, or all of it."""

from __future__ import annotations

from dataclasses import dataclass

from redraft.batches.sources import BatchItem, items_of
from redraft.batches.status import BatchStanding, Stage, standing_of
from redraft.batches.tables import report_of
from redraft.report.tables import Report
from redraft.store.batches import Error
from redraft.store.store import Store


@dataclass(frozen=True, slots=True)
class BatchResult:
    """A batch as it stands, with what came of each document, and the tables on all of them.

    What went wrong with a document is in its item, and what stands in the way of all of them is the `error` of a batch
    whose `status` is `stopped`.
    """

    standing: BatchStanding
    items: tuple[BatchItem, ...]
    report: Report

    @property
    def name(self) -> str:
        return self.standing.batch.name

    @property
    def status(self) -> Stage:
        """`done`, or why it is not: `stopped`, `paused`, `cancelled`; `working` and `idle` where it is still open."""
        return self.standing.stage

    @property
    def complete(self) -> bool:
        """Whether every document is done, and none fell short of what was asked."""
        return self.standing.complete

    @property
    def error(self) -> Error | None:
        """What stands in the way of every document, by its `code`, its `message` and its `hint`."""
        return self.standing.batch.error

    @property
    def calls(self) -> int:
        """The calls that it has used, over all repetitions."""
        return self.standing.calls

    @property
    def cost_usd(self) -> float | None:
        """What they have cost; None where a price is not known."""
        return self.standing.cost_usd

    def to_json(self) -> dict[str, object]:
        """As `redraft batch status NAME --json` has it, with the items."""
        tables = [table.to_json() for table in self.report.tables]
        return self.standing.to_json() | {"tables": tables, "documents": [one.to_json() for one in self.items]}


def read_batch(store: Store, name: str) -> BatchResult:
    """How a batch stands, with what came of each of its documents; a `RunError` where there is none of that name."""
    standing = standing_of(store, name)
    items = tuple(items_of(store, name))
    return BatchResult(standing, items, report_of(items, standing))
