"""The benchmark of the real model, on a judge that goes by rules."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.ledger import asked
from benchmarks.real_model import METRICS, STRATEGIES, Findings, report, work
from tests.chatserver import ChatServer, Fault
from tests.judges import PerfectModel, ScriptedReply, Sheet, island, scripted_replies, summary_of

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
    assert "no run died" in list(report(findings))


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
    assert "no run died" not in list(report(findings))
