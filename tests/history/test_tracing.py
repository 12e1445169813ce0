"""What the store has of a run, also of one that is not done or was killed; and a result in a program."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from redraft import Store, read_result
from redraft.domain import Document, DocumentSection, ReviewQuestion, Span, record_json
from redraft.errors import RunError
from redraft.report.history.results import findings_in
from redraft.report.history.trace import read_trace
from redraft.text.places import place_of
from tests.cli.local_command import judging_folder
from tests.judges import Harness, Json, name_question, summary_of

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
