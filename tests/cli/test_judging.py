"""Judging and refining from the command line: what is printed, where, and with which exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft import DraftConfig, JudgeConfig, RefineConfig
from redraft.evaluators.metric_info import offline_checks
from redraft.text.words import count_words
from tests.chatserver import ChatRequest, ChatServer
from tests.cli.local_command import MODEL, LocalCommand, judging_folder, plan
from tests.command import Command, Completed
from tests.judges import Json, PerfectModel, ScriptedReply, Sheet, island, name_question, summary_of
from tests.support import SAMPLE

GOALS = ("--goal", "coverage=1", "--goal", "consistency=1", "--words", "100")
POOR = summary_of(1, 3, 4, wrong={2: "Bob"})


@pytest.fixture(scope="module")
def refined(command: LocalCommand) -> Completed:
    """A refinement that meets its goals in one round."""
    return command.run("refine", "book.md", "poor.md", *GOALS, "--json", code=0)


def test_evaluations_show_scores_and_failures(command: LocalCommand) -> None:
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
    with ChatServer(lambda request: "I would rather not.") as server:
        served = LocalCommand(command.folder, server.base_url)
        done = served.run("evaluate", "book.md", "poor.md", "--metric", "consistency", "--model", MODEL, code=3)
    assert "consistency failed: " in done.out


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
    judged = command.run("refine", "book.md", "poor.md", "--goal", "coverage=0.1", "--rounds", "0", code=0)
    assert judged.out == f"{POOR}\n"
    assert "; every goal is met\n" in judged.err
    assert "revision" not in judged.err


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
    assert (planned["cost_usd"], planned["judges"]) == (0, ["extractive"])
    draft = ("summarize", "book.md", "--refine", "--model", "openai:gpt-4o", "--judge")
    cheap, paid = (plan(fresh, *draft, judge) for judge in ("extractive", "openai:gpt-4o"))
    assert 0 < cheap["cost_usd"] < paid["cost_usd"]
    assert paid["judges"] == ["openai:gpt-4o"]
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
        done, content = command.run(*evaluate, code=3), command.run(*evaluate, "--json").json
        result, refined = command.run(*refine, "--json").json, command.run(*refine, code=3)

    assert "keyfact recall failed: The Keepers: no key fact could be built" in " ".join(done.out.split())
    assert "\n- coverage 0.50: 6 questions judged" in done.out
    outcomes = {name: metric["outcome"] for name, metric in content["metrics"].items()}
    assert outcomes == {"keyfact_recall": "failed", "coverage": "scored", "statistics": "measured"}
    assert (result["status"], result["stop_reason"]) == ("incomplete", "unsure")
    assert result["summary"].strip() == summary_of(1, 2, 3, 4) == refined.out.strip(), "what is wrong is corrected"
    assert "undecided: keyfact recall Try again: redraft resume" in " ".join(refined.err.split())


RETOLD = "In this tale a proud administrator clings to rules nobody else remembers. Everybody pays for his pride.\n"


@pytest.mark.slow
def test_a_missed_offline_check_suggests_another_judge(tmp_path: Path) -> None:
    (tmp_path / "retold.md").write_text(RETOLD)
    refine = ("refine", str(SAMPLE), "retold.md", "--judge", "extractive", "--goal", "consistency=0.9")
    command = LocalCommand(tmp_path)
    done, content = command.run(*refine), command.run(*refine, "--json").json
    assert (done.code, done.out.strip()) == (3, RETOLD.strip())
    text = " ".join(done.err.split())
    assert "(goal 0.9 missed, offline check)" in text
    assert "Repeat the command with a language model as --judge. Details: redraft trace" in text
    assert "redraft resume" not in text, "the built-in model would say the same again"
    assert (content["offline_check"], content["goals"]["consistency"]["met"]) == (True, False)


REFINE = ("refine", "book.md", "poor.md", "-m", "extractive", "-g", "coverage=0.1", "-w", "100", "--rounds", "1")


@pytest.mark.parametrize(
    ("model", "judges", "checked"),
    [
        ("extractive", None, {"coverage", "consistency"}),
        ("openai:m", ("extractive",), {"coverage", "consistency"}),
        ("openai:m", None, set()),
        ("extractive", ("openai:m",), set()),
        ("extractive", ("extractive", "openai:m"), set()),
    ],
)
def test_offline_check_by_the_built_in_model(model: str, judges: tuple[str, ...] | None, checked: set[str]) -> None:
    judging = JudgeConfig(metrics=("coverage", "consistency", "spread"), **({"judges": judges} if judges else {}))  # type: ignore[arg-type]
    for refinement in (None, RefineConfig(goals={"coverage": 0.5, "consistency": 0.9})):
        assert offline_checks(DraftConfig(model=model), judging, refinement) == checked


@pytest.mark.slow
def test_it_is_said_beside_every_figure(command: LocalCommand) -> None:
    done = command.run(*REFINE, "--json", code=0)
    assert done.json["offline_check"] is True
    assert done.json["judged_by"]["coverage"].startswith("extractive, an offline check that looks for")
    run = done.json["run"]
    for words in (("show", run), ("trace", run), ("runs",)):
        output = command.run(*words)
        assert "offline check" in output.out + output.err, words
    assert command.run("trace", run, "--json").json["result"]["offline_check"] is True
    assert command.run("runs", "--json").json["runs"][0]["offline_check"] is True
    assert command.run("export", run, "-o", "page.html", "-q").code == 0
    assert "<small>offline check</small>" in (command.folder / "page.html").read_text("utf-8")
    assert command.run("export", run, "-o", "page.md", "-q").code == 0
    markdown = (command.folder / "page.md").read_text("utf-8")
    assert markdown == command.run("export", run).out
    assert "## Sources of each sentence" in markdown
    assert "offline check" in markdown


STOP: Json = {"words": "keeper number 1", "question": "What does Tom1 keep?", "type": "entity omission"}
OTHER: Json = {"words": "Tom3", "question": "Why is Tom3 brought up?", "type": "salience"}


@pytest.fixture
def stops() -> list[Json]:
    """Where the newcomer stops."""
    return [STOP]


@pytest.fixture
def inside(tmp_path: Path, stops: list[Json]) -> Iterator[LocalCommand]:
    (tmp_path / "book.md").write_text(island().text, "utf-8")
    (tmp_path / "summary.md").write_text(summary_of(1, 3), "utf-8")

    def reply(_: ChatRequest) -> Json:
        return {"stops": stops}

    with ChatServer(reply) as server:
        yield LocalCommand(tmp_path, server.base_url, REDRAFT_MODEL=MODEL, COLUMNS="100")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stops", "count"), [([], "nothing stops a newcomer"), ([STOP], "1 stop"), ([STOP, OTHER], "2 stops")]
)
def test_stops_are_shown_with_question_and_words(inside: LocalCommand, stops: list[Json], count: str) -> None:
    shown = inside.run("evaluate", "book.md", "summary.md", "--metric", "newcomer", code=0).out
    assert f"- newcomer: {count}\n" in shown
    for stop in stops:
        assert f"newcomer, {stop['type']}: {stop['question']}\n     - summary says: {stop['words']}\n" in shown
    assert f"newcomer: {count}\n" in inside.run("trace", "last").out
    page = inside.run("export", "last", "--format", "html").out
    assert f"Newcomer: {count}" in page
    assert f'<p class="figure">{len(stops)} <small>{"stop" if len(stops) == 1 else "stops"}</small></p>' in page
    assert "was not judged" not in page
    assert all(stop["question"] in page and stop["words"] in page for stop in stops)


def test_built_in_model_declines_and_run_completes(inside: LocalCommand) -> None:
    done = inside.run("evaluate", "book.md", "summary.md", "--metric", "newcomer", "-m", "extractive", code=0)
    assert done.out.startswith("- newcomer not applicable: the built-in judge cannot tell where a newcomer stops")


TABLE = '[rubrics.plain_tone]\nrequirement = "Written for a reader without legal training"\nlevels = 3\n'
VERDICT = {"faults": [{"quote": "parties concurred", "problem": "legal wording"}], "reason": "Half is.", "level": 2}


def folder(at: Path, table: str = TABLE) -> Path:
    (at / "book.md").write_text("The board met at seven. It was cold. " * 4, "utf-8")
    (at / "summary.md").write_text("The parties concurred. It was cold.", "utf-8")
    (at / "redraft.toml").write_text(table, "utf-8")
    return at


@pytest.mark.slow
def test_command_judges_by_a_rubric_file(tmp_path: Path) -> None:
    replies = [json.dumps(VERDICT)]

    def serve(request: ChatRequest) -> str:
        return replies[-1]

    with ChatServer(serve) as server:
        command = LocalCommand(
            folder(tmp_path), server.base_url, REDRAFT_CONFIG="redraft.toml", REDRAFT_MODEL="openai:m"
        )
        run = ("evaluate", "book.md", "summary.md", "--metric", "plain_tone", "--json")
        planned = command.run(*run, "--dry-run").json
        done = command.run(*run, code=0)
        shown = command.run("evaluate", "book.md", "summary.md", "--metric", "plain_tone", "--all")
        replies.append("no verdict")
        failed = command.run(*run, "--repeat", "2")
        replies.append(json.dumps(VERDICT | {"level": 3}))
        (tmp_path / "redraft.toml").unlink()
        without = LocalCommand(tmp_path, server.base_url, REDRAFT_MODEL="openai:m")
        without.run("resume", failed.json["run"], "--json", code=0)
        listed = without.run("show", done.json["run"], "--json")
    assert planned["calls"] == done.json["usage"]["calls"] == 1
    plain_tone = done.json["metrics"]["plain_tone"]
    assert (plain_tone["score"], plain_tone["findings"][0]["sentence"]) == (0.5, "The parties concurred.")
    assert "plain tone 0.50: 1 item judged, 1 finding" in shown.out
    assert "- level 2 of 3: Half is.\n" in shown.out
    assert "legal wording" in shown.out
    assert listed.json["scores"]["plain_tone"] == 0.5


STATED = "plain_tone=Written for a reader without legal training"


@pytest.mark.slow
def test_stated_rubric_is_kept_with_the_run(tmp_path: Path) -> None:
    def serve(request: ChatRequest) -> str:
        content = request.messages[0]["content"]
        if "Judge how far" not in content:
            return "The board agreed. It was cold."
        assert "reader without legal training" in content
        return json.dumps(VERDICT | ({"level": 3} if "concurred" in content else {"level": 5, "faults": []}))

    (tmp_path / "tone.toml").write_text(TABLE, "utf-8")
    with ChatServer(serve) as server:
        command = LocalCommand(
            folder(tmp_path, ""), server.base_url, REDRAFT_CONFIG="redraft.toml", REDRAFT_MODEL="openai:m"
        )
        done = command.run("evaluate", "book.md", "summary.md", "--rubric", STATED, "--json")
        by_file = command.run("evaluate", "book.md", "summary.md", "--rubric", "tone.toml", "--json")
        refined = command.run(
            "refine", "book.md", "summary.md", "--rubric", STATED, "-g", "plain_tone=1", "--policy", "paper", "--json"
        )

    assert done.json["metrics"]["plain_tone"]["score"] == 0.5, done.err
    assert by_file.json["metrics"]["plain_tone"]["score"] == 1, by_file.err
    assert refined.json["goals"]["plain_tone"]["met"], refined.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("evaluate", "--rubric", "Plain words"), "has no name, and there is no such file"),
        (("evaluate", "--rubric", "plain="), "requirement: must not be empty"),
        (("evaluate", "--rubric", "coverage=x"), "there are two metrics named coverage"),
        (("evaluate", "--rubric", "redraft.toml"), "redraft.toml: has no rubrics"),
        (("refine", "--rubric", STATED), "add --goal plain_tone=0.75"),
    ],
)
def test_impossible_rubric_is_refused(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    verb, *options = words
    done = LocalCommand(folder(tmp_path, "")).run(verb, "book.md", "summary.md", *options, code=2)
    assert said in " ".join(done.err.split())
