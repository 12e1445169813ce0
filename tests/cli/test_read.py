"""`redraft read`, documents with pages on their way through the other commands, and `redraft data`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.local_command import LocalCommand
from tests.readers import makers
from tests.readers.test_formats import book

SMALL = ("--words", "60", "--json", "--quiet")


@pytest.fixture
def command(tmp_path: Path) -> LocalCommand:
    return LocalCommand(tmp_path, COLUMNS="100")


@pytest.mark.slow
def test_reading_of_a_file_is_shown(command: LocalCommand, tmp_path: Path) -> None:
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


@pytest.mark.nightly
def test_pages_reach_citations_findings_and_the_dossier(command: LocalCommand, tmp_path: Path) -> None:
    title, chapters = book()
    path = tmp_path / "book.pdf"
    path.write_bytes(makers.pdf(title, chapters[:2]))
    report = command.run("summarize", str(path), "--chapters", "1-2", *SMALL).json
    run = report["run"]
    assert any("running headers" in note for note in report["source"]["notes"])
    cited = command.run("show", run, "--cite", "json").json
    assert cited["places"]
    assert all(place["pages"] and place["chapter"] for place in cited["places"])
    assert ", page" in command.run("show", run, "--cite", "footnotes").out
    (tmp_path / "summary.md").write_text("Hester Vane came to the island of Sarn on a boat.", "utf-8")
    report = command.run("evaluate", str(path), str(tmp_path / "summary.md"), "--metric", "coverage", "--json").json
    findings = [finding for finding in report["metrics"]["coverage"]["findings"] if finding["evidence"]]
    assert findings
    assert all(
        finding["place"]["pages"] and finding["place"]["chapter"] for finding in findings if finding["evidence"]["span"]
    )
    out = tmp_path / "dossier.html"
    command.run("export", run, "-o", str(out))
    assert "</bdi>, <bdi>page " in out.read_text("utf-8")
    assert "document: left out:" in command.run("show", run).err
