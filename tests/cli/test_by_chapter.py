"""`redraft summarize --by-chapter`: one summary of each chapter, each by a run of its own, and one of all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redraft.report.history.results import RunResult
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
def test_each_chapter_has_its_own_summary(command: LocalCommand) -> None:
    plan = command.run("summarize", "book.pdf", *SMALL, "--dry-run", "--json").json
    result = command.run("summarize", "book.pdf", *SMALL, "--json").json
    chapters = result["chapters"]
    assert [part["title"] for part in chapters] == [title for title, _ in trees("alder", 3)]
    assert chapters[0]["pages"].startswith("1")
    for number, part in enumerate(chapters, 1):
        assert f"In chapter {number} the alder" in part["result"]["summary"]
        assert part["result"]["words"] <= 30
        assert part["result"]["source"]["title"] == f"All about the alder: Chapter {number}: The alder"
    assert result["words"] <= 60
    # A draft of each chapter and one of them all, which happens to be tidied.
    assert result["usage"]["calls"] + result["usage"]["cached"] == plan["calls"] + 1 > 3
    assert sum(part["calls"] for part in plan["chapters"]) + 1 == plan["calls"]
    assert len(plan["chapters"]) == 3


@pytest.mark.nightly
def test_they_are_printed_written_listed_and_traced(command: LocalCommand) -> None:
    command.run("summarize", "book.pdf", *SMALL, "-o", "out.md", err="3 chapters, each with a run of its own\n")
    written = (command.folder / "out.md").read_text("utf-8")
    assert written.startswith("# All about the alder\n\nIn chapter")
    assert "\n\n## Chapter 2: The alder\n\nIn chapter 2 " in written
    (run,) = command.run("runs", "--json").json["runs"]
    assert len(command.run("runs", "--all", "--json").json["runs"]) == 4
    command.run("show", run["run"], err="Chapter 3: The alder")
    assert command.run("show", run["run"], "--format", "markdown").out == written
    assert "the summary of “Chapter 1: The alder”" in " ".join(command.run("lineage", run["run"]).out.split())
    assert "3 chapters, each with a run of its own\n" in command.run("trace", run["run"]).out
    chapters = command.run("trace", run["run"], "--json").json["result"]["chapters"]
    chapter = command.run("show", run["run"], "--json").json["chapters"][1]["result"]["run"]
    assert [part["title"] for part in chapters] == [title for title, _ in trees("alder", 3)]
    assert chapters[1]["result"]["run"] == chapter
    dossier = command.run("export", run["run"], "--format", "json").json["result"]["chapters"]
    assert dossier == chapters
    assert all(part["pages"] and part["span"][1] > part["span"][0] and part["result"]["words"] for part in dossier)
    assert dossier[1]["result"]["summary"] in _exported(command, run["run"]).partition('id="chapters"')[2]
    assert "In chapter 2" in command.run("show", chapter).out
    cited = command.run("show", chapter, "--cite", "json").json["places"]
    assert all(part["pages"] for part in cited)
    assert "of “Chapter 1: The alder” to “Chapter 3: The alder”" in _exported(command, run["run"])
    freed = command.run("forget", run["run"], "--json", "--yes")
    assert len(freed.json["runs"]) == 4, freed.err
    assert command.run("runs", "--all", "--json").json["runs"] == []


def _exported(command: LocalCommand, run: str) -> str:
    command.run("export", run, "-o", "run.html")
    return " ".join((command.folder / "run.html").read_text("utf-8").split())


@pytest.mark.slow
def test_resume_makes_a_forgotten_chapter_again(command: LocalCommand) -> None:
    name = in_markdown(command.folder)
    result = command.run("summarize", name, *SMALL, "--json").json
    assert RunResult.model_validate(result).model_dump(mode="json") == result, "what is printed can be read again"
    command.run("forget", result["chapters"][0]["result"]["run"], "--yes", "-q")
    assert command.run("show", result["run"], "--json").json["chapters"][0]["result"] is None
    resumed = command.run("resume", result["run"], "--json", "-q").json
    assert resumed["chapters"][0]["result"]["summary"] == result["chapters"][0]["result"]["summary"]
    assert resumed["summary"] == result["summary"]


@pytest.mark.nightly
def test_chapters_are_judged_and_refined_by_themselves(command: LocalCommand) -> None:
    name = in_markdown(command.folder)
    options = ("--refine", "-g", "booookscore=0.9", "--rounds", "1", "--json", "-q")
    done = command.run("summarize", name, *SMALL, *options, code=3)
    result = done.json
    for part in (result, *(chapter["result"] for chapter in result["chapters"])):
        assert part["kind"] == "refine"
        # Whatever the goals, an editor's text is judged for content and for truth.
        assert set(part["scores"]) == {"booookscore", "coverage", "consistency"}
        assert set(part["goals"]) == {"booookscore"}
        assert part["goals"]["booookscore"]["at_least"] == 0.9
    assert "goals missed" in command.run("show", result["run"]).err


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


@pytest.mark.slow
def test_what_cannot_be_meant_is_a_sentence(command: LocalCommand) -> None:
    (command.folder / "plain.txt").write_text("The lamp went out at nine, and nobody came to see it. " * 40, "utf-8")
    for words, message in (
        (("plain.txt",), "no chapters are found in the document"),
        (("book.pdf", "--set", "until=500"), "chapters are read whole"),
        (("book.pdf", "--refine", "--review"), "a review is of one summary, and there is one per chapter"),
    ):
        done = command.run("summarize", *words, "--by-chapter", "-q", code=2)
        assert message in done.err


@pytest.mark.slow
def test_several_documents_are_summarized_separately(command: LocalCommand) -> None:
    name = in_markdown(command.folder)
    (command.folder / "other.md").write_text("The birch was seen by a farmer in the wood. " * 60, "utf-8")
    done = command.run("summarize", name, "other.md", *SMALL, out=("\n\nbook.md\n\n", "\n\nother.md\n\nThe birch"))
    assert "2 documents, each with a run of its own\n" in done.err
