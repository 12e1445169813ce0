"""Requests as jobs of the provider's: who is asked what, how often, and what is left where."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import redraft
from redraft.errors import RedraftError, StoreError
from redraft.llm import provider_batch, rate_limiter
from redraft.llm.budget import builtin_prices, price_table
from redraft.settings import DraftConfig, Limits
from redraft.store.store import Store
from tests.chatserver import ChatServer, Fault, Reply, Seen, summarizer
from tests.cli.inside import Inside
from tests.support import story

ARGUMENTS = ("--strategy", "hierarchical", "--words", "60", "--chunk-tokens", "200", "--temperature", "0")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_batch, "_QUIET", 0.2)
    monkeypatch.setattr(provider_batch, "_FIRST_LOOK", 0.05)
    monkeypatch.setattr(provider_batch, "_LONGEST_PAUSE", 0.1)
    monkeypatch.setattr(rate_limiter, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.02)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as one:
        one.jobs.seconds = 0.02
        yield one


BOOK = story(44)


async def summarized(folder: Path, server: ChatServer, **limits: object) -> redraft.Result:
    bounds = Limits.model_validate({"provider_batch": True} | limits)
    settings = DraftConfig(
        model="openai:m", base_url=server.base_url, temperature=0, words=60, chunk_tokens=200, strategy="hierarchical"
    )
    async with redraft.Session(folder / "x.db", settings=settings, limits=bounds) as one:
        return await one.summarize(BOOK)


def custom_ids(server: ChatServer) -> list[str]:
    return [line["custom_id"] for job in server.jobs.jobs for line in server.jobs.lines(job)]


def left(folder: Path) -> int:
    with sqlite3.connect(folder / "x.db") as database:
        found: int = database.execute(
            "SELECT (SELECT count(*) FROM jobs) + (SELECT count(*) FROM job_lines)"
        ).fetchone()[0]
    return found


@pytest.mark.nightly
async def test_a_wave_is_one_job_and_its_summary_is_that_of_single_requests(tmp_path: Path, server: ChatServer) -> None:
    result = await summarized(tmp_path, server)

    assert result.run.status == "done"
    assert result.chunks > 3
    assert len(server.jobs.lines(next(iter(server.jobs.jobs)))) == result.chunks
    assert {seen.path for seen in server.seen} == {"/v1/chat/completions"}
    assert len(custom_ids(server)) == len(set(custom_ids(server))) == len(server.seen) == result.usage.calls
    assert sorted(server.jobs.deleted) == sorted(server.jobs.files)
    assert left(tmp_path) == 0

    (tmp_path / "other").mkdir()
    single = await summarized(tmp_path / "other", server, provider_batch=False)

    assert result.summary == single.summary
    assert result.run.identity == single.run.identity


@pytest.mark.nightly
async def test_only_what_failed_is_asked_again(tmp_path: Path) -> None:
    met: Counter[str] = Counter()
    faults = [Fault("status", status=500), Fault("status", status=429), Fault("malformed"), Fault("html")]
    answer = summarizer()

    def script(seen: Seen) -> Reply:
        met[str(seen.messages)] += 1
        if faults and met[str(seen.messages)] == 1:
            return faults.pop()
        return answer(seen)

    with ChatServer(script) as faulty:
        faulty.jobs.leaves_out, faulty.jobs.seconds = 1, 0.02
        result = await summarized(tmp_path, faulty)

        assert result.run.status == "done"
        assert not result.gaps
        assert len(custom_ids(faulty)) == len(set(custom_ids(faulty)))
        assert sum(count > 1 for count in met.values()) == 4


@pytest.mark.nightly
async def test_what_is_too_much_at_once_goes_out_in_smaller_jobs(tmp_path: Path, server: ChatServer) -> None:
    server.jobs.most = 3
    result = await summarized(tmp_path, server)

    states = [(job["status"], len(server.jobs.lines(name))) for name, job in server.jobs.jobs.items()]
    assert result.run.status == "done"
    assert states[0][0] == "failed"
    assert all(lines <= 3 for status, lines in states if status == "completed")
    assert len(server.seen) == result.usage.calls
    assert left(tmp_path) == 0


@pytest.mark.parametrize(("status", "words"), [(400, "No such model."), (401, "Wrong key.")])
async def test_a_job_that_is_refused_ends_in_the_providers_words(
    tmp_path: Path, server: ChatServer, status: int, words: str
) -> None:
    server.jobs.refuses = (status, words)

    with pytest.raises(RedraftError) as failure:
        await summarized(tmp_path, server)

    assert words in str(failure.value)
    assert server.seen == []
    assert left(tmp_path) == 0


@pytest.mark.nightly
async def test_a_job_that_fails_as_a_whole_says_why(tmp_path: Path, server: ChatServer) -> None:
    server.jobs.most = 0

    with pytest.raises(RedraftError, match="Enqueued token limit reached"):
        await summarized(tmp_path, server)


@pytest.mark.nightly
async def test_a_job_whose_name_was_never_heard_is_found_again(tmp_path: Path, server: ChatServer) -> None:
    result = await summarized(tmp_path, server)
    first = next(iter(server.jobs.jobs))
    mark = server.jobs.jobs[first]["metadata"]["redraft"]
    lines = [line["custom_id"] for line in server.jobs.lines(first)]
    with sqlite3.connect(tmp_path / "x.db") as database:
        # As if the process had died when the job was handed over, and before it had the provider's answer to that.
        for table in ("uses", "piece_calls", "pieces", "drafts"):
            with suppress(sqlite3.OperationalError):
                database.execute(f"DELETE FROM {table}")
        database.execute("UPDATE calls SET outcome = 'lost'")
        database.execute("INSERT INTO jobs VALUES (?, ?, NULL, ?)", (mark, server.base_url, "2999"))
        database.executemany("INSERT INTO job_lines VALUES (?, ?, ?)", [(one, mark, one[:-2]) for one in lines])
    before = len(server.seen)

    again = await summarized(tmp_path, server)

    assert again.summary == result.summary
    outline = 1  # it is kept with the document
    assert len(server.seen) - before == result.usage.calls - len(lines) - outline
    assert "GET /v1/batches" in server.jobs.asked


@pytest.mark.nightly
async def test_a_job_is_begun_once_and_kept_though_the_server_breaks_down(tmp_path: Path, server: ChatServer) -> None:
    server.jobs.loses, server.jobs.silent = 1, 4
    result = await summarized(tmp_path, server)

    assert result.run.status == "done"
    assert len(custom_ids(server)) == len(set(custom_ids(server))) == len(server.seen) == result.usage.calls
    assert left(tmp_path) == 0


@pytest.mark.nightly
async def test_a_retry_that_is_with_the_provider_is_waited_for(tmp_path: Path) -> None:
    met: Counter[str] = Counter()
    answer = summarizer()

    def script(seen: Seen) -> Reply:
        met[str(seen.messages)] += 1
        return Fault("status", status=500) if met[str(seen.messages)] == 1 else answer(seen)

    with ChatServer(script) as faulty:
        leaving = asyncio.create_task(summarized(tmp_path, faulty))
        while len(faulty.jobs.jobs) < 2 or not noticed(tmp_path / "x.db", 2):
            faulty.jobs.seconds = 600 if faulty.jobs.jobs else 0.02
            await asyncio.sleep(0.02)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        faulty.jobs.seconds = 0.02

        result = await summarized(tmp_path, faulty)

        assert result.run.status == "done"
        assert set(met.values()) == {2}
        assert len(custom_ids(faulty)) == len(set(custom_ids(faulty)))


@pytest.mark.nightly
async def test_a_run_that_is_left_goes_on_with_its_job(tmp_path: Path, server: ChatServer) -> None:
    server.jobs.seconds = 600
    leaving = asyncio.create_task(summarized(tmp_path, server))
    while not noticed(tmp_path / "x.db", 1):  # noqa: ASYNC110  (it is another's connection)
        await asyncio.sleep(0.02)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert len(server.jobs.jobs) == 1
    assert left(tmp_path) > 1
    server.jobs.seconds = 0.02

    result = await summarized(tmp_path, server)

    assert result.run.status == "done"
    assert len(custom_ids(server)) == len(set(custom_ids(server))) == len(server.seen) == result.usage.calls
    assert left(tmp_path) == 0


# The command, which does not wait five seconds for a wave to be whole.
_HASTY = """
from redraft.cli.main import main
from redraft.llm import provider_batch
provider_batch._QUIET = 0.5
main()
"""


@pytest.mark.slow
def test_a_process_that_is_killed_hands_nothing_over_twice(tmp_path: Path, server: ChatServer) -> None:
    server.jobs.seconds = 600
    (tmp_path / "book.md").write_text(BOOK.text, "utf-8")
    command = Inside(tmp_path, server.base_url)
    asked = ("summarize", "book.md", "-m", "openai:m", *ARGUMENTS, "--provider-batch", "--max-calls", "10")
    process = subprocess.Popen(
        [sys.executable, "-c", _HASTY, *asked], cwd=tmp_path, env=command.environment, stderr=subprocess.DEVNULL
    )
    while not noticed(command.database, 1):
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.communicate()
    server.jobs.seconds = 0.02
    (run,) = command.run("runs", "--json").json["runs"]

    done = command.run("resume", run["run"])

    assert done.code == 0, done.err
    assert "already, as the job" in done.err
    assert len(custom_ids(server)) == len(set(custom_ids(server))) == len(server.seen)
    with Store(command.database) as store:
        assert store.calls.totals(run["run"]).calls == len(server.seen)
        assert store.reservations.used(run["run"])[0] == len(server.seen)


@pytest.mark.nightly
def test_what_was_not_handed_over_when_its_process_was_killed_takes_nothing_from_the_budget(
    tmp_path: Path, server: ChatServer
) -> None:
    (tmp_path / "book.md").write_text(BOOK.text, "utf-8")
    command = Inside(tmp_path, server.base_url)
    asked: tuple[str, ...] = ("summarize", "book.md", "-m", "openai:m", *ARGUMENTS, "--provider-batch")
    asked += ("--max-calls", "10")
    for _ in range(2):
        process = command.start(*asked)
        while booked(command.database) < 4:
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()
        process.communicate()
        assert server.seen == []
        assert not server.jobs.jobs
        (run,) = command.run("runs", "--json").json["runs"]
        asked = ("resume", run["run"])

    done = command.run(*asked)

    assert done.code == 0, done.err
    assert len(custom_ids(server)) == len(set(custom_ids(server))) == len(server.seen) <= 10
    with Store(command.database) as store:
        assert store.reservations.used(run["run"])[0] == len(server.seen)


def booked(database: Path) -> int:
    """The calls that are booked and not settled."""
    return counted(database, "calls WHERE outcome = 'sent'")


def noticed(database: Path, jobs: int) -> bool:
    """Whether it is stored of so many jobs what the provider calls them."""
    return counted(database, "jobs WHERE name IS NOT NULL") == jobs


def counted(database: Path, what: str) -> int:
    with suppress(sqlite3.OperationalError), sqlite3.connect(f"file:{database}?mode=ro", uri=True) as raw:
        return int(raw.execute(f"SELECT count(*) FROM {what}").fetchone()[0])
    return 0


async def test_a_wave_that_is_cancelled_before_it_went_out_takes_nothing_from_the_budget(
    tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_batch, "_QUIET", 600.0)
    leaving = asyncio.create_task(summarized(tmp_path, server, max_calls=9))
    while booked(tmp_path / "x.db") < 4:  # noqa: ASYNC110  (it is another's connection)
        await asyncio.sleep(0.02)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving

    with Store(tmp_path / "x.db") as store:
        (run,) = store.runs.latest(1)
        assert store.reservations.used(run.id) == (0, 0.0)


@pytest.mark.slow
async def test_a_full_disk_ends_whoever_waits_for_a_job(
    tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> bool:
        raise StoreError("database or disk is full", hint="free some disk space")

    monkeypatch.setattr("redraft.store.batches.ProviderJobs.is_settled", full)
    begun = time.monotonic()
    async with asyncio.timeout(30):
        with pytest.raises(RedraftError, match="disk is full"):
            await summarized(tmp_path, server)
    assert time.monotonic() - begun < 25, "nobody waits for what does not come"


@pytest.mark.slow
def test_jobs_go_by_openais_protocol(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text(BOOK.text, "utf-8")
    command = Inside(tmp_path)

    done = command.run("summarize", "book.md", "--provider-batch")

    assert done.code == 2
    assert "no model here supports it" in done.err


def test_at_openai_a_job_costs_half_and_a_price_of_ones_own_holds(tmp_path: Path) -> None:
    table = builtin_prices()
    usual, half = (one.price("gpt-4o-mini", at_openai=True) for one in (table, table.for_jobs()))
    assert usual is not None
    assert half is not None
    assert half.prompt * 2 == usual.prompt
    assert half.completion * 2 == usual.completion
    own = tmp_path / "own.toml"
    own.write_text('[prices]\n"gpt-4o-mini" = { prompt = 3, completion = 4 }\n', "utf-8")
    kept = price_table(own).for_jobs().price("gpt-4o-mini", at_openai=True)
    assert kept is not None
    assert (kept.prompt, kept.completion) == (3, 4)
