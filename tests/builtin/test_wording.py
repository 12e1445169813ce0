from __future__ import annotations

import pytest
from hypothesis import given

from redraft.builtin.references import details
from redraft.text.word_keys import keys, words
from tests.text.hostile import raw_texts


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Hester's ledger", "hester 's ledger"),
        ("He didn't go", "he did n't go"),
        ("He didn’t go", "He did not go"),
        ("She can't", "she cannot"),
        ("10,000 people", "10, 000 people"),
        ("at 2.4 miles", "at 2. 4 miles"),
        ("nineteen men", "19 men"),
        ("the 4th of May", "the 4 of may"),
        ("He says the boards", "he says the board"),
        ("Ｈｅｓｔｅｒ", "Hester"),
        ("He noted it", "he note it"),
        ("noting", "notes"),
        ("She tried", "she tries"),
    ],
)
def test_spelling_and_tokenisation_make_no_difference(one: str, other: str) -> None:
    assert keys(one) == keys(other)


@pytest.mark.parametrize(("one", "other"), [("He went", "He did not go"), ("3 men", "4 men"), ("Sarn", "Skye")])
def test_what_is_different_stays_different(one: str, other: str) -> None:
    assert keys(one) != keys(other)


@given(raw_texts)
def test_words_are_where_they_say(text: str) -> None:
    found = words(text)
    assert all(0 <= word.start < word.end <= len(text) and word.key for word in found)
    assert [word.start for word in found] == sorted(word.start for word in found)


@pytest.mark.parametrize(
    ("sentence", "names", "numbers"),
    [
        ("Hester Vane came to Sarn on Monday, 3 March 1924.", ["Hester Vane", "Sarn"], ["Monday, 3 March 1924"]),
        ("Mr. Philip Dunne of Lomax & Dunne paid £18,500.", ["Mr. Philip Dunne", "Lomax & Dunne"], ["18,500"]),
        ("It runs from may 27 until june 7.", [], ["may 27", "june 7"]),
        ("One of them went first. I saw no second.", [], []),
        ("He may march on.", [], []),
        ("“Never,” said Tobias Wren’s mother.", ["Tobias Wren"], []),
    ],
)
def test_names_and_numbers(sentence: str, names: list[str], numbers: list[str]) -> None:
    found = [detail for detail in details(sentence, words(sentence)) if detail.sure]
    assert [sentence[d.start : d.end] for d in found if d.kind == "name"] == names
    assert [sentence[d.start : d.end] for d in found if d.kind == "number"] == numbers


@given(raw_texts)
def test_details_take_up_words_in_order(text: str) -> None:
    found = words(text)
    last = -1
    for detail in details(text, found):
        assert last < detail.first <= detail.last < len(found)
        assert detail.start == found[detail.first].start
        assert text[detail.end : found[detail.last].end] in ("", "'s", "’s", "'", "’")
        last = detail.last
