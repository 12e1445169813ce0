"""The results of a batch, by item or as a whole."""

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
    """The state of a batch, the result of each document, and tables over all of them. An error of one document is
    stored in its item; an error that affects all of them is the `error` of a `stopped` batch."""

    standing: BatchStanding
    items: tuple[BatchItem, ...]
    report: Report

    @property
    def name(self) -> str:
        """Return the name of the batch."""
        return self.standing.batch.name

    @property
    def status(self) -> Stage:
        """Return `done`, `stopped`, `paused` or `cancelled`; for an open batch `working` or `idle`."""
        return self.standing.stage

    @property
    def complete(self) -> bool:
        """Return whether every document is done without gaps or missed goals."""
        return self.standing.complete

    @property
    def error(self) -> Error | None:
        """Return the `code`, `message` and `hint` of the error that affects every document."""
        return self.standing.batch.error

    @property
    def calls(self) -> int:
        """Return the number of calls over all repetitions."""
        return self.standing.calls

    @property
    def cost_usd(self) -> float | None:
        """Return their cost; None where a price is unknown."""
        return self.standing.cost_usd

    def to_json(self) -> dict[str, object]:
        """Return the JSON of `redraft batch status NAME --json`, with the items."""
        tables = [table.to_json() for table in self.report.tables]
        return self.standing.to_json() | {"tables": tables, "documents": [one.to_json() for one in self.items]}


def read_batch(store: Store, name: str) -> BatchResult:
    """Return the state of a batch and the result of each document; raises `RunError` for an unknown name."""
    standing = standing_of(store, name)
    items = tuple(items_of(store, name))
    return BatchResult(standing, items, report_of(items, standing))
