"""Where summaries go, and in which format; and forms that are filled section by section."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from redraft.readers.documents import load
from tests.chatserver import ChatRequest, ChatServer
from tests.cli.local_command import LocalCommand
from tests.support import story

SMALL = ("-w", "40", "-q")
FORM = """# A report
## Lamps (30 words)
What is said of lamps?
## Whales (30 words)
What is said of whales?
"""


@pytest.fixture
def command(tmp_path: Path) -> LocalCommand:
    (tmp_path / "book.md").write_text(story(60).text, "utf-8")
    (tmp_path / "form.md").write_text(FORM, "utf-8")
    return LocalCommand(tmp_path, COLUMNS="100")


@pytest.mark.nightly
def test_every_format_is_printed_and_written(command: LocalCommand, tmp_path: Path) -> None:
    result = command.run("summarize", "book.md", *SMALL, "-o", "a.docx", "--json").json
    run, summary = result["run"], result["summary"]
    document = load(tmp_path / "a.docx")
    assert summary in document.text
    cited = command.run("show", run, "--cite", "json").json
    assert sum(mark.kind == "note" for mark in document.marks) == sum(len(part["cites"]) for part in cited["sentences"])
    assert all(place["quote"][:60] in document.text for place in cited["places"])
    for form, begins in {"text": summary, "markdown": summary, "html": "<!doctype html>"}.items():
        message = command.run("show", run, "--format", form, "-q").out
        assert message.startswith(begins)
        command.run("show", run, "--format", form, "-o", "b.txt", "-q")
        assert (tmp_path / "b.txt").read_text("utf-8") == message
    assert command.run("show", run, "--format", "json").json == command.run("show", run, "--json").json
    done = command.run("resume", run, "-o", "c.json", err="\nc.json: 39 words of The Keeper\n")
    assert json.loads((tmp_path / "c.json").read_text("utf-8"))["summary"] == summary
    assert done.out == ""
    command.run("refine", "book.md", "a.docx", "-w", "60", "-g", "consistency=0.1", "-q", "-o", "d.md")
    assert (tmp_path / "d.md").read_text("utf-8").strip()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("summarize", "book.md", "--format", "docx"), "cannot be printed"),
        (("summarize", "book.md", "-o", "away/a.docx"), "its directory does not exist"),
        (("summarize", "book.md", "--template", "form.md", "--query", "Why?"), "each section of the template"),
        (("summarize", "book.md", "--template", "book.md"), "is longer than 2,000 characters"),
        (("summarize", "book.md", "--template", "form.md", "--refine", "-g", "coverage=0.5"), "a section answers one"),
        (
            ("summarize", "book.md", "--template", "form.md", "--refine", "--review", "-g", "consistency=0.5"),
            "--review",
        ),
    ],
)
def test_impossible_outputs_are_refused_before_spending(
    command: LocalCommand, words: tuple[str, ...], message: str
) -> None:
    done = command.run(*words, code=2)
    assert message in done.err + done.out
    assert command.run("runs", "--json").json == {"runs": [], "damaged": {}}


def test_errors_are_json_where_the_format_is(command: LocalCommand) -> None:
    assert command.run("summarize", "none.md", "--format", "json").json["error"]["code"] == "document"
    assert command.run("summarize", "none.md", "--format=json").json["error"]["code"] == "document"


@contextmanager
def lighthouse(folder: Path) -> Iterator[tuple[LocalCommand, ChatServer]]:
    """A model that has read of lamps, and of no whales."""

    def answer(request: ChatRequest) -> str:
        sent = str(request.messages)
        return "NOTHING" if "whales" in sent else "Sentence number 3 tells of the keeper and the lamp at station 3."

    with ChatServer(answer) as server:
        yield LocalCommand(folder, server.base_url, REDRAFT_MODEL="openai:m", COLUMNS="100"), server


@pytest.mark.nightly
def test_a_form_pays_nothing_twice(command: LocalCommand, tmp_path: Path) -> None:
    with lighthouse(tmp_path) as (reading, server):
        order = ("summarize", "book.md", "--template", "form.md", "--strategy", "hierarchical", "--chunk-tokens", "512")
        plan = reading.run(*order, "--dry-run", "--json").json
        assert [part["title"] for part in plan["sections"]] == ["Lamps", "Whales"]
        assert plan["calls"] == sum(part["calls"] for part in plan["sections"]) > 2
        assert not server.seen
        reading.run(*order, "--max-calls", "1", code=3, err="repeat the command")
        assert len(server.seen) == 1
        done = reading.run(*order, "--json", code=0)
        result = done.json
        assert [part["status"] for part in result["sections"]] == ["done", "nothing"]
        sent = len(server.seen)
        assert sent <= plan["calls"]
        output = reading.run(*order, "--format", "markdown", "-q").out
        assert output.startswith(
            "# A report\n\n## Lamps\n\nSentence number 3 tells of the keeper and the lamp at station 3.\n"
        )
        assert output.endswith("## Whales\n\nThe document says nothing about this.\n")
        reading.run(*order, "-o", "form.docx", "-q")
        assert len(server.seen) == sent
        assert "the document says nothing about it" in reading.run(*order).err
    document = load(tmp_path / "form.docx")
    assert [part.title for part in document.sections][:3] == ["A report", "Lamps", "Whales"]
    assert any(mark.kind == "note" for mark in document.marks)
