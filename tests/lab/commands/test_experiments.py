"""`redraft experiment`: what it prints and writes, how it exits, and what it refuses."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft import Store
from tests.chatserver import ChatServer
from tests.cli.local_command import LocalCommand, plan
from tests.command import Command
from tests.judges import island, summary_of
from tests.lab.experiments.world import answer
from tests.lab.sheets import tables
from tests.valley import book

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
    assert "3 of 3 done: The Keepers, chunk" in done.err
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


GRID = ("experiment", "grid", "book.md", "-m", "extractive", "--words", "40")
CONTEXT = ("experiment", "context", "book.md", "-m", "extractive")
QA = ("experiment", "qa", "valley.txt", "-m", "extractive", "--until", "780,5000", "--context-tokens", "8000", "-q")


@pytest.fixture
def within(tmp_path: Path) -> LocalCommand:
    texts = {"book.md": island(40).text, "reference.txt": summary_of(1, 20, 39), "valley.txt": book(18).text}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf-8")
    return LocalCommand(tmp_path, "http://127.0.0.1:9/v1")


@pytest.mark.slow
def test_drafts_of_beginnings_are_judged_in_full(within: LocalCommand) -> None:
    words = ("--query", "Who keeps the lamp?", "--language", "English", "--set", "until=300", "--metric", "coverage")
    grid = (*GRID, "--metric", "spread", *words, "--json", "-q")
    done = within.run(*grid)
    (score,) = (row for row in tables(done)["scores"] if row["metric"] == "spread")
    assert score["score"] < 0.5
    (contestant,) = done.json["settings"]["contestants"]
    settings = {name: contestant["settings"][name] for name in ("query", "language", "until")}
    assert settings == {"query": "Who keeps the lamp?", "language": "English", "until": 300}
    assert within.run(*grid).out == done.out


def test_undecided_judges_are_not_asked_again(within: LocalCommand) -> None:
    done = within.run(*GRID, "--metric", "booookscore", "--json")
    actual = tables(done, 1)
    assert {row["code"] for row in actual["failures"]} == {"undecided"}
    assert {row["status"] for row in actual["summaries"]} == {"undecided"}
    assert "the judge could not decide" in done.err
    assert "choose another judge" in done.err
    assert "repeat the command" not in done.err


def test_a_reference_sets_length_and_baseline(within: LocalCommand) -> None:
    steps = ("--until", "300:900:600", "--reference", "reference.txt", "--no-facts")
    done = within.run(*CONTEXT, *steps, "-o", "results", "--json")
    actual = tables(done)
    assert "fact_changes" not in actual
    (reference,) = (row for row in actual["positions"] if row["system"] == "reference")
    assert [reference[f"whole {third}"] for third in ("1st", "2nd", "3rd")] == pytest.approx([1 / 3] * 3)
    assert done.json["settings"]["documents"][0]["words"] == len(summary_of(1, 20, 39).split())


def test_short_documents_have_plans_with_several_steps(within: LocalCommand) -> None:
    (drafting, *_) = plan(within, *CONTEXT, "--words", "40")["rows"]
    assert drafting["step"] == "drafting, hierarchical"
    assert drafting["runs"] >= 2
    with Store(within.folder / "redraft.db") as store:
        assert store.runs.latest(5) == []


@pytest.mark.slow
def test_dry_runs_count_questions_and_store_nothing(within: LocalCommand) -> None:
    def planned(*more: str) -> dict[str, int]:
        rows = plan(within, *(word.replace("extractive", "openai:m") for word in QA), *more)["rows"]
        return {row["step"] if row["document"] != "total" else "total": row["calls"] for row in rows}

    # 3 thirds of 4 types are 12 questions, and the 3 without an answer are looked for. Then 12 questions at 2 steps.
    assert planned() == {"questions": 15, "answers": 24, "verdicts": 1, "total": 40}
    both = planned("--strategy", "direct", "--strategy", "hierarchical", "--per-third", "2")
    assert both["answers"] == both["answers, hierarchical"] == 48
    assert both["drafting, hierarchical"] > 0
    assert not within.database.exists()
    # For a short document the built-in model is asked, so that its plan is exact.
    exact = {row["step"]: row["calls"] for row in plan(within, *QA)["rows"] if row["step"]}
    tables = {table["name"]: table["rows"] for table in within.run(*QA, "--json", "--db", "made.db").json["tables"]}
    assert exact == {row["step"]: row["calls"] for row in tables["cost"] if row["step"] != "total"}
    shown = within.run(*QA, "--dry-run", "-o", "results")
    assert "No model was called and nothing was stored" in shown.out
    assert not (within.folder / "results").exists()


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        ((*CONTEXT, "--until", "10:20"), ["are not steps"]),
        ((*CONTEXT, "--strategy", "sideways"), ["sideways"]),
        ((*CONTEXT, "book.md", "reference.txt", "--reference", "reference.txt"), ["one document has a reference"]),
        ((*QA, "--set", "similarity=cosine"), ["the similarity cosine needs an embedding model", "choose rouge1"]),
    ],
)
def test_what_cannot_be_meant_is_refused(within: LocalCommand, words: tuple[str, ...], messages: list[str]) -> None:
    refused = within.run(*words)
    assert refused.code == 2
    assert all(message in refused.err for message in messages)
