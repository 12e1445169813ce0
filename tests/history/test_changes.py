"""The difference of two drafts: what changed, in near-linear time, and which findings a change answered."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.domain import Draft, Evaluation, Finding, Round
from redraft.report.history.trace import DraftDiff, RoundTrace, changes_between, difference

SENTENCES = st.lists(
    st.sampled_from(["He came home.", "She left.", "The bank broke.", "The bank broke at night.", "Rain fell."]),
    max_size=12,
)
FRAME = "The wind was on the sea. The lamp was in the hall. "


@pytest.mark.parametrize(
    ("before", "after", "changes", "moved"),
    [
        (
            "Hester came to Sarn. The keeper is called Bob and lives at sea. Nobody knows why.",
            "It was in March. Hester came to Sarn. The keeper is called Tom and lives at sea. The end.",
            [
                ("added", "", "It was in March."),
                ("changed", "The keeper is called Bob and lives at sea.", "The keeper is called Tom and lives at sea."),
                ("added", "", "The end."),
                ("removed", "Nobody knows why.", ""),
            ],
            (),
        ),
        (
            "One is here. Two is here. Three is here.",
            "Three is here. One is here. Two is here.",
            [],
            ("Three is here.",),
        ),
        ("Rain fell. Rain fell. Rain fell.", "Rain fell. Rain fell.", [("removed", "Rain fell.", "")], ()),
        (
            f"{FRAME}He was the owner of the house.",
            f"{FRAME}She was the doctor of the town.",
            [("added", "", "She was the doctor of the town."), ("removed", "He was the owner of the house.", "")],
            (),
        ),
    ],
    ids=["order of the later draft", "moved", "repeated", "only common words shared"],
)
def test_changes_of_sentences(
    before: str, after: str, changes: list[tuple[str, str, str]], moved: tuple[str, ...]
) -> None:
    diff = changes_between(before, after)
    assert [(change.kind, change.before, change.after) for change in diff.changes] == changes
    assert diff.moved == moved


@given(SENTENCES, SENTENCES)
def test_each_sentence_is_accounted_for_once(before: list[str], after: list[str]) -> None:
    diff = changes_between(" ".join(before), " ".join(after))
    removed = Counter(change.before for change in diff.changes if change.before)
    added = Counter(change.after for change in diff.changes if change.after)
    remaining = Counter(before) - removed
    assert remaining.total() == diff.kept
    assert remaining + removed == Counter(before)
    assert remaining + added == Counter(after)
    assert len(diff.moved) <= max(0, diff.kept - 1)


def finding(metric: str, kind: str, **fields: str) -> Finding:
    return Finding(metric, kind, "add", "because", **fields)  # type: ignore[arg-type]


def turn(text: str, *findings: Finding, failed: str = "", **details: object) -> RoundTrace:
    evaluations = {
        name: Evaluation(
            name,
            1,
            "failed" if name == failed else "scored",
            findings=tuple(finding for finding in findings if finding.metric == name),
            details=details,
        )
        for name in ("coverage", "consistency", "keyfact_recall", "faithfulness")
    }
    return RoundTrace(Round(0, "d"), Draft("d", "r", 0, "given", text, 1), evaluations, ())


def answers(diff: DraftDiff) -> list[tuple[Finding, ...]]:
    return [change.answers for change in diff.changes]


UNANSWERED = finding("coverage", "unanswered", question="Who keeps it?", expected="Ruth Crane")
WRONG = finding("consistency", "inconsistent", sentence="The keeper is called Bob Ash.", question="Who?", found="Bob")
UNFAITHFUL = finding("faithfulness", "entity", sentence=WRONG.sentence, expected="It says Tom Ash.")
LIGHT = finding("keyfact_recall", "missing root", expected="Ruth Crane keeps the light.")
OIL = finding("keyfact_recall", "missing leaf", expected="The oil comes from Wickmouth.")
SECOND_ANSWERS = {"questions": [{"question": "Who keeps it?", "sentences": [2, 99]}]}
SECOND_STATES = {"facts": [{"fact": LIGHT.expected, "sentences": [2]}]}


@pytest.mark.parametrize(
    ("before", "after", "credited"),
    [
        (turn(WRONG.sentence, WRONG), turn("The keeper is called Tom Ash."), [(WRONG,)]),
        (turn(WRONG.sentence, UNFAITHFUL), turn("The keeper is called Tom Ash."), [(UNFAITHFUL,)]),
        (turn("", UNANSWERED), turn("Ruth is here. She keeps it.", **SECOND_ANSWERS), [(), (UNANSWERED,)]),
        (turn("Oil is dear.", LIGHT, OIL), turn("Oil is dear. Ruth does.", OIL, **SECOND_STATES), [(LIGHT,)]),
        (turn("Oil is dear.", LIGHT), turn(f"Oil is dear. {LIGHT.expected}"), [(LIGHT,)]),
    ],
    ids=["its own sentence", "a sentence judged by itself", "the answer", "the key fact", "the key sentence itself"],
)
def test_the_change_that_answers_is_credited(
    before: RoundTrace, after: RoundTrace, credited: list[tuple[Finding, ...]]
) -> None:
    diff = difference(before, after)
    assert answers(diff) == credited
    assert (diff.answered_elsewhere, diff.new) == ((), ())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (WRONG, replace(WRONG, sentence="The keeper is called Bill Ash.")),
        (UNFAITHFUL, replace(UNFAITHFUL, expected="The passages say Tom Ash.")),
    ],
    ids=["in the changed sentence", "in other words"],
)
def test_a_repeated_complaint_is_not_answered(before: Finding, after: Finding) -> None:
    diff = difference(turn(before.sentence, before), turn(f"It rains. {after.sentence}", after))
    assert not any(answers(diff))
    assert (diff.answered_elsewhere, diff.new) == ((), ())


CONTRADICTED = replace(UNANSWERED, kind="contradicted", sentence="Bob keeps it.")


@pytest.mark.parametrize(
    ("before", "after", "elsewhere", "new"),
    [
        ("It rains.", turn("It rains. Then it snows."), (UNANSWERED,), ()),
        ("", turn("Bob keeps it.", CONTRADICTED), (), (CONTRADICTED,)),
        ("", turn("Ruth Crane keeps it.", failed="coverage"), (), ()),
    ],
    ids=["an answer without a change", "a wrong answer is new", "a failed metric answers nothing"],
)
def test_no_change_is_credited(
    before: str, after: RoundTrace, elsewhere: tuple[Finding, ...], new: tuple[Finding, ...]
) -> None:
    diff = difference(turn(before, UNANSWERED), after)
    assert (answers(diff), diff.answered_elsewhere, diff.new) == ([()], elsewhere, new)
