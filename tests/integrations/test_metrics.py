"""Metrics as Prometheus gets them: scraped from the real endpoint, and right beside the ledger."""

from __future__ import annotations

import asyncio
import socket
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from redraft import FunctionModel, Session
from redraft.batches.request import BatchRequest, budget_key_of
from redraft.batches.sources import add_items
from redraft.batches.worker import BatchWorker
from redraft.domain import record_json
from redraft.errors import UsageError
from redraft.integrations.prometheus import STAGES, MetricsObserver, address, served, stage_of
from redraft.llm.budget import price_table
from redraft.prompts.book import PROMPTS
from redraft.settings import DraftConfig, JudgeConfig, Limits, RefineConfig
from redraft.store.batches import Batch
from redraft.store.store import Store
from tests.chatserver import ChatServer, Fault, Reply, Seen, summarizer
from tests.command import Command
from tests.integrations.conftest import expect_no_secret
from tests.judges import KEY, Keepers, island, seen_on
from tests.judges import told as languages_of
from tests.store.conftest import place as place
from tests.support import prose, story

Numbers = dict[tuple[str, ...], float]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def read(where: str) -> bytes:
    with urllib.request.urlopen(where, timeout=5) as answer:
        return bytes(answer.read())


def numbers(told: bytes) -> Numbers:
    """Each sample under its name and the values of its labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(told.decode())
        for sample in family.samples
    }


def begun(store: Store, source: Path, server: ChatServer, name: str = "b", words: int = 60, **given: Any) -> Limits:
    """A batch of one source, whatever is asked of it, with these limits."""
    of_asked = {name: given.pop(name) for name in ("judging", "refinement") if name in given}
    model = {"model": "openai:m", "base_url": server.base_url, "context_tokens": 8192 if of_asked else 1024}
    settings = DraftConfig.model_validate(
        {"words": words, "strategy": "hierarchical", "chunk_tokens": 192 if not of_asked else 2048, **model}
    )
    limits = Limits.model_validate({"concurrency": 4, **given})
    store.batches.open(Batch(name, record_json(BatchRequest(settings, **of_asked)), limits.model_dump(mode="json")))
    add_items(store, name, [str(source)])
    return limits


def summed(found: Numbers, name: str, *labels: str) -> float:
    return sum(value for key, value in found.items() if key[0] == name and set(labels) <= set(key))


@pytest.mark.nightly
def test_the_metrics_of_a_batch_are_those_of_the_ledger(place: Path | str, folder: Path) -> None:
    write = summarizer()

    def script(seen: Seen) -> Reply:
        return Fault("status", status=503) if seen.index == 1 else write(seen)

    with Store(place) as store, ChatServer(script, latency=lambda *_: 0.02) as server:
        model = {"model": "openai:m", "base_url": server.base_url, "context_tokens": 1024}
        settings = DraftConfig.model_validate({"words": 60, "chunk_tokens": 192, **model})
        limits = Limits(concurrency=4, max_cost=50.0)
        store.batches.open(Batch("b", record_json(BatchRequest(settings)), limits.model_dump(mode="json")))
        add_items(store, "b", [str(folder / "in")])
        where = address(port := free_port())
        with served(store, "b", budget_key_of("b"), port):
            before = numbers(read(where))
            assert before["redraft_batch_items", "waiting"] == 3
            assert summed(before, "redraft_calls_total") == 0
            prices = price_table(str(folder / "prices.toml"))
            asyncio.run(BatchWorker(store, "b", "w", limits, prices).work())
            read(where)
            own = len(server.seen)
            (folder / "other.md").write_text(story(14).text, "utf-8")
            begun(store, folder / "other.md", server, name="a")
            begun(store, folder / "other.md", server, name="c", words=50)
            for other in ("a", "c"):
                asyncio.run(BatchWorker(store, other, "w", limits, prices).work())
            assert len(server.seen) > own + 1, "others have asked as well, under names before and after its own"
            told = read(where)
        found = numbers(told)
        with pytest.raises(urllib.error.URLError):
            read(where)
        assert found["redraft_batch_items", "done"] == 3
        rows = store.connection.rows("SELECT * FROM calls WHERE run IN (SELECT run FROM items WHERE batch = 'b')")
        assert summed(found, "redraft_calls_total") == len(rows) == own
        ok = [row for row in rows if row["outcome"] == "ok"]
        assert summed(found, "redraft_calls_total", "ok") == len(ok) == len(rows) - 1
        assert summed(found, "redraft_retries_total") == 1
        assert summed(found, "redraft_tokens_total", "prompt") == sum(row["prompt_tokens"] for row in ok)
        assert summed(found, "redraft_call_seconds_count") == len(ok)
        assert summed(found, "redraft_call_seconds_sum") == pytest.approx(sum(row["seconds"] for row in ok))
        spent = sum(row["cost_usd"] for row in ok)
        assert summed(found, "redraft_cost_usd_total") == pytest.approx(spent)
        assert found["redraft_batch_cost_usd",] == store.reservations.used(budget_key_of("b"))[1] >= spent
        assert found["redraft_batch_calls",] == len(rows)
        expect_no_secret(told)


@pytest.mark.slow
@pytest.mark.parametrize(
    "bounds",
    [
        {"concurrency": 2},
        pytest.param({"requests_per_minute": 2}, marks=pytest.mark.nightly),
        pytest.param({"max_cost": 0.65}, marks=pytest.mark.nightly),
    ],
    ids=["a place", "a limit a minute", "the budget"],
)
def test_what_a_call_waited_for_is_no_part_of_what_its_answer_took(
    folder: Path, monkeypatch: pytest.MonkeyPatch, bounds: dict[str, float]
) -> None:
    """Two documents of two chunks, of which one at least waits for others, or for the time between requests."""
    took = 0.8
    monkeypatch.setattr("redraft.store.batches.WINDOW", took)
    prices = price_table(str(folder / "prices.toml"))
    (folder / "in" / "patient-2.md").unlink()
    with Store(folder / "a.db") as store, ChatServer(latency=lambda *_: took) as server:
        limits = begun(store, folder / "in", server, **bounds)
        where = address(port := free_port())
        with served(store, "b", budget_key_of("b"), port):
            asyncio.run(BatchWorker(store, "b", "w", limits, prices).work())
            found = numbers(told := read(where))
        rows = store.connection.rows("SELECT waited, seconds FROM calls")
    assert found["redraft_batch_items", "done"] == 2, "nothing was refused for want of a budget"
    waits = [row["waited"] for row in rows]
    assert len(server.seen) == summed(found, "redraft_call_wait_seconds_count") == len(waits)
    assert summed(found, "redraft_call_wait_seconds_sum") == pytest.approx(sum(waits))
    assert 0.8 * took < max(waits) < 3 * took
    assert min(waits) < 0.5 * took
    assert max(row["seconds"] for row in rows) < 1.6 * took, "waiting is counted once"
    expect_no_secret(told)


# Written out, so that it is not what it is compared with.
_FOR = {
    "summarize_whole": "drafting", "summarize_chunk": "drafting", "merge": "drafting", "compress": "drafting",
    "tidy": "drafting", "ask_document": "judging", "rank_questions": "judging", "answer_from_summary": "judging",
    "answer_from_document": "judging", "compare_answers": "judging", "revise": "revising",
    "edit": "revising", "choose_draft": "revising", "find_stops": "judging", "ask_summary": "judging",
    "outline": "drafting", "rule_on_findings": "judging", "prefer_summary": "judging",
}  # fmt: skip


@pytest.mark.slow
def test_what_calls_are_for_is_told_in_a_few_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / "island.md").write_text(island().text, "utf-8")
    poor, judge = [languages_of(1, 3, 4, wrong={2: "Bob"})], Keepers()

    def serve(seen: Seen) -> Any:
        return poor.pop() if poor else judge(seen_on(seen))

    judging = JudgeConfig(metrics=("coverage",), questions=12)
    asked = {"judging": judging, "refinement": RefineConfig(goals={"coverage": 0.9}, rounds=2)}
    with Store(tmp_path / "a.db") as store, ChatServer(serve) as server:
        limits = begun(store, tmp_path / "island.md", server, **asked)
        where = address(port := free_port())
        with served(store, "b", budget_key_of("b"), port):
            asyncio.run(BatchWorker(store, "b", "w", limits).work())
            found = numbers(read(where))
        rows = store.connection.rows("SELECT * FROM calls")
    expected = Counter((row["model"], row["outcome"], _FOR[row["prompt"]]) for row in rows)
    assert {stage for _, _, stage in expected} == {"drafting", "judging", "revising"}
    calls = {key[1:]: value for key, value in found.items() if key[0] == "redraft_calls_total"}
    assert calls == expected
    for stage in ("drafting", "judging", "revising"):
        of_it = [row for row in rows if _FOR[row["prompt"]] == stage]
        assert summed(found, "redraft_tokens_total", stage, "prompt") == sum(row["prompt_tokens"] for row in of_it)
        assert summed(found, "redraft_call_seconds_count", stage) == len(of_it)
        assert summed(found, "redraft_call_wait_seconds_count", stage) == len(of_it)


def test_every_prompt_has_a_stage_and_what_others_bring_has_one_for_all() -> None:
    assert {stage_of(name) for name in PROMPTS} == {*STAGES} - {"other"}
    assert {stage_of(name) for name in ("", "mine", 'summarize_chunk"} 1\n')} == {"other"}
    assert {name: stage_of(name) for name in _FOR} == _FOR


@pytest.mark.nightly
def test_a_batch_offers_its_metrics_while_it_is_worked_on(folder: Path) -> None:
    port = free_port()
    with ChatServer(latency=lambda *_: 0.5) as server:
        command = Command(folder, server.base_url)
        process = command.start(
            *("batch", "in", "-m", "openai:m", "-w", "60", "--chunk-tokens", "192", "--workers", "2"),
            *("--metrics-port", str(port), "-o", "out"),
        )
        told, flown = b"", 0.0
        until = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < until:
            try:
                told = read(f"http://127.0.0.1:{port}/metrics")
            except OSError:
                time.sleep(0.1)
                continue
            flown = max(flown, summed(numbers(told), "redraft_requests_in_flight"))
            time.sleep(0.1)
        _, said = process.communicate(timeout=30)
        assert process.returncode == 0, said
    assert f"http://127.0.0.1:{port}/metrics" in said
    assert flown >= 1
    assert summed(numbers(told), "redraft_calls_total", "ok") >= 1
    expect_no_secret(told)


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with Store(tmp_path / "redraft.db") as store, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} cannot be used"), served(store, "b", "pot", port):
            pass


async def test_an_application_counts_calls_in_a_registry_of_its_own(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    model = FunctionModel(lambda request: prose(20))
    async with Session(tmp_path / "redraft.db", model=model, observer=MetricsObserver(registry)) as session:
        result = await session.summarize(story(12), words=60, chunk_tokens=192)
    found = numbers(generate_latest(registry))
    calls = result.usage.calls
    assert summed(found, "redraft_calls_total", "drafting", "ok") == calls > 0
    assert summed(found, "redraft_call_wait_seconds_count", "drafting") == calls
    assert summed(found, "redraft_call_seconds_count") == calls
    assert summed(found, "redraft_requests_in_flight") == 0
