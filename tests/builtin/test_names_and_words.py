"""What is said in other words: of that the judge says nothing; and other forms of a name are no other name."""

from __future__ import annotations

import pytest

from redraft.builtin.consistency.families import family
from redraft.text.wording import keys
from tests.builtin.support import STORY, UNANSWERABLE, found_in, judge, open_in, sample

# Nothing of this stands in the story word for word.
TOLD = [
    "Her employer, Philip Dunne, wants her to certify that the ledgers are complete.",
    "Tobias Wren confesses that Crane sent him to ring the church bell.",
    "A letter to Ruth and the ledger, wrapped in oiled silk, are in the cask.",
    "Harrow has to repay the £960 with interest to the Trust.",
    "Under the cut slate stand the nineteen names of those who drowned.",
]


@pytest.mark.parametrize(
    "forms",
    [
        "decide decided deciding decision",
        "discover discovery discovered",
        "die died dead death",
        "sell sold sale",
        "steal stole stolen theft thief",
        "explain explanation",
        "describe description",
        "admit admission",
        "investigate investigation investigator",
        "bury burial buried",
        "rob robber robbery",
        "marry married marriage",
        "silent silence",
        "agree agreement",
        "rise rose risen rising",
        "make made making",
    ],
)
def test_the_forms_of_a_word_are_one_family(forms: str) -> None:
    assert len({family(key) for key in keys(forms)}) == 1


@pytest.mark.parametrize("others", ["bank barn", "church clerk", "house horse", "salt sale", "not note", "three tree"])
def test_other_words_are_other_families(others: str) -> None:
    assert len({family(key) for key in keys(others)}) == 2


@pytest.mark.parametrize("told", TOLD)
def test_what_is_told_in_other_words_is_not_called_wrong(told: str) -> None:
    assert found_in([sample()], [told]) == set()


def test_of_what_shares_no_wording_nothing_is_said() -> None:
    assert open_in([sample()], TOLD[:1]) == {0}


@pytest.mark.parametrize(
    ("at", "right", "wrong"),
    [(0, "Philip Dunne", "Bartholomew Quigg"), (3, "960", "1,395"), (2, "Ruth", "Zebediah")],
)
def test_a_name_or_figure_that_is_nowhere_is_wrong_in_any_words(at: int, right: str, wrong: str) -> None:
    said = TOLD[at].replace(right, wrong)
    assert said != TOLD[at]
    assert found_in([sample()], [said]) == {0}


@pytest.mark.parametrize(
    "fair",
    [
        "The works were bought by J. R. Harrow in 1885, with his wife's money.",
        "The works were bought by Mr. Harrow in 1885, with his wife's money.",
        "The works were bought by Harrow in 1885, with his wife's money.",
        "The works were bought by Josiah in 1885, with his wife's money.",
        "The works were bought by Josiah Rud Harow in 1885, with his wife's money.",
    ],
)
def test_another_form_of_a_name_in_a_copied_sentence_is_no_contradiction(fair: str) -> None:
    text = "The works were bought by Josiah Rudd Harrow in 1885, with his wife's money. He had a son, Edgar Harrow."
    assert found_in([text], [fair]) == set()


@pytest.mark.parametrize("other", ["Isaac Thorne", "Edgar Harrow", "Thorne", "Mrs. Thorne"])
def test_another_name_is(other: str) -> None:
    text = "The works were bought by Josiah Rudd Harrow in 1885, with money. Edgar Harrow and Isaac Thorne had none."
    assert found_in([text], [f"The works were bought by {other} in 1885, with money."]) == {0}


def test_a_title_is_not_another_s() -> None:
    text = "The letter was written by Mr. Thorne on the evening before the flood. Mrs. Thorne had gone to bed."
    assert found_in([text], [text.partition(". Mrs")[0].replace("Mr.", "Mrs.") + "."]) == {0}
    assert found_in([text], ["The letter was written by Isaac Thorne on the evening before the flood."]) == {0}
    known = f"{text} Isaac Thorne was his name."
    assert found_in([known], ["The letter was written by Isaac Thorne on the evening before the flood."]) == set()


def test_an_acronym_is_the_name_that_it_is_short_for() -> None:
    text = "The European Commission has told its staff to remove the program from their phones."
    assert found_in([text], ["The EC has told its staff to remove the program from their phones."]) == set()
    assert found_in([text], ["The BBC has told its staff to remove the program from their phones."]) == {0}


def test_a_name_in_the_place_of_a_pronoun_is_borne_out_where_it_stands_before() -> None:
    text = "Hester Vane climbed the hill. She opened the iron box with a rusty key. Ruth Crane slept at home."
    (own,) = judge([text], ["Hester Vane opened the iron box with a rusty key."])
    assert own.share == 1.0
    (other,) = judge([text], ["Ruth Crane opened the iron box with a rusty key."])
    assert other.share != 1.0


def test_no_and_what_is_said_instead_contradict_each_other() -> None:
    text = "Mr. Frere found that Matthias Crane had taken no part in it but to discover it."
    for wrong in ("a great part", "part"):
        (verdict,) = judge([text], [text.replace("no part", wrong)])
        assert verdict.document == "No"
    assert judge([text.replace("no part", "a great part")], [text])[0].document == "No"


def test_a_denial_in_other_words_denies_too() -> None:
    text = "The authorities, which have launched an investigation into the illnesses, have not found any evidence."
    assert found_in([text], ["The authorities, which have launched an investigation, have found no evidence."]) == set()
    assert found_in([text], ["The authorities, which have launched an investigation, have found evidence."]) == {0}


@pytest.mark.parametrize(
    ("was", "turned"),
    [("before", "after"), ("his father", "his mother"), ("with", "without"), ("He", "She"), ("first", "last")],
)
def test_the_opposite_of_a_word_contradicts(was: str, turned: str) -> None:
    text = "He was the first who came to the island before the flood, with his father and a dog."
    assert found_in([text], [text.replace(was, turned)]) == {0}


def test_a_sentence_without_a_word_of_the_text_is_not_in_it() -> None:
    assert judge([STORY], ["Zebras dislike striped umbrellas."])[0].document == UNANSWERABLE
