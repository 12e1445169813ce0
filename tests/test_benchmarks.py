"""What the benchmark of the real model reads out of a ledger, on runs whose every reply is known."""

from __future__ import annotations

import asyncio
import importlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

import benchmarks
from benchmarks.common import SAMPLE
from benchmarks.evidence import readings_in, report, rows_of
from benchmarks.judging_cost import LEAST_SHARED, MOST, VOCABULARY_NAME, Reader, share_in_prefixes, spent, tokens_of
from benchmarks.ledger import asked, entries, tallies, unsound
from benchmarks.real_model import METRICS, STRATEGIES, Findings, work
from benchmarks.real_model import report as model_report
from redraft import DraftConfig, Evaluation, JudgeConfig, Session
from redraft.readers.documents import parse
from redraft.settings import USUAL_METRICS
from redraft.text.tokens import tokenizer_named
from tests.chatserver import ChatRequest, ChatServer, Fault
from tests.cli.local_command import MODEL
from tests.judges import PerfectModel, ScriptedReply, Sheet, island, read_sheet, scripted_replies, summary_of

BENCHMARKS = Path(benchmarks.__file__).parent


@pytest.mark.parametrize("path", [*sorted(BENCHMARKS.glob("*.py")), BENCHMARKS / "doors" / "__main__.py"])
def test_benchmarks_find_what_they_import(path: Path) -> None:
    name = ".".join(path.relative_to(BENCHMARKS.parent).with_suffix("").parts)
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[:2] != ["redraft", "lab"] or find_spec("redraft.lab"):
            raise
        pytest.skip("it needs the lab, which is not here")


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


_COUNT = 12


def _folder(folder: Path, quote: str) -> Path:
    lines = [f"The keeper of station {n} is called Tom{n} and burns {n + 3} barrels of oil a year." for n in range(200)]
    (folder / "keepers.txt").write_text("\n\n".join(lines), "utf-8")
    claims = [
        {
            "question": f"What is the keeper of station {n} called?",
            "answer": f"Tom{n}",
            "sentence": f"Station {n} is kept by Tom{n}.",
            "false_answer": "Ann",
            "false_sentence": f"Station {n} is kept by Ann.",
            "quotes": [quote.format(n=n)],
        }
        for n in range(3, 3 + _COUNT)
    ]
    (folder / "keepers.claims.jsonl").write_text("\n".join(map(json.dumps, claims)), "utf-8")
    return folder


async def test_true_claims_stand_false_ones_are_found(tmp_path: Path) -> None:
    rows = await rows_of(readings_in(_folder(tmp_path, "station {n} is called Tom{n}")), (4_000, 64_000))

    assert all((row.accused, row.found, row.undecided) == (0, _COUNT, 0) for *_, row, _ in rows)
    assert report(rows)


async def test_claim_without_its_quote_misses_the_bound(tmp_path: Path) -> None:
    rows = await rows_of(readings_in(_folder(tmp_path, "station {n} is called Bob")), (64_000,))

    assert all(row.accused == _COUNT for *_, row, _ in rows)
    assert not report(rows)


@pytest.mark.nightly
async def test_whole_document_is_read_few_times() -> None:
    document = parse(" ".join(SAMPLE.read_text("utf-8").split(" ")[:5_000]).encode(), name="book.txt")
    reader = Reader()
    first, second = map(tokens_of, await spent(document, 64_000, 250, USUAL_METRICS, reader))

    assert first <= MOST * tokenizer_named(VOCABULARY_NAME).count(document.text)
    assert second < first
    assert share_in_prefixes(reader.read) >= LEAST_SHARED


def test_shared_beginning_is_a_shared_prefix() -> None:
    assert share_in_prefixes([["one two three four"], ["one two three four"]]) == 1
    assert share_in_prefixes([["one two", "three four"], ["three four"]]) == 0
    assert share_in_prefixes([["one two"]]) == 1


RUNS = len(STRATEGIES) + 1
"""One for each strategy, and a refinement."""


class Scribe(PerfectModel):
    """Judges and revises, and drafts where there is no summary to be revised."""

    def revise(self, sheet: Sheet) -> ScriptedReply:
        return super().revise(sheet) or summary_of(1, 3, wrong={2: "Bob"})


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(scripted_replies(Scribe())) as serving:
        yield serving


async def worked(folder: Path, server: ChatServer) -> Findings:
    findings = Findings()
    await work(findings, "keepers", island(), folder / "keepers.db", server.base_url, 1, "simple")
    return findings


@pytest.mark.slow
async def test_every_strategy_and_metric_is_reported(tmp_path: Path, server: ChatServer) -> None:
    findings = await worked(tmp_path, server)
    assert (findings.deaths, findings.doubts) == ([], [])
    assert len(findings.evaluations) == RUNS * len(METRICS)
    assert len(findings.lines) == RUNS
    assert "no run died" in list(model_report(findings))


async def test_abandoned_attempts_are_no_failures(tmp_path: Path, server: ChatServer) -> None:
    running = asyncio.create_task(worked(tmp_path, server))
    while len(server.seen) < 8:
        assert not running.done(), "it was done before it could be stopped"
        await asyncio.sleep(0.01)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert all(request.read for request in asked(tmp_path / "keepers.db"))


async def test_dead_run_is_reported_others_continue(tmp_path: Path) -> None:
    with ChatServer(lambda _: Fault("status", status=401)) as closed:
        findings = await worked(tmp_path, closed)
    assert len(findings.deaths) == len(STRATEGIES)
    assert "no run died" not in list(model_report(findings))
