"""The difference of two drafts: what changed, in near-linear time, and which findings are answered by it."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.domain import Draft, Evaluation, Evidence, Finding, Round
from redraft.report.history.changes import DraftDiff, changed_words, changes_between, difference
from redraft.report.history.trace import RoundTrace

SENTENCES = st.lists(
    st.sampled_from(["He came home.", "She left.", "The bank broke.", "The bank broke at night.", "Rain fell."]),
    max_size=12,
)


def shape(found: DraftDiff) -> list[tuple[str, str, str]]:
    return [(change.kind, change.before, change.after) for change in found.changes]


def test_sentences_are_added_removed_and_changed_in_the_order_of_the_later_draft() -> None:
    before = "Hester came to Sarn. The keeper is called Bob and lives at sea. Nobody knows why."
    after = "It was in March. Hester came to Sarn. The keeper is called Tom and lives at sea. The end."

    assert shape(changes_between(before, after)) == [
        ("added", "", "It was in March."),
        ("changed", "The keeper is called Bob and lives at sea.", "The keeper is called Tom and lives at sea."),
        ("added", "", "The end."),
        ("removed", "Nobody knows why.", ""),
    ]


def test_a_sentence_that_moved_is_neither_added_nor_removed() -> None:
    found = changes_between("One is here. Two is here. Three is here.", "Three is here. One is here. Two is here.")

    assert shape(found) == []
    assert (found.kept, found.moved) == (3, ("Three is here.",))


def test_of_a_repeated_sentence_one_is_removed() -> None:
    found = changes_between("Rain fell. Rain fell. Rain fell.", "Rain fell. Rain fell.")

    assert shape(found) == [("removed", "Rain fell.", "")]


def test_sentences_that_share_only_common_words_are_no_pair() -> None:
    frame = "The wind was on the sea. The lamp was in the hall. "
    found = changes_between(frame + "He was the owner of the house.", frame + "She was the doctor of the town.")

    assert {change.kind for change in found.changes} == {"added", "removed"}


@given(SENTENCES, SENTENCES)
def test_every_sentence_of_both_drafts_is_accounted_for_once(before: list[str], after: list[str]) -> None:
    found = changes_between(" ".join(before), " ".join(after))

    gone = Counter(change.before for change in found.changes if change.before)
    come = Counter(change.after for change in found.changes if change.after)
    kept = Counter(before) - gone
    assert kept.total() == found.kept
    assert kept + gone == Counter(before)
    assert kept + come == Counter(after)
    assert len(found.moved) <= max(0, found.kept - 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["changed", "other", "repeated", "shuffled"])
def test_two_thousand_sentences_take_less_than_two_seconds(kind: str) -> None:
    rng = random.Random(1)
    words = [f"w{n}" for n in range(3000)] + ["the", "of", "a"] * 800
    old = [" ".join(rng.choices(words, k=20)).capitalize() + "." for _ in range(2000)]
    new = {
        "changed": [" ".join([*line.split()[:15], "and", "more."]) for line in old],
        "other": [" ".join(rng.choices(words, k=20)).capitalize() + "." for _ in range(2000)],
        "repeated": ["The same thing again." if rng.random() < 0.5 else "Something else." for _ in range(2000)],
        "shuffled": rng.sample(old, len(old)),
    }[kind]
    began = time.process_time()
    changes_between(" ".join(old), " ".join(new))

    assert time.process_time() - began < 2


def test_words_are_compared_one_by_one_and_long_sentences_whole() -> None:
    assert changed_words("He was called Bob.", "He was called Tom Wren.") == [
        ("=", "He was called"),
        ("-", "Bob."),
        ("+", "Tom Wren."),
    ]
    long = "word " * 5000
    assert [kind for kind, _ in changed_words(long, long + "end")] == ["-", "+"]
    assert changed_words("", "") == []


def finding(metric: str, kind: str, **fields: str) -> Finding:
    evidence = Evidence(fields.pop("evidence")) if "evidence" in fields else None
    return Finding(metric, kind, "add", "because", evidence=evidence, **fields)


def turn(text: str, *found: Finding, failed: str = "", details: dict[str, object] | None = None) -> RoundTrace:
    evaluations = {
        name: Evaluation(
            name,
            1,
            "failed" if name == failed else "scored",
            findings=tuple(one for one in found if one.metric == name),
            details=details or {},
        )
        for name in ("coverage", "consistency", "keyfact_recall", "faithfulness")
    }
    return RoundTrace(Round(0, "d"), Draft("d", "r", 0, "given", text, 1), evaluations, ())


UNANSWERED = finding("coverage", "unanswered", question="Who keeps it?", expected="Ruth Crane")
WRONG = finding("consistency", "inconsistent", sentence="The keeper is called Bob Ash.", question="Who?", found="Bob")


def test_a_finding_is_credited_to_the_sentence_it_was_about_and_an_answer_to_the_one_that_holds_it() -> None:
    before = turn("It rains on Sarn. The keeper is called Bob Ash.", UNANSWERED, WRONG)
    after = turn("It rains on Sarn. The keeper is called Tom Ash. The light is kept by Ruth Crane.")
    found = difference(before, after)

    credited = {change.after: change.answers for change in found.changes}
    assert credited == {"The keeper is called Tom Ash.": (WRONG,), "The light is kept by Ruth Crane.": (UNANSWERED,)}
    assert (found.answered_elsewhere, found.new) == ((), ())


def test_the_judge_knows_better_than_the_words_which_sentence_answers() -> None:
    details: dict[str, object] = {"questions": [{"question": "Who keeps it?", "sentences": [2, 99]}]}
    after = turn("Ruth Crane is here. She keeps the light.", details=details)
    found = difference(turn("", UNANSWERED), after)

    assert [change.answers for change in found.changes] == [(), (UNANSWERED,)]


LIGHT = finding("keyfact_recall", "missing root", expected="Ruth Crane keeps the light.")
OIL = finding("keyfact_recall", "missing leaf", expected="The oil comes from Wickmouth.")


def test_each_missing_fact_is_a_complaint_of_its_own_and_credited_to_the_sentence_that_states_it() -> None:
    details: dict[str, object] = {"facts": [{"fact": LIGHT.expected, "sentences": [2]}]}
    after = turn("Oil is dear. Nobody else but Ruth looks after the lamp.", OIL, details=details)
    found = difference(turn("Oil is dear.", LIGHT, OIL), after)

    assert LIGHT.id != OIL.id
    assert [change.answers for change in found.changes] == [(LIGHT,)]
    assert (found.answered_elsewhere, found.new) == ((), ())


def test_an_unfaithful_sentence_is_credited_with_its_correction_whatever_the_judge_said_of_it() -> None:
    wrong = finding("faithfulness", "entity", sentence="The keeper is called Bob Ash.", expected="It says Tom Ash.")
    found = difference(turn(wrong.sentence, wrong), turn("The keeper is called Tom Ash."))
    assert [change.answers for change in found.changes] == [(wrong,)]

    again = replace(wrong, expected="The passages say Tom Ash.")
    assert again.id == wrong.id
    found = difference(turn(wrong.sentence, wrong), turn(f"It rains. {wrong.sentence}", again))
    assert [change.answers for change in found.changes] == [()]
    assert (found.answered_elsewhere, found.new) == ((), ())


def test_evidence_is_looked_for_where_the_answer_is_in_other_words() -> None:
    asked = replace(UNANSWERED, expected="somebody", evidence=Evidence("the light burns for forty years"))
    found = difference(turn("", asked), turn("The light burns for forty years. Nothing else."))

    assert [change.answers for change in found.changes] == [(asked,), ()]


def test_what_no_change_accounts_for_is_listed_apart() -> None:
    found = difference(turn("It rains.", UNANSWERED), turn("It rains. Then it snows."))

    assert found.answered_elsewhere == (UNANSWERED,)


def test_a_complaint_that_lives_on_in_the_changed_sentence_is_not_answered() -> None:
    still = replace(WRONG, sentence="The keeper is called Bill Ash.")
    found = difference(turn(WRONG.sentence, WRONG), turn(still.sentence, still))

    assert [change.answers for change in found.changes] == [()]
    assert (found.answered_elsewhere, found.new) == ((), ())


def test_a_question_that_is_now_answered_wrongly_is_new_and_not_answered() -> None:
    wrong = replace(UNANSWERED, kind="contradicted", sentence="Bob keeps it.")
    found = difference(turn("", UNANSWERED), turn("Bob keeps it.", wrong))

    assert [change.answers for change in found.changes] == [()]
    assert found.new == (wrong,)


def test_nothing_is_answered_where_the_metric_failed() -> None:
    found = difference(turn("", UNANSWERED), turn("Ruth Crane keeps it.", failed="coverage"))

    assert [change.answers for change in found.changes] == [()]
    assert found.answered_elsewhere == ()
