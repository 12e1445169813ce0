"""Second looks: rulings on the findings about a document, and how a refinement's first and best draft compare."""

from __future__ import annotations

import json
from collections.abc import Iterable

from redraft.rulings import FinalComparison, Ruling
from redraft.store.connection import Connection, storable, upsert
from redraft.store.documents import now


class Rulings:
    """The second looks of one database: on each finding about a document the latest ruling."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def keep(self, rulings: Iterable[Ruling]) -> None:
        """Store rulings, all of them or none, each in place of an earlier one on the same finding."""
        columns = ("verdict", "quote", "start", '"end"', "reason", "judge", "contested", "run", "round", "created")
        with self._connection.writing() as raw:
            raw.executemany(
                upsert("rulings", ("document", "finding"), *columns),
                [
                    (
                        one.document,
                        one.finding,
                        one.verdict,
                        storable(one.quote),
                        one.start,
                        one.end,
                        storable(one.reason),
                        storable(one.by),
                        storable(one.contested),
                        one.run,
                        one.round,
                        now(),
                    )
                    for one in rulings
                ],
            )

    def of(self, document: str) -> dict[str, Ruling]:
        """The rulings on the findings about a document, by the finding."""
        rows = self._connection.rows("SELECT * FROM rulings WHERE document = ? ORDER BY finding", (document,))
        return {
            row["finding"]: Ruling(
                document=row["document"],
                finding=row["finding"],
                verdict=row["verdict"],
                quote=row["quote"],
                start=row["start"],
                end=row["end"],
                reason=row["reason"],
                by=row["judge"],
                contested=row["contested"],
                run=row["run"],
                round=row["round"],
            )
            for row in rows
        }

    def keep_comparison(self, comparison: FinalComparison) -> None:
        """Store how the first and the best draft of a run compare."""
        columns = ("first", "best", "first_won", "reason", "votes", "document_read")
        with self._connection.writing() as raw:
            raw.execute(
                upsert("final_comparisons", ("run",), *columns),
                (
                    comparison.run,
                    comparison.first,
                    comparison.best,
                    int(comparison.first_won),
                    storable(comparison.reason),
                    json.dumps(comparison.votes),
                    int(comparison.document_read),
                ),
            )

    def forget_comparison(self, run: str) -> None:
        """Forget the comparison of a run that goes on."""
        with self._connection.writing() as raw:
            raw.execute("DELETE FROM final_comparisons WHERE run = ?", (run,))

    def comparison(self, run: str) -> FinalComparison | None:
        """How the first and the best draft of a run compare; None where nobody has compared them."""
        row = self._connection.row("SELECT * FROM final_comparisons WHERE run = ?", (run,))
        if row is None:
            return None
        first, best, neither = json.loads(row["votes"])
        return FinalComparison(
            row["run"],
            row["first"],
            row["best"],
            bool(row["first_won"]),
            row["reason"],
            (first, best, neither),
            bool(row["document_read"]),
        )
