"""`redraft batch` as a user has it: what it prints, what it leaves in the folder, and how it goes on."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.batches.queue import Batch, Batches, BatchItemRow
from redraft.batches.worker import terms_of
from redraft.store.store import Store
from tests.chatserver import ChatServer
from tests.cli.local_command import LocalCommand
from tests.support import story

_OPTIONS = ("-m", "openai:m", "-w", "60", "--chunk-tokens", "192", "--strategy", "hierarchical")
_OPTIONS += ("--workers", "1", "--name", "mine", "-o", "out")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
def command(tmp_path: Path, server: ChatServer) -> LocalCommand:
    (tmp_path / "in").mkdir()
    for n in range(3):
        text = story(12).text.replace("The Keeper", f"The Keeper of light {n}").replace("keeper", f"keeper {n}")
        (tmp_path / "in" / f"light-{n}.md").write_text(text, "utf-8")
    (tmp_path / "in" / "report.txt").write_text("", "utf-8")
    return LocalCommand(tmp_path, server.base_url, COLUMNS="100")


@pytest.mark.slow
def test_batch_from_plan_to_results(command: LocalCommand, server: ChatServer, tmp_path: Path) -> None:
    planned = command.run("batch", "in", *_OPTIONS, "--dry-run", "--json").json
    told = {row["what"]: row["all documents"] for row in planned["rows"]}
    assert (told["documents"], told["cannot be read: the document is empty"]) == (3, 1)
    assert told["calls"] > 3
    assert not server.seen

    cut = command.run("batch", "in", *_OPTIONS, "--max-calls", "2", code=3)
    assert "stopped: the limit of 2 calls is used up" in cut.err
    assert "Resume with a higher limit: redraft batch resume mine" in cut.err
    assert len(server.seen) == 2

    done = command.run("batch", "resume", "mine", "--max-calls", "100", "--json")
    assert done.code == 3, "one document is empty"
    assert done.json["items"] == {
        "all": 4, "waiting": 0, "leased": 0, "done": 3, "failed": 1, "aside": 0, "short": 0,
    }  # fmt: skip
    assert done.json["calls"] == len(server.seen)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *(f"light-{n}.md" for n in range(3)), "items.jsonl", "report.md",
    }  # fmt: skip

    count = len(server.seen)
    (tmp_path / "out" / "light-1.md").unlink()
    (tmp_path / "in" / "report.txt").write_text(story(5).text, "utf-8")
    done_again = command.run("batch", "in", *_OPTIONS, code=0, err="Details: redraft batch status mine")
    assert done_again.out.startswith("done: 4 of 4 documents done; ")
    assert "resamples" not in done_again.out
    assert "| done  |         4 |" in command.run("batch", "status", "mine").out
    assert len(server.seen) > count
    assert (tmp_path / "out" / "light-1.md").exists()
    assert (tmp_path / "out" / "report-summary.md").read_text("utf-8").strip()

    rows = [json.loads(line) for line in command.run("batch", "results").out.splitlines()]
    assert [json.loads(line) for line in command.run("batch", "results", "last").out.splitlines()] == rows
    assert [Path(row["source"]).name for row in rows] == [*(f"light-{n}.md" for n in range(3)), "report.txt"]
    shown = command.run("show", rows[0]["run"])
    assert " ".join(rows[0]["summary"].split()) in " ".join(shown.out.split())
    table = command.run("batch", "results", "mine", "--format", "csv").out
    command.run("batch", "results", "mine", "-o", "r.csv", code=0)
    assert (tmp_path / "r.csv").read_text("utf-8") == table
    command.run("batch", "in", *_OPTIONS[:-4], "--name", "copy", "-o", "elsewhere", code=0)
    again = command.run("batch", "status", "copy", "--json").json
    assert f"; {again['calls']:,} calls (all reused)" in command.run("batch", "status", "copy").out
    assert "reused" not in command.run("batch", "status", "mine").out
    assert re.search(r"\| mine +\| [A-Z][a-z]{2} \d\d \d\d:\d\d \|", command.run("batch", "status").out)
    assert [row["run"] for row in csv.DictReader(table.splitlines())] == [row["run"] for row in rows]
    assert "mine" in command.run("batch", "status").out
    for order in ("pause", "cancel"):
        refused = command.run("batch", order, "mine", err=f"batch mine is finished: there is nothing to {order}")
        assert (refused.code, refused.out) == (1, "")
    assert command.run("batch", "status", "mine", "--json").json["status"] == "done"
    assert "No runs" not in command.run("runs", "--all").out


def test_unreadable_files_in_a_folder_are_named(command: LocalCommand, tmp_path: Path) -> None:
    for name in ("photo.jpg", ".hidden.jpg"):
        (tmp_path / "in" / name).write_bytes(b"\xff\xd8\xff")
    command.run("batch", "in", "--dry-run", code=0, err="\nskipped 1 file that redraft cannot read: photo.jpg\n")
    assert "skipped" not in command.run("batch", "in", "--dry-run", "--quiet").err


def test_impossible_input_is_refused_before_asking(command: LocalCommand, server: ChatServer, tmp_path: Path) -> None:
    (tmp_path / "odd.jsonl").write_text('{"id": "a", "text": "x"}\n{"id": "a", "path": "in/light-0.md"}\n', "utf-8")
    (tmp_path / "odder.jsonl").write_text('{"id": "a"}\n', "utf-8")
    for arguments, said in (
        (("gone.md",), "no such file"),
        (("*.pdf",), "no file fits the pattern"),
        (("odd.jsonl",), "two lines have the id 'a'"),
        (("odder.jsonl",), "a line needs either a text or a path"),
        (("in", "--refine", "--set", "pack=1f2e"), "--set pack applies to one document only"),
        (("in", "--goal", "coverage=0.5"), "add --refine"),
        (("in/light-0.md", "-o", "in"), "light-0.md is in the folder for the summaries"),
        (("in", "-o", "r.csv"), "r.csv: --output names a folder for the summaries\n  for a table: redraft batch"),
        (("resume", "gone"), "there is no batch 'gone'"),
        (("results", "gone"), "there is no batch 'gone'"),
        (("pause", "gone"), "there is no batch 'gone'"),
        (("results",), "there is no batch yet"),
    ):
        done = command.run("batch", *arguments)
        assert done.code in (1, 2), arguments
        assert said in done.err, done.err
        assert "redraft batch run" not in done.err
    assert not server.seen
    assert not (tmp_path / "r.csv").exists()
    assert "No batches yet" in command.run("batch", "status").err


@pytest.mark.parametrize(
    ("wanted", "waiting", "workers"),
    [(64, 1, 1), (64, 0, 1), (64, 9, 9), (100, 99, 64), (None, 3, 3), (None, 9, 4), (3, 9, 3)],
)
def test_workers_are_limited_by_documents_and_requests(wanted: int | None, waiting: int, workers: int) -> None:
    with Store(":memory:") as store:
        Batches(store).open(Batch("b", {"settings": {}}, {"concurrency": 64}))
        Batches(store).add("b", (BatchItemRow(f"{number}", f"{number}") for number in range(waiting)))
        assert terms_of(store, "b", wanted or 4, traced=False).of == workers
