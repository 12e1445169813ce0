"""How the built-in writer revises a summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.agents.reviser import read_reply
from redraft.builtin.revise import edit, revise
from redraft.domain import Task
from redraft.prompts.revision import EditInput, Point, ReviseInput
from redraft.text.words import count_words
from tests.builtin.support import STORY, checks, split
from tests.text.hostile import raw_texts

SENTENCES = split(STORY)
SUMMARY = f"{SENTENCES[0]} {SENTENCES[3]}\n\n{SENTENCES[5]} {SENTENCES[6]}"


def _revised(
    *points: Point, summary: str = SUMMARY, words: int = 250, needed: Sequence[str] = (), **more: object
) -> str:
    return revise(ReviseInput.model_validate({"summary": summary, "points": points, "words": words, **more}), needed)


def _add(evidence: str, **more: str) -> Point:
    return Point(id=1, task="add", instruction="Say this.", evidence=evidence, **more)


def _correct(sentence: str, answer: str = "", evidence: str = "", question: str = "") -> Point:
    return Point(
        id=1,
        task="correct",
        instruction="Wrong.",
        sentence=sentence,
        answer=answer,
        evidence=evidence,
        question=question,
    )


def test_sentences_are_added_where_they_belong() -> None:
    assert _revised() == SUMMARY
    assert _revised(summary=f"\n {SUMMARY} \n") == f"\n {SUMMARY} \n"
    revised = _revised(_add(SENTENCES[4]), document=STORY)
    assert revised == SUMMARY.replace("\n\n", f" {SENTENCES[4]}\n\n")
    assert _revised(_add(SENTENCES[0]), summary=SENTENCES[3], document=STORY) == f"{SENTENCES[0]} {SENTENCES[3]}"
    assert _revised(_add("Zebras graze.")).endswith("Zebras graze.")
    point = _add("# A heading\n\nZebras graze. Captain Renn met *Ada Quill* at noon. It rained.", answer="Ada Quill")
    assert set(split(_revised(point))) - set(split(SUMMARY)) == {"Captain Renn met Ada Quill at noon."}
    evidence = "It was late. Matthias Crane sat at the bottom of the stairs. He had been dead for two days."
    changed = _revised(_add(evidence, question="How long had Matthias been dead?", answer="two days"))
    assert "He had been dead" not in changed
    assert _revised(_add(SENTENCES[3]), _add("x"), _add("")) == _revised(_add("x"))
    assert _revised(_add(SENTENCES[4]), _add(SENTENCES[4])).count(SENTENCES[4]) == 1


@pytest.mark.parametrize(
    ("at", "wrong", "right", "answer"),
    [
        (0, "Skye", "Sarn", "Sarn"),
        (0, "3 March 1926", "3 March 1924", "Monday, 3 March 1924"),
        (5, "Hester Vane", "Ruth Crane", "Ruth Crane"),
        (6, "£81,500", "£18,500", "18,500"),
    ],
)
def test_a_detail_is_corrected_in_place(at: int, wrong: str, right: str, answer: str) -> None:
    wrong_sentence = SENTENCES[at].replace(right, wrong)
    assert wrong_sentence != SENTENCES[at]
    revised = _revised(
        _correct(wrong_sentence, answer, SENTENCES[at]), summary=SUMMARY.replace(SENTENCES[at], wrong_sentence)
    )
    assert revised == SUMMARY


def test_faults_of_the_check_are_corrected() -> None:
    wrong_summary = SUMMARY.replace("Sarn", "Skye").replace("twenty-two", "thirty")
    points = [
        _correct(sentence, checked.counterpart, checked.nearest)
        for sentence, checked in zip(split(wrong_summary), checks([STORY], split(wrong_summary)), strict=True)
        if checked.fault
    ]
    assert len(points) == 2
    assert _revised(*points, summary=wrong_summary) == SUMMARY


def _remove(sentence: str) -> Point:
    return Point(id=1, task="remove", instruction="The document does not say this.", sentence=sentence)


def test_wrong_and_second_sentences_go() -> None:
    sentence = "The ledger was burnt by pirates."
    summary = SUMMARY.replace(SENTENCES[3], sentence)
    assert _revised(_correct(sentence, "No", SENTENCES[3]), summary=summary) == SUMMARY
    assert _revised(_correct(sentence), summary=summary) == SUMMARY.replace(f" {SENTENCES[3]}", "")
    assert _revised(_correct("Nobody said this."), summary=summary) == summary
    assert _revised(_point("drop", SENTENCES[3])) == SUMMARY.replace(f" {SENTENCES[3]}", "")
    assert _revised(_point("drop", SENTENCES[0]), summary=f"{SUMMARY} {SENTENCES[0]}") == SUMMARY
    assert _revised(_point("drop", "Nobody said this.")) == SUMMARY
    assert _revised(_point("drop", SENTENCES[3]), needed=[SENTENCES[3]]) == SUMMARY
    room = count_words(SUMMARY)
    revised = _revised(
        _add(SENTENCES[4]), _add(SENTENCES[1]), _add(SENTENCES[2]), words=room, needed=[SENTENCES[3], SENTENCES[5]]
    )
    revised_sentences = split(revised)
    assert {SENTENCES[3], SENTENCES[4], SENTENCES[5]} <= set(revised_sentences)
    assert count_words(revised) <= room
    assert _revised(_correct(SENTENCES[3], "x", "y"), needed=[SENTENCES[3]]) == SUMMARY


@pytest.mark.parametrize(
    "sentence", ["Zebras graze on the moon.", "Zebras and giraffes graze quietly while a forgotten notebook rusts."]
)
def test_unsupported_sentence_is_dropped(sentence: str) -> None:
    summary = SUMMARY.replace(SENTENCES[5], sentence)
    assert _revised(_remove(sentence), summary=summary, document=STORY) == SUMMARY.replace(f"{SENTENCES[5]} ", "")


def test_edit_corrects_and_leaves_requests() -> None:
    wrong = SENTENCES[6].replace(".", ", and it was burnt by pirates.")
    inputs = EditInput(
        summary=SUMMARY.replace(SENTENCES[6], wrong),
        points=[_correct(wrong, "No", SENTENCES[6])],
        may_go=[SENTENCES[3]],
        words=250,
        document=STORY,
    )
    assert edit(inputs) == SUMMARY
    # What a person asked for stays.
    assert wrong in edit(inputs.model_copy(update={"keep": [wrong]}))
    text, points = read_reply(_revised(Point(id=1, task="change", instruction="Make it sadder.")))
    assert text == SUMMARY
    assert [*points.values()] == [("left", "the built-in model cannot follow requests in words")]
    point = Point(id=1, task="change", instruction="Tell of the flood.", evidence=SENTENCES[4])
    assert SENTENCES[4] in _revised(point)


def _point(task: str, sentence: str, **more: str) -> Point:
    return Point.model_validate({"id": 1, "task": task, "instruction": "x", "sentence": sentence, **more})


_POINTS = st.builds(
    Point,
    id=st.just(1),
    task=st.sampled_from(get_args(Task)),
    instruction=st.just("x"),
    sentence=st.sampled_from([*SENTENCES, "Zebras graze.", ""]),
    answer=st.sampled_from(["Sarn", "1924", "UNANSWERABLE", ""]),
    evidence=raw_texts,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.one_of(raw_texts, st.just(SUMMARY)),
    st.lists(_POINTS, max_size=4),
    st.integers(1, 120),
    st.sampled_from(SENTENCES),
)
def test_limit_and_needed_sentences_are_kept(summary: str, points: list[Point], words: int, keep: str) -> None:
    revised = _revised(*points, summary=summary, words=words, needed=[keep])
    assert count_words(revised) <= words
    if keep in summary and count_words(summary) <= words:
        assert keep in revised
