"""Judging and refining from the command line: what is printed, where, and with which exit code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from redraft.domain import Evaluation, Finding
from redraft.llm.claim_judge import claim_question
from redraft.report.markdown.evaluation import brief_finding, finding_item, judgment_markdown
from redraft.report.markdown.trace import score_items
from redraft.text.words import count_words
from tests.chatserver import ChatServer
from tests.cli.local_command import MODEL, LocalCommand, judging_folder, plan
from tests.command import Command, Completed
from tests.judges import PerfectModel, ScriptedReply, Sheet, island, name_question, summary_of
from tests.support import SAMPLE

GOALS = ("--goal", "coverage=1", "--goal", "consistency=1", "--words", "100")
POOR = summary_of(1, 3, 4, wrong={2: "Bob"})


@pytest.fixture(scope="module")
def refined(command: LocalCommand) -> Completed:
    """A refinement that meets its goals in one round."""
    return command.run("refine", "book.md", "poor.md", *GOALS, "--json", code=0)


def test_an_evaluation_shows_scores_and_findings(command: LocalCommand) -> None:
    done = command.run("evaluate", "book.md", "poor.md", code=0, err="run ")
    assert done.out.startswith(
        "1 sentence wrong, 2 points missing\n\n- coverage 0.50: 6 questions judged, 3 findings\n"
    )
    evidence = "“The keeper number 2 is called Tom2 and lives at station 14 by the cold sea for 5 years.”"
    for text in (
        "- consistency 0.75: 4 claims judged, 1 finding",
        "\n1. “The keeper number 2 is called Bob.”\n   - coverage, contradicted: What is keeper number 2 called?\n"
        "     - summary says: Bob\n     - document says: Tom2\n",
        "   - consistency, inconsistent: What is keeper number 2 called?\n",
        f"     - evidence: {evidence} (at 9% of the document)\n",
        "1. coverage, unanswered: What is keeper number 5 called?\n   - document says: Tom5\n",
    ):
        assert text in done.out
    assert done.out.count("The keeper number 2 is called Bob.") == 1


@pytest.mark.slow
def test_the_built_in_model_needs_no_key(command: LocalCommand) -> None:
    # The refinement in a process of its own, as anybody has it.
    process, inside = Command(command.folder), LocalCommand(command.folder, COLUMNS="100")
    inside.run("summarize", str(SAMPLE), "--words", "150", "-q", "-o", "first.md", code=0)
    done = process.run("refine", str(SAMPLE), "first.md", "--rounds", "1", code={0, 3})
    assert 50 < count_words(done.out) <= 150
    assert " · revised by the built-in model · judged by the same model · " in done.err
    trace = inside.run("trace", inside.run("runs", "--json").json["runs"][0]["run"]).out
    assert "round 1 · from round 0, for " in trace
    assert "   - place: Chapter " in inside.run("evaluate", str(SAMPLE), "first.md").out


def test_json_of_an_evaluation_keeps_the_contract(command: LocalCommand) -> None:
    done = command.run("evaluate", "book.md", "-", "--metric", "consistency", "--json", "-q", stdin=POOR.encode())
    assert done.err == ""
    content = done.json
    assert set(content) >= {"run", "source", "model", "judges", "summary", "metrics", "offline_check", "usage"}
    assert content["offline_check"] is False, "nobody has judged his own work"
    assert (content["summary"], content["words"], content["sentences"]) == (POOR, 28, 4)
    metric = content["metrics"]["consistency"]
    assert set(metric) >= {"outcome", "score", "judged", "unjudged", "findings", "details"}
    assert metric["score"] == 0.75
    assert [finding["sentence"] for finding in metric["findings"]] == ["The keeper number 2 is called Bob."]
    assert command.run("resume", content["run"], "--json").json == content


@pytest.mark.slow
def test_statistics_are_always_measured(command: LocalCommand) -> None:
    alone = command.run("evaluate", "book.md", "poor.md", "--metric", "statistics", "--all", code=0, err="0 calls")
    assert alone.out.startswith("- statistics: 28 words, 4 sentences, ")
    table = alone.out[alone.out.index("## statistics") :]
    for name in ("source", "compression", "copied", "new n-grams", "repeated", "redundancy"):
        assert f"| {name} " in table
    assert table.strip() in command.run("evaluate", "book.md", "poor.md", "--all").out
    assert set(command.run("runs", "--json").json["runs"][0]["scores"]) == {"coverage", "consistency"}


@pytest.mark.slow
def test_several_judgings_show_how_far_they_agree(command: LocalCommand) -> None:
    done = command.run("evaluate", "book.md", "poor.md", "--repeat", "2", "--metric", "consistency", out="openai:m")

    assert "2 judgings: mean 0.75, sd 0.00, from 0.75 to 0.75; they agree on 100% of the verdicts" in done.out
    judges = command.run("evaluate", "book.md", "poor.md", "--judge", MODEL, "--judge", "openai:n", "--json").json
    assert judges["judges"] == [MODEL, "openai:n"]
    assert judges["metrics"]["coverage"]["details"]["spread"]["n"] == 2


def test_unreadable_judgments_are_no_success(command: LocalCommand) -> None:
    with ChatServer(lambda request: "I would rather not.") as server:
        served = LocalCommand(command.folder, server.base_url)
        done = served.run("evaluate", "book.md", "poor.md", "--metric", "consistency", "--model", MODEL, code=3)
    assert "consistency failed: " in done.out


def test_an_abstaining_judge_has_not_failed(command: LocalCommand) -> None:
    """The built-in model says of no sentence that it is clear."""
    done = command.run("evaluate", "book.md", "poor.md", "--metric", "booookscore", "--judge", "extractive")

    assert "booookscore has no score: the built-in model does not judge this" in " ".join(done.out.split())
    assert "failed" not in done.out
    traced = command.run("trace", command.run("runs", "--json").json["runs"][0]["run"])
    assert "booookscore has no score: " in traced.out
    assert "failed" not in traced.out


def test_all_shows_the_rest_of_findings(command: LocalCommand) -> None:
    wrong = summary_of(wrong={n: f"Bob{n}" for n in range(1, 13)}).encode()
    evaluate = ("evaluate", "book.md", "-", "--metric", "consistency")
    assert "... and 2 more (see --all, or redraft trace " in command.run(*evaluate, stdin=wrong).out
    in_full = command.run(*evaluate, "--all", stdin=wrong).out
    assert "\n12. “" in in_full
    assert "more (" not in in_full


def test_a_refinement_says_what_became_of_goals(command: LocalCommand, refined: Completed) -> None:
    result = refined.json
    assert (result["kind"], result["stop_reason"]) == ("refine", "goals_met")
    assert result["goals"] == {
        name: {"at_least": 1.0, "met": True, "judged_share": 1.0} for name in ("coverage", "consistency")
    }
    assert result["initial_scores"] == {"coverage": pytest.approx(1 / 2), "consistency": 0.75}
    assert result["scores"] == {"coverage": 1.0, "consistency": 1.0}

    done = command.run("refine", "book.md", "poor.md", *GOALS, "-o", "better.md")
    assert (done.code, done.out) == (0, ""), done.err
    assert (command.folder / "better.md").read_text() == result["summary"] + "\n"
    for line in (
        "coverage 0.50 -> 1.00 (goal 1 met); consistency 0.75 -> 1.00 (goal 1 met)",
        "; 1 revision, accepted; every goal is met\n",
        "Details: redraft trace ",
    ):
        assert line in done.err


def test_a_missed_goal_prints_the_best_draft(command: LocalCommand) -> None:
    done = command.run("refine", "book.md", "poor.md", "--rounds", "1", "--words", "28", err="; coverage 0.50 -> ")
    assert (done.code, "Bob" in done.out) == (3, False)
    assert "(goal 0.8 missed)" in done.err


def test_summary_is_drafted_and_refined_together(command: LocalCommand) -> None:
    writer, goal = ("--model", "extractive", "--judge", MODEL), ("--goal", "coverage=0.3")
    done = command.run("summarize", "book.md", "--refine", "--words", "60", *writer, *goal, "--json", code=0)
    assert set(done.json["scores"]) == {"coverage", "consistency"}
    assert done.json["goals"] == {"coverage": {"at_least": 0.3, "met": True, "judged_share": 1.0}}
    assert done.json["strategy"] == "hierarchical"
    assert count_words(done.json["summary"]) <= 60
    listed = command.run("runs", "--json").json["runs"][0]
    assert (listed["kind"], listed["strategy"]) == ("refine", "hierarchical")


def test_a_fork_keeps_other_settings(command: LocalCommand, refined: Completed) -> None:
    run = refined.json["run"]
    done = command.run("fork", run, "--round", "1", "--goal", "coverage=0.5", "--policy", "paper", "--json", code=0)
    forked = done.json
    assert forked["parent"] == run
    assert {metric: goal["at_least"] for metric, goal in forked["goals"].items()} == {"coverage": 0.5, "consistency": 1}
    assert forked["settings"]["words"] == 100
    assert forked["initial_scores"] == {"coverage": 1.0, "consistency": 1.0}
    command.run("fork", run, "--round", "9", code=1, err="it has drafts of the rounds 0, 1")


@pytest.mark.slow
def test_judging_is_set_by_environment_and_file(command: LocalCommand) -> None:
    folder = command.folder / "set"
    folder.mkdir()
    (folder / "redraft.toml").write_text(
        'goal = ["coverage=0.7"]\nmetric = "coverage"\n[pack]\nquestions = 3\n[refine]\nrounds = 1\n'
    )
    server = {name: value for name, value in command.environment.items() if name.startswith("OPENAI_")}
    command = LocalCommand(folder, REDRAFT_JUDGE=f"extractive {MODEL}", REDRAFT_TOP_K="2", **server)
    done = command.run("refine", "../book.md", "../poor.md", "--json", code={0, 3})
    assert {metric: goal["at_least"] for metric, goal in done.json["goals"].items()} == {"coverage": 0.7}
    assert "at most 1 round\n" in command.run("trace", done.json["run"]).out

    assessed = command.run("evaluate", "../book.md", "../poor.md", "--json").json
    assert assessed["judges"] == ["extractive", MODEL]
    assert assessed["metrics"]["coverage"]["judged"] == 2
    assert len(command.run("pack", "build", "../book.md", "--json").json["questions"]) == 3
    # What the file says of goals does not make a plain summary wrong.
    assert command.run("summarize", "../book.md", "--words", "50", "-q").code == 0
    changed = command.run("refine", "../book.md", "../poor.md", "--goal", "consistency=0.5", "--json")
    assert set(changed.json["goals"]) == {"consistency"}


@pytest.mark.slow
def test_a_dry_run_estimates_judging_and_refining(command: LocalCommand, tmp_path: Path) -> None:
    fresh = LocalCommand(command.folder, REDRAFT_DB=str(tmp_path / "fresh.db"))
    planned = plan(fresh, "refine", "book.md", "poor.md", *GOALS)
    usage = fresh.run("refine", "book.md", "poor.md", *GOALS, "--json").json["usage"]
    assert 0 < usage["calls"] <= planned["calls"] * 4 / 3
    assert usage["prompt_tokens"] <= planned["prompt_tokens"]
    assert planned["calls"] == sum(stage["calls"] for stage in planned["stages"])
    assert planned["cost_usd"] == 0

    words = fresh.run("evaluate", "book.md", "poor.md", "--dry-run").out
    for word in ("document", "coverage", "consistency", "calls", "tokens", "about", "cost"):
        assert word in words
    assert "revising" not in words
    paid = plan(fresh, "summarize", "book.md", "--refine", "--model", "openai:gpt-4o", "--judge", "openai:gpt-4o")
    cheap = plan(fresh, "summarize", "book.md", "--refine", "--model", "openai:gpt-4o", "--judge", "extractive")
    assert 0 < cheap["cost_usd"] < paid["cost_usd"]
    assert paid["judges"] == ["openai:gpt-4o"]
    assert planned["judges"] == ["extractive"]
    assert plan(fresh, "summarize", "book.md")["judges"] == []


@pytest.mark.slow
def test_run_out_of_budget_resumes(command: LocalCommand, tmp_path: Path) -> None:
    fresh = LocalCommand(command.folder, REDRAFT_DB=str(tmp_path / "fresh.db"))
    unjudged = fresh.run("evaluate", "book.md", "poor.md", "--max-calls", "1", "--json")
    assert (unjudged.code, unjudged.json["error"]["code"]) == (3, "budget"), unjudged.err
    goals = ("--goal", "consistency=1", "--words", "100")
    stopped = fresh.run("refine", "book.md", "poor.md", *goals, "--max-calls", "5", "--json")
    assert (stopped.code, stopped.json["stop_reason"]) == (3, "budget"), stopped.err
    run = stopped.json["run"]
    assert f"redraft resume {run}" in stopped.err
    assert "the budget is used up" in fresh.run("trace", run).out
    done = fresh.run("resume", run, "--max-calls", "100", "--json")
    assert (done.code, done.json["stop_reason"]) == (0, "goals_met"), done.err


def test_no_rounds_means_judging_only(command: LocalCommand) -> None:
    done = command.run("refine", "book.md", "poor.md", "--goal", "coverage=0.1", "--rounds", "0")

    assert (done.code, done.out) == (0, f"{POOR}\n"), done.err
    assert "; every goal is met\n" in done.err
    assert "revision" not in done.err


def test_a_good_summary_is_revised_once(command: LocalCommand) -> None:
    (command.folder / "right.md").write_text(summary_of(1, 3, 4), "utf-8")
    done = command.run("refine", "book.md", "right.md", "--goal", "coverage=0.1", "--words", "50", code=0, out="Tom6")
    assert "; 1 revision, accepted; every goal is met\n" in done.err


@pytest.mark.slow
def test_the_default_limit_is_shown(command: LocalCommand) -> None:
    arguments = ("refine", "book.md", "poor.md", "--goal", "coverage=0.1")
    limit = command.run(*arguments, "--json").json["settings"]["words"]
    assert f" words (limit {limit}) of The Keepers; " in command.run(*arguments).err
    assert "(limit 100)" in command.run(*arguments, "--words", "100").err
    assert command.run(*arguments, "-q").err == ""


@pytest.mark.slow
def test_too_few_verdicts_leave_a_goal_unsure(tmp_path: Path) -> None:
    class Omittable(PerfectModel):
        def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
            answers = super().answer_from_summary(sheet)["answers"]
            return {"answers": [answer for answer in answers if sheet.judged[answer["id"]] < name_question(5)]}

    with judging_folder(tmp_path, Omittable()) as command:
        (command.folder / "good.md").write_text(summary_of(*range(1, 7)), "utf-8")
        refine = ("refine", "book.md", "good.md", "--goal", "coverage=0.8", "--words", "100")
        done = command.run(*refine, code=3, err="(goal 0.8 unsure, 67% of its items have a verdict)")
        assert "; too few items have a verdict to tell whether every goal is met\n" in done.err
        run = command.run(*refine, "--json").json
        assert (run["stop_reason"], run["goals"]["coverage"]["met"]) == ("unsure", None)
        resumed = command.run("resume", run["run"]).err
        assert f"\nundecided: coverage\nTry again: redraft resume {run['run'][:4]}" in resumed
        command.run(*refine, "--set", "judged_share=0.6", code=0, err="goal 0.8 met")
        command.run(*refine, "--set", "judged_share=0.4", code=2, err="judged_share: must be")


@pytest.mark.slow
def test_terminal_output_has_no_control_characters(tmp_path: Path) -> None:
    evil = tmp_path / "evil.md"
    evil.write_text(island().text.replace("called", "\x1b]0;x\x07called\x1b[31m"), "utf-8")

    class Evil(PerfectModel):
        def answer_from_document(self, sheet: Sheet) -> ScriptedReply:
            answers = super().answer_from_document(sheet)
            return json.loads(json.dumps(answers).replace("Tom", "\\u001b[31mTom\\u0007\\n\\u202e"))  # type: ignore[no-any-return]

    summary = "The keeper number 2 is called \x1b[31mBob\x07."
    with judging_folder(tmp_path, Evil()) as command:
        done = command.run("evaluate", str(evil), "-", stdin=summary.encode(), code=0)
        traced = command.run("trace", command.run("runs", "--json").json["runs"][0]["run"])
        pack = command.run("pack", "build", str(evil))
    assert "Bob" in done.out
    for output in (done, traced, pack):
        assert not {"\x1b", "\x07", "\u202e"} & set(output.out + output.err)


@pytest.mark.slow
def test_a_failed_metric_stands_with_the_scores(tmp_path: Path) -> None:
    class Factless(PerfectModel):
        def keyfacts_analytical(self, sheet: Sheet) -> ScriptedReply:
            return "I would rather not."

        keyfacts_narrative = keyfacts_analytical

    evaluate = ("evaluate", "book.md", "poor.md", "--metric", "keyfact_recall", "--metric", "coverage")
    refine = ("refine", "book.md", "poor.md", "--goal", "keyfact_recall=0.5")
    with judging_folder(tmp_path, Factless()) as command:
        done, content = command.run(*evaluate), command.run(*evaluate, "--json").json
        result, refined = command.run(*refine, "--json").json, command.run(*refine)

    assert done.code == 3, done.err
    assert "keyfact recall failed: The Keepers: no key fact could be built" in " ".join(done.out.split())
    assert "\n- coverage 0.50: 6 questions judged" in done.out
    outcomes = {name: metric["outcome"] for name, metric in content["metrics"].items()}
    assert outcomes == {"keyfact_recall": "failed", "coverage": "scored", "statistics": "measured"}
    assert "no key fact could be built" in content["metrics"]["keyfact_recall"]["reason"]
    assert (result["status"], result["stop_reason"]) == ("incomplete", "unsure")
    assert result["summary"].strip() == summary_of(1, 2, 3, 4) == refined.out.strip(), "what is wrong is corrected"
    assert refined.code == 3
    for text in (
        "too few items have a verdict to tell whether every goal is met",
        "no keyfact recall score: The Keepers: no key fact could be built",
        "undecided: keyfact recall Try again: redraft resume",
    ):
        assert text in " ".join(refined.err.split())


@pytest.mark.slow
def test_every_view_shows_holes_of_a_pack(tmp_path: Path) -> None:
    class Forgetful(PerfectModel):
        def ask_document(self, sheet: Sheet) -> ScriptedReply:
            return "I would rather not." if "keeper number 60 " in sheet.text else super().ask_document(sheet)

    with judging_folder(tmp_path, Forgetful()) as command:
        (tmp_path / "book.md").write_text(island(60).text, "utf-8")
        small = ("--context-tokens", "3100")
        built = command.run("pack", "build", "book.md", *small)
        listed = command.run("pack", "list", "--json").json["packs"]
        exported = command.run("pack", "export", "book.md")
        evaluated = command.run("evaluate", "book.md", "poor.md", *small, "--metric", "coverage", "--all")
        goal = ("--goal", "coverage=0.1", "--words", "200")
        refined = command.run("refine", "book.md", "poor.md", *small, *goal, "--json")
        run = refined.json["run"]
        summary, trace = command.run("show", run), command.run("trace", run)
        resumed = command.run("resume", command.run("runs", "--json").json["runs"][-1]["run"])

    hole = "no questions on stretch 2 of 2: "
    assert (built.code, resumed.code, evaluated.code) == (3, 3, 0), built.err
    assert f"missing: {hole}" in built.out
    assert f"missing: {hole}" in resumed.out
    assert listed[0]["missing"][0].startswith(hole)
    assert exported.json["missing"] == listed[0]["missing"]
    assert "with 1 gap\n" in exported.err
    assert f"\n- missing: {hole}" in evaluated.out
    assert refined.json["missing"] == {"coverage": exported.json["missing"]}
    for text in (summary.err, refined.err, evaluated.err):
        assert f"coverage could not use everything: {hole}" in text
    assert f"Try again: redraft resume {run}" in summary.err
    assert f"- could not use everything: {hole}" in trace.out


RETOLD = (
    "In this tale a proud administrator clings to rules nobody else remembers. His stubbornness costs the settlement"
    " dearly, and only an unlikely friendship offers a way out. Eventually everybody pays for what pride has bought.\n"
)


@pytest.mark.slow
def test_a_missed_offline_check_suggests_another_judge(tmp_path: Path) -> None:
    (tmp_path / "retold.md").write_text(RETOLD)
    refine = ("refine", str(SAMPLE), "retold.md", "--judge", "extractive", "--goal", "consistency=0.9")
    done = LocalCommand(tmp_path).run(*refine)
    assert (done.code, done.out.strip()) == (3, RETOLD.strip())
    text = " ".join(done.err.split())
    assert "(goal 0.9 missed, offline check)" in text
    assert "the judges found nothing more that a revision could fix" in text
    assert "Repeat the command with a language model as --judge. Details: redraft trace" in text
    assert "redraft resume" not in text, "the built-in model would say the same again"
    evaluated = LocalCommand(tmp_path).run("evaluate", str(SAMPLE), "retold.md", "--metric", "consistency").out
    assert "it cannot tell whether a reworded statement is true" in evaluated
    content = LocalCommand(tmp_path).run(*refine, "--json").json
    assert (content["offline_check"], content["goals"]["consistency"]["met"]) == (True, False)


def test_a_finding_in_brief() -> None:
    explanation = "mend the lighthouse " * 12
    text = brief_finding(Finding("coverage", "kind", "add", explanation))
    assert len(text) <= len("kind: ") + 120
    assert f"kind: {explanation}".startswith(text.removesuffix("…") + " "), "it is cut at spaces"
    assert brief_finding(Finding("coverage", "kind", "add", "灯" * 200)) == f"kind: {'灯' * 119}…"
    finding = Finding("coverage", "unanswered", "add", "Say it.", question="Who?", said_by=(1, 2))
    assert brief_finding(finding) == "unanswered (1 of 2 judges): Who?"
    assert next(finding_item(finding, island(), "1.")) == "1. coverage, unanswered (1 of 2 judges): Who?"
    for judges in ((2, 2), None):
        assert brief_finding(replace(finding, said_by=judges)) == "unanswered: Who?"
    assert [*score_items({"consistency": 1.0}, {"consistency": None}, {})] == ["- consistency none -> 1.00"]
    goals = {"booookscore": {"at_least": 0.9, "met": None, "judged_share": 0.0}}
    scores = {"booookscore": None}
    assert [*score_items(scores, scores, goals, scores)] == ["- booookscore: not judged (goal 0.9)"]
    assert [*score_items(scores, scores, {})] == ["- booookscore: no score"]


def test_a_bare_no_to_a_claim_is_left_out() -> None:
    claim = claim_question("The bank held.")
    finding = Finding("consistency", "inconsistent", "correct", "Other.", "The bank held.", claim, expected="No")
    assert brief_finding(finding) == "inconsistent: Other."
    assert [*finding_item(finding, None)] == ["- consistency, inconsistent: Other.", "  - sentence: “The bank held.”"]
    assert brief_finding(replace(finding, question="Did the bank hold?")) == "inconsistent: Did the bank hold? -> No"


def test_a_judgment_begins_with_a_capital() -> None:
    evaluation = Evaluation("consistency", 1, "scored", score=1.0, judged=3)
    text = judgment_markdown({"consistency": evaluation}, None, offline_checked=("consistency",))
    assert text.startswith("The offline check found nothing wrong, but")
