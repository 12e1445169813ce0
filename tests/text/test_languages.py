"""Telling which language a text is in: what is told, what is not, and what a file says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.languages import LANGUAGES, chapter
from redraft.errors import UsageError
from redraft.readers.documents import load_bytes
from redraft.readers.parts import Choice, choice
from redraft.text.columns import columns, fitted, lines_of, padded
from redraft.text.languages import is_foreign, language_of, primary, settled
from redraft.text.sentences import sentences
from redraft.text.vectors import stop_words, terms
from redraft.text.word_keys import carries, keys

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
def test_what_is_too_little_or_mixed_tells_nothing(text: str) -> None:
    assert language_of(text) == ""
    assert not is_foreign(language_of(text))


@given(st.text(max_size=200))
def test_any_text_has_an_answer_and_always_the_same(text: str) -> None:
    assert language_of(text) == language_of(text) == primary(language_of(text))


def test_a_licence_in_front_does_not_make_a_book_english() -> None:
    assert language_of(ENGLISH[:1000] + "\n\n" + GERMAN * 4) == "de"


@pytest.mark.parametrize(
    ("tag", "code"),
    [("de-AT", "de"), ("EN_us", "en"), ("iw", "he"), ("nb", "no"), ("und", ""), ("", ""), ("German!", ""), ("zxx", "")],
)
def test_tags_of_files_are_read(tag: str, code: str) -> None:
    assert primary(tag) == code


@pytest.mark.parametrize(
    ("said", "text", "language"),
    [
        ("de-AT", GERMAN, "de-AT"),
        ("en", GERMAN, "de"),
        ("", GERMAN, "de"),
        ("fr", "Orion.", "fr"),
        ("nonsense!", "Orion.", ""),
        ("lb", GERMAN, "lb"),
    ],
)
def test_a_file_is_believed_unless_its_text_is_plainly_in_another_language(said: str, text: str, language: str) -> None:
    assert settled(said, text) == language


@pytest.mark.slow
def test_what_the_user_says_goes_before_all() -> None:
    page = f'<html lang="en"><body><p>{GERMAN}</p></body></html>'.encode()
    assert load_bytes(page, "page.html").language == "de"
    assert load_bytes(page, "page.html", wanted=Choice(language="nl")).language == "nl"
    with pytest.raises(UsageError, match="is not a language"):
        choice(language="the German one")


def test_words_of_one_language_are_none_of_another() -> None:
    assert "nicht" in stop_words("de") - stop_words("en")
    assert stop_words("tlh") == frozenset()
    assert list(terms("Die Schleuse des Mannes", "de")) == ["schleuse", "mannes"]
    assert list(terms("His locks", "en")) == ["lock"]
    assert keys("L'homme a noted 3 Barges", "fr") == ["l", "homme", "a", "noted", "3", "barges"]
    assert [carries("und", "de"), carries("und", "en")] == [False, True]


def test_a_lone_word_above_a_paragraph_is_no_part_of_its_first_sentence() -> None:
    def split(text: str) -> list[str]:
        return [text[one.start : one.end] for one in sentences(text)]

    assert split("  Prologue\nIt was dark. He came.") == ["Prologue", "It was dark.", "He came."]
    assert split("第一章\n彼は言った。去った。") == ["第一章", "彼は言った。", "去った。"]
    assert split("Alone\nthe king went.") == ["Alone\nthe king went."]
    assert split("彼は朝早く起きて、港へ行き、船を\n見た。") == ["彼は朝早く起きて、港へ行き、船を\n見た。"]


WIDE = st.text(alphabet="ab 灯台。「」é́مر\u0301", max_size=120)


@given(WIDE, st.integers(8, 40))
def test_lines_keep_to_their_columns_and_lose_nothing(text: str, width: int) -> None:
    lines = lines_of(text, width, "> ", "  ")
    assert all(columns(line) <= width for line in lines)
    assert "".join(line[2:] for line in lines).replace(" ", "") == "".join(text.split())


@given(WIDE, st.integers(2, 30))
def test_cells_have_their_columns(text: str, width: int) -> None:
    assert columns(fitted(text, width)) <= width
    assert columns(padded(fitted(text, width), width)) == width


def test_no_line_begins_with_what_closes() -> None:
    lines = lines_of("灯台。" * 20, 10)
    assert not [line for line in lines if line[0] == "。"]
