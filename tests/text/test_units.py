from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings

from redraft.text import units as module
from redraft.text.units import indexed, ngrams, units, words
from tests.text.hostile import EXTREMES, raw_texts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        (" \n\t", []),
        ("The _Orion_ sank!", ["the", "_", "orion", "_", "sank", "!"]),
        ("Hester's 3.5-ton", ["hester", "'", "s", "3", ".", "5", "-", "ton"]),
        ("STRASSE Straße", ["strasse", "strasse"]),
        ("CAFE\u0301 café", ["café", "café"]),
        ("今日は。", ["今", "日", "は", "。"]),
        ("ไทย 灯塔keeper", ["ไ", "ท", "ย", "灯", "塔", "keeper"]),
        ("…“No”—", ["…", "“", "no", "”", "—"]),
    ],
)
def test_words_and_marks(text: str, found: list[str]) -> None:
    assert units(text) == found
    assert words(text) == [unit for unit in found if unit.isalnum()]


@settings(deadline=None)
@given(raw_texts)
def test_the_form_in_which_accents_and_capitals_are_written_does_not_matter(text: str) -> None:
    if len(text) < 30:  # beyond that a letter may have more accents than are composed at once
        assert units(unicodedata.normalize("NFD", text)) == units(unicodedata.normalize("NFC", text))

    known = set(words(text))
    assert words(text) == [unit for unit in units(text) if unit in known]


@settings(deadline=None)
@given(raw_texts)
def test_a_text_by_number_is_the_text(text: str) -> None:
    found = indexed(text)
    by_number = {number: unit for unit, number in found.numbers.items()}
    assert [by_number[number] for number in found.places.tolist()] == units(text)


@settings(deadline=None)
@given(raw_texts)
def test_a_long_text_is_read_in_parts(text: str) -> None:
    whole = units(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", 7)
        assert units(text) == whole
        assert len(indexed(text).places) == len(whole)


def test_ngrams() -> None:
    assert list(ngrams(["a", "b", "c"], 2)) == [("a", "b"), ("b", "c")]
    assert list(ngrams(["a", "b", "c"], 4)) == []


@pytest.mark.parametrize("name", EXTREMES)
def test_endless_texts_take_linear_time(name: str) -> None:
    assert len(indexed(EXTREMES[name]).places) <= len(EXTREMES[name])


def test_accents_heaped_on_one_letter_take_linear_time() -> None:
    found = units("E" + "\u0301\u0327" * 250_000)
    assert found[0] == "\u0229"
    assert set(found[1:]) == {"\u0301", "\u0327"}
