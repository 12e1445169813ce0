"""What people say of findings: whether they agree that something is wrong, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace

from redraft.store.connection import Connection, storable, upsert
from redraft.store.documents import now
from redraft.store.records import record_in


@dataclass(frozen=True, slots=True)
class Opinion:
    """A person's word on a finding of a run."""

    run: str
    finding: str
    draft: str
    """The draft of which it was found."""
    agrees: bool
    """Whether it is wrong indeed."""
    note: str = ""
    said: str = ""
    """When."""


class Opinions:
    """The opinions of one database: on each finding of a run the latest word."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def keep(self, opinion: Opinion) -> Opinion:
        """Store an opinion, in place of what was said of the same finding before; returns it as it is stored."""
        kept = replace(opinion, note=storable(opinion.note), said=now())
        with self._connection.writing() as raw:
            raw.execute(
                upsert("opinions", ("run", "finding"), "draft", "agrees", "note", "said"),
                (kept.run, kept.finding, kept.draft, int(kept.agrees), kept.note, kept.said),
            )
        return kept

    def withdraw(self, run: str, finding: str) -> None:
        """Have no opinion on a finding any more."""
        with self._connection.writing() as raw:
            raw.execute("DELETE FROM opinions WHERE run = ? AND finding = ?", (run, finding))

    def of(self, run: str) -> dict[str, Opinion]:
        """The opinions on a run's findings, by the finding."""
        rows = self._connection.rows("SELECT * FROM opinions WHERE run = ? ORDER BY said, finding", (run,))
        return {row["finding"]: record_in(Opinion, row) for row in rows}
