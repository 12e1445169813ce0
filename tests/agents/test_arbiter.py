"""The arbiter: what it is shown, and which of its verdicts overrule a finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redraft.agents.arbiter import Arbiter, RulingRequest
from redraft.agents.evidence import EvidenceReader
from redraft.agents.examiner import is_answered, is_doubtful
from redraft.agents.judge import Judge
from redraft.builtin.facade import open_model
from redraft.domain import Document, Evaluation, Finding, Ruling
from redraft.llm.base import Model
from redraft.prompts.book import PromptBook
from redraft.readers.documents import parse
from redraft.store.store import Store
from redraft.text.retrieval import Passages
from redraft.text.tokens import Tokenizer
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
    name_question,
)


def accusation(number: int, name: str = "", **changes: object) -> Finding:
    """A finding that says that the document does not call a keeper so."""
    name = name or f"Tom{number}"
    finding = Finding(
        "consistency",
        "unsupported",
        "remove",
        "The document does not say this.",
        sentence=fact_of(number, name),
        question=name_question(number),
        found=name,
    )
    return replace(finding, **changes)


class Sheets:
    """A judge that goes by a script, and all that it was asked."""

    def __init__(self, script: Script) -> None:
        self.seen: list[Sheet] = []
        self._script = script

    def __call__(self, sheet: Sheet) -> ScriptedReply:
        self.seen.append(sheet)
        return self._script(sheet)


async def ruled(
    store: Store, script: Script | None, *requests: RulingRequest, document: Document | None = None, window: int = 8000
) -> list[Ruling]:
    document, tokenizer = document or island(), Tokenizer()
    model: Model = open_model() if script is None else function_model(script)
    tokens = tokenizer.count(document.text)
    reader = EvidenceReader(document, Passages(document, tokenizer), tokenizer, window, tokens)
    return await Arbiter(Judge(model, PromptBook(), store.verdicts), reader).rule(requests, "second look")


def says(verdict: str, quote: str = "") -> Sheets:
    def script(sheet: Sheet) -> Json:
        reply = {"reason": "So it is.", "quote": quote, "verdict": verdict}
        return {"points": [{"id": tag, **reply} for tag in sheet.items("points")]}

    return Sheets(script)


async def test_relevant_places_are_read_of_long_documents(store: Store) -> None:
    document = island(300)
    judge = Sheets(PerfectModel())
    quote = "keeper number 250 is called Tom250 and lives at station 1750"
    (ruling,) = await ruled(store, judge, (accusation(3), quote), document=document, window=2500)

    (sheet,) = judge.seen
    assert "keeper number 250" in sheet.within("passages")
    assert "keeper number 3 " in sheet.within("passages")
    assert len(sheet.text) < len(document.text) / 2
    assert ruling.overruled
    assert ruling.contested == quote


async def test_supported_claim_overrules_with_its_place(store: Store) -> None:
    right, wrong = accusation(3), accusation(4, "Bob")
    first, second = await ruled(store, PerfectModel(), (right, ""), (wrong, ""))

    assert (first.finding, first.verdict, first.overruled) == (right.id, "supported", True)
    assert first.start is not None
    assert island().text[first.start : first.end] == first.quote == fact_of(3)[:-1]
    assert (second.finding, second.verdict, second.overruled) == (wrong.id, "contradicted", False)


@pytest.mark.parametrize(
    "judge",
    [
        says("supported", "words that no document has"),
        says("supported"),
        says("supported", "the"),
        says("contradicted", fact_of(3)[:-1]),
        says("absent"),
        says("unclear", fact_of(3)[:-1]),
    ],
    ids=["invented quote", "no quote", "one word", "contradicted", "absent", "unclear"],
)
async def test_nothing_else_overrules(store: Store, judge: Sheets) -> None:
    (ruling,) = await ruled(store, judge, (accusation(3), ""))
    assert not ruling.overruled


async def test_that_passages_are_silent_is_no_verdict(store: Store) -> None:
    (from_document,) = await ruled(store, says("absent"), (accusation(3), ""))
    (from_passages,) = await ruled(store, says("absent"), (accusation(3), ""), document=island(300), window=2500)
    assert (from_document.verdict, from_passages.verdict) == ("absent", "unclear")


async def test_unreadable_reply_rules_nothing(store: Store) -> None:
    assert await ruled(store, Sheets(lambda _: "I would rather not."), (accusation(3), "")) == []


# A question, what the document answers, and what the summary does.
PRICE = ("What did the lamp cost?", "£1,850 pounds", "1,850")
WAR = ("When was the light sold?", "after the war", "before the war")
DOCUMENT = parse(
    b"# The Lamp\n\nThe lamp cost the town \xc2\xa31,850 pounds in all, which the council paid.\n\n"
    b"The light was sold after the war, to a man from the mainland.",
    name="lamp.md",
)


class Clerk(PerfectModel):
    """Has one claim to ask about, answers it as it is told, and compares as one who can read."""

    def __init__(self, claim: tuple[str, str, str], later: str = "", verdicts: Sequence[str] = ()) -> None:
        self.claim = claim
        self.later = later
        """What the document is said to answer the second time, where that is something else."""
        self.verdicts = list(verdicts)

    def ask_summary(self, sheet: Sheet) -> ScriptedReply:
        question, _, answer = self.claim
        questions = [{"question": question, "answer": answer, "search": "lamp", "importance": 3}]
        return {"sentences": [{"id": n, "questions": questions} for n in sheet.ids]}

    def answer_from_document(self, sheet: Sheet) -> ScriptedReply:
        answer, self.claim = self.claim[1], (self.claim[0], self.later or self.claim[1], self.claim[2])
        return {"answers": [{"id": n, "answer": answer, "quote": answer} for n in sheet.ids]}

    def compare_answers(self, sheet: Sheet) -> ScriptedReply:
        return {"comparisons": [self.compared(n, pair) for n, pair in sheet.items("pairs").items()]}

    def compared(self, n: str, pair: dict[str, str]) -> Json:
        opposite = {"before", "after"} <= {*pair["document"].split(), *pair["summary"].split()}
        verdict = self.verdicts.pop(0) if self.verdicts else "contradicts" if opposite else "full"
        return {"id": n, "reason": "So it reads.", "verdict": verdict}


async def judged(folder: Path, clerk: Clerk, **judging: Any) -> tuple[Evaluation, Harness]:
    harness = Harness(folder, clerk, document=DOCUMENT)
    result = await harness.evaluate("The lamp was dear.", metrics=("consistency",), **judging)
    return result.evaluations["consistency"], harness


@pytest.mark.parametrize("measure", ["rouge1", "exact", "judge"])
async def test_same_amount_in_other_words_is_consistent(tmp_path: Path, measure: str) -> None:
    evaluation, _ = await judged(tmp_path, Clerk(PRICE), similarity=measure)

    assert (evaluation.score, evaluation.findings, evaluation.unjudged) == (1.0, (), 0)


@pytest.mark.parametrize("measure", ["rouge1", "exact", "judge"])
async def test_opposite_in_one_word_is_found(tmp_path: Path, measure: str) -> None:
    evaluation, harness = await judged(tmp_path, Clerk(WAR), similarity=measure)

    assert (evaluation.score, [finding.kind for finding in evaluation.findings]) == (0.0, ["inconsistent"])
    (finding,) = evaluation.findings
    assert (finding.expected, finding.value) == ("after the war", 0.0)
    assert finding.read.startswith("the whole document (")
    # It was looked at once more before it was called so.
    assert len(harness.asked("answer_from_document")) == 2


async def test_second_look_can_clear_a_claim(tmp_path: Path) -> None:
    claim = ("When was the light sold?", "to a man", "after the war")
    evaluation, harness = await judged(tmp_path, Clerk(claim, later="after the war was over", verdicts=["contradicts"]))

    assert (evaluation.score, evaluation.findings) == (1.0, ())
    assert [
        pair["document"] for sheet in harness.asked("compare_answers") for pair in sheet.items("pairs").values()
    ] == ["to a man", "after the war was over"]


@pytest.mark.parametrize("verdict", ["unclear", "unrelated"])
async def test_incomparable_answers_are_unjudged(tmp_path: Path, verdict: str) -> None:
    evaluation, harness = await judged(tmp_path, Clerk(WAR, verdicts=[verdict]))

    assert (evaluation.outcome, evaluation.score, evaluation.unjudged, evaluation.findings) == ("failed", None, 1, ())
    prompts = ("compare_answers", "answer_from_document")
    assert [len(harness.asked(prompt)) for prompt in prompts] == [1, 1]


@pytest.mark.parametrize(
    ("answered", "placed", "expected"), [(True, True, True), (True, False, False), (None, True, False)]
)
def test_none_is_an_answer_with_its_place(answered: bool | None, placed: bool, expected: bool) -> None:
    assert is_answered(answered, "None.", placed=placed) is expected


@pytest.mark.parametrize(
    ("first", "second", "doubtful"),
    [
        ("before the war", "after the war", True),
        ("the ship sank off the cape", "the ship sank off the cape in 1902", True),
        ("the council approved the plan", "the council never approved the plan", True),
        ("he did leave the island", "he didn't leave the island", True),
        ("市议会批准了", "市议会没批准了", True),
        ("The lamp, and the oil", "the lamp and oil", False),
        ("1,850", "1850", False),
        ("the old keeper of the light", "the old keeper of the light at the far end of the cape", False),
    ],
)
def test_doubtful_pairs_go_by_form(first: str, second: str, doubtful: bool) -> None:
    assert is_doubtful(first, second) is is_doubtful(second, first) is doubtful
