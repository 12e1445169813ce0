"""Several documents on their way through the commands: every place says which of them it is in."""

from __future__ import annotations

import json

import pytest

from tests.cli.local_command import LocalCommand
from tests.readers.test_corpus import TREES, three

SMALL = ("--words", "90", "--quiet")


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> LocalCommand:
    folder = tmp_path_factory.mktemp("corpus")
    three(folder)
    (folder / "summary.md").write_text("In chapter 1 the alder number 0 was seen by Ruth Crane in 1999.", "utf-8")
    return LocalCommand(folder, COLUMNS="100")


@pytest.fixture(scope="module")
def paths(command: LocalCommand) -> list[str]:
    return [f"{tree}.{kind}" for tree, kind in zip(TREES, ("docx", "html", "pdf"), strict=True)]


def named_rightly(place: dict[str, str]) -> bool:
    """Whether a place names the document in which alone its words stand, its chapter, and the page where it has any."""
    tree, _, kind = place["document"].partition(".")
    return tree in place["text"] and place["chapter"].endswith(tree) and bool(place["pages"]) == (kind == "pdf")


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["hierarchical", "incremental", "direct"])
def test_every_sentence_names_its_document(command: LocalCommand, paths: list[str], strategy: str) -> None:
    options = ("--strategy", strategy, "--chunk-tokens", "512", "--json")
    result = command.run("summarize", *paths, *SMALL, *options).json
    cited = command.run("show", result["run"], "--cite", "json").json["places"]
    assert cited
    assert all(named_rightly(place | {"text": place["quote"]}) for place in cited)
    traced = command.run("lineage", result["run"], "--json").json
    origins = [origin for part in traced["sentences"] for origin in part["origins"]]
    assert all(map(named_rightly, origins))
    if strategy == "hierarchical":
        assert {part["document"] for part in cited} >= set(paths[:2])


@pytest.mark.nightly
def test_commands_read_files_as_one_document(command: LocalCommand, paths: list[str]) -> None:
    evaluated = command.run(
        "evaluate", *paths, "summary.md", "--metric", "coverage", "--metric", "consistency", "--json"
    )
    document_id = evaluated.json["source"]["id"]
    findings = [part for metric in evaluated.json["metrics"].values() for part in metric["findings"]]
    places = [part["place"] | {"text": part["evidence"]["text"]} for part in findings if "place" in part]
    assert places
    assert all(map(named_rightly, places))
    refined = command.run("refine", *paths, "summary.md", "-g", "coverage=0.1", *SMALL, "--json").json
    assert refined["source"]["id"] == document_id
    assert json.loads(command.run("pack", "export", *paths, "-q").out)["document"]["id"] == document_id
    command.run("keyfacts", *paths, "-q", out="(birch.html, at ")
    assert command.run("read", *paths, "--json").json["id"] == document_id
