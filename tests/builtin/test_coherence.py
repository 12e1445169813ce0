"""What the built-in judge finds confusing in a summary, and which of two it prefers."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.builtin.coherence.confusion import find_confusion
from redraft.builtin.coherence.preferring import prefer_summary
from redraft.evaluators.base import statements_of
from redraft.prompts.coherence import (
    ASPECTS,
    Confusion,
    ConfusionGiven,
    ErrorType,
    PreferGiven,
    SummarySentence,
)
from redraft.prompts.contract import UNSURE

BEFORE = (
    "Nora Lind, a baker in the harbour town of Elm, inherits a lighthouse from her grandfather. She has never seen it,"
    " and her brother Oskar urges her to sell it. Nora decides to visit the lighthouse before she answers him.\n\n"
    "The keeper of the lighthouse, an old sailor called Brandt, shows her the rooms and the logbooks. In the logbooks"
    " Nora reads that her grandfather had warned three ships of a storm in 1962. One captain did not believe him, and"
    " the ship was lost with eleven men. Her grandfather had blamed himself for it all his life.\n\n"
)
AFTER = (
    "When Oskar comes to the lighthouse, Nora shows him the logbooks. He understands why their grandfather kept the"
    " house, and he gives up his wish to sell it. Brother and sister repair the lamp together with Brandt. In autumn"
    " the lamp burns again, and Nora opens a small bakery at the foot of the tower."
)
STORY = BEFORE + AFTER

PLANTED: Sequence[tuple[ErrorType, str]] = (
    ("duplication", "The keeper of the lighthouse, an old sailor called Brandt, shows her all the rooms and logbooks."),
    ("duplication", "She has never seen it, and her brother Oskar urges her to sell it."),
    ("inconsistency", "In the logbooks Nora reads that her grandfather had warned nine ships of a storm in 1962."),
    ("inconsistency", "One captain believed him, and the ship was lost with eleven men."),
    ("inconsistency", "Nora decides not to visit the lighthouse before she answers him."),
    ("language", "Nora and the the keeper look at the logbooks in the house."),
    ("language", "In the evening Nora looks at the sea and the"),
)
OPEN: Sequence[str] = (
    "Her grandfather had warned nine ships of a storm in 1962.",
    "Tamsin warns Nora that the tower is sinking.",
    "A man named Corvin brings the tools.",
    "Brandt cannot forget the murder, and he tells Oskar what was stolen after the attack.",
    "Volcanic ash covers distant vineyards every decade.",
    "Her grandfather had warned three ships of a gale in the spring.",
    "Brandt had warned three ships of a storm in 1962.",
    "Oskar shows her the rooms and the logbooks.",
    "They tried pong pong fruit, and so so many knew it.",
    "Nora and Oskar are of one mind about the lamp in 1962 and in 1963.",
)


def judged(summary: str, size: int = 10) -> list[Confusion]:
    """The verdicts on all sentences, asked for in batches."""
    asked = [SummarySentence(id=one.id, sentence=one.sentence) for one in statements_of(summary)]
    return [
        verdict
        for at in range(0, len(asked), size)
        for verdict in find_confusion(ConfusionGiven(summary=summary, sentences=asked[at : at + size])).sentences
    ]


def confusing(summary: str) -> dict[int, list[ErrorType]]:
    """The sentences that confuse, and how."""
    return {one.id: one.errors for one in judged(summary) if one.is_confusing}


def test_of_a_coherent_summary_nothing_is_said_not_even_that_it_is_clear() -> None:
    assert len(judged(STORY)) == 11
    assert all(one.is_left_open and one.is_confusing is None for one in judged(STORY))


@pytest.mark.parametrize(("error", "sentence"), PLANTED)
def test_a_planted_error_is_seen(error: ErrorType, sentence: str) -> None:
    assert confusing(f"{BEFORE}{sentence}\n\n{AFTER}") == {8: [error]}


@pytest.mark.parametrize("sentence", OPEN)
def test_what_only_may_confuse_is_left_open(sentence: str) -> None:
    assert confusing(f"{BEFORE}{sentence} {AFTER}") == {}


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("She has never seen it, and her brother Oskar urges her to sell it.", "Why is this said twice?"),
        (
            "Nora decides not to visit the lighthouse before she answers him.",
            'Which is true, this or what was said before: "Nora decides to visit the lighthouse before she answers'
            ' him"?',
        ),
        ("Nora and the the keeper look at the logbooks.", "What is this sentence meant to say?"),
        ("In the evening Nora looks at the sea and the\n\n", "How does this sentence go on?"),
    ],
)
def test_the_question_names_what_is_unclear(sentence: str, question: str) -> None:
    verdict = judged(f"{BEFORE}{sentence} {AFTER}")[7]
    assert verdict.asked == [question]


def test_who_does_what_to_whom_is_no_repetition() -> None:
    said = "On the old harbour wall that evening {} gave the letter of the keeper to {}."
    told = f"{STORY} {said.format('Nora', 'Brandt')}"
    assert confusing(f"{told} {said.format('Brandt', 'Nora')}") == {}
    assert confusing(f"{told} {said.format('Nora', 'Brandt')}") == {13: ["duplication"]}


def test_a_number_more_is_no_contradiction() -> None:
    told = "The captain of the ship paid the keeper for the lamp"
    assert confusing(f"{told} and left. {told} 300 crowns and left.") == {}
    assert confusing(f"{told} 200 crowns and left. {told} 300 crowns and left.") == {2: ["inconsistency"]}
    assert confusing(f"{told} 200 crowns in 1960. {told} 300 crowns in 1970.") == {}


def test_what_people_say_twice_in_a_word_is_no_repetition() -> None:
    assert confusing('"Why not?" Nora asked. "No." Brandt laughed. "Why not?" she said. "No."') == {}


def test_a_summary_that_begins_with_however_goes_on_from_nothing() -> None:
    assert confusing(f"However, {STORY}") == {1: ["discontinuity"]}
    assert confusing(f"{STORY} However, Nora is tired.") == {}
    verdict = judged(f"However, {STORY}")[0]
    assert verdict.asked == ["What does this go on from?"]


def test_a_pronoun_needs_somebody_to_stand_for() -> None:
    assert confusing("She sells the house. It rains in the valley.") == {1: ["entity omission"]}
    assert confusing("A widow lives in a valley. She sells the house.") == {}


OPENED = "Hester met Ruth Crane on Tuesday, 11 March, on top of the Long Bank, in a wind that made it hard to stand."
FLOODED = "The Long Bank broke in the night of the flood. The water came into all the houses in Sallow End."


@pytest.mark.parametrize(
    ("summary", "number", "pronoun"),
    [
        (f"Her grandson Jem lived with her. {OPENED}", 1, "her"),
        (f"They had Jem with them in the house. {OPENED}", 1, "they"),
        (f"{OPENED}\n\n{FLOODED}\n\nHis right wrist was strapped to the crank.", 4, "his"),
        ("Hester lost her dog. Hester sold her boat. Hester goes. His wrist is strapped to the crank.", 4, "his"),
        ("A widow lives in a valley. She sells the house. He opens the mill in the valley.", 3, "he"),
    ],
)
def test_a_sentence_that_begins_with_a_pronoun_has_somebody_before_it(summary: str, number: int, pronoun: str) -> None:
    verdict = judged(summary)[number - 1]
    assert verdict.errors == ["entity omission"]
    assert verdict.asked == [f'Who is meant by "{pronoun}"?']


@pytest.mark.parametrize(
    "before",
    [
        "Jem turned the crank.",
        "A miller lives in the valley.",
        "The tower was given to Jem.",
        "Hester saw a boy at the crank.",
        "Hester looked for him. It rained.",
    ],
)
def test_a_pronoun_that_begins_a_sentence_may_stand_for_any_man_before_it(before: str) -> None:
    assert confusing(f"{before} His right wrist was strapped to the crank.") == {}


def test_what_a_part_begins_with_may_stand_for_somebody_before_the_part() -> None:
    asked = [SummarySentence(id=61, sentence="She sells the house."), SummarySentence(id=62, sentence="It rains.")]
    verdicts = find_confusion(ConfusionGiven(summary="She sells the house. It rains.", sentences=asked)).sentences
    assert [one.errors for one in verdicts] == [[], []]
    alone = [SummarySentence(id=number, sentence=one.sentence) for number, one in enumerate(asked, 1)]
    verdicts = find_confusion(ConfusionGiven(summary="She sells the house. It rains.", sentences=alone)).sentences
    assert [one.errors for one in verdicts] == [["entity omission"], []]


def test_the_later_of_two_equal_sentences_is_the_one_that_is_told_of() -> None:
    summary = "Ada opens the mill in the valley. Her father closes the bridge. Ada opens the mill in the valley."
    assert confusing(summary) == {3: ["duplication"]}
    third = SummarySentence(id=3, sentence="Ada opens the mill in the valley.")
    assert find_confusion(ConfusionGiven(summary=summary, sentences=[third])).sentences[0].errors == ["duplication"]
    first = SummarySentence(id=1, sentence="Ada opens the mill in the valley.")
    assert not find_confusion(ConfusionGiven(summary=summary, sentences=[first])).sentences[0].is_confusing


def test_a_part_of_a_long_summary_is_numbered_as_the_whole() -> None:
    part = "Her father closes the bridge. Ada opens the mill. It rains in the valley all day. Ada opens the mill."
    asked = [
        SummarySentence(id=91, sentence="Her father closes the bridge."),
        SummarySentence(id=92, sentence="Ada opens the mill."),
        SummarySentence(id=94, sentence="Ada opens the mill."),
    ]
    verdicts = find_confusion(ConfusionGiven(summary=part, sentences=asked)).sentences
    assert [one.errors for one in verdicts] == [[], [], ["duplication"]]


def test_of_what_does_not_stand_in_the_summary_nothing_can_be_told() -> None:
    asked = [SummarySentence(id=1, sentence="She sees the the sea."), SummarySentence(id=2, sentence="…")]
    verdicts = find_confusion(ConfusionGiven(summary=STORY, sentences=asked)).sentences
    assert [(one.id, one.is_left_open) for one in verdicts] == [(1, True), (2, True)]


@pytest.mark.slow
def test_all_the_same_sentence() -> None:
    found = confusing("The cat sits on the mat by the door. " * 400)
    assert found == {number: ["duplication"] for number in range(2, 401)}


@pytest.mark.slow
def test_four_hundred_sentences_take_little_time() -> None:
    people = [f"{first}{last}" for first in ("Ar", "Bel", "Cor", "Dan", "El") for last in ("an", "eth", "ian", "ow")]
    summary = " ".join(
        f"{people[n % 20]} finds the {n}th stone of the {people[n % 7]} wall and carries it to the house."
        for n in range(400)
    )
    begun = time.process_time()
    verdicts = judged(summary)
    assert time.process_time() - begun < 3
    assert [one.id for one in verdicts] == list(range(1, 401))


@pytest.mark.parametrize(
    "summary",
    [
        "One sentence about a man.",
        "# Part One\n\n# Part Two\n\n# The End",
        "- the first thing\n- the second thing\n- the end of it",
        "NORA LIND INHERITS A LIGHTHOUSE. SHE SELLS IT. THE KEEPER WEEPS. OSKAR LAUGHS AT HER.",
        "小红去了北京。她在那里遇见了小明。他们一起回家。",
        '"Where are you, Nora?" Oskar asked.\n\n"Here," she said. "I am here."\n\n"Come home," said Oskar.',
        "No end",
    ],
)
def test_a_summary_of_another_kind_is_no_reason_for_questions(summary: str) -> None:
    assert confusing(summary) == {}


def test_nothing_is_asked_of_an_empty_summary() -> None:
    assert judged("") == []
    assert find_confusion(ConfusionGiven(summary="", sentences=[])).sentences == []


TEXTS = st.one_of(
    st.text(max_size=120),
    st.lists(
        st.sampled_from([*STORY.replace("\n\n", " ").split(". "), *(text for _, text in PLANTED), *OPEN]), max_size=8
    ).map(" ".join),
)


@pytest.mark.slow
@given(TEXTS)
def test_every_sentence_gets_one_verdict(summary: str) -> None:
    verdicts = judged(summary)
    assert [one.id for one in verdicts] == [one.id for one in statements_of(summary)]
    assert all(one.is_confusing or one.is_left_open for one in verdicts)
    assert all(len(one.questions) == len(one.errors) for one in verdicts)


EXCHANGED = {"first": "second", "second": "first", "tie": "tie", UNSURE: UNSURE}


@pytest.mark.slow
@given(TEXTS, TEXTS, st.one_of(st.none(), TEXTS))
def test_exchanging_the_summaries_exchanges_the_verdicts(one: str, other: str, document: str | None) -> None:
    there = prefer_summary(PreferGiven(document=document, first=one, second=other))
    back = prefer_summary(PreferGiven(document=document, first=other, second=one))
    for aspect in ASPECTS:
        assert getattr(back, aspect) == EXCHANGED[getattr(there, aspect)]
    assert there.reason


@given(TEXTS)
def test_a_summary_is_no_better_than_itself(text: str) -> None:
    verdict = prefer_summary(PreferGiven(first=text, second=text))
    assert {getattr(verdict, aspect) for aspect in ASPECTS} == {"tie"}
    assert verdict.reason == "Both say the same."


PLAIN = "Nora Lind inherits a lighthouse, and Brandt shows her the logbooks of her grandfather."


def test_which_of_two_summaries_is_better_cannot_be_told_by_counting() -> None:
    bare = "Nora inherits a house. It is a house. Nora inherits a house."
    for document in (STORY, None):
        verdict = prefer_summary(PreferGiven(document=document, first=PLAIN, second=bare))
        assert {getattr(verdict, aspect) for aspect in ASPECTS} == {UNSURE}
        assert "cannot tell" in verdict.reason


@pytest.mark.parametrize(
    "invented",
    [
        "Nora Lind inherits a lighthouse in Patagonia, and Brandt shows her the logbooks of her grandfather.",
        "A dragon attacks wizards, goblins, trolls and vampires.",
    ],
)
def test_what_the_document_does_not_have_on_one_side_alone_decides(invented: str) -> None:
    verdict = prefer_summary(PreferGiven(document=STORY, first=PLAIN, second=invented))
    assert (verdict.overall, verdict.detail) == ("first", UNSURE)
    both = prefer_summary(
        PreferGiven(document=STORY, first="Zeno Quagga fled.", second=f"{invented} Zeno Quagga fled.")
    )
    assert both.overall == UNSURE
