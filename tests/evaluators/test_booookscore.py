"""Coherence from the replies of judges to findings that can be acted on, with and without a wire."""

from __future__ import annotations

import asyncio
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
from redraft.readers.documents import parse
from redraft.report.history.results import Result
from redraft.runs.dry_run import dry_run
from redraft.runs.prepare import RunSpec, prepare
from redraft.settings import Evaluate, JudgeConfig
from tests.judges import (
    KEY,
    Court,
    Json,
    Keepers,
    Said,
    Script,
    Sheet,
    fact_of,
    function_model,
    island,
    sentence_of,
    told,
)

METRICS = ("booookscore",)
CLEAR: Json = {"questions": [], "types": ["no confusion"]}
STRANGER = "A stranger comes to see number 7."
SENTENCES = [fact_of(1), fact_of(2), STRANGER, f"- {fact_of(3)}", f"- {STRANGER}"]
SUMMARY = f"# The Keepers\n\n{told(1, 2)} {STRANGER}\n\n- {fact_of(3)}\n- {STRANGER}"


class Reader(Keepers):
    """Is confused by sentences in which certain words occur, and replies as it is told to."""

    def __init__(self, said: Mapping[str, Json] | None = None) -> None:
        asked = {"questions": ["Who is the stranger?"], "types": ["entity omission"]}
        self.said = said if said is not None else {"stranger": asked}

    def find_confusion(self, sheet: Sheet) -> Said:
        return {
            "sentences": [{"id": n} | self.verdict(sentence_of(item)) for n, item in sheet.items("sentences").items()]
        }

    def verdict(self, sentence: str) -> Json:
        return next((said for word, said in self.said.items() if word in sentence), CLEAR)

    def prefer_summary(self, sheet: Sheet) -> Said:
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


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


async def result_of(
    folder: Path, summary: str = SUMMARY, *scripts: Script, wired: bool = False, **judging: Any
) -> tuple[Result, Court]:
    """What comes of judging a summary by these scripts, the first of them behind a server where there is a wire."""
    court = Court(folder, scripts[0] if scripts else Reader())
    judges = [function_model(script, f"judge-{n}") for n, script in enumerate(scripts)] if len(scripts) > 1 else []
    asked = {"metrics": METRICS, **judging}
    if wired:
        with court.served():
            result = await court.evaluate(summary, **asked)
    else:
        result = await court.evaluate(summary, judges=judges, **asked)
    court.store.close()
    return result, court


async def judged(folder: Path, *args: Any, **judging: Any) -> Evaluation:
    result, _ = await result_of(folder, *args, **judging)
    return result.evaluations["booookscore"]


@pytest.mark.parametrize("wired", [False, True], ids=["at hand", "at a server"])
async def test_the_score_is_the_share_of_sentences_that_confuse_nobody(tmp_path: Path, wired: bool) -> None:
    result, court = await result_of(tmp_path, wired=wired)
    one = result.evaluations["booookscore"]

    assert (one.outcome, one.score, one.judged, one.unjudged) == ("scored", 3 / 5, 5, 0)
    assert one.details["headings"] == 1
    assert one.details["types"] == {kind: 2 * (kind == "entity omission") for kind in ERROR_TYPES}
    sentences: Any = one.details["sentences"]
    assert [(each["id"], each["verdict"]) for each in sentences] == [
        (2, "clear"),
        (3, "clear"),
        (4, "confusing"),
        (5, "clear"),
        (6, "confusing"),
    ]
    assert sentences[2]["questions"] == ["Who is the stranger?"]
    # All sentences are asked about at once, and nothing but the summary is read.
    (asked,) = court.asked("find_confusion")
    assert list(asked.judged.values()) == SENTENCES
    assert asked.within("summary") == SUMMARY
    assert {sheet.prompt for sheet in court.sheets} == {"find_confusion"}


async def test_a_finding_holds_the_sentence_the_questions_and_where_they_are_answered(tmp_path: Path) -> None:
    said = {"stranger": {"questions": ["Who lives at station 49?", "Why?"], "types": ["entity omission", "salience"]}}
    (finding, _) = (await judged(tmp_path, SUMMARY, Reader(said))).findings

    assert (finding.kind, finding.task, finding.sentence) == ("entity omission, salience", "clarify", STRANGER)
    assert finding.question == "Who lives at station 49? Why?"
    assert "who or what" in finding.explanation
    assert "nothing to the main line" in finding.explanation
    evidence = finding.evidence
    assert evidence is not None
    assert evidence.span is not None
    assert island().text[evidence.span.start : evidence.span.end] == evidence.text
    assert "station 49" in evidence.text


