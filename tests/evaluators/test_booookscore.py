"""Coherence from the replies of judges to findings that can be acted on, with and without a wire."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from redraft import Session
from redraft.domain import Evaluation, Task
from redraft.errors import UsageError
from redraft.prompts.coherence import ERROR_TYPES
from redraft.prompts.contract import UNSURE
from redraft.report.history.results import Result
from redraft.settings import JudgeConfig
from tests.judges import (
    Harness,
    Json,
    PerfectModel,
    Script,
    ScriptedReply,
    Sheet,
    fact_of,
    function_model,
    island,
    sentence_of,
    summary_of,
)

pytestmark = pytest.mark.usefixtures("api_key")

METRICS = ("booookscore",)
CLEAR: Json = {"questions": [], "types": ["no confusion"]}
STRANGER = "A stranger comes to see number 7."
SENTENCES = [fact_of(1), fact_of(2), STRANGER, f"- {fact_of(3)}", f"- {STRANGER}"]
SUMMARY = f"# The Keepers\n\n{summary_of(1, 2)} {STRANGER}\n\n- {fact_of(3)}\n- {STRANGER}"


class Reader(PerfectModel):
    """Is confused by sentences in which certain words occur, and replies as it is told to."""

    def __init__(self, replies: Mapping[str, Json] | None = None) -> None:
        stranger = {"questions": ["Who is the stranger?"], "types": ["entity omission"]}
        self.said = replies if replies is not None else {"stranger": stranger}

    def find_confusion(self, sheet: Sheet) -> ScriptedReply:
        return {
            "sentences": [{"id": n} | self.verdict(sentence_of(item)) for n, item in sheet.items("sentences").items()]
        }

    def verdict(self, sentence: str) -> Json:
        return next((reply for word, reply in self.said.items() if word in sentence), CLEAR)

    def prefer_summary(self, sheet: Sheet) -> ScriptedReply:
        """Reads more gladly what confuses it less."""
        first, second = (sum(text.count(word) for word in self.said) for text in map(sheet.within, ("first", "second")))
        better = "first" if first < second else "second" if second < first else "tie"
        return {"reason": "", "detail": "tie", "structure": "tie", "logic": better, "overall": better}

    def mended(self, text: str, point: dict[str, str]) -> str:
        if point["task"] == "drop":
            head, _, tail = text.rpartition(point["sentence"])
            return head + tail
        if point["task"] == "clarify":
            return text.replace("stranger", "keeper of station 49")
        return super().mended(text, point)


async def result_of(
    folder: Path, summary: str = SUMMARY, *scripts: Script, wired: bool = False, **judging: Any
) -> tuple[Result, Harness]:
    """What comes of judging a summary by these scripts, the first of them behind a server where there is a wire."""
    harness = Harness(folder, scripts[0] if scripts else Reader())
    judges = [function_model(script, f"judge-{n}") for n, script in enumerate(scripts)] if len(scripts) > 1 else []
    judging_options = {"metrics": METRICS, **judging}
    if wired:
        with harness.served():
            result = await harness.evaluate(summary, **judging_options)
    else:
        result = await harness.evaluate(summary, judges=judges, **judging_options)
    return result, harness


async def judged(folder: Path, *args: Any, **judging: Any) -> Evaluation:
    result, _ = await result_of(folder, *args, **judging)
    return result.evaluations["booookscore"]


@pytest.mark.parametrize("wired", [False, True], ids=["at hand", "at a server"])
async def test_score_is_the_share_of_clear_sentences(tmp_path: Path, wired: bool) -> None:
    result, harness = await result_of(tmp_path, wired=wired)
    evaluation = result.evaluations["booookscore"]

    assert (evaluation.outcome, evaluation.score, evaluation.judged, evaluation.unjudged) == ("scored", 3 / 5, 5, 0)
    assert evaluation.details["headings"] == 1
    assert evaluation.details["types"] == {kind: 2 * (kind == "entity omission") for kind in ERROR_TYPES}
    sentences: Any = evaluation.details["sentences"]
    assert [(sentence["id"], sentence["verdict"]) for sentence in sentences] == [
        (2, "clear"),
        (3, "clear"),
        (4, "confusing"),
        (5, "clear"),
        (6, "confusing"),
    ]
    assert sentences[2]["questions"] == ["Who is the stranger?"]
    # All sentences are asked about at once, and nothing but the summary is read.
    (sheet,) = harness.asked("find_confusion")
    assert list(sheet.judged.values()) == SENTENCES
    assert sheet.within("summary") == SUMMARY
    assert {sheet.prompt for sheet in harness.sheets} == {"find_confusion"}


async def test_finding_holds_questions_and_their_place(tmp_path: Path) -> None:
    replies = {
        "stranger": {"questions": ["Who lives at station 49?", "Why?"], "types": ["entity omission", "salience"]}
    }
    (finding, _) = (await judged(tmp_path, SUMMARY, Reader(replies))).findings

    assert (finding.kind, finding.task, finding.sentence) == ("entity omission, salience", "clarify", STRANGER)
    assert finding.question == "Who lives at station 49? Why?"
    assert "who or what" in finding.explanation
    assert "nothing to the main line" in finding.explanation
    evidence = finding.evidence
    assert evidence is not None
    assert evidence.span is not None
    assert island().text[evidence.span.start : evidence.span.end] == evidence.text
    assert "station 49" in evidence.text


TASKS: Sequence[tuple[list[str], list[str], Task, bool]] = [
    (["entity omission"], ["Who?"], "clarify", True),
    (["event omission"], ["What?"], "clarify", True),
    (["causal omission"], ["Why?"], "clarify", True),
    (["salience"], ["What for?"], "drop", False),
    (["discontinuity"], ["Why now?"], "connect", True),
    (["duplication"], ["Why again?"], "drop", False),
    (["inconsistency"], ["Which?"], "correct", True),
    (["language"], [], "change", False),
    (["entity omission", "duplication"], ["Who?"], "drop", False),
    (["language", "inconsistency"], ["Which?"], "correct", True),
    ([], ["Who?"], "clarify", True),
]


SAID: Sequence[tuple[Json, str, dict[str, int]]] = [
    ({"questions": ["Who?"], "types": ["vibes"]}, "confusing", {"untyped": 2}),
    ({"questions": [], "types": ["SALIENCE", "salience", "vibes"]}, "confusing", {"salience": 2}),
    ({"questions": ["NO CONFUSION"], "types": ["No Confusion"]}, "clear", {}),
    ({"questions": ["Who?"], "types": ["no confusion"]}, "unjudged", {}),
]


@pytest.mark.parametrize(("reply", "verdict", "types"), SAID)
async def test_odd_types_and_verdicts_are_settled(
    tmp_path: Path, reply: Json, verdict: str, types: dict[str, int]
) -> None:
    evaluation = await judged(tmp_path, SUMMARY, Reader({"stranger": reply}))
    sentences: Any = evaluation.details["sentences"]

    assert [sentence["verdict"] for sentence in sentences] == ["clear", "clear", verdict, "clear", verdict]
    assert {kind: n for kind, n in evaluation.details["types"].items() if n} == types  # type: ignore[attr-defined]
    expected = {"confusing": (3 / 5, 5, 0), "clear": (1.0, 5, 0), "unjudged": (1.0, 3, 2)}
    assert (evaluation.score, evaluation.judged, evaluation.unjudged) == expected[verdict]
    assert len(evaluation.findings) == 2 * (verdict == "confusing")


class Unsure(Reader):
    """Finds what it is told to find, and of all else cannot tell."""

    def verdict(self, sentence: str) -> Json:
        return next(
            (reply for word, reply in self.said.items() if word in sentence), {"questions": [], "types": [UNSURE]}
        )


@pytest.mark.slow
@pytest.mark.parametrize("words", [["stranger"], ["stranger", "Tom2", "Tom3"]])
async def test_judge_without_clear_sentences_gives_no_score(tmp_path: Path, words: list[str]) -> None:
    confusion = {"questions": ["Who is that?"], "types": ["entity omission"]}
    result, harness = await result_of(tmp_path, SUMMARY, Unsure(dict.fromkeys(words, confusion)), wired=True)
    evaluation = result.evaluations["booookscore"]
    confusing = 1 + len(words)
    assert (evaluation.outcome, evaluation.score) == ("failed", None)
    assert (evaluation.judged, evaluation.unjudged) == (confusing, 5 - confusing)
    assert evaluation.reason == f"{confusing} sentences are confusing, and {5 - confusing} have no verdict"
    assert len(evaluation.findings) == confusing
    assert len(harness.asked("find_confusion")) == 1, "what have no verdict is not asked for again"

    all_confusing = await judged(tmp_path / "whole", SUMMARY, Unsure(dict.fromkeys(["e"], confusion)))
    assert (all_confusing.outcome, all_confusing.score) == ("scored", 0.0)
    with_second_judge = await judged(tmp_path / "beside", SUMMARY, Unsure({"stranger": confusion}), Reader({}))
    assert (with_second_judge.outcome, with_second_judge.judged) == ("scored", 5)


async def test_built_in_model_abstains_with_a_hint(tmp_path: Path) -> None:
    async with Session(str(tmp_path / "redraft.db")) as session:
        result = await session.evaluate(island(3), f"{summary_of(1, 2)} {summary_of(1)}", metrics=METRICS)
    evaluation = result.evaluations["booookscore"]
    assert (evaluation.outcome, evaluation.score, evaluation.judged, evaluation.unjudged) == ("failed", None, 0, 3)
    assert evaluation.findings == ()
    assert evaluation.reason.endswith("name a language model as judge")


async def test_judges_vote_and_join_their_questions(tmp_path: Path) -> None:
    causal = {"stranger": {"questions": ["Why does he come?"], "types": ["causal omission"]}}
    evaluation = await judged(tmp_path, SUMMARY, Reader(), Reader(causal), Reader({}))

    assert evaluation.score == pytest.approx((3 / 5 + 3 / 5 + 1) / 3)
    assert [finding.question for finding in evaluation.findings] == ["Who is the stranger? Why does he come?"] * 2
    assert {finding.kind for finding in evaluation.findings} == {"entity omission, causal omission"}

    divided = await judged(tmp_path / "two", SUMMARY, Reader(), Reader({}))
    assert divided.score == pytest.approx(4 / 5)
    assert [finding.said_by for finding in divided.findings] == [(1, 2), (1, 2)]
    assert {finding.kind for finding in divided.findings} == {"entity omission"}
    sentences: Any = divided.details["sentences"]
    assert Counter(sentence["verdict"] for sentence in sentences) == {"clear": 3, "disputed": 2}


@pytest.mark.parametrize(("types", "questions", "task", "looked_up"), TASKS)
async def test_each_kind_of_confusion_is_mended(
    tmp_path: Path, types: list[str], questions: list[str], task: Task, looked_up: bool
) -> None:
    class Mending(Reader):
        def mended(self, text: str, point: dict[str, str]) -> str:
            return text.replace("stranger", "keeper of station 49") if point["task"] == task else text

    harness = Harness(tmp_path, Mending({"stranger": {"questions": questions, "types": types}}))
    result = await harness.refine(
        SUMMARY, goals={"booookscore": 1.0}, policy="paper", feedback="findings", judging=JudgeConfig(metrics=METRICS)
    )

    assert {finding.kind for finding in result.initial["booookscore"].findings} == {", ".join(types) or "untyped"}
    assert (result.scores["booookscore"], result.run.stop_reason) == (1.0, "goals_met")
    (revised,) = harness.asked("revise")
    for point in revised.items("points").values():
        assert (point["task"], point["sentence"].removeprefix("- ")) == (task, STRANGER)
        assert point.get("question", "") == " ".join(questions)
        assert ("evidence" in point) == looked_up
        assert f"- {point['task']}: " in revised.text, "the prompt says what to do about it"


async def test_window_too_small_is_refused_at_once(tmp_path: Path) -> None:
    harness = Harness(tmp_path, Reader())
    with pytest.raises(UsageError, match="does not fit into a window of 1,000 tokens") as refused:
        await harness.evaluate(SUMMARY, metrics=METRICS, settings={"context_tokens": 1000})
    assert harness.sheets == []

    smallest = re.search(r"context_tokens=(\d+)", refused.value.hint)
    assert smallest is not None
    result = await harness.evaluate(SUMMARY, metrics=METRICS, settings={"context_tokens": int(smallest[1])})
    assert result.scores["booookscore"] == 3 / 5
