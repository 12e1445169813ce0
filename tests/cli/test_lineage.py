"""`redraft lineage`, `redraft show --cite` and `redraft export`, as they are typed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.inside import Inside, keepers_court


def test_every_sentence_is_shown_with_its_place(court: tuple[Inside, str]) -> None:
    command, run = court
    done = command.run("lineage", run)
    summary = command.run("show", run, "--quiet").out.strip()

    assert done.code == 0, done.err
    shown = " ".join(done.out.split())
    for sentence in summary.split(". "):
        assert sentence.strip(".") in shown
    assert "% of the document: “The keeper number 1 is called Tom1" in shown
    read = command.run("lineage", run, "--json").json
    assert read["run"] == run
    assert [one["text"] for one in read["sentences"]] == [f"{one.strip('.')}." for one in summary.split(". ")]


def test_a_summary_is_shown_with_its_citations(court: tuple[Inside, str]) -> None:
    command, run = court
    plain = command.run("show", run, "--cite")
    assert plain.code == 0, plain.err
    assert " [1] " in plain.out
    assert "\n[1] " in plain.out
    assert command.run("show", run, "--cite", "footnotes").out == plain.out
    assert "[^1]: " in command.run("show", run, "--cite", "markdown").out
    assert command.run("show", run, "--cite", "json").json == command.run("show", run, "--cite", "--json").json


def test_a_sentence_without_a_place_is_said_beside_the_citations(court: tuple[Inside, str]) -> None:
    command, run = court
    assert "no place" not in command.run("show", run, "--cite").err
    (command.folder / "odd.md").write_text("A purple dragon sang opera in Vienna.", "utf-8")
    odd = command.run("evaluate", "book.md", "odd.md", "--metric", "position", "--json").json["run"]

    shown = command.run("show", odd, "--cite")

    assert "[1]" not in shown.out
    assert shown.err.startswith(f"no place in the document for 1 sentence: redraft lineage {odd}")


@pytest.mark.parametrize(
    "words",
    [
        ("show", "--cite", "pdf"),
        ("show", "--cite", "markdown", "-o", "summary.md"),
        ("lineage", "--dry-run"),
    ],
)
def test_what_cannot_be_meant_is_refused(court: tuple[Inside, str], words: tuple[str, ...]) -> None:
    command, run = court
    done = command.run(words[0], run, *words[1:])
    assert done.code == 2
    assert done.err


def test_what_was_lost_is_shown_with_its_step(court: tuple[Inside, str]) -> None:
    command, run = court
    shown = command.run("lineage", run, "--lost")
    read = command.run("lineage", run, "--lost", "--json").json
    facts = len(read["kept"]) + len(read["lost"])

    assert shown.code == 0, shown.err
    assert f"{len(read['kept'])} of {facts} in the summary" in " ".join(shown.out.split())
    assert read["by"].startswith("questions ")
    assert facts
    for loss in read["lost"]:
        assert loss["step"] in shown.out or loss["said"] in " ".join(shown.out.split())


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Inside, str]]:
    """A poor summary that a judge has read."""
    with keepers_court(tmp_path_factory.mktemp("judged")) as command:
        yield command, command.run("evaluate", "book.md", "poor.md", "--json").json["run"]


def test_what_the_judge_has_found_in_the_summary_is_not_lost(judged: tuple[Inside, str]) -> None:
    command, run = judged
    found = command.run("lineage", run, "--lost", "--json").json
    said = found["judged"]
    assert len(said) == len(found["kept"]) + len(found["lost"]) == 6
    # Three keepers are named rightly, one wrongly and two not at all.
    assert {fact for fact, one in said.items() if one["holds"]} == {fact["text"] for fact in found["kept"]}
    assert (len(found["kept"]), len(found["lost"])) == (3, 3)
    assert all(one["sentences"] for one in said.values() if one["holds"])
    shown = command.run("lineage", run, "--lost").out
    assert "note: a judge decided which of them the summary states\n" in shown


def test_citations_say_which_of_them_a_judge_has_confirmed(judged: tuple[Inside, str]) -> None:
    command, run = judged
    found = command.run("show", run, "--cite", "json").json
    assert [len(one["cites"]) for one in found["sentences"]] == [1, 0, 1, 1]
    assert {one["by"] for one in found["places"]} == {"judge"}
    for one, place in zip([*found["sentences"][:1], *found["sentences"][2:]], found["places"], strict=True):
        assert one["text"].strip(".") in place["origin"]["text"]
    shown = command.run("show", run, "--cite").out
    assert shown.endswith("All citations are quotes by which a judge confirmed the sentence.\n")


def test_what_no_judge_has_confirmed_is_matched_by_wording_and_says_so(judged: tuple[Inside, str]) -> None:
    command, _ = judged
    # Two of the four sentences are examined, the first and the third.
    words = ("evaluate", "book.md", "poor.md", "--metric", "consistency", "--set", "claims=2", "--json")
    run = command.run(*words).json["run"]
    found = command.run("show", run, "--cite", "json").json
    assert [one["by"] for one in found["places"]] == ["judge", "judge", "words"]
    shown = command.run("show", run, "--cite").out
    basis = "Citations 1, 2 are quotes by which a judge confirmed the sentence; the others were matched by wording."
    assert " ".join(shown.splitlines()[-2:]).endswith(basis), shown
    by_sentence = command.run("lineage", run, "--json").json["sentences"]
    assert [one["by"] for one in by_sentence] == ["judge", None, "judge", "words"]
    assert "   - judge: " in command.run("lineage", run).out
    assert command.run("show", run, "-o", "out.html", "--quiet").code == 0
    page = (command.folder / "out.html").read_text("utf-8")
    assert basis.replace("Citations", "Footnotes") in page


def test_the_dossier_says_of_each_source_whose_word_it_is(judged: tuple[Inside, str]) -> None:
    command, run = judged
    assert command.run("export", run, "-o", "page.json", "-q").code == 0
    sentences = json.loads((command.folder / "page.json").read_text("utf-8"))["sentences"]
    assert [one["by"] for one in sentences] == ["judge", None, "judge", "judge"]
    assert command.run("export", run, "-o", "page.html", "-q").code == 0
    assert (command.folder / "page.html").read_text("utf-8").count("quoted by the judge") == 3


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
    assert told.json["result"]["run"] == run
    assert told.json["result"]["summary"] == command.run("show", run, "--json").json["summary"]
    assert told.err == ""
    markdown = command.run("export", run, "--format", "markdown").out
    assert markdown.startswith("# ")
    assert "## Sources of each sentence" in markdown
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
