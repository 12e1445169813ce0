"""Second looks: rulings on the findings about a document, and how a refinement's first and best draft compare."""

from __future__ import annotations

from collections.abc import Iterable

from redraft.rulings import FinalComparison, Ruling
from redraft.store.connection import Connection, upsert
from redraft.store.documents import now
from redraft.store.records import record_in, values_of

_COLUMNS = {"end": '"end"', "by": "judge"}


class Rulings:
    """The second looks of one database: on each finding about a document the latest ruling."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def keep(self, rulings: Iterable[Ruling]) -> None:
        """Store rulings, all of them or none, each in place of an earlier one on the same finding."""
        key = ("document", "finding")
        names = ("verdict", "quote", "start", "end", "reason", "by", "contested", "run", "round")
        columns = [_COLUMNS.get(name, name) for name in names]
        rows = [(*values_of(one, (*key, *names)), now()) for one in rulings]
        with self._connection.writing() as raw:
            raw.executemany(upsert("rulings", key, *columns, "created"), rows)

    def of(self, document: str) -> dict[str, Ruling]:
        """The rulings on the findings about a document, by the finding."""
        rows = self._connection.rows("SELECT * FROM rulings WHERE document = ? ORDER BY finding", (document,))
        return {row["finding"]: record_in(Ruling, row, by=row["judge"]) for row in rows}

    def keep_comparison(self, comparison: FinalComparison) -> None:
        """Store how the first and the best draft of a run compare."""
        columns = ("first", "best", "first_won", "reason", "votes", "document_read")
        with self._connection.writing() as raw:
            values = values_of(comparison, ("run", *columns))
            raw.execute(upsert("final_comparisons", ("run",), *columns), values)

    def forget_comparison(self, run: str) -> None:
        """Forget the comparison of a run that goes on."""
        with self._connection.writing() as raw:
            raw.execute("DELETE FROM final_comparisons WHERE run = ?", (run,))

    def comparison(self, run: str) -> FinalComparison | None:
        """How the first and the best draft of a run compare; None where nobody has compared them."""
        row = self._connection.row("SELECT * FROM final_comparisons WHERE run = ?", (run,))
        return record_in(FinalComparison, row) if row else None
