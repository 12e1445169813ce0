"""A file whose encoding changes half-way is read, and it is said."""

from __future__ import annotations

import pytest

from redraft.readers.documents import parse

GERMAN = "Die alte Wärterin stieg jeden Abend die Treppe hinauf; das Fenster der großen Kammer war zerbrochen.\n"
RUSSIAN = "Старый смотритель маяка каждый вечер поднимался по крутой лестнице, чтобы зажечь огонь.\n"
CHINESE = "看守灯塔的老人每天傍晚都要爬上陡峭的旋梯去点灯。村里没有人记得他在那里住了多久。\n"


def notes(data: bytes) -> tuple[str, ...]:
    return parse(data, name="x.txt").notes


def test_a_stretch_of_latin_1_within_utf_8_is_noted_with_its_line() -> None:
    assert notes(RUSSIAN.encode() * 40 + GERMAN.encode("latin-1") * 5 + RUSSIAN.encode() * 40) == (
        "the encoding changes: 10 places are not UTF-8, the first of them in line 41",
    )


def test_a_stretch_of_utf_8_within_latin_1_is_noted_with_its_line() -> None:
    (note,) = notes(GERMAN.encode("latin-1") * 40 + GERMAN.encode() * 5 + GERMAN.encode("latin-1") * 40)
    assert note == "the encoding changes: the text was read as cp1252, and 5 lines are UTF-8, first line 41"


def test_what_the_encoding_has_no_letter_for_is_noted() -> None:
    data = GERMAN.encode("cp1252") * 4_000 + b"\x81\x8d\n"
    assert "the text was read as cp1252, but 2 places are not" in notes(data)


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (GERMAN, "utf-8"), (GERMAN, "cp1252"), (RUSSIAN, "cp1251"), (RUSSIAN, "koi8-r"), (CHINESE, "gb18030"),
        (CHINESE, "utf-16"), (GERMAN.encode().decode("ascii", "ignore"), "ascii"), ("It is � here.\n", "utf-8"),
    ],
)  # fmt: skip
def test_one_encoding_throughout_needs_no_note(text: str, codec: str) -> None:
    assert notes((text * 50).encode(codec)) == ()
