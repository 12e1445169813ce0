"""What the benchmark of the real model reads out of a ledger, on runs whose every reply is known."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.ledger import asked, entries, tallies, unsound
from redraft import DraftConfig, Evaluation, JudgeConfig, Session
from tests.chatserver import ChatRequest, ChatServer
from tests.cli.local_command import MODEL
from tests.judges import PerfectModel, ScriptedReply, island, read_sheet, summary_of


@pytest.fixture
async def evaluated(tmp_path: Path) -> tuple[Path, Evaluation]:
    """The database of a coverage, and what it says. The first reply of all cannot be read."""
    judge, spoiled = PerfectModel(), ["no JSON at all"]

    def serve(request: ChatRequest) -> ScriptedReply:
        return spoiled.pop() if spoiled else judge(read_sheet(request))

    database = tmp_path / "redraft.db"
    with ChatServer(serve) as server:
        settings = DraftConfig(model=MODEL, base_url=server.base_url)
        async with Session(database, settings=settings, judging=JudgeConfig(metrics=("coverage",))) as session:
            result = await session.evaluate(island(), summary_of(1, 3, 4, wrong={2: "Bob"}))
    return database, result.evaluations["coverage"]


def test_requests_are_counted_by_outcome(evaluated: tuple[Path, Evaluation]) -> None:
    database, _ = evaluated
    requests = asked(database)
    tally = tallies(requests)
    with sqlite3.connect(database) as ledger:
        assert (
            sum(len(entry.outcomes) for entry in requests) == ledger.execute("SELECT count(*) FROM calls").fetchone()[0]
        )
    assert tally["ask_document"].items() >= {"requests": 1, "after repair": 1}.items()
    assert tally["answer_from_summary"]["read at once"] == tally["answer_from_summary"]["requests"] > 0
    assert not any(counts["lost"] for counts in tally.values())


@pytest.mark.parametrize("outcome", ["sent", "lost", "cancelled"])
def test_abandoned_call_is_no_request(evaluated: tuple[Path, Evaluation], outcome: str) -> None:
    database, _ = evaluated
    before = asked(database)
    with sqlite3.connect(database) as ledger:
        ledger.execute("UPDATE calls SET outcome = ? WHERE prompt = 'answer_from_summary'", (outcome,))
    assert asked(database) == [entry for entry in before if entry.prompt != "answer_from_summary"] != before


def test_scores_rest_on_verdicts_in_replies(evaluated: tuple[Path, Evaluation]) -> None:
    database, coverage = evaluated
    assert coverage.judged == 6
    assert list(unsound([coverage], entries(database))) == []
    _, coverage = evaluated
    (complaint,) = unsound([coverage], {"answer_from_summary": 5})
    assert "verdicts on 6 items, and the replies hold 5" in complaint


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"judged": 7}, "says that 7 items were judged, and shows 6 verdicts"),
        ({"judged": 0, "details": {}}, "says that 0 items were judged"),
        ({"score": None}, "is scored and has the score None"),
        ({"outcome": "failed"}, "is failed and has the score"),
    ],
)
def test_score_on_fewer_verdicts_is_found(
    evaluated: tuple[Path, Evaluation], change: dict[str, object], complaint: str
) -> None:
    _, coverage = evaluated
    (complaint_,) = unsound([replace(coverage, **change)], {"answer_from_summary": 99})  # type: ignore[arg-type]
    assert complaint in complaint_
