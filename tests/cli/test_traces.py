"""`trace`, `diff`, `runs`, `show`, `lineage` and `export` of runs that judge, as they are typed."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.local_command import LocalCommand, judging_folder

ROUND_KEYS = {"round", "draft", "to_fix", "scores", "metrics"}


@pytest.fixture(scope="module")
def refined(command: LocalCommand) -> Any:
    goals = ("--goal", "coverage=1", "--goal", "consistency=1", "--words", "42")
    done = command.run("refine", "book.md", "poor.md", *goals, "--json", code=0)
    return done.json


@pytest.fixture(scope="module")
def evaluated(command: LocalCommand) -> Any:
    return command.run("evaluate", "book.md", "poor.md", "--json").json


@pytest.mark.slow
def test_a_trace_goes_round_by_round(command: LocalCommand, refined: Any) -> None:
    done = command.run("trace", refined["run"], code=0)
    for line in (
        f"run {refined['run']} · refine · The Keepers · done",
        "goals coverage 1, consistency 1 · policy editor · at most 3 rounds",
        "round 0 · your summary · 28 words",
        "- 1 sentence wrong, 2 points missing",
        "found in coverage: unanswered (2), contradicted (1)",
        "found in consistency: inconsistent (1)",
        "round 1 · from round 0, for consistency and coverage · 42 words · accepted: the revision is",
        "- judge: They tell 6 and 3.",
        "- inconsistent: What is keeper number 2 called? -> Tom2",
        "### Changed: 2 sentences added, 1 sentence changed, 3 as before",
        "- ~ The keeper number 2 is called [-Bob.-] {+Tom2.+}",
        "- + The keeper number 5 is called Tom5.",
        "- coverage 0.50 -> 1.00 (goal 1 met)",
        "- statistics: 42 words, 6 sentences, ",
        "every goal is met; the result is the draft of round 1",
    ):
        assert line in done.out
    in_full = command.run("trace", refined["run"], "--all").out
    assert "(see --all)" not in in_full
    assert len(in_full) > len(done.out)


def test_json_and_rounds_keep_the_contract(command: LocalCommand, refined: Any) -> None:
    trace = command.run("trace", refined["run"], "--json").json
    assert set(trace) == {"result", "rounds", "policy"}
    assert trace["result"] == command.run("show", refined["run"], "--json").json
    assert trace["policy"] == "editor"
    assert [set(turn) for turn in trace["rounds"]] == [ROUND_KEYS] * 2
    first, second = trace["rounds"]
    assert [turn["round"]["base"] for turn in trace["rounds"]] == [None, first["draft"]["id"]]
    assert second["round"]["aims"] == ["consistency", "coverage"]
    wrong = [finding["id"] for finding in first["metrics"]["consistency"]["findings"]]
    coverage = first["metrics"]["coverage"]["findings"]
    missing = [finding["id"] for finding in coverage if finding["kind"] == "unanswered"]
    assert second["round"]["findings"] == [finding["id"] for finding in second["to_fix"]] == wrong + missing
    comparison = second["round"]["comparison"]
    assert (first["round"]["comparison"], comparison["revision"], comparison["best"]) == (None, 2, 0)
    assert comparison["reasons"] == ["They tell 6 and 3.", "They tell 3 and 6."]
    assert second["draft"]["text"] == refined["summary"]
    assert (second["scores"], second["metrics"]) == (refined["scores"], refined["metrics"])
    for name in ("coverage", "consistency"):
        assert second["metrics"][name]["unjudged"] == 0
    assert second["metrics"]["statistics"]["details"]["summary"]["words"] == second["draft"]["words"]
    turn = command.run("trace", refined["run"], "--json").json["rounds"][0]
    show = ("show", refined["run"], "--round")
    done = command.run(*show, "0")
    assert done.out == turn["draft"]["text"] + "\n"
    assert done.err.splitlines()[1].endswith("; consistency 0.75 (goal 1 missed); round 0 of 1")
    content = command.run(*show, "0", "--json").json
    assert (content["summary"], content["scores"]) == (turn["draft"]["text"], turn["scores"])
    assert (content["rounds"], content["stop_reason"]) == (0, None)
    assert command.run(*show, "1", "--json").json == refined
    assert "called Bob" in command.run(*show, "0", "--cite").out
    missing = command.run(*show, "7", err="no round 7\n  its rounds are: 0, 1")
    assert missing.code != 0


def test_a_difference_says_what_each_change_fixed(command: LocalCommand, refined: Any) -> None:
    done = command.run("diff", refined["run"], code=0, out="round 0 (28 words) -> round 1 (42)")
    lines = done.out.splitlines()
    assert lines[lines.index("- ~ The keeper number 2 is called [-Bob.-] {+Tom2.+}") + 1 :] == [
        "  - fixes: contradicted: What is keeper number 2 called? -> Tom2",
        "  - fixes: inconsistent: What is keeper number 2 called? -> Tom2",
        "- + The keeper number 5 is called Tom5.",
        "  - fixes: unanswered: What is keeper number 5 called? -> Tom5",
        "- + The keeper number 6 is called Tom6.",
        "  - fixes: unanswered: What is keeper number 6 called? -> Tom6",
    ]
    backwards = command.run("diff", refined["run"], "1", "0", "--json").json
    assert (backwards["from"]["round"], backwards["to"]["round"]) == (1, 0)
    assert [(change["kind"], change["before"], change["after"]) for change in backwards["changes"]] == [
        ("changed", "The keeper number 2 is called Tom2.", "The keeper number 2 is called Bob."),
        ("removed", "The keeper number 5 is called Tom5.", ""),
        ("removed", "The keeper number 6 is called Tom6.", ""),
    ]
    assert sorted(finding["kind"] for finding in backwards["new"]) == [
        "contradicted", "inconsistent", "unanswered", "unanswered",
    ]  # fmt: skip

    assert "the drafts are the same" in command.run("diff", refined["run"], "1", "1").out
    assert "its rounds are: 0, 1" in command.run("diff", refined["run"], "0", "7").err
    assert command.run("diff", refined["run"], "1").code == 2
    alone = command.run("evaluate", "book.md", "poor.md", "--metric", "statistics", "--json").json["run"]
    assert command.run("diff", alone).out == "This run has only one draft.\n"


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
def judged_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalCommand, str]]:
    """A poor summary that a judge has read."""
    with judging_folder(tmp_path_factory.mktemp("judged")) as command:
        yield command, command.run("evaluate", "book.md", "poor.md", "--json").json["run"]


def test_judges_confirm_and_refute_sentences(judged_run: tuple[LocalCommand, str]) -> None:
    command, run = judged_run
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
