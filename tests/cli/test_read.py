"""What is read on its way through the commands: pages, several documents as one, and chapters with their own runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.chatserver import ChatServer, summarizer
from tests.cli.local_command import LocalCommand
from tests.readers import makers
from tests.readers.test_corpus import TREES, three, trees
from tests.readers.test_formats import book

SMALL = ("--words", "60", "--json", "--quiet")


@pytest.mark.slow
def test_reading_of_a_file_is_shown(tmp_path: Path) -> None:
    command = LocalCommand(tmp_path, COLUMNS="100")
    title, chapters = book()
    path = tmp_path / "book.pdf"
    path.write_bytes(makers.pdf(title, chapters[:2]))
    output = command.run("read", str(path)).out
    assert "The Salt Ledger" in output
    assert "left out: " in output
    assert "Chapter 2: The Counting House" in output
    as_json = command.run("read", str(path), "--chapters", "2", "--json").json
    assert [section["chapter"] for section in as_json["sections"] if section["chapter"]] == [2]
    assert as_json["sections"][-1]["pages"]
    assert "reading chapter 2 only" in as_json["notes"]
    text = command.run("read", str(path), "--chapters", "2", "--text", "-q").out
    assert text.startswith("## Chapter 2: The Counting House\n")


NINETY_WORDS = ("--words", "90", "--quiet")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> LocalCommand:
    folder = tmp_path_factory.mktemp("corpus")
    three(folder)
    (folder / "summary.md").write_text("In chapter 1 the alder number 0 was seen by Ruth Crane in 1999.", "utf-8")
    return LocalCommand(folder, COLUMNS="100")


@pytest.fixture(scope="module")
def paths(shelf: LocalCommand) -> list[str]:
    return [f"{tree}.{kind}" for tree, kind in zip(TREES, ("docx", "html", "pdf"), strict=True)]


def named_rightly(place: dict[str, str]) -> bool:
    """Whether a place names the document in which alone its words stand, its chapter, and the page where it has any."""
    tree, _, kind = place["document"].partition(".")
    return tree in place["text"] and place["chapter"].endswith(tree) and bool(place["pages"]) == (kind == "pdf")


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["hierarchical", "incremental", "direct"])
def test_every_sentence_names_its_document(shelf: LocalCommand, paths: list[str], strategy: str) -> None:
    options = ("--strategy", strategy, "--chunk-tokens", "512", "--json")
    result = shelf.run("summarize", *paths, *NINETY_WORDS, *options).json
    cited = shelf.run("show", result["run"], "--cite", "json").json["places"]
    assert cited
    assert all(named_rightly(place | {"text": place["quote"]}) for place in cited)
    traced = shelf.run("lineage", result["run"], "--json").json
    origins = [origin for part in traced["sentences"] for origin in part["origins"]]
    assert all(map(named_rightly, origins))
    if strategy == "hierarchical":
        assert {part["document"] for part in cited} >= set(paths[:2])


@pytest.mark.nightly
def test_commands_read_files_as_one_document(shelf: LocalCommand, paths: list[str]) -> None:
    evaluated = shelf.run("evaluate", *paths, "summary.md", "--metric", "coverage", "--metric", "consistency", "--json")
    document_id = evaluated.json["source"]["id"]
    findings = [part for metric in evaluated.json["metrics"].values() for part in metric["findings"]]
    places = [part["place"] | {"text": part["evidence"]["text"]} for part in findings if "place" in part]
    assert places
    assert all(map(named_rightly, places))
    refined = shelf.run("refine", *paths, "summary.md", "-g", "coverage=0.1", *NINETY_WORDS, "--json").json
    assert refined["source"]["id"] == document_id
    assert json.loads(shelf.run("pack", "export", *paths, "-q").out)["document"]["id"] == document_id
    shelf.run("keyfacts", *paths, "-q", out="(birch.html, at ")
    assert shelf.run("read", *paths, "--json").json["id"] == document_id


BY_CHAPTER = ("--words", "60", "--by-chapter")
MODEL = ("--model", "openai:m", "--context-tokens", "8192")


@pytest.fixture
def parts(tmp_path: Path) -> LocalCommand:
    (tmp_path / "book.pdf").write_bytes(makers.pdf("All about the alder", trees("alder", 3)))
    return LocalCommand(tmp_path, COLUMNS="100")


def in_markdown(folder: Path, chapters: int = 3) -> str:
    sections = [f"## {title}\n\n" + "\n\n".join(texts) for title, texts in trees("alder", chapters)]
    path = folder / "book.md"
    path.write_text("\n\n".join(["# All about the alder", *sections]), "utf-8")
    return path.name


@pytest.mark.nightly
def test_they_are_printed_written_listed_and_traced(parts: LocalCommand) -> None:
    parts.run("summarize", "book.pdf", *BY_CHAPTER, "-o", "out.md", err="3 chapters, each with a run of its own\n")
    written = (parts.folder / "out.md").read_text("utf-8")
    assert written.startswith("# All about the alder\n\nIn chapter")
    assert "\n\n## Chapter 2: The alder\n\nIn chapter 2 " in written
    [listed] = parts.run("runs", "--json").json["runs"]
    run = listed["run"]
    assert len(parts.run("runs", "--all", "--json").json["runs"]) == 4
    parts.run("show", run, err="Chapter 3: The alder")
    assert parts.run("show", run, "--format", "markdown").out == written
    assert "the summary of “Chapter 1: The alder”" in " ".join(parts.run("lineage", run).out.split())
    assert "3 chapters, each with a run of its own\n" in parts.run("trace", run).out
    chapters = parts.run("show", run, "--json").json["chapters"]
    assert [chapter["title"] for chapter in chapters] == [title for title, _ in trees("alder", 3)]
    assert parts.run("trace", run, "--json").json["result"]["chapters"] == chapters
    assert parts.run("export", run, "--format", "json").json["result"]["chapters"] == chapters
    second = chapters[1]["result"]
    assert all(chapter["pages"] for chapter in chapters)
    parts.run("export", run, "-o", "run.html")
    page = " ".join((parts.folder / "run.html").read_text("utf-8").split())
    assert second["summary"] in page.partition('id="chapters"')[2]
    assert "of “Chapter 1: The alder” to “Chapter 3: The alder”" in page
    cited = parts.run("show", second["run"], "--cite", "json").json["places"]
    assert all(place["pages"] for place in cited)
    freed = parts.run("forget", run, "--json", "--yes").json
    assert len(freed["runs"]) == 4
    assert parts.run("runs", "--all", "--json").json["runs"] == []


@pytest.mark.slow
def test_all_chapters_share_one_budget(parts: LocalCommand) -> None:
    name = in_markdown(parts.folder)
    done = parts.run("summarize", name, *BY_CHAPTER, "--max-calls", "2", "--concurrency", "1", "--json", code=3)
    result = done.json
    assert result["status"] == "stopped"
    assert result["usage"]["calls"] == 2
    assert "chapters are covered" in result["notes"][0]
    resumed = parts.run("resume", result["run"], "--max-calls", "20", "--json", "-q").json
    assert resumed["status"] == "done"
    assert resumed["usage"]["calls"] == 5
    assert {part["result"]["status"] for part in resumed["chapters"]} == {"done"}


@pytest.mark.nightly
def test_killed_and_resumed_nothing_is_paid_twice(tmp_path: Path) -> None:
    with ChatServer(summarizer(), latency=lambda prompt, completion, index: 0.05) as server:
        parts = LocalCommand(tmp_path, server.base_url)
        name = in_markdown(tmp_path, 5)
        process = parts.start("summarize", name, *BY_CHAPTER, *MODEL, "--concurrency", "2", "-o", "out.md")
        while len(server.answered) < 5:
            assert process.poll() is None, process.communicate()
        process.kill()
        process.communicate()
        answered = {str(seen.messages) for seen in server.answered}
        before = len(server.seen)
        (run,) = parts.run("runs", "--json").json["runs"]
        assert run["status"] == "killed"
        done = parts.run("resume", run["run"], "--json", "-o", "resumed.md", code=0)
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
        parts = LocalCommand(tmp_path, server.base_url)
        done = parts.run(
            "summarize", in_markdown(tmp_path), *BY_CHAPTER, *MODEL, "--strategy", "direct", "--json", code=3
        )
    result = done.json
    assert [gap["chunk"] for gap in result["gaps"]] == [1]
    assert [bool(part["result"]["summary"]) for part in result["chapters"]] == [True, False, True]
    assert "chapter 2 of 3 is left out" in done.err


@pytest.mark.slow
def test_a_chapter_too_long_is_refused_first(tmp_path: Path) -> None:
    name = in_markdown(tmp_path)
    (tmp_path / name).write_text((tmp_path / name).read_text("utf-8") + "\n\nAnd on it went." * 2000, "utf-8")
    with ChatServer(summarizer()) as server:
        parts = LocalCommand(tmp_path, server.base_url)
        done = parts.run("summarize", name, *BY_CHAPTER, *MODEL, "--strategy", "direct")
        assert done.code != 0
        assert "more than the window of 8,192" in done.err
        assert server.seen == []
