"""`redraft experiment`: what it prints and writes, how it exits, and what it refuses."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chatserver import ChatServer
from tests.cli.local_command import LocalCommand
from tests.command import Command
from tests.judges import island
from tests.lab.experiments.world import answer

HAMLET = (
    *("experiment", "hamlet", "book.md", "-m", "openai:whole", "-m", "openai:half", "--judge", "openai:judge"),
    *("--queries", "1", "--strategy", "direct", "--words", "450", "--context-tokens", "4000"),
)
SIZES = ("experiment", "chunk-size", "book.md", "--judge", "openai:judge", "--sizes", "64,128", "--sample", "4")
A_BY_X = ("hamlet", "book.md", "--model", "openai:a", "--judge", "openai:x")
X_ALONE = ("chunk-size", "book.md", "--judge", "openai:x")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(answer) as running:
        yield running


@pytest.fixture
def inside(tmp_path: Path, server: ChatServer) -> LocalCommand:
    (tmp_path / "book.md").write_text(island(90).text, "utf-8")
    return LocalCommand(tmp_path, server.base_url)


@pytest.mark.slow
def test_hamlet_prints_and_writes_its_report(inside: LocalCommand) -> None:
    done = inside.run(*HAMLET, "-o", "deep/results")
    assert done.code == 0, done.err
    results = inside.folder / "deep" / "results"
    full_report = (results / "report.md").read_text("utf-8")
    assert full_report == inside.run(*HAMLET, "-q").out, "without a directory the tables are printed"
    assert done.out.startswith("# HAMLET: recall and faithfulness")
    # One summary of each model states everything, the other half; each has one tree of three facts.
    assert 3 < len(done.out.splitlines()) <= 12
    assert "openai:whole: recall 1.00 of" in done.out
    assert "## " in full_report
    assert "## " not in done.out
    items = json.loads((results / "items.json").read_text("utf-8"))
    assert [item["model"] for item in items] == ["openai:whole", "openai:half"]
    assert items[0]["recall"]["levels"]["all"]["value"] == 1.0
    assert "2 of 2 done: The Keepers, chunk" in done.err
    notes = [line for line in done.err.splitlines() if line.startswith("note: ") and "token counts" in line]
    assert notes, "nobody knows how these models count"
    assert len(notes) == len({*notes}), "what holds for all runs is said once"
    assert not any("chunk 1" in line for line in notes)
    assert f"{len(list(results.iterdir()))} files written to {Path('deep/results')}" in done.err


def test_stored_results_become_one_page(inside: LocalCommand, server: ChatServer) -> None:
    assert inside.run(*SIZES, "-o", "results", "-q").code == 0
    request_count = len(server.seen)
    done = inside.run("experiment", "report", "results", "results/tables.json", "-o", "report.html")
    assert (done.code, len(server.seen)) == (0, request_count)
    assert "2 sets of results" in done.err
    page = (inside.folder / "report.html").read_text("utf-8")
    assert page.count("<figure") == 4
    assert "Chunk size for extracting key facts" in page
    assert inside.run("experiment", "report", "results", "-o", "-").out.startswith("<!doctype html>")
    (inside.folder / "results" / "tables.json").write_text('{"experiment": "x", "tables": [7]}', "utf-8")
    broken = inside.run("experiment", "report", "results", "-o", "report.html")
    assert broken.code == 2
    assert "tables.0" in broken.err
    assert "tables.json" in broken.err


@pytest.mark.slow
def test_a_price_table_makes_money_countable(inside: LocalCommand) -> None:
    prices = (f"{name} = {{ prompt = 1.0, completion = 2.0 }}" for name in ("whole", "half", "judge"))
    (inside.folder / "prices.toml").write_text("\n".join(("[prices]", *prices)), "utf-8")
    done = inside.run(*HAMLET, "--set", "prices=prices.toml", "--max-cost", "0.01")
    assert done.code == 3
    assert "may exceed the limit of $0.01" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("hamlet",), "Missing argument 'SOURCE...'"),
        (("hamlet", "book.md", "--judge", "openai:judge"), "Missing option '--model'"),
        (("hamlet", "book.md", "--model", "openai:a"), "Missing option '--judge'"),
        (("hamlet", "book.md", "--model", "a", "--judge", "openai:judge"), "there is no model 'a'"),
        (("hamlet", "no.md", "--model", "openai:a", "--judge", "openai:x"), "no.md"),
        ((*A_BY_X, "--queries", "0"), "queries: must be at least 1"),
        ((*A_BY_X, "--max-cost", "1"), "price of openai:a"),
        ((*A_BY_X, "-o", "book.md"), "cannot be created"),
        ((*X_ALONE, "--sizes", "1024,many"), "must be a whole number"),
        ((*X_ALONE, "--sizes", "8"), "must be at least 64"),
        ((*X_ALONE, "--context-tokens", "4096"), "need a larger window"),
    ],
)
def test_bad_options_are_refused_in_one_sentence(
    inside: LocalCommand, server: ChatServer, arguments: tuple[str, ...], message: str
) -> None:
    done = inside.run("experiment", *arguments)
    is_missing = message == "no.md"
    assert done.code == (1 if is_missing else 2)
    assert message in done.err
    assert server.seen == []
    assert is_missing or inside.run("experiment", *arguments, "--json").json["error"]["code"] == "usage"


@pytest.mark.nightly
def test_a_stop_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text(island(90).text, "utf-8")
    # Only the first three replies arrive, so that the command cannot end before it is stopped.
    with ChatServer(answer, latency=lambda _prompt, _completion, index: 0.0 if index < 3 else 60.0) as server:
        command = Command(tmp_path, server.base_url)
        process = command.start(*HAMLET)
        while len(server.answered) < 3:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "repeat the command; finished work is reused" in errors
