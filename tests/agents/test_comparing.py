"""No claim is called inconsistent by a measure alone: the judge compares in words, with more of the document read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from redraft.agents.answers import is_answered
from redraft.agents.examiner import compare_twice
from redraft.domain import Evaluation, Span
from redraft.evaluators import consistency
from redraft.evaluators.similarity import is_doubtful
from redraft.readers.documents import parse
from tests.judges import UNANSWERABLE, Court, Json, Keepers, Said, Sheet

# A question, what the document answers, and what the summary does.
PRICE = ("What did the lamp cost?", "£1,850 pounds", "1,850")
WAR = ("When was the light sold?", "after the war", "before the war")
DOCUMENT = parse(
    b"# The Lamp\n\nThe lamp cost the town \xc2\xa31,850 pounds in all, which the council paid.\n\n"
    b"The light was sold after the war, to a man from the mainland.",
    name="lamp.md",
)


class Clerk(Keepers):
    """Has one claim to ask about, answers it as it is told, and compares as one who can read."""

    def __init__(self, claim: tuple[str, str, str], later: str = "", verdicts: Sequence[str] = ()) -> None:
        self.claim = claim
        self.later = later
        """What the document is said to answer the second time, where that is something else."""
        self.verdicts = list(verdicts)

    def ask_summary(self, sheet: Sheet) -> Said:
        question, _, answer = self.claim
        asked = [{"question": question, "answer": answer, "search": "lamp", "importance": 3}]
        return {"sentences": [{"id": n, "questions": asked} for n in sheet.ids]}

    def answer_from_document(self, sheet: Sheet) -> Said:
        answer, self.claim = self.claim[1], (self.claim[0], self.later or self.claim[1], self.claim[2])
        return {"answers": [{"id": n, "answer": answer, "quote": answer} for n in sheet.ids]}

    def compare_answers(self, sheet: Sheet) -> Said:
        return {"comparisons": [self.compared(n, pair) for n, pair in sheet.items("pairs").items()]}

    def compared(self, n: str, pair: dict[str, str]) -> Json:
        opposite = {"before", "after"} <= {*pair["document"].split(), *pair["summary"].split()}
        verdict = self.verdicts.pop(0) if self.verdicts else "contradicts" if opposite else "agrees"
        return {"id": n, "reason": "So it reads.", "verdict": verdict}


async def judged(folder: Path, clerk: Clerk, **judging: Any) -> tuple[Evaluation, Court]:
    court = Court(folder, clerk, document=DOCUMENT)
    result = await court.evaluate("The lamp was dear.", metrics=("consistency",), **judging)
    return result.evaluations["consistency"], court


@pytest.mark.parametrize("measure", ["rouge1", "exact", "judge"])
async def test_the_same_amount_in_other_words_is_no_inconsistency(tmp_path: Path, measure: str) -> None:
    found, _ = await judged(tmp_path, Clerk(PRICE), similarity=measure)

    assert (found.score, found.findings, found.unjudged) == (1.0, (), 0)


@pytest.mark.parametrize("measure", ["rouge1", "exact", "judge"])
async def test_one_word_that_turns_a_sentence_into_its_opposite_is_found(tmp_path: Path, measure: str) -> None:
    found, court = await judged(tmp_path, Clerk(WAR), similarity=measure)

    assert (found.score, [one.kind for one in found.findings]) == (0.0, ["inconsistent"])
    assert found.findings[0].expected == "after the war"
    # It was looked at once more before it was called so.
    assert len(court.asked("answer_from_document")) == 2


async def test_where_the_second_look_reads_otherwise_there_is_no_finding(tmp_path: Path) -> None:
    claim = ("When was the light sold?", "to a man", "after the war")
    found, court = await judged(tmp_path, Clerk(claim, later="after the war was over", verdicts=["contradicts"]))

    assert (found.score, found.findings) == (1.0, ())
    assert [pair["document"] for sheet in court.asked("compare_answers") for pair in sheet.items("pairs").values()] == [
        "to a man",
        "after the war was over",
    ]


async def test_a_second_look_that_finds_nothing_leaves_the_first(tmp_path: Path) -> None:
    found, _ = await judged(tmp_path, Clerk(WAR, later=UNANSWERABLE))

    assert [(one.kind, one.expected) for one in found.findings] == [("inconsistent", "after the war")]


async def test_a_second_look_reads_the_place_of_the_first_answer_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sought: list[Span] = []

    async def compare(examiner: Any, pairs: Any, wanted: Any, reader: Any, **options: Any) -> Any:
        sought.extend(span for one in wanted for span in one.cited)
        return await compare_twice(examiner, pairs, wanted, reader, **options)

    monkeypatch.setattr(consistency, "compare_twice", compare)
    await judged(tmp_path, Clerk(WAR))

    assert ["after the war" in DOCUMENT.text[one.start : one.end] for one in sought] == [True]


async def test_a_comparison_without_a_verdict_makes_no_finding_and_no_score(tmp_path: Path) -> None:
    found, _ = await judged(tmp_path, Clerk(WAR, verdicts=["perhaps"] * 9))

    assert (found.outcome, found.score, found.findings) == ("failed", None, ())


async def test_of_what_nobody_can_compare_nothing_is_said(tmp_path: Path) -> None:
    found, court = await judged(tmp_path, Clerk(WAR, verdicts=["unclear"]))

    assert (found.outcome, found.score, found.unjudged, found.findings) == ("failed", None, 1, ())
    assert len(court.asked("compare_answers")) == 1, "that is a verdict, and nobody is asked again"


async def test_an_answer_about_something_else_bears_nothing_out(tmp_path: Path) -> None:
    found, court = await judged(tmp_path, Clerk(WAR, verdicts=["unrelated"]))

    assert (found.outcome, found.score, found.unjudged, found.findings) == ("failed", None, 1, ())
    assert len(court.asked("answer_from_document")) == 1, "nothing is doubted that a further look would settle"


async def test_an_answer_about_something_else_answers_no_question_of_the_document(tmp_path: Path) -> None:
    class Strict(Keepers):
        """Finds that another name answers something else."""

        def compare_answers(self, sheet: Sheet) -> Said:
            pairs = sheet.items("pairs")
            return {"comparisons": [{"id": n, "reason": "Another matter.", "verdict": "unrelated"} for n in pairs]}

    court = Court(tmp_path, Strict())
    result = await court.evaluate("The keeper number 1 is called Bob.", metrics=("coverage",))

    coverage = result.evaluations["coverage"]
    assert (coverage.score, coverage.unjudged) == (0.0, 0)
    assert {one.kind for one in coverage.findings} == {"unanswered"}


@pytest.mark.parametrize(
    ("answered", "placed", "found"), [(True, True, True), (True, False, False), (None, True, False)]
)
def test_none_is_an_answer_where_its_place_is_named(answered: bool | None, placed: bool, found: bool) -> None:
    assert is_answered(answered, "None.", placed=placed) is found


async def test_equal_answers_are_not_compared(tmp_path: Path) -> None:
    found, court = await judged(tmp_path, Clerk((WAR[0], "After the war", "after a war.")))

    assert found.score == 1.0
    assert not court.asked("compare_answers")


@pytest.mark.parametrize("judging", [{}, {"similarity": "rouge1"}])
async def test_who_did_it_to_whom_is_compared_though_the_words_are_the_same(
    tmp_path: Path, judging: dict[str, str]
) -> None:
    crime = ("Who paid whom?", "the town paid the council", "the council paid the town")
    found, _ = await judged(tmp_path, Clerk(crime, verdicts=["contradicts"] * 2), **judging)

    assert (found.score, [one.kind for one in found.findings]) == (0.0, ["inconsistent"])
    assert found.findings[0].value == 0.0
    assert found.findings[0].read.startswith("the whole document (")


async def test_the_paper_compares_by_a_measure_alone(tmp_path: Path) -> None:
    found, court = await judged(tmp_path, Clerk(PRICE), similarity="exact", second_look=False)

    assert [one.kind for one in found.findings] == ["inconsistent"]
    assert not court.asked("compare_answers")


async def test_a_contradicted_answer_of_a_summary_is_looked_at_once_more(tmp_path: Path) -> None:
    class Hasty(Keepers):
        """Takes every other name for a contradiction, and the second time reads the name that the summary has."""

        def answer_from_document(self, sheet: Sheet) -> Said:
            return {"answers": [{"id": n, "answer": "Bob", "quote": "keeper number 1 is called"} for n in sheet.ids]}

    court = Court(tmp_path, Hasty())
    coverage = await court.evaluate("The keeper number 1 is called Bob.", metrics=("coverage",))

    assert [one.kind for one in coverage.evaluations["coverage"].findings if one.kind == "contradicted"] == []
    assert court.items("answer_from_document") == 1


@pytest.mark.parametrize(
    ("one", "other", "doubtful"),
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
def test_what_may_be_the_opposite_goes_by_form(one: str, other: str, doubtful: bool) -> None:
    assert is_doubtful(one, other) is is_doubtful(other, one) is doubtful
