"""Words and their units, and which language a text is in: what is told, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.languages import LANGUAGES, chapter
from redraft.text.languages import declared_language, is_foreign, language_of, primary
from redraft.text.sentences import sentences
from redraft.text.units import indexed, units, words
from redraft.text.vectors import stop_words, terms
from redraft.text.word_keys import carries, keys
from redraft.text.words import columns, count_words, dollars, enumeration, lines_of, words_key
from tests.text.hostile import EXTREMES

COUNTS = {"": 0, "… — !": 3, "the ship's 3.5-ton anchor": 4, "U.S.A. and e.g. 1,804": 4, "here—there": 1}
COUNTS |= {
    "end.\nBegin": 2,
    "“Who?” she asked.": 3,
    "今日は雨": 4,
    "灯塔 keeper": 3,
    "한국어 문장": 2,
    "ไทย": 3,
    "a - b": 3,
}


@pytest.mark.parametrize(("names", "text"), [("", ""), ("a", "a"), ("ab", "a and b"), ("abc", "a, b and c")])
def test_names_are_enumerated_in_a_sentence(names: str, text: str) -> None:
    assert enumeration(names) == text


@pytest.mark.parametrize("text", COUNTS)
def test_counts(text: str) -> None:
    assert count_words(text) == COUNTS[text]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("The lamp went out.", " the LAMP “went” out! ", True),
        ("It's one-and-twenty", "IT'S one-and-twenty;", True),
        ("船長失去", "船長，失去。", True),
        ("", "… — !", True),
        ("1.5", "1 5", False),
        ("a", "", False),
    ],
)
def test_texts_with_the_same_words(first: str, second: str, same: bool) -> None:
    assert (words_key(first) == words_key(second)) is same
    assert (words_key(first) == words_key(second)) is same


PRICES = {None: "unknown", 0: "free", 1.5: "$1.50", 1234.567: "$1,234.57", 0.6099: "$0.61", 0.01237: "$0.01"}


@pytest.mark.parametrize(("cost", "price"), [*PRICES.items(), (0.0099, "under $0.01"), (0.000034, "under $0.01")])
def test_money_is_shown_in_whole_cents(cost: float | None, price: str) -> None:
    assert dollars(cost) == price
    assert dollars(cost, about=True) == (f"about {price}" if price[0] == "$" else price)
    amounts = (2, 0.1 + 0.2, 0.075, 0.000034, 1234.5)
    assert [dollars(amount, exact=True) for amount in amounts] == ["$2.00", "$0.30", "$0.075", "$0.000034", "$1,234.50"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t", []),
        ("The _Orion_ sank!", ["the", "_", "orion", "_", "sank", "!"]),
        ("Hester's 3.5-ton", ["hester", "'", "s", "3", ".", "5", "-", "ton"]),
        ("CAFE\u0301 café", ["café", "café"]),
        ("今日は。", ["今", "日", "は", "。"]),
        ("ไทย 灯塔keeper", ["ไ", "ท", "ย", "灯", "塔", "keeper"]),
    ],
)
def test_words_and_marks(text: str, expected: list[str]) -> None:
    assert units(text) == expected
    assert words(text) == [unit for unit in expected if unit.isalnum()]


@pytest.mark.parametrize("name", EXTREMES)
def test_endless_texts_take_linear_time(name: str) -> None:
    assert len(indexed(EXTREMES[name]).places) <= len(EXTREMES[name])


HERE = Path(__file__).parent.parent / "languages"
CODES = {"English": "en", "German": "de", "Russian": "ru", "Japanese": "ja"}
GERMAN = chapter(LANGUAGES["German"])
ENGLISH = chapter(LANGUAGES["English"])


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_chapter_shows_its_language(name: str) -> None:
    assert language_of(chapter(LANGUAGES[name])) == CODES[name]


@pytest.mark.parametrize(
    "text",
    [
        *["", " \n\t", "12 345,67", "!?…", "Orion", "Mara Vane", "Hello"],
        *["\ud800" * 80, "日" * 5, "ABC " * 60, "\x00" * 90],
        "Jan van der Berg, Anna Müller, Zürich",
        f"{GERMAN[:900]} {ENGLISH[:900]}",
    ],
)
def test_short_or_mixed_text_has_no_language(text: str) -> None:
    assert language_of(text) == ""
    assert not is_foreign(language_of(text))


@pytest.mark.parametrize(
    ("tag", "code"),
    [("de-AT", "de"), ("EN_us", "en"), ("iw", "he"), ("nb", "no"), ("und", ""), ("", ""), ("German!", ""), ("zxx", "")],
)
def test_tags_of_files_are_read(tag: str, code: str) -> None:
    assert primary(tag) == code


@pytest.mark.parametrize(
    ("declared", "text", "language"),
    [
        ("de-AT", GERMAN, "de-AT"),
        ("en", GERMAN, "de"),
        ("", GERMAN, "de"),
        ("fr", "Orion.", "fr"),
    ],
)
def test_declared_language_wins_unless_plainly_wrong(declared: str, text: str, language: str) -> None:
    assert declared_language(declared, text) == language


def test_words_of_languages_stay_apart() -> None:
    assert "nicht" in stop_words("de") - stop_words("en")
    assert stop_words("tlh") == frozenset()
    assert list(terms("Die Schleuse des Mannes", "de")) == ["schleuse", "mannes"]
    assert list(terms("His locks", "en")) == ["lock"]
    assert keys("L'homme a noted 3 Barges", "fr") == ["l", "homme", "a", "noted", "3", "barges"]
    assert [carries("und", "de"), carries("und", "en")] == [False, True]

    def split(text: str) -> list[str]:
        return [text[span.start : span.end] for span in sentences(text)]

    assert split("  Prologue\nIt was dark. He came.") == ["Prologue", "It was dark.", "He came."]
    assert split("第一章\n彼は言った。去った。") == ["第一章", "彼は言った。", "去った。"]
    assert split("Alone\nthe king went.") == ["Alone\nthe king went."]
    assert split("彼は朝早く起きて、港へ行き、船を\n見た。") == ["彼は朝早く起きて、港へ行き、船を\n見た。"]


WIDE = st.text(alphabet="ab 灯台。「」é́مر\u0301", max_size=120)


@given(WIDE, st.integers(8, 40))
@example("aaa\u0301。。\u0301", 8)  # as many letters as columns, but not one column each
def test_lines_keep_to_their_columns(text: str, width: int) -> None:
    lines = lines_of(text, width, "> ", "  ")
    assert all(columns(line) <= width for line in lines)
    assert "".join(line[2:] for line in lines).replace(" ", "") == "".join(text.split())
