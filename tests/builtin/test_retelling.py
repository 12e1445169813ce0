"""What is said in other words: the forms of names and of words, and what a retelling may not change."""

from __future__ import annotations

import pytest

from redraft.builtin.consistency.aliases import Names, may_be_one
from redraft.builtin.consistency.checking import answer_from_document
from redraft.builtin.consistency.families import family
from redraft.builtin.consistency.statements import states
from redraft.builtin.forms import Claim, ask_whether, read_claim
from redraft.builtin.wording import keys, words
from redraft.prompts.judging import AnswerFromDocumentGiven, Asked
from tests.builtin.support import STORY, found_in, judge, sample, split

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
    ],
)
def test_the_forms_of_a_word_are_one_family(forms: str) -> None:
    assert len({family(key) for key in keys(forms)}) == 1


@pytest.mark.parametrize("others", ["bank barn", "church clerk", "house horse", "salt sale", "not note", "three tree"])
def test_other_words_are_other_families(others: str) -> None:
    assert len({family(key) for key in keys(others)}) == 2


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("J. R. Harrow", "Josiah Rudd Harrow", True),
        ("Mr. Harrow", "Josiah Harrow", True),
        ("Crane", "Matthias Crane", True),
        ("Hester", "Hester Vane", True),
        ("Sam Lamb", "Samuel Lamb", True),
        ("Edgar Harrow", "Josiah Harrow", False),
        ("E. Harrow", "Josiah Harrow", False),
        ("Ruth Crane", "Matthias Crane", False),
        ("Tobias Wren", "Isaac Thorne", False),
        ("J. Lamb", "J. Crane", False),
    ],
)
def test_which_names_may_be_one(one: str, other: str, same: bool) -> None:
    assert may_be_one(keys(one), keys(other)) is same
    assert may_be_one(keys(other), keys(one)) is same


def test_who_goes_by_which_name_is_learnt_from_the_text() -> None:
    known = Names(tuple(keys(name)) for name in ("Hester Vane", "Mrs. Dorcas Lamb", "Jem Lamb", "Lamb", "Vane"))

    def same(one: str, other: str) -> bool:
        return known.same(tuple(keys(one)), tuple(keys(other)))

    assert same("Hester", "Miss Vane")
    assert not same("Hester", "Jem")
    assert same("Mrs. Lamb", "Dorcas")
    assert not same("Mrs. Lamb", "Jem Lamb")
    assert same("Lamb", "Jem")
    assert not Names([]).same(("hester",), ("miss", "vane"))


@pytest.mark.parametrize("fair", TOLD)
def test_what_is_told_in_other_words_is_borne_out(fair: str) -> None:
    assert found_in([sample()], [fair]) == set()


@pytest.mark.parametrize(
    ("at", "right", "wrong"),
    [
        (0, "Philip Dunne", "Samuel Lamb"),
        (1, "Tobias Wren", "Isaac Thorne"),
        (1, "Crane", "Dunne"),
        (2, "Ruth", "Annie Tully"),
        (3, "Harrow", "Isaac Thorne"),
        (3, "960", "1,240"),
        (4, "nineteen", "seventeen"),
    ],
)
def test_what_is_told_of_another_is_not(at: int, right: str, wrong: str) -> None:
    said = TOLD[at].replace(right, wrong)
    assert said != TOLD[at]
    assert found_in([sample()], [said]) == {0}


def test_a_pronoun_stands_for_those_named_last() -> None:
    text = "Hester Vane climbed the hill. She opened the iron box with a rusty key. Ruth Crane slept at home."
    assert found_in([text], ["Hester Vane managed to open a box of iron with the help of some rusty key."]) == set()
    assert found_in([text], ["Ruth Crane managed to open a box of iron with the help of some rusty key."]) == {0}


def test_a_denial_in_other_words_is_seen_in_both_ways() -> None:
    text = "The old clerk never opened the great iron safe. Hester said that the safe had been opened by the sailor."
    assert found_in([text], ["The safe was never opened by the elderly clerk, who was old."]) == set()
    text = "Nobody was drowned on the island. The cottages by the sea stood through all of the stormy night."
    assert found_in([text], ["In the storm at night nobody drowned in the cottages beside the sea."]) == set()
    assert found_in([text], ["In the storm at night everybody drowned in the cottages beside the sea."]) == {0}


def test_no_and_what_is_said_instead_contradict_each_other() -> None:
    text = "Mr. Frere found that Matthias Crane had taken no part in it but to discover it."
    for wrong in ("a great part", "part"):
        (verdict,) = judge([text], [text.replace("no part", wrong)], 1)
        assert verdict.document == "Not so"
    assert judge([text.replace("no part", "a great part")], [text], 1)[0].document == "Not so"


@pytest.mark.parametrize(
    "fair",
    [
        "The works were bought by J. R. Harrow in 1885, with his wife's money.",
        "The works were bought by Mr. Harrow in 1885, with his wife's money.",
        "The works were bought by Harrow in 1885, with his wife's money.",
    ],
)
def test_another_form_of_a_name_in_a_copied_sentence_is_no_contradiction(fair: str) -> None:
    text = "The works were bought by Josiah Rudd Harrow in 1885, with his wife's money. He had a son, Edgar Harrow."
    assert found_in([text], [fair]) == set()
    assert found_in([text], [fair.replace("Harrow", "Thorne").replace("J. R.", "Isaac")]) == {0}


def test_a_heading_is_no_evidence() -> None:
    heading = "## The clerk steals the ledger and the money"
    text = f"{heading}\n\nThe clerk sat by the window. He had a ledger. Nobody came to see him."
    verdicts = judge([text], ["A clerk is stealing all the money and the ledger."])
    assert all(heading.strip("# ") not in verdict.quote for verdict in verdicts)
    assert found_in([text], ["A clerk is stealing all the money and the ledger."]) == {0}


def test_few_common_words_near_together_bear_out_nothing() -> None:
    assert found_in([sample()], ["He opened another door."]) == {0}


def test_a_question_quotes_no_more_of_a_long_sentence_than_is_near() -> None:
    sentence = " ".join(split(STORY)).replace(".", ",")[:-1] + "."
    found = words(sentence)
    question = ask_whether(Claim(sentence, found, 40, 50))
    read = read_claim(question)
    assert read is not None
    assert read.asked == Claim(sentence, found, 40, 50).asked
    assert [word.key for word in read.words] == [word.key for word in found[28:62]]


def test_a_sentence_with_brackets_of_its_own_is_read_as_it_was_written() -> None:
    sentence = "The clerk [sic] stole it."
    found = words(sentence)
    read = read_claim(ask_whether(Claim(sentence, found, 0, len(found))))
    assert read is not None
    assert read.text == read.asked == sentence


def test_the_place_that_is_shown_is_about_the_claim() -> None:
    given = AnswerFromDocumentGiven(
        passages=[sample()],
        questions=[Asked(id=1, question=judge([sample()], [TOLD[1]])[0].question)],
    )
    (answer,) = answer_from_document(given).answers
    assert "ring" in answer.quote or "bell" in answer.quote
    assert states(answer.quote, keys(answer.quote))
