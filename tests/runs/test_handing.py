"""Findings that somebody hands over are mended first; and a goal takes verdicts on enough of its items."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redraft import Document, Evidence, Finding, Session
from redraft.domain import REVIEW, Evaluation, Span
from redraft.errors import UsageError
from redraft.evaluators.metric_info import goal_status
from redraft.events import Event, RoundSettled
from redraft.readers.documents import parse
from redraft.runs.order import caller_findings, read_findings
from tests.cli.local_command import LocalCommand
from tests.judges import Harness, PerfectModel, ScriptedReply, Sheet, keeper_in, summary_of

LINES = [
    "The keeper of the northern light was called Amos Finch.",
    "Amos Finch kept a ledger of every ship that passed the rocks.",
    "In the spring of 1911 a schooner named Dolphin struck the reef.",
    "Captain Jonas Reed swam ashore with the mail under one arm.",
    "The harbour board of Carrow refused to pay for a new lamp.",
    "A nephew from the town took over the ledger in the autumn.",
    "The insurers of Carrow sold the cargo of the Dolphin twice in 1911.",
]
TEXT = "\n\n".join(LINES)
FACT = LINES[3]
SUMMARY = f"{LINES[0]} {LINES[4]}"
GOALS = {"consistency": 0.1}


def book() -> Document:
    return parse(TEXT.encode(), name="book.txt")


def lost(fact: str = FACT) -> Finding:
    place = TEXT.index(fact)
    evidence = Evidence(fact, Span(place, place + len(fact)))
    return Finding("lineage", "lost", "add", "State this.", expected=fact, evidence=evidence)


@pytest.mark.slow
async def test_finding_is_corrected_despite_met_goals(tmp_path: Path) -> None:
    async with Session(tmp_path / "a.db") as session:
        untouched = await session.refine(book(), SUMMARY, words=60, goals=GOALS)
        result = await session.refine(book(), SUMMARY, words=60, goals=GOALS, findings=[lost()])

    assert untouched.summary == SUMMARY
    assert FACT in (result.summary or "")
    assert [(round_.aims, round_.accepted) for round_ in result.rounds[1:]] == [((REVIEW,), True)]
    assert result.run.stop_reason == "goals_met"
    assert result.scores.keys() == untouched.scores.keys()
    assert result.run.identity != untouched.run.identity


async def test_given_findings_come_before_goals(tmp_path: Path) -> None:
    async with Session(tmp_path / "a.db") as session:
        result = await session.refine(book(), SUMMARY, words=60, goals={"coverage": 1.0}, findings=[lost()], rounds=3)

    assert result.rounds[1].aims == (REVIEW, "coverage")
    assert [round_.aims for round_ in result.rounds[2:]] == [("coverage",)] * (len(result.rounds) - 2)
    assert FACT in (result.summary or ""), "what was asked for stays when coverage is mended"


async def test_missing_facts_are_restored_in_one_round(tmp_path: Path) -> None:
    facts = [line for line in LINES if line not in SUMMARY]
    several = [lost(fact) for fact in [*facts, LINES[1][5:], LINES[2][14:]]]
    assert len(several) == 7
    async with Session(tmp_path / "a.db") as session:
        result = await session.refine(book(), SUMMARY, words=200, goals=GOALS, findings=several)
        first = session.store.judgments.of(result.rounds[0].draft)[REVIEW].findings

    assert [len(round_.findings) for round_ in result.rounds[1:]] == [7]
    assert sorted(finding_id for round_ in result.rounds for finding_id in round_.findings) == sorted(
        finding.id for finding in first
    )
    for fact in facts:
        assert fact in (result.summary or "")


async def test_uncorrected_findings_are_named(tmp_path: Path) -> None:
    message: list[str] = []
    async with Session(tmp_path / "a.db", observer=lambda event: message.append(str(event))) as session:
        several = [lost(line) for line in (*LINES, LINES[1][5:])]
        result = await session.refine(book(), SUMMARY, words=200, goals=GOALS, findings=several, rounds=0)
    assert result.run.stop_reason == "goals_met"
    assert any("no rounds are left for all requests" in line for line in message)


@pytest.mark.parametrize(
    ("finding", "message"),
    [
        (Finding("x", "x", "remove", "Remove this.", sentence="The moon is a cheese."), "that is not in the summary"),
        (Finding("x", "x", "add", "Add.", evidence=Evidence("Never said at all.")), "that are not in the document"),
    ],
)
async def test_foreign_findings_are_refused(tmp_path: Path, finding: Finding, message: str) -> None:
    async with Session(tmp_path / "a.db") as session:
        with pytest.raises(UsageError, match=message):
            await session.refine(book(), SUMMARY, goals=GOALS, findings=[lost(), finding])
        assert session.store.runs.latest(1) == []


def test_place_of_evidence_is_looked_up() -> None:
    astray = Finding("x", "lost", "add", "State this.", expected=FACT, evidence=Evidence(FACT, Span(3, 9)))
    (evidence_found,) = caller_findings([astray, lost()], book(), SUMMARY)[:1]
    assert evidence_found.evidence == lost().evidence
    assert evidence_found.metric == REVIEW
    assert len(caller_findings([lost(), lost()], book(), SUMMARY)) == 1


FORMS = [
    [{"task": "add", "explanation": "State this.", "expected": FACT}],
    {"findings": [{"task": "add", "explanation": "State this.", "expected": FACT}], "lost": []},
    {"metrics": {"coverage": {"findings": [{"task": "add", "explanation": "State this.", "expected": FACT}]}}},
]


@pytest.mark.parametrize("form", FORMS)
def test_printed_findings_are_read(tmp_path: Path, form: object) -> None:
    path = tmp_path / "f.json"
    path.write_text(json.dumps(form), "utf-8")
    assert read_findings(str(path)) == (Finding(REVIEW, "request", "add", "State this.", expected=FACT),)


@pytest.mark.parametrize("text", ["", "nothing", "3", '{"findings": [{"task": "sing"}]}', "[" * 100_000, '{"a": 1}'])
def test_file_without_findings_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "f.json"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match="no findings"):
        read_findings(str(path))


def test_missing_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(UsageError, match="cannot be read"):
            read_findings(str(path))


@pytest.mark.slow
def test_refine_brings_in_missing_facts(tmp_path: Path) -> None:
    command = LocalCommand(tmp_path)
    (tmp_path / "book.txt").write_text(TEXT, "utf-8")
    drafted = command.run("summarize", "book.txt", "-w", "20", "-o", "s.md", "--json").json["run"]
    evaluated = command.run("evaluate", "book.txt", "s.md", "--metric", "coverage", "--json")
    missing = [finding for finding in evaluated.json["metrics"]["coverage"]["findings"] if finding["task"] == "add"]
    (tmp_path / "findings.json").write_text(evaluated.out, "utf-8")
    words = ("refine", "book.txt", "s.md", "-g", "consistency=0.1", "-w", "90", "--findings")
    refined = command.run(*words, "findings.json", "--json").json
    assert missing
    assert all(finding["evidence"]["text"] in refined["summary"] for finding in missing)
    assert "round 1 · from round 0, for your request" in command.run("trace", refined["run"]).out
    through = command.run(*words, "-", "--json", stdin=evaluated.out.encode())
    assert through.json["summary"] == refined["summary"]
    assert command.run(*words, "s.md").code == 2
    assert command.run("refine", "-", "s.md", "--findings", "-").code == 2
    fork = ("fork", drafted, "--round", "0", "-g", "consistency=0.1", "--findings")
    forked = command.run(*fork, "findings.json", "--json").json
    assert forked["parent"] == drafted
    assert any(finding["evidence"]["text"] in forked["summary"] for finding in missing), "the limit is that of the run"
    assert "--review reads your answers" in command.run(*fork, "-", "--review", stdin=evaluated.out.encode()).err


SIX = summary_of(*range(1, 7))


class Omittable(PerfectModel):
    """Answers nothing about some keepers, however often it is asked; until it is told to speak."""

    def __init__(self, *silent: int) -> None:
        self.silent = set(silent)

    def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
        answers = super().answer_from_summary(sheet)["answers"]
        return {"answers": [item for item in answers if keeper_in(sheet.judged[item["id"]]) not in self.silent]}


def evaluation(judged: int, unjudged: int, score: float = 1.0, **details: Any) -> Evaluation:
    return Evaluation("coverage", 1, "scored", score, judged, unjudged, details=details)


@pytest.mark.parametrize(
    ("judged", "status"),
    [
        (evaluation(8, 2), "met"),
        (evaluation(8, 2, score=0.79), "missed"),
        (evaluation(79, 21), "unsure"),
        (evaluation(79, 21, score=0.1), "unsure"),
        (evaluation(0, 0), "met"),
        (Evaluation("coverage", 1, "failed", unjudged=4), "unsure"),
        (Evaluation("coverage", 1, "not_applicable"), "missed"),
        (None, "missed"),
    ],
)
def test_goal_needs_verdicts_on_its_items(judged: Evaluation | None, status: str) -> None:
    assert goal_status(judged, 0.8, 0.8) == status


@pytest.mark.slow
async def test_few_verdicts_meet_no_goal(tmp_path: Path) -> None:
    harness = Harness(tmp_path, Omittable(5, 6))
    events: list[Event] = []
    async with harness.session(observer=events.append) as session:
        result = await session.refine(harness.document, SIX, words=400, goals={"coverage": 0.8})

    coverage = result.evaluations["coverage"]
    assert (coverage.score, coverage.judged, coverage.unjudged) == (1.0, 4, 2)
    assert (result.run.stop_reason, result.complete) == ("unsure", False)
    assert result.goals == {"coverage": {"at_least": 0.8, "met": None, "judged_share": 4 / 6}}
    standings = [dict(event.standings) for event in events if isinstance(event, RoundSettled)]
    assert standings == [{"coverage": "unsure"}] * len(result.rounds)
    assert not harness.asked("revise")

    relaxed = await harness.refine(SIX, goals={"coverage": 0.8}, judged_share=0.6)
    assert (relaxed.run.stop_reason, relaxed.complete) == ("goals_met", True)


async def test_sure_findings_are_corrected(tmp_path: Path) -> None:
    harness = Harness(tmp_path, Omittable(3, 4, 5, 6))
    result = await harness.refine(summary_of(1), goals={"coverage": 0.8, "consistency": 0.9})

    coverage = result.evaluations["coverage"]
    assert (coverage.outcome, coverage.score, coverage.judged, coverage.unjudged) == ("failed", None, 2, 4)
    assert [(round_.accepted, round_.reason, len(round_.findings)) for round_ in result.rounds[1:]] == [
        (True, "the revision is preferred in both orders", 1)
    ]
    assert (summary_of(2) in result.draft.text, coverage.findings) == (True, ())
    assert (result.run.status, result.run.stop_reason) == ("done", "unsure")
    assert {metric: goal["met"] for metric, goal in result.goals.items()} == {"coverage": None, "consistency": True}


@pytest.mark.slow
async def test_resume_repeats_only_missing_verdicts(tmp_path: Path) -> None:
    script = Omittable(5, 6)
    harness = Harness(tmp_path, script)
    result = await harness.refine(SIX, goals={"coverage": 0.8})
    assert result.run.stop_reason == "unsure"

    async def resumed() -> tuple[Any, list[set[int]]]:
        harness.clear_sheets()
        async with harness.session() as session:
            done = await session.resume(result.run.id)
        return done, [set(map(keeper_in, sheet.judged.values())) for sheet in harness.sheets if sheet.judged]

    # Still silent: it is asked for these two once more, each time.
    for _ in range(2):
        resumed_result, calls = await resumed()
        assert (resumed_result.run.stop_reason, calls) == ("unsure", [{5, 6}])
    script.silent.clear()
    done, calls = await resumed()
    assert (done.run.stop_reason, done.scores["coverage"], calls) == ("goals_met", 1.0, [{5, 6}])
    assert (await resumed())[1] == []


@pytest.mark.parametrize("refines", [False, True])
async def test_resume_asks_for_missing_verdicts(tmp_path: Path, refines: bool) -> None:
    script = Omittable(6)
    harness = Harness(tmp_path, script)
    if refines:
        result = await harness.refine(SIX, goals={"coverage": 0.8})
        assert result.run.stop_reason == "goals_met"
    else:
        result = await harness.evaluate(SIX, metrics=("coverage",))
    assert result.complete
    assert result.unjudged == result.record().unjudged == {"coverage": 1}

    script.silent.clear()
    harness.clear_sheets()
    async with harness.session() as session:
        resumed = await session.resume(result.run.id)
    assert (resumed.evaluations["coverage"].judged, resumed.unjudged) == (6, {})
    assert [keeper_in(question) for sheet in harness.sheets for question in sheet.judged.values()] == [6]
