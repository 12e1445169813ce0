"""What was judged: evaluations of drafts with their findings, rounds of refinement, and verdicts on single items."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from redraft.domain import Evaluation, Evidence, Finding, Round, Span
from redraft.rulings import Lookup, PointAnswer
from redraft.store.connection import Connection, Row, storable, upsert
from redraft.store.documents import now

# SQLite takes a limited number of parameters in a statement.
_AT_ONCE = 500
_OF_A_ROUND = ("draft", "base", "aims", "findings", "accepted", "reason", "why", "instruction", "answers")


class Judgments:
    """The judgments of one database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def keep(self, draft: str, evaluation: Evaluation) -> None:
        """Store what a metric says of a draft, in place of what it said before."""
        with self._connection.writing_beside(f"evaluation {draft} {evaluation.metric}") as raw:
            raw.execute("DELETE FROM evaluations WHERE draft = ? AND metric = ?", (draft, evaluation.metric))
            stored = raw.execute(
                "INSERT INTO evaluations (draft, metric, version, outcome, score, judged, unjudged, reason, held,"
                " details, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                (
                    draft,
                    evaluation.metric,
                    evaluation.version,
                    evaluation.outcome,
                    evaluation.score,
                    evaluation.judged,
                    evaluation.unjudged,
                    storable(evaluation.reason),
                    storable(json.dumps(evaluation.held, ensure_ascii=False)),
                    storable(json.dumps(evaluation.details, ensure_ascii=False)),
                    now(),
                ),
            ).fetchone()["id"]
            rows = [_finding_row(stored, index, finding) for index, finding in enumerate(evaluation.findings)]
            raw.executemany("INSERT INTO findings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def of(self, draft: str) -> dict[str, Evaluation]:
        """All that is known of a draft, by metric."""
        with self._connection.reading():
            rows = self._connection.rows("SELECT * FROM evaluations WHERE draft = ? ORDER BY id", (draft,))
            return {row["metric"]: self._evaluation(row) for row in rows}

    def _evaluation(self, row: Row) -> Evaluation:
        found = self._connection.rows("SELECT * FROM findings WHERE evaluation = ? ORDER BY idx", (row["id"],))
        return Evaluation(
            metric=row["metric"],
            version=row["version"],
            outcome=row["outcome"],
            score=row["score"],
            judged=row["judged"],
            unjudged=row["unjudged"],
            findings=tuple(_finding(row["metric"], one) for one in found),
            held=tuple(json.loads(row["held"])),
            details=json.loads(row["details"]),
            reason=row["reason"],
        )

    def keep_round(self, run: str, round_: Round) -> None:
        """Store a round, in place of what was known of it."""
        with self._connection.writing_beside() as raw:
            raw.execute(
                upsert("rounds", ("run", "number"), *_OF_A_ROUND),
                (
                    run,
                    round_.number,
                    round_.draft,
                    round_.base,
                    json.dumps(round_.aims),
                    json.dumps(round_.findings),
                    None if round_.accepted is None else int(round_.accepted),
                    storable(round_.reason),
                    storable(round_.why),
                    storable(round_.instruction),
                    storable(json.dumps([asdict(one) for one in round_.answers], ensure_ascii=False)),
                ),
            )

    def forget_rounds(self, run: str, after: int) -> bool:
        """Forget the rounds after this one, of a run that goes on from there in another way; whether there were any."""
        with self._connection.writing_beside() as raw:
            # What comes next has been decided on already.
            raw.execute("DELETE FROM lookups WHERE run = ? AND round > ?", (run, after + 1))
            return raw.execute("DELETE FROM rounds WHERE run = ? AND number > ?", (run, after)).rowcount > 0

    def rounds(self, run: str) -> list[Round]:
        """The rounds of a run, in order."""
        rows = self._connection.rows("SELECT * FROM rounds WHERE run = ? ORDER BY number", (run,))
        return [
            Round(
                number=row["number"],
                draft=row["draft"],
                base=row["base"],
                aims=tuple(json.loads(row["aims"])),
                findings=tuple(json.loads(row["findings"])),
                accepted=None if row["accepted"] is None else bool(row["accepted"]),
                reason=row["reason"],
                why=row["why"],
                instruction=row["instruction"],
                answers=tuple(PointAnswer(**one) for one in json.loads(row["answers"])),
            )
            for row in rows
        ]

    def keep_lookups(self, run: str, number: int, lookups: Sequence[Lookup]) -> None:
        """Store what was looked up before the decision on a round, in place of what was known of it."""
        rows = [(run, number, at, storable(one.asked), one.found, storable(one.said)) for at, one in enumerate(lookups)]
        with self._connection.writing_beside() as raw:
            raw.execute("DELETE FROM lookups WHERE run = ? AND round = ?", (run, number))
            raw.executemany("INSERT INTO lookups VALUES (?, ?, ?, ?, ?, ?)", rows)

    def lookups(self, run: str) -> dict[int, list[Lookup]]:
        """What was looked up before each decision, by the round that it was on; to stop is on none that there is."""
        found: dict[int, list[Lookup]] = {}
        for row in self._connection.rows("SELECT * FROM lookups WHERE run = ? ORDER BY round, idx", (run,)):
            found.setdefault(row["round"], []).append(Lookup(row["asked"], row["found"], row["said"]))
        return found

    def verdicts(self, keys: Sequence[str]) -> dict[str, str]:
        """The verdicts that are known of these items."""
        known: dict[str, str] = {}
        for at in range(0, len(keys), _AT_ONCE):
            some = tuple(keys[at : at + _AT_ONCE])
            marks = ", ".join("?" * len(some))
            rows = self._connection.rows(f"SELECT key, verdict FROM verdicts WHERE key IN ({marks})", some)  # noqa: S608
            known |= {row["key"]: row["verdict"] for row in rows}
        return known

    def keep_verdicts(self, verdicts: Mapping[str, str], document: str = "") -> None:
        """Store verdicts on items, all of them or none. The first verdict on an item stands.

        They are forgotten with their document, where it is named.
        """
        with self._connection.writing() as raw:
            raw.executemany(
                "INSERT INTO verdicts (key, verdict, created, document) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [(key, storable(verdict), now(), document) for key, verdict in verdicts.items()],
            )

    def add_to_verdicts(
        self, verdicts: Mapping[str, str], merged: Callable[[str, str], str], document: str = ""
    ) -> None:
        """Store what more is known of some items, `merged` with what is known of them, all of it or nothing."""
        with self._connection.writing() as raw:
            for key, verdict in verdicts.items():
                row = raw.execute("SELECT verdict FROM verdicts WHERE key = ?", (key,)).fetchone()
                more = merged(row[0], verdict) if row else verdict
                raw.execute(
                    "INSERT INTO verdicts (key, verdict, created, document) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT (key) DO UPDATE SET verdict = excluded.verdict",
                    (key, storable(more), now(), document),
                )


def _finding_row(evaluation: int, index: int, finding: Finding) -> tuple[object, ...]:
    evidence = finding.evidence
    span = evidence.span if evidence else None
    return (
        evaluation,
        index,
        finding.id,
        finding.kind,
        finding.task,
        storable(finding.explanation),
        storable(finding.sentence),
        storable(finding.question),
        storable(finding.found),
        storable(finding.expected),
        storable(evidence.text) if evidence else None,
        span.start if span else None,
        span.end if span else None,
        None if finding.said_by is None else json.dumps(finding.said_by),
        storable(finding.read),
        finding.value,
    )


def _finding(metric: str, row: Row) -> Finding:
    said_by = json.loads(row["said_by"]) if row["said_by"] else None
    span = None if row["start"] is None else Span(row["start"], row["end"])
    return Finding(
        metric=metric,
        kind=row["kind"],
        task=row["task"],
        explanation=row["explanation"],
        sentence=row["sentence"],
        question=row["question"],
        found=row["found"],
        expected=row["expected"],
        evidence=None if row["evidence"] is None else Evidence(row["evidence"], span),
        said_by=(said_by[0], said_by[1]) if said_by else None,
        read=row["read"],
        value=row["value"],
    )
