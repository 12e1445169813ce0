"""`redraft export`, as it is typed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.inside import Inside, keepers_court


@pytest.fixture(scope="module")
def court(tmp_path_factory: pytest.TempPathFactory) -> tuple[Inside, str]:
    """A database with a run that refined, and its id."""
    with keepers_court(tmp_path_factory.mktemp("export")) as command:
        done = command.run("refine", "book.md", "poor.md", "-g", "coverage=1", "-w", "100", "--json")
        assert done.code == 0, done.err
        return command, done.json["run"]


def test_a_page_is_written_as_the_file_is_called_and_what_it_holds_is_said(court: tuple[Inside, str]) -> None:
    command, run = court
    done = command.run("export", run, "-o", "dossier.html")
    assert done.code == 0, done.err
    assert done.out == ""
    assert re.search(r"written to dossier.html: \d+ KB. Includes the full text of the document", done.err)
    page = (command.folder / "dossier.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "default-src &#39;none&#39;" in page
    assert "Includes the full text of the document" in page
    assert str(command.folder) not in page


def test_without_a_file_it_goes_to_stdout_in_whichever_form(court: tuple[Inside, str]) -> None:
    command, run = court
    told = command.run("export", run, "--format", "json")
    assert told.json["run"]["id"] == run
    assert told.json["summary"] == command.run("show", run, "--json").json["summary"]
    assert told.err == ""
    markdown = command.run("export", run, "--format", "markdown").out
    assert markdown.startswith("# ")
    assert "## Sentence by sentence" in markdown
    assert command.run("export", run).out.startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("name", "begins"), [("a.md", "# "), ("a.json", "{"), ("a.htm", "<!doctype"), ("a", "<!doctype")]
)
def test_the_form_follows_the_name_of_the_file(court: tuple[Inside, str], name: str, begins: str) -> None:
    command, run = court
    assert command.run("export", run, "-o", name, "-q").code == 0
    assert (command.folder / name).read_text("utf-8").startswith(begins)


def test_the_text_is_left_out_on_request(court: tuple[Inside, str]) -> None:
    command, run = court
    told = json.loads(command.run("export", run, "--no-source", "--format", "json").out)
    assert told["document"]["text"] is None
    assert "only the cited passages" in told["holds"]


def test_the_same_run_gives_the_same_bytes(court: tuple[Inside, str]) -> None:
    command, run = court
    assert command.run("export", run).out == command.run("export", run).out


def test_what_cannot_be_written_is_said_before_anything_is_read(court: tuple[Inside, str], tmp_path: Path) -> None:
    command, run = court
    done = command.run("export", run, "-o", str(tmp_path / "nowhere" / "d.html"))
    assert done.code == 2
    assert "its directory does not exist" in done.err
    assert command.run("export", "ffff", "-o", "d.html").code == 1