@pytest.mark.parametrize(("kind", "place"), [("entity omission", "station 49"), ("event omission", "Tom3")])
async def test_who_somebody_is_stands_elsewhere_than_what_happened(tmp_path: Path, kind: str, place: str) -> None:
    said = {"stranger": {"questions": ["Who lives at station 49?"], "types": [kind]}}
    summary = "A stranger tells that the keeper number 3 is called Tom3 and lives at station 21 by the cold sea."
    (finding,) = (await judged(tmp_path, summary, Reader(said))).findings
    assert finding.evidence is not None
    assert place in finding.evidence.text
    assert ("station 49" in finding.evidence.text) == (place == "station 49")


async def test_whom_a_pronoun_means_stands_where_the_document_has_the_sentence(tmp_path: Path) -> None:
    summary = "He is called Tom7 and lives at station 49 by the cold sea."
    for question, place in (('Who is meant by "he"?', "station 49"), ("Who is meant at station 21?", "station 21")):
        said = {"He": {"questions": [question], "types": ["entity omission"]}}
        (finding,) = (await judged(tmp_path / place, summary, Reader(said))).findings
        assert finding.evidence is not None
        assert place in finding.evidence.text


async def test_who_somebody_is_stands_where_the_document_first_has_the_name(tmp_path: Path) -> None:
    first = "Old Tobias Wren was the carrier of the island, and had the only cart that could cross the sands."
    later = ("Tobias Wren came. " * 9 + "Nobody else did so on that day, or on the next. " * 4).strip()
    other = "The sea was cold, and the gulls went out over it in the grey light of the morning. " * 20
    court = Court(tmp_path, Reader({"Wren": {"questions": ["Who is Tobias Wren?"], "types": ["entity omission"]}}))
    document = parse(f"{other}\n\n{first}\n\n{other}\n\n{later}".encode(), name="sands.txt")
    result = await court.evaluate("Wren waits for the tide.", document=document, metrics=METRICS)

    (finding,) = result.evaluations["booookscore"].findings
    assert finding.evidence is not None
    assert first in finding.evidence.text
    court.store.close()


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


async def test_headings_alone_are_no_summary(tmp_path: Path) -> None:
    result, court = await result_of(tmp_path, "# The Keepers\n\n## The Storm\n\nChapter Two")
    one = result.evaluations["booookscore"]
    assert (one.outcome, one.score, one.reason) == ("not_applicable", None, "the summary has no sentence")
    assert court.sheets == []


@pytest.mark.parametrize("batch", [1, 2, 10])
async def test_one_by_one_or_in_batches_it_is_the_same(tmp_path: Path, batch: int) -> None:
    expected = await judged(tmp_path / "a")
    result, court = await result_of(tmp_path / "b", batch=batch)
    assert result.evaluations["booookscore"] == expected
    batches = [SENTENCES[at : at + batch] for at in range(0, 5, batch)]
    assert list(court.sheets[0].judged.values()) == batches[0]
    assert sorted(list(sheet.judged.values()) for sheet in court.sheets) == sorted(batches)


SAID: Sequence[tuple[Json, str, dict[str, int]]] = [
    ({"questions": ["Who?"], "types": ["vibes"]}, "confusing", {"untyped": 2}),
    ({"questions": [], "types": ["SALIENCE", "salience", "vibes"]}, "confusing", {"salience": 2}),
    ({"questions": ["NO CONFUSION"], "types": ["No Confusion"]}, "clear", {}),
    ({"questions": ["Who?"], "types": ["no confusion"]}, "unjudged", {}),
]


