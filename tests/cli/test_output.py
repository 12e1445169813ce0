"""Where summaries go, and in which format; and forms that are filled section by section."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from redraft.readers.documents import load
from tests.chatserver import ChatServer, Seen
from tests.cli.inside import Inside
from tests.support import story

SMALL = ("-w", "40", "-q")
FORM = """# A report
## Lamps (30 words)
What is said of lamps?
## Whales (30 words)
What is said of whales?
"""


@pytest.fixture
def command(tmp_path: Path) -> Inside:
    (tmp_path / "book.md").write_text(story(60).text, "utf-8")
    (tmp_path / "form.md").write_text(FORM, "utf-8")
    return Inside(tmp_path, COLUMNS="100")


@pytest.mark.nightly
def test_a_summary_is_printed_and_written_in_every_format(command: Inside, tmp_path: Path) -> None:
    made = command.run("summarize", "book.md", *SMALL, "-o", "a.docx", "--json").json
    run, summary = made["run"], made["summary"]
    found = load(tmp_path / "a.docx")
    assert summary in found.text
    cited = command.run("show", run, "--cite", "json").json
    assert sum(mark.kind == "note" for mark in found.marks) == sum(len(one["cites"]) for one in cited["sentences"])
    assert all(place["quote"][:60] in found.text for place in cited["places"])
    for form, begins in {"text": summary, "markdown": summary, "bullets": "- ", "html": "<!doctype html>"}.items():
        said = command.run("show", run, "--format", form, "-q").out
        assert said.startswith(begins)
        command.run("show", run, "--format", form, "-o", "b.txt", "-q")
        assert (tmp_path / "b.txt").read_text("utf-8") == said
    assert command.run("show", run, "--format", "json").json == command.run("show", run, "--json").json
    done = command.run("resume", run, "-o", "c.json")
    assert "\nc.json: 39 words of The Keeper\n" in done.err
    assert json.loads((tmp_path / "c.json").read_text("utf-8"))["summary"] == summary
    assert done.out == ""
    command.run("refine", "book.md", "a.docx", "-w", "60", "-g", "consistency=0.1", "-q", "-o", "d.md")
    assert (tmp_path / "d.md").read_text("utf-8").strip()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("summarize", "book.md", "--format", "docx"), "cannot be printed"),
        (("summarize", "book.md", "--format", "bullets", "--json"), "--json prints JSON"),
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
def test_what_cannot_be_is_said_before_anything_is_spent(command: Inside, words: tuple[str, ...], said: str) -> None:
    done = command.run(*words)
    assert done.code == 2
    assert said in done.err + done.out
    assert command.run("runs", "--json").json == {"runs": [], "damaged": {}}


def test_errors_are_json_where_the_format_is(command: Inside) -> None:
    assert command.run("summarize", "none.md", "--format", "json").json["error"]["code"] == "document"
    assert command.run("summarize", "none.md", "--format=json").json["error"]["code"] == "document"


@pytest.mark.slow
def test_runs_without_a_summary_have_no_format(command: Inside) -> None:
    assert command.run("evaluate", "book.md", "form.md", "-q").code in (0, 3)
    run = command.run("runs", "--json").json
    key = (run if isinstance(run, list) else run["runs"])[0]["run"]
    assert "makes no summary" in command.run("resume", key, "--format", "bullets").err


@contextmanager
def lighthouse(folder: Path) -> Iterator[tuple[Inside, ChatServer]]:
    """A model that has read of lamps, and of no whales."""

    def answer(seen: Seen) -> str:
        asked = str(seen.messages)
        return "NOTHING" if "whales" in asked else "Sentence number 3 tells of the keeper and the lamp at station 3."

    with ChatServer(answer) as server:
        yield Inside(folder, server.base_url, REDRAFT_MODEL="openai:m", COLUMNS="100"), server


@pytest.mark.nightly
def test_a_form_is_filled_section_by_section_and_nothing_is_paid_for_twice(command: Inside, tmp_path: Path) -> None:
    with lighthouse(tmp_path) as (reading, server):
        given = ("summarize", "book.md", "--template", "form.md", "--strategy", "hierarchical", "--chunk-tokens", "512")
        plan = reading.run(*given, "--dry-run", "--json").json
        assert [one["title"] for one in plan["sections"]] == ["Lamps", "Whales"]
        assert plan["calls"] == sum(one["calls"] for one in plan["sections"]) > 2
        assert not server.seen
        stopped = reading.run(*given, "--max-calls", "1")
        assert stopped.code == 3
        assert "repeat the command" in stopped.err
        assert len(server.seen) == 1
        done = reading.run(*given, "--json")
        assert done.code == 0
        made = done.json
        assert [one["status"] for one in made["sections"]] == ["done", "nothing"]
        asked = len(server.seen)
        assert asked <= plan["calls"]
        shown = reading.run(*given, "--format", "markdown", "-q").out
        assert shown.startswith(
            "# A report\n\n## Lamps\n\nSentence number 3 tells of the keeper and the lamp at station 3.\n"
        )
        assert shown.endswith("## Whales\n\nThe document says nothing about this.\n")
        reading.run(*given, "-o", "form.docx", "-q")
        assert len(server.seen) == asked
        assert "the document says nothing about it" in reading.run(*given).err
    found = load(tmp_path / "form.docx")
    assert [one.title for one in found.sections][:3] == ["A report", "Lamps", "Whales"]
    assert any(mark.kind == "note" for mark in found.marks)
