"""What the store has of a run, done or not; who judged a score, and when scores of two runs are comparable."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redraft import read_result
from redraft.domain import (
    Document,
    DocumentSection,
    Evaluation,
    Evidence,
    Pack,
    PackQuestion,
    ReviewQuestion,
    Span,
    record_json,
)
from redraft.errors import RunError
from redraft.evaluators import consistency, coverage, factual
from redraft.evaluators.metric_info import GOOD_VERDICTS
from redraft.order import Evaluate
from redraft.report.history.judges import By, basis, judged_by, quotes_of
from redraft.report.history.results import findings_in
from redraft.report.history.trace import read_trace
from redraft.settings import JudgeConfig
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.places import place_of
from tests.cli.local_command import judging_folder
from tests.judges import Harness, Json, name_question, summary_of
from tests.store.support import run

HERE = "http://here/v1"
HASHES = {"ask_summary": "1", "answer_from_document": "2", "compare_answers": "3", "merge": "4"}
EVALUATIONS = {
    "consistency": Evaluation("consistency", 3, "scored", 0.75, 9, 1),
    "statistics": Evaluation("statistics", 1, "measured"),
}


def run_judged_by(*judges: str, **settings: object) -> Run:
    judging = JudgeConfig.model_validate({"judges": judges, "base_url": HERE, **settings})
    return run(order=Evaluate(judging=judging), prompt_hashes=HASHES)


@pytest.mark.parametrize(
    ("judges", "shown", "says"),
    [
        (("openai:a",), {}, "openai:a; prompts standard"),
        (("openai:a",), {"openai:a": "a (port 8000)"}, "a (port 8000); prompts standard"),
        (("extractive", "openai:a"), {}, "extractive and openai:a; prompts standard"),
        (("extractive",), {}, "extractive, an offline check that compares names, numbers, dates, opposites and word"),
    ],
)
def test_one_line_says_who_judged(judges: tuple[str, ...], shown: dict[str, str], says: str) -> None:
    lines = judged_by(run_judged_by(*judges), EVALUATIONS, shown)
    assert set(lines) == {"consistency"}, "no judge gives statistics"
    assert lines["consistency"].startswith(says)
    assert lines["consistency"].endswith("whether a reworded statement is true") == (judges == ("extractive",))


DOCUMENT = Document.from_text("x" * 500)


def judged(metric: str, **details: Any) -> Evaluation:
    return Evaluation(metric, 1, "scored", 1.0, judged=1, details=details)


def claim(sentence: int, place: tuple[int, int] | None, verdict: str = "consistent", importance: int = 1) -> Any:
    return {"sentence": sentence, "place": place, "verdict": verdict, "importance": importance}


def draft(store: Store, *evaluations: Evaluation) -> str:
    store.documents.add(DOCUMENT)
    store.runs.add(new_run := run(document=DOCUMENT.id))
    key = store.runs.keep_draft(new_run.id, "One. Two.", 2, "given")
    for evaluation in evaluations:
        store.judgments.keep(key, evaluation)
    return key


def test_best_confirming_quotes_come_first(tmp_path: Path) -> None:
    assert GOOD_VERDICTS == {
        "coverage": coverage.ANSWERED,
        "consistency": consistency.CONSISTENT,
        "keyfact_recall": factual.STATED,
        "faithfulness": factual.SUPPORTED,
    }
    questions = [PackQuestion(n, "?", "what", "x", Evidence("x", Span(300 + n, 310 + n)), 0.5) for n in (1, 2)]
    sentences = [{"id": 1, "verdict": "none", "place": (100, 120)}, {"id": 2, "verdict": "entity", "place": (1, 5)}]
    claims = [claim(1, (10, 20), importance=1), claim(1, (200, 210), importance=5), claim(1, (110, 140), importance=3)]
    answers = [{"id": n, "verdict": "answered", "sentences": [1, 2] if n == 1 else [2]} for n in (1, 2, 3)]
    with Store(tmp_path / "a.db") as store:
        store.documents.add(DOCUMENT)
        store.packs.add(Pack("p", DOCUMENT.id, "m", {}, tuple(questions)), "x")
        key = draft(
            store,
            judged("coverage", pack="p", questions=answers),
            judged("faithfulness", sentences=sentences),
            judged("consistency", claims=claims),
        )
        quotes = quotes_of(store, key, DOCUMENT)
    assert quotes[1] == (Span(100, 140), Span(200, 210), Span(10, 20)), "overlapping ones are one"
    assert quotes[2] == (Span(301, 312),)


def test_only_confirming_quotes_count(tmp_path: Path) -> None:
    claims = [claim(1, (10, 20)), claim(1, (30, 40), "inconsistent"), claim(1, (50, 60), "unsupported")]
    claims += [claim(1, None), claim(2, (70, 80), "in part"), claim(2, (490, 900))]
    with Store(tmp_path / "a.db") as store:
        key = draft(store, judged("consistency", claims=claims))
        assert quotes_of(store, key, DOCUMENT) == {1: (Span(10, 20),)}


@pytest.mark.parametrize(
    ("by", "text"),
    [
        ({}, ""),
        ({1: "judge", 2: "judge"}, "All notes are quotes by which a judge confirmed a claim."),
        ({1: "words"}, "All notes were matched by wording, not by a judge."),
        (
            {1: "words", 2: "judge"},
            "Note 2 is a quote by which a judge confirmed a claim; the others were matched by wording.",
        ),
        (
            {2: "words", 3: "judge", 1: "judge"},
            "Notes 1, 3 are quotes by which a judge confirmed a claim; the others were matched by wording.",
        ),
    ],
)
def test_notes_say_who_confirmed_them(by: dict[int, By], text: str) -> None:
    assert basis(by, "note") == text


POOR = summary_of(1, wrong={2: "Bob"})


async def test_a_round_has_its_findings_to_fix(harness: Harness) -> None:
    result = await harness.refine(POOR)
    trace = read_trace(harness.store, result.run.id)

    assert [turn.round.number for turn in trace.rounds] == list(range(len(result.rounds)))
    first, second = trace.rounds[:2]
    assert first.scores["consistency"] == 0.5
    # The consistency is to be mended, and there is room for every open question.
    assert [(finding.metric, finding.question) for finding in second.to_fix] == [
        ("consistency", name_question(2)),
        *(("coverage", name_question(number)) for number in range(3, 7)),
    ]
    assert all(finding in findings_in(first.evaluations) for finding in second.to_fix)
    assert trace.number(result.run.draft) == len(result.rounds) - 1
    assert trace.turn(1) is second
    with pytest.raises(RunError, match="no round 99"):
        trace.turn(99)


async def test_a_waiting_run_shows_its_draft(harness: Harness) -> None:
    async def leave(_question: ReviewQuestion) -> Json:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await harness.refine(POOR, reviewer=leave, review=True)
    run = harness.store.runs.latest(1)[0]
    trace = read_trace(harness.store, run.id)
    assert trace.result.status == "waiting"
    assert [turn.scores["coverage"] for turn in trace.rounds] == [pytest.approx(1 / 6)]

    harness.store.runs.set_status(run.id, "running")
    assert read_trace(harness.store, run.id).result.status == "killed"
    with harness.store.claim(run.id):
        assert read_trace(harness.store, run.id).result.status == "running"


async def test_requests_are_findings_without_scores(harness: Harness) -> None:
    replies: list[Json] = [{"add": ["Be kind."]}, {"stop": True}]

    async def review(_question: ReviewQuestion) -> Json:
        return replies.pop(0)

    result = await harness.refine(POOR, reviewer=review, review=True)
    trace = read_trace(harness.store, result.run.id)
    metrics = record_json(trace)["rounds"][0]["metrics"]
    assert set(trace.rounds[0].scores) == {"coverage", "consistency"}
    assert "Be kind." in [finding["explanation"] for finding in metrics["review"]["findings"]]
    assert trace.rounds[1].to_fix[0].explanation == "Be kind."


def test_the_innermost_chapter_names_a_place() -> None:
    sections = (
        DocumentSection("The Book", 1, Span(0, 200)),
        DocumentSection("Part One", 2, Span(10, 100)),
        DocumentSection("Chapter 1", 3, Span(20, 100)),
    )
    document = Document("d", "The Book", "x" * 200, sections)
    places = [place_of(document, span) for span in (Span(50, 60), Span(10, 12), Span(198, 200))]
    assert places == [f"{where}% of the document" for where in ("Chapter 1, at 25", "Part One, at 5", "at 99")]
    document = replace(document, notes=("reading chapters 2-3 only",))
    assert place_of(document, Span(198, 200)) == "at 99% of chapters 2-3"


@pytest.mark.slow
def test_json_is_what_the_command_prints(tmp_path: Path) -> None:
    with judging_folder(tmp_path) as command:
        evaluated = command.run("evaluate", "book.md", "poor.md", "--metric", "consistency", "--json").json
        refined = command.run("refine", "book.md", "poor.md", "--goal", "consistency=0.9", "--json").json
        with Store(command.database) as store:
            for printed in (evaluated, refined):
                assert json.loads(json.dumps(read_result(store, printed["run"]).model_dump(mode="json"))) == printed


async def test_a_frame_has_tokens_and_scores(harness: Harness) -> None:
    pytest.importorskip("pandas")
    judged = await harness.evaluate(POOR, metrics=("coverage", "consistency"))
    (row,) = judged.to_frame().to_dict("records")
    assert (row["run"], row["title"], row["words"]) == (judged.run.id, "The Keepers", judged.draft.words)
    assert row["completion_tokens"] == judged.usage.completion_tokens > 0
    assert {name: row[name] for name in judged.scores} == judged.scores