@pytest.mark.parametrize(("said", "verdict", "types"), SAID)
async def test_types_and_verdicts_that_are_missing_doubled_or_unknown(
    tmp_path: Path, said: Json, verdict: str, types: dict[str, int]
) -> None:
    one = await judged(tmp_path, SUMMARY, Reader({"stranger": said}))
    sentences: Any = one.details["sentences"]

    assert [each["verdict"] for each in sentences] == ["clear", "clear", verdict, "clear", verdict]
    assert {kind: n for kind, n in one.details["types"].items() if n} == types  # type: ignore[attr-defined]
    expected = {"confusing": (3 / 5, 5, 0), "clear": (1.0, 5, 0), "unjudged": (1.0, 3, 2)}
    assert (one.score, one.judged, one.unjudged) == expected[verdict]
    assert len(one.findings) == 2 * (verdict == "confusing")


async def test_a_judge_without_any_verdict_fails(tmp_path: Path) -> None:
    class Mute(Reader):
        def find_confusion(self, sheet: Sheet) -> Said:
            return "I would rather not."

    result, _ = await result_of(tmp_path, SUMMARY, Mute(), wired=True)
    one = result.evaluations["booookscore"]
    assert (one.outcome, one.score, one.findings) == ("failed", None, ())
    assert not result.complete


class Unsure(Reader):
    """Finds what it is told to find, and of all else cannot tell."""

    def verdict(self, sentence: str) -> Json:
        return next(
            (said for word, said in self.said.items() if word in sentence), {"questions": [], "types": [UNSURE]}
        )


@pytest.mark.slow
@pytest.mark.parametrize("words", [["stranger"], ["stranger", "Tom2", "Tom3"]])
async def test_a_judge_that_calls_nothing_clear_gives_findings_and_no_score(tmp_path: Path, words: list[str]) -> None:
    asked = {"questions": ["Who is that?"], "types": ["entity omission"]}
    result, court = await result_of(tmp_path, SUMMARY, Unsure(dict.fromkeys(words, asked)), wired=True)
    one = result.evaluations["booookscore"]
    confusing = 1 + len(words)
    assert (one.outcome, one.score, one.judged, one.unjudged) == ("failed", None, confusing, 5 - confusing)
    assert one.reason == f"{confusing} sentences are confusing, and {5 - confusing} have no verdict"
    assert [finding.sentence for finding in one.findings if "stranger" in finding.sentence] == [
        SENTENCES[2],
        SENTENCES[4],
    ]
    assert len(one.findings) == confusing
    assert len(court.asked("find_confusion")) == 1, "what have no verdict is not asked for again"

    whole = await judged(tmp_path / "whole", SUMMARY, Unsure(dict.fromkeys(["e"], asked)))
    assert (whole.outcome, whole.score) == ("scored", 0.0)
    beside = await judged(tmp_path / "beside", SUMMARY, Unsure({"stranger": asked}), Reader({}))
    assert (beside.outcome, beside.judged) == ("scored", 5)


async def test_the_built_in_model_abstains_and_says_that_it_takes_a_language_model(tmp_path: Path) -> None:
    async with Session(str(tmp_path / "redraft.db")) as session:
        result = await session.evaluate(island(3), f"{told(1, 2)} {told(1)}", metrics=METRICS)
    evaluation = result.evaluations["booookscore"]
    assert (evaluation.outcome, evaluation.score, evaluation.judged, evaluation.unjudged) == ("failed", None, 0, 3)
    assert evaluation.findings == ()
    assert evaluation.reason.endswith("name a language model as judge")


async def test_several_judges_decide_by_majority_and_their_questions_are_joined(tmp_path: Path) -> None:
    other = {"stranger": {"questions": ["Why does he come?"], "types": ["causal omission"]}}
    one = await judged(tmp_path, SUMMARY, Reader(), Reader(other), Reader({}))

    assert one.score == pytest.approx((3 / 5 + 3 / 5 + 1) / 3)
    assert [finding.question for finding in one.findings] == ["Who is the stranger? Why does he come?"] * 2
    assert {finding.kind for finding in one.findings} == {"entity omission, causal omission"}

    divided = await judged(tmp_path / "two", SUMMARY, Reader(), Reader({}))
    assert divided.score == pytest.approx(4 / 5)
    assert [finding.said_by for finding in divided.findings] == [(1, 2), (1, 2)]
    assert {finding.kind for finding in divided.findings} == {"entity omission"}
    sentences: Any = divided.details["sentences"]
    assert Counter(each["verdict"] for each in sentences) == {"clear": 3, "disputed": 2}


