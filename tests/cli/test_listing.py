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
from redraft.report.markdown.records import runs_markdown
from tests.cli.local_command import LocalCommand, judging_folder
from tests.judges import island
from tests.store.support import plain, started
from tests.support import story

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCommand]:
    with judging_folder(tmp_path_factory.mktemp("listing")) as command:
        text = story(120).text.replace("The Keeper", "The ÉTUDE of Light")
        (command.folder / "other.md").write_text(text, "utf-8")
        for arguments in (
            ("summarize", "other.md", "-w", "60", "-m", "extractive"),
            ("evaluate", "book.md", "poor.md"),
            ("refine", "book.md", "poor.md", "-w", "100"),
            ("pack", "build", "book.md"),
        ):
            command.run(*arguments, "-q", code={0, 3})
        command.run("summarize", "other.md", "-m", "extractive", "--chunk-tokens", "100", "--max-calls", "1", code=3)
        yield command


def kinds(command: LocalCommand, *arguments: str) -> list[str]:
    """Return the kinds of the runs that are listed, in alphabetical order."""
    return sorted(run["kind"] for run in command.run("runs", *arguments, "--json").json["runs"])


def test_runs_are_filtered(command: LocalCommand) -> None:
    document = command.run("runs", "--kind", "refine", "--json").json["runs"][0]["document"]
    for arguments, expected in (
        (("--kind", "refine"), ["refine"]),
        (("--status", "stopped"), ["summarize"]),
        (("--document", "étude light"), ["summarize", "summarize"]),
        (("--document", document[:12]), ["evaluate", "pack", "refine"]),
        (("-m", "extractive"), ["summarize", "summarize"]),
        (("-m", "openai:m", "--kind", "evaluate"), ["evaluate"]),
        (("-m", "nobody"), []),
        # The limit counts what is listed, not what was looked at.
        (("-n", "1", "--kind", "evaluate"), ["evaluate"]),
    ):
        assert kinds(command, *arguments) == expected
    assert len(kinds(command, "-n", "2")) == 2
    done = command.run("runs", "--kind", "ask", err="redraft runs --all")
    assert (done.code, done.out) == (0, "")


def run_summary(**changes: Any) -> RunSummary:
    """Return a run as long in every column as runs are."""
    values = {
        **dict.fromkeys(("identity", "document", "tokenizer", "query"), ""),
        **dict.fromkeys(("chapter_of", "cost_usd")),
        "judges": (),
        "part": False,
        "calls": 0,
        "run": "3fa2c1d0",
        "created": "2026-11-22T05:55:00.000+00:00",
        "status": "interrupted",
        "kind": "summarize",
        "strategy": "hierarchical",
        "model": "openai:gpt-5-mini-2026-01-01-preview",
        "words": 1187,
        "limit": 1200,
        "title": "A very long title of a very long book by somebody",
        "scores": {"coverage": 0.5, "consistency": 0.75, "keyfact_recall": 0.25, "faithfulness": 0.9},
        "offline_check": False,
        "preferred": None,
    }
    return RunSummary(**{**values, **changes})


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_each_run_is_a_row() -> None:
    first = run_summary(
        model="extractive", status="done", scores={"coverage": 0.5}, title="Short", created="2024-01-02T03:04"
    )
    runs = [first, run_summary(kind="compare", preferred="b", strategy="")]
    heads, _, row, compared = map(cells, runs_markdown(runs, NOW).splitlines())
    assert heads == ["run", "when (UTC)", "status", "kind", "scores", "title", "words", "model", "drafted"]
    about = ["Jan 02 2024", "done", "summarize", "cov 0.50", "Short", "1187", "extractive", "hierarchical"]
    assert row == ["3fa2c1d0", *about]
    assert compared[1] == "Nov 22 05:55"
    assert compared[4:7] == ["B preferred", "A very long title of a very long book b…", ""]
    heads = cells(runs_markdown([run_summary(scores={}, words=None)], NOW).splitlines()[0])
    assert not {"scores", "words"} & set(heads), "columns without facts are left out"


WORKING = """
import sys
from redraft.store.store import Store
with Store(sys.argv[1]) as store, store.claim(sys.argv[2]):
    store.runs.set_status(sys.argv[2], "running")
    print("ready", flush=True)
    sys.stdin.readline()
"""
SEA = "\n\n".join(f"On night {n} nobody swam. The sea was cold, and the lamp went out {n} times." for n in range(20))


@pytest.fixture
def inside(tmp_path: Path) -> LocalCommand:
    (tmp_path / "book.md").write_text(island().text, "utf-8")
    (tmp_path / "other.md").write_text(SEA, "utf-8")
    return LocalCommand(tmp_path, COLUMNS="100")


