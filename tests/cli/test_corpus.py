"""Several documents on their way through the commands: every place says which of them it is in."""

from __future__ import annotations

import json

import pytest

from tests.cli.inside import Inside
from tests.readers.test_corpus import TREES, three

SMALL = ("--words", "90", "--quiet")


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Inside:
    folder = tmp_path_factory.mktemp("corpus")
    three(folder)
    (folder / "summary.md").write_text("In chapter 1 the alder number 0 was seen by Ruth Crane in 1999.", "utf-8")
    return Inside(folder, COLUMNS="100")


@pytest.fixture(scope="module")
def paths(command: Inside) -> list[str]:
    return [f"{tree}.{kind}" for tree, kind in zip(TREES, ("docx", "html", "pdf"), strict=True)]


def named_rightly(place: dict[str, str]) -> bool:
    """Whether a place names the document in which alone its words stand, its chapter, and the page where it has any."""
    tree, _, kind = place["document"].partition(".")
    return tree in place["text"] and place["chapter"].endswith(tree) and bool(place["pages"]) == (kind == "pdf")


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["hierarchical", "incremental", "direct"])
def test_every_sentence_names_its_document(command: Inside, paths: list[str], strategy: str) -> None:
    options = ("--strategy", strategy, "--chunk-tokens", "512", "--json")
    made = command.run("summarize", *paths, *SMALL, *options).json
    cited = command.run("show", made["run"], "--cite", "json").json["places"]
    assert cited
    assert all(named_rightly(place | {"text": place["quote"]}) for place in cited)
    traced = command.run("lineage", made["run"], "--json").json
    origins = [origin for one in traced["sentences"] for origin in one["origins"]]
    assert all(map(named_rightly, origins))
    if strategy == "hierarchical":
        assert {one["document"] for one in cited} >= set(paths[:2])


@pytest.mark.slow
def test_people_are_told_the_document_wherever_a_place_is(command: Inside, paths: list[str]) -> None:
    run = command.run("summarize", *paths, *SMALL, "--json").json["run"]
    where = "alder.docx, Chapter 1: The alder"
    assert f"] {where}: “" in command.run("show", run, "--cite").out
    assert f"{where}, at " in command.run("lineage", run).out
    command.run("export", run, "-o", "run.html")
    assert "<bdi>alder.docx</bdi>, <bdi>Chapter 1: The alder</bdi>, at " in (command.folder / "run.html").read_text(
        "utf-8"
    )
    command.run("export", run, "-o", "run.md")
    assert f"{where}, at " in (command.folder / "run.md").read_text("utf-8")


@pytest.mark.nightly
def test_the_same_files_are_the_same_document_to_every_command(command: Inside, paths: list[str]) -> None:
    judged = command.run("evaluate", *paths, "summary.md", "--metric", "coverage", "--metric", "consistency", "--json")
    known = judged.json["source"]["id"]
    findings = [one for metric in judged.json["metrics"].values() for one in metric["findings"]]
    places = [one["place"] | {"text": one["evidence"]["text"]} for one in findings if "place" in one]
    assert places
    assert all(map(named_rightly, places))
    refined = command.run("refine", *paths, "summary.md", "-g", "coverage=0.1", *SMALL, "--json").json
    assert refined["source"]["id"] == known
    assert json.loads(command.run("pack", "export", *paths, "-q").out)["document"]["id"] == known
    facts = command.run("keyfacts", *paths, "-q")
    assert "(birch.html, at " in facts.out
    assert command.run("read", *paths, "--json").json["id"] == known
    (command.folder / "second.md").write_text("The birch was seen.", "utf-8")
    assert command.run("compare", *paths, "summary.md", "second.md", "--json").json["source"]["id"] == known


@pytest.mark.slow
def test_what_is_read_of_several_is_shown(command: Inside, paths: list[str]) -> None:
    shown = command.run("read", *paths).out
    assert "- document: alder.docx: " in shown
    assert "- note: cedar.pdf: left out: " in shown
    assert "All about the birch" in shown


@pytest.mark.slow
def test_what_cannot_be_meant_is_a_sentence(command: Inside, paths: list[str]) -> None:
    for words, said in (
        (("summarize", *paths, "--pages", "1"), "--pages applies to one document, but 3 were given"),
        (("summarize", paths[0], "gone.md"), "gone.md: no such file"),
        (("summarize", "-", "-"), "stdin can be read for one document only"),
        (("evaluate", paths[0], "-", "-"), "SOURCE and SUMMARY cannot both be stdin"),
        (("evaluate", paths[0]), "SUMMARY is missing"),
    ):
        assert said in command.run(*words).err


@pytest.mark.slow
def test_one_of_several_comes_from_stdin(command: Inside, paths: list[str]) -> None:
    piped = (command.folder / paths[0]).read_bytes()
    made = command.run("summarize", "-", paths[1], *SMALL, "--json", stdin=piped).json
    cited = command.run("show", made["run"], "--cite", "json").json["places"]
    assert {one["document"] for one in cited} <= {"stdin", paths[1]}
