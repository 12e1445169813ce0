"""What is said in other words: of that the judge says nothing; and other forms of a name are no other name."""

from __future__ import annotations

import pytest

from tests.builtin.support import STORY, UNANSWERABLE, found_in, judge, open_in, sample

# Nothing of this stands in the story word for word.
TOLD = [
    "Her employer, Philip Dunne, wants her to certify that the ledgers are complete.",
    "Tobias Wren confesses that Crane sent him to ring the church bell.",
    "A letter to Ruth and the ledger, wrapped in oiled silk, are in the cask.",
    "Harrow has to repay the £960 with interest to the Trust.",
    "Under the cut slate stand the nineteen names of those who drowned.",
]


@pytest.mark.parametrize("told", TOLD)
def test_what_is_told_in_other_words_is_not_called_wrong(told: str) -> None:
    assert found_in([sample()], [told]) == set()


def test_of_what_shares_no_wording_nothing_is_said() -> None:
    assert open_in([sample()], TOLD[:1]) == {0}


@pytest.mark.parametrize(
    ("at", "right", "wrong"), [(0, "Philip Dunne", "Bartholomew Quigg"), (3, "960", "1,395"), (2, "Ruth", "Zebediah")]
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


def test_a_sentence_without_a_word_of_the_text_is_not_in_it() -> None:
    assert judge([STORY], ["Zebras dislike striped umbrellas."])[0].document == UNANSWERABLE