@pytest.mark.parametrize("wired", [False, True], ids=["at hand", "at a server"])
async def test_findings_act_in_the_refinement(tmp_path: Path, wired: bool) -> None:
    said = {
        "stranger": {"questions": ["Who lives at station 49?"], "types": ["entity omission"]},
        "Tom2": {"questions": ["Why is this told?"], "types": ["salience"]},
    }
    court = Court(tmp_path, Reader(said))
    if wired:
        with court.served():
            result = await court.refine(
                SUMMARY,
                goals={"booookscore": 1.0},
                policy="paper",
                feedback="findings",
                judging=JudgeConfig(metrics=METRICS),
            )
    else:
        result = await court.refine(
            SUMMARY,
            goals={"booookscore": 1.0},
            policy="paper",
            feedback="findings",
            judging=JudgeConfig(metrics=METRICS),
        )

    assert result.initial_scores["booookscore"] == pytest.approx(2 / 5)
    assert (result.scores["booookscore"], result.run.stop_reason) == (1.0, "goals_met")
    assert result.summary is not None
    assert "keeper of station 49" in result.summary
    assert "Tom2" not in result.summary
    (revised,) = court.asked("revise")
    points = list(revised.items("points").values())
    assert [point["task"] for point in points] == ["drop", "clarify", "clarify"]
    assert points[1]["question"] == "Who lives at station 49?"
    assert "station 49" in points[1]["evidence"]
    court.store.close()


@pytest.mark.parametrize(("types", "questions", "task", "looked_up"), TASKS)
async def test_whatever_is_found_is_mended_as_it_says(
    tmp_path: Path, types: list[str], questions: list[str], task: Task, looked_up: bool
) -> None:
    class Mending(Reader):
        def mended(self, text: str, point: dict[str, str]) -> str:
            return text.replace("stranger", "keeper of station 49") if point["task"] == task else text

    court = Court(tmp_path, Mending({"stranger": {"questions": questions, "types": types}}))
    result = await court.refine(
        SUMMARY, goals={"booookscore": 1.0}, policy="paper", feedback="findings", judging=JudgeConfig(metrics=METRICS)
    )

    assert {one.kind for one in result.initial["booookscore"].findings} == {", ".join(types) or "untyped"}
    assert (result.scores["booookscore"], result.run.stop_reason) == (1.0, "goals_met")
    (revised,) = court.asked("revise")
    for point in revised.items("points").values():
        assert (point["task"], point["sentence"].removeprefix("- ")) == (task, STRANGER)
        assert point.get("question", "") == " ".join(questions)
        assert ("evidence" in point) == looked_up
        assert f"- {point['task']}: " in revised.text, "the prompt says what to do about it"
    court.store.close()


async def test_a_window_without_room_for_the_prompt_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    court = Court(tmp_path, Reader())
    with pytest.raises(UsageError, match="does not fit into a window of 1,000 tokens") as refused:
        await court.evaluate(SUMMARY, metrics=METRICS, settings={"context_tokens": 1000})
    assert court.sheets == []

    least = re.search(r"context_tokens=(\d+)", refused.value.hint)
    assert least is not None
    result = await court.evaluate(SUMMARY, metrics=METRICS, settings={"context_tokens": int(least[1])})
    assert result.scores["booookscore"] == 3 / 5
    court.store.close()


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 7, 10])
def test_as_much_is_asked_as_a_dry_run_says(tmp_path: Path, batch: int) -> None:
    summary = told(*range(1, 61))
    court = Court(tmp_path, Reader())
    judging = JudgeConfig(metrics=METRICS, batch=batch)
    prepared = prepare(court.document, court.settings({"strategy": "given"}), court.model, summary)
    (stage,) = dry_run(prepared, RunSpec(Evaluate(judging=judging), given=summary)).stages
    asyncio.run(court.evaluate(summary, **judging.model_dump()))

    assert stage.name == "booookscore"
    assert len(court.sheets) == stage.calls == -(-60 // batch)
    tokens = sum(prepared.tokenizer.count(sheet.text) for sheet in court.sheets)
    assert tokens <= stage.prompt_tokens <= 1.1 * tokens  # with the schema of the replies
    court.store.close()
