"""`redraft lineage`, `redraft show --cite` and `redraft export`, as they are typed."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator

import pytest

from tests.cli.local_command import LocalCommand, judging_folder


def test_sentences_have_places_and_citations(refined_run: tuple[LocalCommand, str]) -> None:
    command, run = refined_run
    done = command.run("lineage", run, code=0)
    sentences = command.run("show", run, "--quiet").out.strip().split(". ")
    text = " ".join(done.out.split())
    assert all(sentence.strip(".") in text for sentence in sentences)
    assert "% of the document: “The keeper number 1 is called Tom1" in text
    content = command.run("lineage", run, "--json").json
    assert content["run"] == run
    assert [item["text"].strip(".") for item in content["sentences"]] == [part.strip(".") for part in sentences]
    plain = command.run("show", run, "--cite", out=(" [1] ", "\n[1] "))
    assert (plain.code, "no place" in plain.err) == (0, False), plain.err
    assert command.run("show", run, "--cite", "footnotes").out == plain.out
    assert "[^1]: " in command.run("show", run, "--cite", "markdown").out
    assert command.run("show", run, "--cite", "json").json == command.run("show", run, "--cite", "--json").json


def test_citations_name_sentences_without_a_place(refined_run: tuple[LocalCommand, str]) -> None:
    command, _ = refined_run
    (command.folder / "odd.md").write_text("A purple dragon sang opera in Vienna.", "utf-8")
    odd = command.run("evaluate", "book.md", "odd.md", "--metric", "position", "--json").json["run"]
    done = command.run("show", odd, "--cite")
    assert "[1]" not in done.out
    assert done.err.startswith(f"no place in the document for 1 sentence: redraft lineage {odd}")


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalCommand, str]]:
    """A poor summary that a judge has read."""
    with judging_folder(tmp_path_factory.mktemp("judged")) as command:
        yield command, command.run("evaluate", "book.md", "poor.md", "--json").json["run"]


def test_judges_confirm_and_refute_sentences(evaluated: tuple[LocalCommand, str]) -> None:
    command, run = evaluated
    sentences = command.run("lineage", run, "--json").json["sentences"]
    refuted = ["coverage: contradicted", "consistency: inconsistent"]
    assert [sentence["objections"] for sentence in sentences] == [[], refuted, [], []]
    text = command.run("lineage", run).out
    assert "\n1 that judges object to" in text
    assert "\n   - ✗ consistency: inconsistent\n" in text
    # Two of the four sentences are examined, the first and the third.
    words = ("evaluate", "book.md", "poor.md", "--metric", "consistency", "--set", "claims=2", "--json")
    run = command.run(*words).json["run"]
    places = command.run("show", run, "--cite", "json").json["places"]
    assert [place["by"] for place in places] == ["judge", "judge", "words"]
    basis = "Citations 1, 2 are quotes by which a judge confirmed a claim; the others were matched by wording."
    assert " ".join(command.run("show", run, "--cite").out.split()).endswith(basis)
    sentences = command.run("lineage", run, "--json").json["sentences"]
    assert [sentence["by"] for sentence in sentences] == ["judge", None, "judge", "words"]
    assert "   - quoted by the judge: " in (text := command.run("lineage", run).out)
    assert "   - matched by wording, 1.00: " in text
    assert command.run("show", run, "-o", "out.html", "--quiet").code == 0
    assert basis.replace("Citations", "Footnotes") in (command.folder / "out.html").read_text("utf-8")


def test_an_exported_page_says_what_it_holds(refined_run: tuple[LocalCommand, str]) -> None:
    command, run = refined_run
    done = command.run("export", run, "-o", "dossier.html")
    assert (done.code, done.out) == (0, ""), done.err
    assert re.search(r"written to dossier.html: \d+ KB. Includes the full text of the document", done.err)
    page = (command.folder / "dossier.html").read_text("utf-8")
    for text in ("<!doctype html>", "default-src &#39;none&#39;", "Includes the full text of the document"):
        assert text in page
    assert str(command.folder) not in page
    assert command.run("export", run, "--format", "html").out.strip() == page.strip(), (
        "the same run gives the same bytes"
    )
    for name, start in (("a.json", "{"), ("a.htm", "<!doctype"), ("a", "<!doctype")):
        command.run("export", run, "-o", name, "-q", code=0)
        assert (command.folder / name).read_text("utf-8").startswith(start)
    done = command.run("export", run, "--format", "json")
    assert (done.json["result"]["run"], done.err) == (run, "")
    assert done.json["result"]["summary"] == command.run("show", run, "--json").json["summary"]


def test_the_text_is_left_out_on_request(refined_run: tuple[LocalCommand, str]) -> None:
    command, run = refined_run
    content = json.loads(command.run("export", run, "--no-source", "--format", "json").out)
    assert content["document"]["text"] is None
    assert "except the cited passages" in content["holds"]
    contents = {}
    for name, option in (("with", ()), ("without", ("--no-source",))):
        page = command.run("export", run, "--format", "html", *option).out
        packed = page.partition('id="data">')[2].partition("</script>")[0]
        contents[name] = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert "keeper number 1 is called Tom1" in json.dumps(contents["with"]["parts"])
    assert not {"parts", "details"} & contents["without"].keys()