def summarized(inside: LocalCommand, source: str = "book.md", *options: str) -> dict[str, Any]:
    result: dict[str, Any] = inside.run("summarize", source, "--words", "60", "--json", "--quiet", *options).json
    return result


def listed(inside: LocalCommand) -> set[str]:
    return {run["run"] for run in inside.run("runs", "--json").json["runs"]}


@pytest.mark.slow
def test_forget_says_what_it_freed(inside: LocalCommand) -> None:
    first, second = summarized(inside), summarized(inside, "other.md")
    preview = inside.run("forget", first["run"][:5], "--dry-run")
    assert (preview.code, preview.err) == (0, "")
    assert preview.out.startswith(f"would remove 1 run ({first['run']}) and 1 document: ")
    assert listed(inside) == {first["run"], second["run"]}

    foreseen = inside.run("forget", first["run"], "--dry-run", "--json").json
    freed = inside.run("forget", first["run"], "--yes", "--json").json
    assert freed == foreseen | {"bytes": freed["bytes"], "dry_run": False}
    assert (freed["runs"], freed["documents"]) == ([first["run"]], [first["source"]["id"]])
    assert min(freed["replies"], freed["texts"], freed["bytes"]) > 0
    assert listed(inside) == {second["run"]}
    assert "no run begins with" in inside.run("show", first["run"]).err

    last = inside.run("forget", second["run"], "--yes")
    assert (last.code, last.out) == (0, "")
    assert last.err.startswith(f"removed 1 run ({second['run']}) and 1 document: ")


@pytest.mark.slow
def test_forget_spares_recent_and_running_runs(inside: LocalCommand) -> None:
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
def test_forgetting_a_document_leaves_no_trace(inside: LocalCommand) -> None:
    document, remaining = summarized(inside)["source"]["id"], summarized(inside, "other.md")["run"]
    inside.run("pack", "build", "book.md")
    (inside.folder / "summary.md").write_text("Somebody has a zweihander.", "utf-8")
    inside.run("evaluate", "book.md", "summary.md")
    assert "no document has an id" in inside.run("forget", "--document", "xyz").err
    freed = inside.run("forget", "--document", document[:8], "--yes", "--json").json
    assert (len(freed["runs"]), freed["documents"]) == (3, [document])
    assert inside.run("pack", "list", "--json").json == {"packs": []}
    assert listed(inside) == {remaining}
    stored = b"".join(file.read_bytes() for file in inside.folder.glob("redraft*"))
    assert b"On night 7 nobody swam." in stored
    assert b"zweihander" not in stored
    assert b"keeper" not in stored


def test_wrong_orders_to_forget_are_refused(inside: LocalCommand) -> None:
    run = summarized(inside)["run"]
    for arguments, message in (
        ((), "name RUNs, or give --older-than, or --document"),
        (("abc", "--older-than", "3d"), "name RUNs, or give --older-than, or --document"),
        (("--older-than", "soon"), "'soon' is not an age"),
        (("--older-than", "-3d"), "'-3d' is not an age"),
        (("--older-than", "999999w"), "is not an age"),
        ((run,), "add --yes"),
    ):
        inside.run("forget", *arguments, code=2, err=message)
    assert listed(inside) == {run}


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "options", "runs"), [("n", (), 1), ("y", (), 0), ("", ("--yes",), 0)])
def test_forget_asks_on_a_terminal(inside: LocalCommand, answer: str, options: tuple[str, ...], runs: int) -> None:
    run = summarized(inside)["run"]
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "redraft", "forget", run, *options]
    with subprocess.Popen(
        command, cwd=inside.folder, env=inside.environment, stdin=terminal, stderr=subprocess.PIPE, text=True
    ) as process:
        os.write(controller, f"{answer}\n".encode())
        _, output = process.communicate(timeout=60)
    for end in (controller, terminal):
        os.close(end)
    assert process.returncode == 0
    assert ("Remove them for good?" in output) == (not options)
    assert len(listed(inside)) == runs


def test_a_mistyped_database_is_not_created(inside: LocalCommand) -> None:
    for command in ("runs", "show abc", "trace abc", "diff abc", "pack list", "pack export book.md", "forget abc",
                    "resume abc", "fork abc --round 0"):  # fmt: skip
        done = inside.run(*command.split(), "--db", "mistyped.db", code=1)
        assert "mistyped.db: there is no database there" in done.err
        assert "--db" in done.err
    assert not list(inside.folder.glob("mistyped*"))
    assert inside.run("runs").err.startswith("No runs yet.")
    assert inside.run("pack", "list").err.startswith("No packs yet.")
