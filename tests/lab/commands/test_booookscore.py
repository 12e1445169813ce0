"""`redraft experiment booookscore`: what it prints and writes, how it exits, what it refuses, and that it goes on."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chatserver import Answer, ChatRequest, ChatServer, Fault
from tests.cli.local_command import LocalCommand
from tests.judges import summary_of
from tests.lab.experiments.world import answer, sent

SUMMARIES = {"a": summary_of(1, 2, 3), "b": f"{summary_of(4, 5)} {summary_of(4)}", "empty": ""}
ANNOTATIONS = {
    "a": {"The keeper number 2 is called Tom2.": {"questions": "Who is Tom2?", "types": ["entity omission"]}},
    "b": None,
}
BASE = ("experiment", "booookscore", "--summaries", "summaries.json")
GIVEN = (*BASE, "--annotations", "annotations.json")
JUDGED = (*BASE, "--judge", "openai:x")


@pytest.fixture
def broken() -> set[str]:
    """The models that fail."""
    return set()


@pytest.fixture
def server(broken: set[str]) -> Iterator[ChatServer]:
    def serve(request: ChatRequest) -> str | Answer | Fault:
        return Fault("status", status=400, message="No.") if request.model in broken else answer(request)

    with ChatServer(serve) as running:
        yield running


def filled(folder: Path) -> Path:
    (folder / "summaries.json").write_text(json.dumps(SUMMARIES), "utf-8")
    (folder / "annotations.json").write_text(json.dumps(ANNOTATIONS), "utf-8")
    return folder


@pytest.fixture
def inside(tmp_path: Path, server: ChatServer) -> LocalCommand:
    return LocalCommand(filled(tmp_path), server.base_url)


def test_annotations_need_no_model_and_no_database(inside: LocalCommand, server: ChatServer) -> None:
    inside.environment["REDRAFT_JUDGE"] = "openai:x"
    done = inside.run(*GIVEN, "--json")
    assert (done.code, done.err) == (0, "")
    written_fields = {"title", "about", "verdict", "headline"}
    assert set(done.json) == {"experiment", "settings", "tables", "items", *written_fields}
    [row] = done.json["tables"][0]["rows"]
    assert row["system"] == "annotations.json"
    assert row["BooookScore"] == pytest.approx(100 * (2 / 3 + 1) / 2)
    assert row["score"] == pytest.approx((2 / 3 + 1) / 2)
    assert (row["summaries"], row["of"], row["confused"]) == (2, 3, 1)
    assert server.seen == []
    assert not inside.database.exists()


def test_the_report_is_printed_and_written(inside: LocalCommand, server: ChatServer) -> None:
    arguments = (*GIVEN, "--judge", "openai:x", "--judge", "openai:y")
    done = inside.run(*arguments, "-o", "deep/results")
    assert done.code == 0, done.err
    results = inside.folder / "deep" / "results"
    assert "| openai:x         |      83.333 | 0.833 |" in (results / "report.md").read_text("utf-8")
    assert done.out.startswith("# BooookScore: how confusing summaries are")
    assert "openai:x: BooookScore 83.333 (95% from" in done.out
    assert "6 of 6 done: " in done.err
    assert "14 files written to" in done.err
    tables = json.loads((results / "tables.json").read_text("utf-8"))["tables"]
    assert {path.stem for path in results.glob("*.csv")} - {"items"} == {table["name"] for table in tables}
    for table in tables:
        actual = list(csv.DictReader(io.StringIO((results / f"{table['name']}.csv").read_text("utf-8"))))
        assert len(actual) == len(table["rows"])
    items = json.loads((results / "items.json").read_text("utf-8"))
    assert [(item["system"], item["document"]) for item in items[3:5]] == [("openai:x", "a"), ("openai:x", "b")]
    assert items[4]["score"] == pytest.approx(2 / 3)
    request_count, first = len(server.seen), {path.name: path.read_bytes() for path in results.iterdir()}
    repeated = inside.run(*arguments, "-o", "deep/results", "--quiet")
    assert (repeated.code, repeated.err, len(server.seen)) == (0, "", request_count)
    assert {path.name: path.read_bytes() for path in results.iterdir()} == first


def test_peoples_and_models_annotations_are_compared(inside: LocalCommand) -> None:
    mark = {"span": "called Tom2", "questions": "Who?", "labels": ["entity omission"]}
    human = {"a": {"summary": SUMMARIES["a"], "singles": [mark], "relations": []}}
    (inside.folder / "people.json").write_text(json.dumps(human), "utf-8")
    (inside.folder / "references.json").write_text(json.dumps({"a": [summary_of(1), summary_of(1, 2)]}), "utf-8")
    several = ("--annotations", "people.json", "--annotations", "annotations.json", "--references", "references.json")
    done = inside.run("experiment", "booookscore", "--summaries", "people.json", *several, "--json")
    assert done.code == 0, done.err
    tables = {table["name"]: table["rows"] for table in done.json["tables"]}
    assert [(row["system"], row["confused"]) for row in tables["scores"]] == [
        ("people.json", 1),
        ("annotations.json", 1),
    ]
    assert [(row["judge"], row["equal"]) for row in tables["agreement"]] == [("annotations.json", 1.0)]
    assert 50 < tables["references"][0]["ROUGE-L"] < tables["references"][0]["of the best reference"] < 100
    human["a"]["singles"] = "none"
    (inside.folder / "people.json").write_text(json.dumps(human), "utf-8")
    refused = inside.run(*BASE, "--annotations", "people.json")
    assert (refused.code, 'the id "a": must be a list' in refused.err) == (2, True)


def test_a_used_up_budget_says_what_next(inside: LocalCommand, server: ChatServer) -> None:
    # One after another: of summaries that are judged side by side, both may be left in the middle.
    short = inside.run(*JUDGED, "--set", "batch=1", "--max-calls", "4", "--concurrency", "1")
    assert short.code == 3
    assert len(server.seen) == 4
    assert "the limit of 4 calls is used up" in short.err
    assert "repeat the command with a higher limit" in short.err
    assert "2 done, 0 failed, 1 not made" in short.out
    assert inside.run(*JUDGED, "--set", "batch=1", "-q").code == 0
    assert len(server.seen) == 6
    assert max(sent(server).values()) == 1


@pytest.mark.slow
def test_partial_failure_differs_from_total_failure(inside: LocalCommand, broken: set[str]) -> None:
    broken.add("y")
    short = inside.run(*JUDGED, "--judge", "openai:y")
    assert short.code == 3
    assert "something failed: see the last table" in short.err
    nothing = inside.run(*BASE, "--judge", "openai:y")
    assert nothing.code == 1
    assert "| openai:y |           – |     – |" in nothing.out
    assert "1 done, 2 failed, 0 not made" in nothing.out
    assert "entity omission" not in nothing.out, "what was not judged has no types, not none of them"
    [row] = inside.run(*BASE, "--judge", "openai:y", "--json").json["tables"][0]["rows"]
    assert (row["judged"], row["confused"], row["BooookScore"]) == (0, None, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing option '--summaries'"),
        (("--summaries", "no.json"), "no.json: the summaries cannot be read"),
        (("--summaries", "."), "the summaries cannot be read"),
        (("--summaries", "annotations.json"), 'the id "a" has no text'),
        (("--summaries", "summaries.json", "--annotations", "summaries.json"), 'the id "a": must map names to values'),
        (("--summaries", "other.json", "--annotations", "annotations.json"), "none of the ids of the summaries"),
        (("--summaries", "summaries.json", "--judge", "x"), "there is no model 'x'"),
        (("--summaries", "summaries.json", "--set", "batch=0"), "batch: must be at least 1"),
        (("--summaries", "summaries.json", "--judge", "openai:x", "--context-tokens", "64"), "does not fit"),
        (("--summaries", "summaries.json", "--judge", "openai:x", "--max-cost", "1"), "price of openai:x"),
        (("--summaries", "summaries.json", "-o", "summaries.json"), "cannot be created"),
    ],
)
def test_bad_options_are_refused_in_one_sentence(
    inside: LocalCommand, server: ChatServer, arguments: tuple[str, ...], message: str
) -> None:
    (inside.folder / "other.json").write_text('{"z": "Tom sleeps."}', "utf-8")
    done = inside.run("experiment", "booookscore", *arguments)
    assert done.code == 2
    assert message in done.err
    assert server.seen == []
    assert inside.run("experiment", "booookscore", *arguments, "--json").json["error"]["code"] == "usage"


def test_hostile_files_harm_no_terminal_or_spreadsheet(inside: LocalCommand) -> None:
    texts = {"\x1b]0;owned\x07=1+1": "Tom \x1b[2Jsleeps.\ud800", "<script>|": "# A\n\n| b |"}
    fields = {"questions": "\x1b[31mWho?", "types": ["=cmd|' /C calc'!A0"]}
    (inside.folder / "summaries.json").write_text(json.dumps(texts), "utf-8")
    (inside.folder / "annotations.json").write_text(json.dumps({next(iter(texts)): {"Tom sleeps.": fields}}), "utf-8")
    done = inside.run(*GIVEN, "-o", "out")
    assert done.code == 0, done.err
    written = [path.read_text("utf-8") for path in (inside.folder / "out").iterdir()]
    assert not any("\x1b" in text for text in (done.out, done.err, *written))
