"""`redraft summarize --by-chapter`: one summary of each chapter, each by a run of its own, and one of all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.chatserver import ChatServer, summarizer
from tests.cli.local_command import LocalCommand
from tests.readers import makers
from tests.readers.test_corpus import trees

SMALL = ("--words", "60", "--by-chapter")
MODEL = ("--model", "openai:m", "--context-tokens", "8192")


@pytest.fixture
def command(tmp_path: Path) -> LocalCommand:
    (tmp_path / "book.pdf").write_bytes(makers.pdf("All about the alder", trees("alder", 3)))
    return LocalCommand(tmp_path, COLUMNS="100")


def in_markdown(folder: Path, chapters: int = 3) -> str:
    sections = [f"## {title}\n\n" + "\n\n".join(texts) for title, texts in trees("alder", chapters)]
    path = folder / "book.md"
    path.write_text("\n\n".join(["# All about the alder", *sections]), "utf-8")
    return path.name


@pytest.mark.nightly
def test_they_are_printed_written_listed_and_traced(command: LocalCommand) -> None:
    command.run("summarize", "book.pdf", *SMALL, "-o", "out.md", err="3 chapters, each with a run of its own\n")
    written = (command.folder / "out.md").read_text("utf-8")
    assert written.startswith("# All about the alder\n\nIn chapter")
    assert "\n\n## Chapter 2: The alder\n\nIn chapter 2 " in written
    [listed] = command.run("runs", "--json").json["runs"]
    run = listed["run"]
    assert len(command.run("runs", "--all", "--json").json["runs"]) == 4
    command.run("show", run, err="Chapter 3: The alder")
    assert command.run("show", run, "--format", "markdown").out == written
    assert "the summary of “Chapter 1: The alder”" in " ".join(command.run("lineage", run).out.split())
    assert "3 chapters, each with a run of its own\n" in command.run("trace", run).out
    chapters = command.run("show", run, "--json").json["chapters"]
    assert [chapter["title"] for chapter in chapters] == [title for title, _ in trees("alder", 3)]
    assert command.run("trace", run, "--json").json["result"]["chapters"] == chapters
    assert command.run("export", run, "--format", "json").json["result"]["chapters"] == chapters
    second = chapters[1]["result"]
    assert all(chapter["pages"] for chapter in chapters)
    command.run("export", run, "-o", "run.html")
    page = " ".join((command.folder / "run.html").read_text("utf-8").split())
    assert second["summary"] in page.partition('id="chapters"')[2]
    assert "of “Chapter 1: The alder” to “Chapter 3: The alder”" in page
    cited = command.run("show", second["run"], "--cite", "json").json["places"]
    assert all(place["pages"] for place in cited)
    freed = command.run("forget", run, "--json", "--yes").json
    assert len(freed["runs"]) == 4
    assert command.run("runs", "--all", "--json").json["runs"] == []


@pytest.mark.slow
def test_all_chapters_share_one_budget(command: LocalCommand) -> None:
    name = in_markdown(command.folder)
    done = command.run("summarize", name, *SMALL, "--max-calls", "2", "--concurrency", "1", "--json", code=3)
    result = done.json
    assert result["status"] == "stopped"
    assert result["usage"]["calls"] == 2
    assert "chapters are covered" in result["notes"][0]
    resumed = command.run("resume", result["run"], "--max-calls", "20", "--json", "-q").json
    assert resumed["status"] == "done"
    assert resumed["usage"]["calls"] == 5
    assert {part["result"]["status"] for part in resumed["chapters"]} == {"done"}


@pytest.mark.nightly
def test_killed_and_resumed_nothing_is_paid_twice(tmp_path: Path) -> None:
    with ChatServer(summarizer(), latency=lambda prompt, completion, index: 0.05) as server:
        command = LocalCommand(tmp_path, server.base_url)
        name = in_markdown(tmp_path, 5)
        process = command.start("summarize", name, *SMALL, *MODEL, "--concurrency", "2", "-o", "out.md")
        while len(server.answered) < 5:
            assert process.poll() is None, process.communicate()
        process.kill()
        process.communicate()
        answered = {str(seen.messages) for seen in server.answered}
        before = len(server.seen)
        (run,) = command.run("runs", "--json").json["runs"]
        assert run["status"] == "killed"
        done = command.run("resume", run["run"], "--json", "-o", "resumed.md", code=0)
        resumed = [request for request in server.seen[before:] if str(request.messages) in answered]
    assert {part["result"]["status"] for part in done.json["chapters"]} == {"done"}
    # What was answered and not yet stored when the process died is asked for again: no more than was under way.
    assert len(resumed) <= 2
    # A path on record is written to only if it is given again.
    assert not (tmp_path / "out.md").exists()
    assert (tmp_path / "resumed.md").read_text("utf-8").count("\n## ") == 5


@pytest.mark.slow
def test_a_failed_chapter_is_left_out(tmp_path: Path) -> None:
    keeps = summarizer()

    def refuses(request: Any) -> str:
        return "" if "In chapter 2 " in str(request.messages) else keeps(request)

    with ChatServer(refuses) as server:
        command = LocalCommand(tmp_path, server.base_url)
        done = command.run("summarize", in_markdown(tmp_path), *SMALL, *MODEL, "--strategy", "direct", "--json", code=3)
    result = done.json
    assert [gap["chunk"] for gap in result["gaps"]] == [1]
    assert [bool(part["result"]["summary"]) for part in result["chapters"]] == [True, False, True]
    assert "chapter 2 of 3 is left out" in done.err


@pytest.mark.slow
def test_a_chapter_too_long_is_refused_first(tmp_path: Path) -> None:
    name = in_markdown(tmp_path)
    (tmp_path / name).write_text((tmp_path / name).read_text("utf-8") + "\n\nAnd on it went." * 2000, "utf-8")
    with ChatServer(summarizer()) as server:
        command = LocalCommand(tmp_path, server.base_url)
        done = command.run("summarize", name, *SMALL, *MODEL, "--strategy", "direct")
        assert done.code != 0
        assert "more than the window of 8,192" in done.err
        assert server.seen == []
