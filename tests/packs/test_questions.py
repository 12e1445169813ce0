"""A pack: its questions come from everywhere in the document, ranked, with their places, and stay what they are."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import Judge
from redraft.domain import Pack, Span
from redraft.errors import JudgingError, UsageError
from redraft.evaluators.reference.builders import PackBuilder
from redraft.events import Event, Notice
from redraft.llm.base import FunctionModel, Request
from redraft.prompts.book import PromptBook
from redraft.prompts.summarization import DocumentOutline
from redraft.report.history.results import Result
from redraft.settings import JudgeConfig
from redraft.text.retrieval import Passages
from redraft.text.tokens import Tokenizer
from tests.chatserver import Answer
from tests.judges import KEY, Harness, PerfectModel, ScriptedReply, Sheet, island, keeper_in, summary_of

SMALL = {"context_tokens": 8192}
"""A window that a document of some hundred keepers does not fit."""


async def coverage(harness: Harness, **options: object) -> Result:
    return await harness.evaluate(summary_of(1), metrics=("coverage",), **options)  # type: ignore[arg-type]


async def built(harness: Harness, **options: object) -> Pack:
    """The pack by which the harness judges its document."""
    await coverage(harness, **options)
    return harness.store.packs.all()[0][0]


def numbers(pack: Pack) -> list[int]:
    """The keepers that are asked about."""
    return [keeper_in(question.text) for question in pack.questions]


@pytest.mark.slow
async def test_range_holds_for_equal_stretches(tmp_path: Path) -> None:
    assert JudgeConfig(questions="9-15") == JudgeConfig(questions=(9, 15))  # type: ignore[arg-type]
    harness = Harness(tmp_path, document=island(400))
    pack = await built(harness, questions="9-15", stretch_tokens=4000)

    sheets = harness.asked("ask_document")
    assert len(sheets) > 1
    assert all("Write 9 to 15 questions" in sheet.text for sheet in sheets)
    assert len(pack.questions) == 15 * len(sheets)
    lengths = [len(sheet.within("excerpt")) for sheet in sheets]
    assert max(lengths) < 1.3 * min(lengths)


@pytest.mark.parametrize("wrong", [0, 1001, (5, 4), (0, 3), "nine", "9-1001"])
def test_invalid_numbers_of_questions_are_refused(wrong: Any) -> None:
    with pytest.raises(UsageError, match="questions"):
        JudgeConfig(questions=wrong)


@pytest.mark.slow
async def test_ranking_weighs_all_questions(tmp_path: Path) -> None:
    class Late(PerfectModel):
        def rank_questions(self, sheet: Sheet) -> ScriptedReply:
            return {"essential": sheet.ids[-2:], "important": sheet.ids[2:-2], "minor": sheet.ids[1:2]}

    harness = Harness(tmp_path, Late(), document=island(600))
    pack = await built(harness, settings=SMALL)
    (ranked,) = harness.asked("rank_questions")
    candidates = [keeper_in(text) for text in ranked.judged.values()]

    assert candidates == sorted(candidates)
    assert len(candidates) > len(pack.questions)
    assert [question.weight for question in pack.questions] == [3] * 2 + [2] * (len(pack.questions) - 2)
    assert sorted(numbers(pack)[:2]) == candidates[-2:]
    # What it left out comes last, and so is not among them.
    assert candidates[0] not in numbers(pack)
    assert [question.id for question in pack.questions] == list(range(1, len(pack.questions) + 1))


async def test_fitting_document_is_asked_at_once(tmp_path: Path) -> None:
    class Editor(PerfectModel):
        def ask_document(self, sheet: Sheet) -> ScriptedReply:
            reply = super().ask_document(sheet)["questions"]
            return {"questions": [finding | {"weight": at % 3 + 1} for at, finding in enumerate(reply)]}

    harness = Harness(tmp_path, Editor(), document=island(90))
    pack = await built(harness)

    (sheet,) = harness.asked("ask_document", "rank_questions")
    assert sheet.text.startswith(f"<document>\n{harness.document.text.strip()}\n</document>\n\nAbove")
    assert "Write at most 12 questions" in sheet.text
    assert [question.weight for question in pack.questions] == [3] * 4 + [2] * 4 + [1] * 4
    assert numbers(pack) == [3, 6, 9, 12, 2, 5, 8, 11, 1, 4, 7, 10]


@pytest.mark.slow
async def test_paper_neither_weighs_nor_ranks(tmp_path: Path) -> None:
    class Editor(PerfectModel):
        def ask_document(self, sheet: Sheet) -> ScriptedReply:
            return {"questions": [question | {"weight": 3} for question in super().ask_document(sheet)["questions"]]}

    harness = Harness(tmp_path, Editor(), document=island(400))
    pack = await built(harness, questions=(2, 4), stretch_tokens=2000)

    assert not harness.asked("rank_questions")
    assert all("weight" not in sheet.text for sheet in harness.asked("ask_document"))
    assert {question.weight for question in pack.questions} == {1}


@pytest.mark.slow
async def test_outline_divides_the_questions(tmp_path: Path) -> None:
    harness = Harness(tmp_path, document=island(400))
    length, tokenizer = len(harness.document.text), Tokenizer()
    places = {at: Span(length * at // 4, length * (at + 1) // 4) for at in range(4)}
    outline = DocumentOutline(
        kind="other", line="All.", turning_points=[], cast=[], central=[1], important=[2], unneeded=[0], places=places
    )
    judge = Judge(harness.model, PromptBook(), harness.store.verdicts)
    size = tokenizer.count(harness.document.text)
    reader = EvidenceReader(harness.document, Passages(harness.document, tokenizer), tokenizer, 9000, size)
    judging, outliner = JudgeConfig(questions=40, stretch_tokens=1000), AsyncMock(**{"outline.return_value": outline})
    pack = await PackBuilder(judge, reader, judging, lambda _: None, outliner).build()

    assert outline.importance(Span(*places[1])) == 3 * (places[1].end - places[1].start)
    assert outline.importance(places[0]) == 0
    texts = [sheet.text for sheet in harness.asked("ask_document")]
    assert all("Line: All." in text for text in [*texts, harness.asked("rank_questions")[0].text])
    # Whoever lives in an appendix is not asked about.
    quarters = [int(4 * question.position) for question in pack.questions]
    counts = [quarters.count(at) for at in range(4)]
    assert min(question.position for question in pack.questions) > 0.2
    assert counts[1] >= counts[2] > counts[3] > 0


@pytest.mark.slow
async def test_answers_are_placed_at_their_quotes(tmp_path: Path) -> None:
    harness = Harness(tmp_path, document=island(600))
    pack = await built(harness)

    for question in pack.questions:
        assert question.evidence.span is not None
        assert harness.document.text[slice(*question.evidence.span)] == question.evidence.text
        assert f"is called {question.answer} and lives" in question.evidence.text
        assert question.position == question.evidence.span.start / len(harness.document.text)


@pytest.mark.slow
@pytest.mark.parametrize("keepers", [80, 600], ids=["a document that fits", "a longer one"])
async def test_lost_quotes_get_the_nearest_place(tmp_path: Path, keepers: int) -> None:
    class Inventive(PerfectModel):
        def ask_document(self, sheet: Sheet) -> ScriptedReply:
            reply = super().ask_document(sheet)
            return {"questions": [question | {"quote": "Nothing of the kind."} for question in reply["questions"]]}

    pack = await built(Harness(tmp_path, Inventive(), document=island(keepers)), settings=SMALL)

    assert all(f"is called {question.answer} and" in question.evidence.text for question in pack.questions)


@pytest.mark.parametrize("empty", [{"question": " "}, {"answer": "\n"}, {"answer": "UNANSWERABLE"}])
async def test_empty_questions_are_left_out(tmp_path: Path, empty: dict[str, str]) -> None:
    class Absent(PerfectModel):
        def ask_document(self, sheet: Sheet) -> ScriptedReply:
            reply = super().ask_document(sheet)
            return {"questions": [reply["questions"][0] | empty, *reply["questions"][1:]]}

    assert 1 not in numbers(await built(Harness(tmp_path, Absent())))


@pytest.mark.slow
async def test_declined_stretch_is_named_and_isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    class Squeamish(PerfectModel):
        def ask_document(self, sheet: Sheet) -> ScriptedReply:
            refused = "keeper number 300 " in sheet.text
            return Answer(refusal="Not that.") if refused else super().ask_document(sheet)

    events: list[Event] = []
    harness = Harness(tmp_path, Squeamish(), document=island(600))
    with harness.served():
        pack = await built(harness, observer=events.append)

    notes = [event.message for event in events if isinstance(event, Notice)]
    assert [note for note in notes if "no questions on stretch" in note and "Not that." in note]
    positions = [question.position for question in pack.questions]
    assert positions[0] == min(positions) < 0.1
    assert max(positions) > 0.6


async def test_no_questions_means_no_pack(tmp_path: Path) -> None:
    class Mute(PerfectModel):
        def ask_document(self, sheet: Sheet) -> ScriptedReply:
            return {"questions": []}

    harness = Harness(tmp_path, Mute())
    evaluation = (await coverage(harness)).evaluations["coverage"]
    assert (evaluation.outcome, evaluation.score) == ("failed", None)
    assert evaluation.reason == "The Keepers: the model returned no question about the document"
    async with harness.session() as session:
        with pytest.raises(JudgingError, match="no question about"):
            await session.build(harness.document)
    assert harness.store.packs.all() == []


@pytest.mark.slow
async def test_named_pack_must_fit_the_document(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    small = await built(harness, questions=2)
    await built(harness)
    result = await coverage(harness, pack=small.id)

    assert result.evaluations["coverage"].details["pack"] == small.id
    with pytest.raises(UsageError, match="another document"):
        await coverage(harness, document=island(20), pack=small.id)


@pytest.mark.parametrize(
    ("metrics", "building", "beginning"),
    [
        (("coverage", "consistency"), "ask_document", "ask_summary"),
        (("keyfact_recall", "faithfulness"), "keyfacts_analytical", "verify_sentences"),
    ],
)
async def test_metrics_begin_while_packs_are_built(
    tmp_path: Path, metrics: tuple[str, ...], building: str, beginning: str
) -> None:
    harness, begun = Harness(tmp_path), asyncio.Event()
    model = harness.model
    assert model is not None
    reply_to = model._function

    async def answer(request: Request[Any, Any]) -> Any:
        if request.prompt.name == beginning:
            begun.set()
        if request.prompt.name == building:
            await asyncio.wait_for(begun.wait(), 20)
        return reply_to(request)

    harness.model = FunctionModel(answer, model.identity)
    result = await harness.evaluate(summary_of(1, 2, wrong={3: "Bob"}), metrics=metrics)
    assert {name: result.evaluations[name].outcome for name in metrics} == dict.fromkeys(metrics, "scored")
