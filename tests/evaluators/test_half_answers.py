"""What an answer gives of the document's, over HTTP: all, a part, or nothing, in whatever words that is put."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, cycle
from pathlib import Path
from typing import Any

import pytest

from redraft import Result
from redraft.domain import Evaluation, Evidence, Pack, PackQuestion, Span
from redraft.readers.documents import parse
from tests.judges import (
    Harness,
    Json,
    PerfectModel,
    ScriptedReply,
    Sheet,
    fact_of,
    island,
    summary_of,
)
from tests.replies.refusals import IN_OTHER_WORDS, SILENT
from tests.replies.test_thirty import NOT_STATED

pytestmark = pytest.mark.usefixtures("api_key")

ENGLISH = [*SILENT["English"], *IN_OTHER_WORDS["English"]]
IN_MANY_LANGUAGES = [*chain.from_iterable(NOT_STATED.values())]


class Silent(PerfectModel):
    """Says of every question that the summary does not answer it, calls that an answer, and cites a sentence."""

    def __init__(self, phrases: Sequence[str]) -> None:
        self.phrases = cycle(phrases)

    def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
        first = list(sheet.items("sentences"))[:1]
        return {
            "answers": [
                {"id": n, "sentences": first, "answered": True, "answer": next(self.phrases)} for n in sheet.ids
            ]
        }


@pytest.mark.slow
@pytest.mark.parametrize(
    "phrases",
    [["He is not named in the summary"], ["Niet vermeld"], ENGLISH, IN_MANY_LANGUAGES],
    ids=["one phrase", "Dutch", "English", "thirty languages"],
)
async def test_silence_called_an_answer_is_none(tmp_path: Path, phrases: list[str]) -> None:
    harness = Harness(tmp_path, Silent(phrases), document=island(80))
    with harness.served():
        result = await harness.evaluate(summary_of(90, 91), metrics=("coverage",), questions=80)
    coverage = result.evaluations["coverage"]

    assert (coverage.score, coverage.unjudged) == (0.0, 0)
    assert {finding.kind for finding in coverage.findings} == {"unanswered"}
    sentences = {
        pair["sentence"] for sheet in harness.asked("compare_answers") for pair in sheet.items("pairs").values()
    }
    assert sentences == {fact_of(90)}
    # The comparison decides on every one of them; nothing is asked twice.
    assert harness.items("compare_answers") == harness.items("answer_from_summary") == coverage.judged


DAM = parse(
    b"# The Dam\n\nCrane was innocent: he had given the alarm, and he died opening the sluice.\n\n"
    b"The council blamed Crane to hide that it had sold the pumps.\n\n"
    b"The dam broke on 3 March 1924, at night.\n\nVane had signed the sale of the pumps.",
    name="dam.md",
)
_QUESTIONS = (
    ("Was Crane guilty?", "No: he gave the alarm and died opening the sluice.", "Crane was innocent", 3),
    ("Why was Crane blamed?", "To hide the sale of the pumps.", "The council blamed Crane", 2),
    ("When did the dam break?", "On 3 March 1924.", "The dam broke on 3 March 1924", 1),
    ("Who signed the sale?", "Vane", "Vane had signed the sale of the pumps", 1),
)


def dam_pack() -> Pack:
    """Questions about the dam, with their weights."""
    questions = []
    for number, (question, answer, quote, weight) in enumerate(_QUESTIONS, 1):
        start = DAM.text.index(quote)
        span = Span(start, start + len(quote))
        questions.append(PackQuestion(number, question, "what", answer, Evidence(quote, span), 0.5, weight))
    return Pack("dam-pack", DAM.id, "m", {}, tuple(questions))


class Clerk(PerfectModel):
    """Answers the questions about the dam from the sentences that it is given for each, and compares as it is told."""

    def __init__(self, answers: Mapping[int, tuple[str, str]], verdicts: Mapping[str, str]) -> None:
        self.answers, self.verdicts = answers, verdicts
        """By question the words of a sentence and the answer; by answer how it compares."""

    def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
        return {"answers": [self._answer(n, item["text"], sheet) for n, item in sheet.items("questions").items()]}

    def _answer(self, name: str, question: str, sheet: Sheet) -> Json:
        questions = [text for text, *_ in _QUESTIONS]
        words, answer = self.answers.get(questions.index(question), ("", ""))
        cited = [n for n, item in sheet.items("sentences").items() if words and words in item["text"]]
        return {"id": name, "sentences": cited, "answered": bool(cited), "answer": answer if cited else ""}

    def compare_answers(self, sheet: Sheet) -> ScriptedReply:
        return {
            "comparisons": [
                {"id": n, "reason": "That he died is missing.", "verdict": self.verdicts[pair["summary"]]}
                for n, pair in sheet.items("pairs").items()
            ]
        }

    def answer_from_document(self, sheet: Sheet) -> ScriptedReply:
        by_question = {text: {"answer": answer, "quote": quote} for text, answer, quote, _ in _QUESTIONS}
        questions = {n: item["text"] for n, item in sheet.items("questions").items()}
        return {"answers": [{"id": n, "answered": True, **by_question[text]} for n, text in questions.items()]}


SUMMARY = "Crane is cleared. He was blamed to hide the sale of the pumps. The dam broke in 1931."
ANSWERS = {0: ("cleared", "Crane is cleared"), 1: ("blamed", "to hide the sale"), 2: ("1931", "in 1931")}
VERDICTS = {"Crane is cleared": "part", "to hide the sale": "full", "in 1931": "contradicts"}


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    harness = Harness(tmp_path, Clerk(ANSWERS, VERDICTS), document=DAM)
    harness.store.documents.add(DAM)
    harness.store.packs.add(dam_pack(), "by hand")
    with harness.served():
        yield harness


async def judged(harness: Harness, summary: str = SUMMARY, **judging: Any) -> tuple[Evaluation, Result]:
    result = await harness.evaluate(summary, metrics=("coverage",), pack="dam-pack", **judging)
    return result.evaluations["coverage"], result


async def test_half_answers_count_half_by_weight(harness: Harness) -> None:
    coverage, _ = await judged(harness)
    assert coverage.score == pytest.approx((3 * 0.5 + 2 * 1 + 1 * 0 + 1 * 0) / 7)
    questions: Any = coverage.details["questions"]
    assert [(question["weight"], question["value"], question["verdict"]) for question in questions] == [
        (3, 0.5, "partly answered"),
        (2, 1.0, "answered"),
        (1, 0.0, "contradicted"),
        (1, 0.0, "unanswered"),
    ]
    by_kind: Any = coverage.details["by_kind"]
    assert by_kind["what"]["score"] == pytest.approx(coverage.score)
    coverage, result = await judged(harness)
    assert [
        (finding.kind, finding.task, finding.weight, finding.found, finding.missing) for finding in coverage.findings
    ] == [
        ("partly answered", "add", 3, "Crane is cleared", "That he died is missing."),
        ("contradicted", "correct", 1, "in 1931", ""),
        ("unanswered", "add", 1, "", ""),
    ]
    assert coverage.findings[0].expected == _QUESTIONS[0][1]
    # As it was stored.
    assert harness.store.judgments.of(str(result.run.draft))["coverage"].findings == coverage.findings


async def test_addition_to_a_half_answer_is_read(harness: Harness) -> None:
    first, _ = await judged(harness)
    full_answer = "Crane is cleared: he gave the alarm and died at the sluice"
    harness.script = Clerk({**ANSWERS, 0: ("alarm", full_answer)}, {**VERDICTS, full_answer: "full"})
    harness.clear_sheets()
    second, _ = await judged(harness, f"{SUMMARY} He gave the alarm and died opening the sluice.")

    questions: Any = second.details["questions"]
    assert (first.score, questions[0]["value"], questions[0]["found"]) == (pytest.approx(0.5), 1.0, full_answer)
    # What has a full answer is not asked about again.
    questions_asked = {
        item["text"] for sheet in harness.asked("answer_from_summary") for item in sheet.items("questions").values()
    }
    assert _QUESTIONS[1][0] not in questions_asked
    harness.clear_sheets()
    evaluation, _ = await judged(harness, f"{SUMMARY} He gave the alarm and died opening the sluice.")
    assert (evaluation.details, harness.sheets) == (second.details, [])
