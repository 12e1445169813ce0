"""`redraft runs` and `redraft forget`: what is listed, that it fits, and what is removed."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from redraft.report.history.summaries import RunSummary
from redraft.report.markdown.lists import runs_markdown
from tests.cli.inside import Inside, keepers_court
from tests.command import Done
from tests.judges import island
from tests.store.support import plain, started
from tests.support import story

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    with keepers_court(tmp_path_factory.mktemp("listing")) as made:
        (made.folder / "other.md").write_text(story(120).text.replace("The Keeper", "The ÉTUDE of Light"), "utf-8")
        for arguments in (
            ("summarize", "other.md", "-w", "60", "-m", "extractive"),
            ("evaluate", "book.md", "poor.md"),
            ("refine", "book.md", "poor.md", "-w", "100"),
            ("pack", "build", "book.md"),
        ):
            done = made.run(*arguments, "-q")
            assert done.code in {0, 3}, done.err
        stopped = made.run("summarize", "other.md", "-m", "extractive", "--chunk-tokens", "100", "--max-calls", "1")
        assert stopped.code == 3
        yield made


def kinds(command: Inside, *arguments: str) -> list[str]:
    """The kinds of the runs that are listed, in alphabetical order."""
    return sorted(one["kind"] for one in command.run("runs", *arguments, "--json").json["runs"])


def test_runs_are_found_by_kind_status_document_and_model(command: Inside) -> None:
    assert kinds(command, "--kind", "refine") == ["refine"]
    assert kinds(command, "--status", "stopped") == ["summarize"]
    assert kinds(command, "--document", "étude light") == ["summarize", "summarize"]
    document = command.run("runs", "--kind", "refine", "--json").json["runs"][0]["document"]
    assert kinds(command, "--document", document[:12]) == ["evaluate", "pack", "refine"]
    assert kinds(command, "-m", "extractive") == ["summarize", "summarize"]
    assert kinds(command, "-m", "openai:m", "--kind", "evaluate") == ["evaluate"]
    assert kinds(command, "-m", "nobody") == []
    assert len(kinds(command, "-n", "2")) == 2
    # The limit counts what is listed, not what was looked at.
    assert kinds(command, "-n", "1", "--kind", "evaluate") == ["evaluate"]


def test_nothing_found_says_so_and_is_no_failure(command: Inside) -> None:
    done = command.run("runs", "--kind", "ask")

    assert (done.code, done.out) == (0, "")
    assert "redraft runs --all" in done.err


def a_run(**changed: Any) -> RunSummary:
    """A run as long in every column as runs are."""
    long = {
        "run": "3fa2c1d0",
        "created": "2026-11-22T05:55:00.000+00:00",
        "status": "interrupted",
        "kind": "summarize",
        "strategy": "hierarchical",
        "model": "openai:gpt-5-mini-2026-01-01-preview",
        "limit": 1200,
        "title": "A very long title of a very long book by somebody",
        "scores": {"coverage": 0.5, "consistency": 0.75, "keyfact_recall": 0.25, "faithfulness": 0.9},
        "offline_check": False,
        "preferred": None,
    }
    return RunSummary.model_construct(**long | changed)


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_each_run_is_a_row_of_facts() -> None:
    run = a_run(model="extractive", status="done", scores={"coverage": 0.5}, title="Short", created="2024-01-02T03:04")
    heads, _, row, compared = map(
        cells, runs_markdown([run, a_run(kind="compare", preferred="b", strategy="")], NOW).splitlines()
    )

    assert heads == ["run", "when (UTC)", "status", "kind", "scores", "title", "words", "model", "drafted"]
    day = "Jan 02 2024"
    assert row == ["3fa2c1d0", day, "done", "summarize", "cov 0.50", "Short", "1200", "extractive", "hierarchical"]
    assert compared[1] == "Nov 22 05:55"
    assert compared[4:7] == ["B preferred", "A very long title of a very long book b…", ""]


def test_columns_without_facts_are_left_out() -> None:
    heads = cells(runs_markdown([a_run(scores={}, limit=None)], NOW).splitlines()[0])
    assert not {"scores", "words"} & set(heads)


def test_a_status_that_there_is_not_is_answered_with_those_that_there_are(tmp_path: Path) -> None:
    command = Inside(tmp_path)
    assert command.run("runs", "--status", "done").code == 0
    done = command.run("runs", "--status", "nonsense")
    assert done.code == 2
    assert "'nonsense' is not a status" in done.err
    assert "running, waiting, done, stopped, failed, interrupted, killed" in done.err


def test_a_kind_that_there_is_not_is_answered_with_those_that_there_are(command: Inside) -> None:
    done = command.run("runs", "--kind", "nonsense")
    assert done.code == 2
    assert "'nonsense' is not a kind of runs" in done.err
    assert "summarize, evaluate, refine, compare, pack, keyfacts, ask\n" in done.err


WORKING = """
import sys
from redraft.store.store import Store
with Store(sys.argv[1]) as store, store.claim(sys.argv[2]):
    store.runs.set_status(sys.argv[2], "running")
    print("ready", flush=True)
    sys.stdin.readline()
