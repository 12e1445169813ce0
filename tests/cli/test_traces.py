"""`trace`, `diff`, `runs` and `show` of runs that judge."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.inside import Inside

ROUND_KEYS = {"round", "draft", "to_fix", "scores", "metrics"}


@pytest.fixture(scope="module")
def refined(command: Inside) -> Any:
    goals = ("--goal", "coverage=1", "--goal", "consistency=1", "--words", "42")
    done = command.run("refine", "book.md", "poor.md", *goals, "--json")
    assert done.code == 0, done.err
    return done.json


@pytest.fixture(scope="module")
def evaluated(command: Inside) -> Any:
    return command.run("evaluate", "book.md", "poor.md", "--json").json


@pytest.mark.slow
def test_a_trace_tells_the_story_round_by_round(command: Inside, refined: Any) -> None:
    done = command.run("trace", refined["run"])

    assert done.code == 0, done.err
    for line in (
        f"run {refined['run']} · refine · The Keepers · done",
        "goals coverage 1, consistency 1 · policy editor · at most 3 rounds",
        "round 0 · your summary · 28 words",
        "found in coverage: 2 unanswered, 1 contradicted",
        "found in consistency: 1 inconsistent",
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
    whole = command.run("trace", refined["run"], "--all").out
    assert "(see --all)" not in whole
    assert len(whole) > len(done.out)


def test_the_json_of_a_trace_keeps_the_contract(command: Inside, refined: Any) -> None:
    traced = command.run("trace", refined["run"], "--json").json

    shown = command.run("show", refined["run"], "--json").json
    assert set(traced) == {"result", "rounds", "policy"}
    assert (traced["result"], traced["policy"]) == (shown, "editor")
    assert [set(made) for made in traced["rounds"]] == [ROUND_KEYS] * 2
    first, second = traced["rounds"]
    bases = [one["round"]["base"] for one in traced["rounds"]]
    assert bases == [None, first["draft"]["id"]]
    assert second["round"]["aims"] == ["consistency", "coverage"]
    wrong = [one["id"] for one in first["metrics"]["consistency"]["findings"]]
    missing = [one["id"] for one in first["metrics"]["coverage"]["findings"] if one["kind"] == "unanswered"]
    assert second["round"]["findings"] == [one["id"] for one in second["to_fix"]] == wrong + missing
    comparison = second["round"]["comparison"]
    assert (first["round"]["comparison"], comparison["revision"], comparison["best"]) == (None, 2, 0)
    assert comparison["reasons"] == ["They tell 6 and 3.", "They tell 3 and 6."]
    assert second["draft"]["text"] == refined["summary"]
    assert (second["scores"], second["metrics"]) == (refined["scores"], refined["metrics"])
    for name in ("coverage", "consistency"):
        assert second["metrics"][name]["unjudged"] == 0
        assert second["metrics"][name]["certificate"]["agrees"] == "not checked against people"
    assert second["metrics"]["statistics"]["details"]["summary"]["words"] == second["draft"]["words"]


@pytest.mark.slow
def test_an_evaluation_has_one_round_and_a_plain_summary_says_what_to_do(command: Inside, evaluated: Any) -> None:
    shown = command.run("trace", evaluated["run"]).out
    assert "round 0 · your summary · 28 words" in shown
    assert "consistency 0.75: 4 claims judged, 1 finding" in shown
    rounds = command.run("trace", evaluated["run"], "--json").json["rounds"]
    assert [made["scores"] for made in rounds] == [{"coverage": pytest.approx(1 / 2), "consistency": 0.75}]

    plain = command.run("summarize", "book.md", "--words", "50", "--model", "extractive", "--json").json["run"]
    assert "this draft was not judged" in command.run("trace", plain).out
    assert f"redraft fork {plain} --round 0" in command.run("trace", plain).err
    assert command.run("trace", plain, "--json").json["rounds"][0]["scores"] == {}


def test_a_difference_tells_which_findings_each_change_answered(command: Inside, refined: Any) -> None:
    done = command.run("diff", refined["run"])

    assert done.code == 0, done.err
    assert "round 0 (28 words) -> round 1 (42)" in done.out
    answered = done.out.splitlines()
    assert answered[answered.index("- ~ The keeper number 2 is called [-Bob.-] {+Tom2.+}") + 1 :] == [
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
    assert sorted((one["metric"], one["kind"]) for one in backwards["new"]) == [
        ("consistency", "inconsistent"),
        ("coverage", "contradicted"),
        ("coverage", "unanswered"),
        ("coverage", "unanswered"),
    ]
    assert "the drafts are the same" in command.run("diff", refined["run"], "1", "1").out
    assert command.run("diff", refined["run"], "1").code == 2
    assert "its rounds are: 0, 1" in command.run("diff", refined["run"], "0", "7").err


def test_runs_and_show_know_what_was_judged(command: Inside, refined: Any, evaluated: Any) -> None:
    listed = {one["run"]: one for one in command.run("runs", "--json").json["runs"]}
    assert listed[refined["run"]]["scores"] == refined["scores"]
    assert listed[evaluated["run"]]["kind"] == "evaluate"
    assert "cov 0.50 con 0.75" in command.run("runs").out

    shown = command.run("show", refined["run"])
    assert shown.out == refined["summary"] + "\n"
    assert "consistency 0.75 -> 1.00 (goal 1 met)" in shown.err
    assert command.run("show", refined["run"], "--json").json == refined
    assert "; consistency 0.75" in command.run("show", evaluated["run"]).err
    assert "3 findings" in command.run("resume", evaluated["run"]).out


def test_any_draft_of_a_run_is_shown_by_its_round(command: Inside, refined: Any) -> None:
    rounds = command.run("trace", refined["run"], "--json").json["rounds"]

    first = command.run("show", refined["run"], "--round", "0")
    assert first.out == rounds[0]["draft"]["text"] + "\n"
    assert first.err.splitlines()[1].endswith("; consistency 0.75 (goal 1 missed); round 0 of 1")
    shown = command.run("show", refined["run"], "--round", "0", "--json").json
    assert (shown["summary"], shown["scores"]) == (rounds[0]["draft"]["text"], rounds[0]["scores"])
    assert (shown["rounds"], shown["stop_reason"]) == (0, None)
    assert command.run("show", refined["run"], "--round", "1", "--json").json == refined
    cited = command.run("show", refined["run"], "--round", "0", "--cite")
    assert cited.code == 0
    assert "called Bob" in cited.out
    missing = command.run("show", refined["run"], "--round", "7")
    assert missing.code != 0
    assert "no round 7\n  its rounds are: 0, 1" in missing.err