"""

OTHER = "\n\n".join(f"On night {n} nobody swam. The sea was cold, and the lamp went out {n} times." for n in range(20))


@pytest.fixture
def inside(tmp_path: Path) -> Inside:
    (tmp_path / "book.md").write_text(island().text, "utf-8")
    (tmp_path / "other.md").write_text(OTHER, "utf-8")
    return Inside(tmp_path, COLUMNS="100")


def summarized(inside: Inside, source: str = "book.md", *options: str) -> dict[str, Any]:
    made: dict[str, Any] = inside.run("summarize", source, "--words", "60", "--json", "--quiet", *options).json
    return made


def listed(inside: Inside) -> set[str]:
    return {run["run"] for run in inside.run("runs", "--json").json["runs"]}


@pytest.mark.slow
def test_a_run_is_forgotten_and_what_was_freed_is_told(inside: Inside) -> None:
    first, second = summarized(inside), summarized(inside, "other.md")
    told = inside.run("forget", first["run"][:5], "--dry-run")
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith(f"would free 1 run ({first['run']}) and 1 document: ")
    assert listed(inside) == {first["run"], second["run"]}

    foreseen = inside.run("forget", first["run"], "--dry-run", "--json").json
    done = inside.run("forget", first["run"], "--yes", "--json")
    assert done.json == foreseen | {"bytes": done.json["bytes"], "dry_run": False}
    assert (done.json["runs"], done.json["documents"]) == ([first["run"]], [first["source"]["id"]])
    assert done.json["replies"] > 0
    assert done.json["texts"] > 0
    assert done.json["bytes"] > 0
    assert listed(inside) == {second["run"]}
    assert "no run begins with" in inside.run("show", first["run"]).err

    last = inside.run("forget", second["run"], "--yes")
    assert (last.code, last.out) == (0, "")
    assert last.err.startswith(f"freed 1 run ({second['run']}) and 1 document: ")


def test_where_nobody_can_be_asked_it_wants_a_word(inside: Inside) -> None:
    run = summarized(inside)["run"]
    done = inside.run("forget", run)
    assert done.code == 2
    assert f"would free 1 run ({run})" in done.err
    assert "add --yes" in done.err
    assert listed(inside) == {run}


@pytest.mark.slow
def test_old_runs_are_forgotten_but_for_those_that_are_worked_on(inside: Inside) -> None:
    runs = [summarized(inside, "book.md", "--set", f"sample={n}")["run"] for n in range(3)]
    assert inside.run("forget", "--older-than", "1d").err == "nothing to remove\n"
    with plain(inside.database) as database:
        database.execute("UPDATE runs SET updated = '2025-01-01' WHERE id <> ?", (runs[2],))
    with started(WORKING, inside.database, runs[0]):
        assert inside.run("forget", "--older-than", "4w", "--yes", "--json").json["runs"] == [runs[1]]
        refused = inside.run("forget", runs[0], "--yes", "--json")
        assert (refused.code, refused.json["error"]["code"]) == (1, "run")
    assert listed(inside) == {runs[0], runs[2]}


@pytest.mark.slow
def test_a_document_is_forgotten_with_all_that_was_made_of_it(inside: Inside) -> None:
    run, other = summarized(inside), summarized(inside, "other.md")
    inside.run("pack", "build", "book.md")
    (inside.folder / "summary.md").write_text("Somebody has a zweihander.", "utf-8")
    inside.run("evaluate", "book.md", "summary.md")
    document = run["source"]["id"]
    assert "no document has an id" in inside.run("forget", "--document", "xyz").err
    done = inside.run("forget", "--document", document[:8], "--yes", "--json").json
    assert len(done["runs"]) == 3
    assert done["documents"] == [document]
    assert inside.run("pack", "list", "--json").json == {"packs": []}
    assert listed(inside) == {other["run"]}
    kept = b"".join(file.read_bytes() for file in inside.folder.glob("redraft*"))
    assert b"On night 7 nobody swam." in kept
    assert b"zweihander" not in kept
    assert b"keeper" not in kept


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name RUNs, or give --older-than, or --document"),
        (("abc", "--older-than", "3d"), "name RUNs, or give --older-than, or --document"),
        (("--older-than", "soon"), "'soon' is not an age"),
        (("--older-than", "-3d"), "'-3d' is not an age"),
        (("--older-than", "999999w"), "is not an age"),
    ],
)
def test_what_cannot_be_meant_is_refused(inside: Inside, arguments: tuple[str, ...], message: str) -> None:
    summarized(inside)
    done = inside.run("forget", *arguments)
    assert done.code == 2
    assert message in done.err
    assert len(listed(inside)) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "options", "code", "left"), [("n", (), 0, 1), ("y", (), 0, 0), ("", ("--yes",), 0, 0)]
)
def test_on_a_terminal_it_asks(inside: Inside, answer: str, options: tuple[str, ...], code: int, left: int) -> None:
    run = summarized(inside)["run"]
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "redraft", "forget", run, *options]
    with subprocess.Popen(
        command, cwd=inside.folder, env=inside.environment, stdin=terminal, stderr=subprocess.PIPE, text=True
    ) as process:
        os.write(controller, f"{answer}\n".encode())
        _, told = process.communicate(timeout=60)
    for end in (controller, terminal):
        os.close(end)
    assert process.returncode == code
    assert ("Remove them for good?" in told) == (not options)
    assert len(listed(inside)) == left


@pytest.mark.parametrize(
    "command",
    [
        ("runs",),
        ("show", "abc"),
        ("trace", "abc"),
        ("diff", "abc"),
        ("pack", "list"),
        ("pack", "export", "book.md"),
        ("forget", "abc"),
        ("resume", "abc"),
        ("fork", "abc", "--round", "0"),
    ],
)
def test_a_database_that_is_mistyped_is_not_made(inside: Inside, command: tuple[str, ...]) -> None:
    done: Done = inside.run(*command, "--db", "mistyped.db")
    assert done.code == 1
    assert "mistyped.db: there is no database there" in done.err
    assert "--db" in done.err
    assert not list(inside.folder.glob("mistyped*"))


def test_where_nothing_was_ever_run_that_is_said(inside: Inside) -> None:
    assert inside.run("runs").err.startswith("No runs yet.")
    assert inside.run("pack", "list").err.startswith("No packs yet.")
