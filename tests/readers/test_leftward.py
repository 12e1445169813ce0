"""Arabic and Hebrew in PDF files: read as they are written, whichever way the file has them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from redraft.readers.documents import load
from redraft.readers.pdf.lines import Letter, LetterRun, is_leftward, joined, parted, rows, word
from tests.browser import browser, need_browser

ARABIC = (Path(__file__).parent.parent / "languages" / "arabic.md").read_text("utf-8")


def placed(shown: str, at: float = 0.0, base: float = 0.0) -> LetterRun:
    """Letters in the order in which they stand on a page, from left to right."""
    letters = [Letter(one, at + 10 * n, at + 10 * n + 10, at + 10 * n) for n, one in enumerate(shown)]
    return LetterRun(letters, at, at + 10 * len(shown), base, base + 10, base)


def test_letters_are_read_by_where_they_stand() -> None:
    shown = "לארשי"
    letters = list(placed(shown).letters)
    Random(4).shuffle(letters)
    assert word(letters) == shown[::-1]


@pytest.mark.parametrize(
    ("shown", "read"),
    [
        ("1912", "1912"),
        (".1912", "1912."),
        ("50%", "50%"),
        ("%50", "50%"),
        ("3.5", "3.5"),
        ("ורא1912", "1912ארו"),
        ("1912ב", "ב1912"),
        ("ןשיה(", "(הישן"),
        ("ןשיה)", "(הישן"),
        (")ןשיה", "הישן)"),
        (".)ןשיה", "הישן)."),
        ("Orion", "Orion"),
        (".Orion", "Orion."),
        ("don't", "don't"),
    ],
)
def test_numbers_and_brackets_of_a_word(shown: str, read: str) -> None:
    assert word(placed(shown).letters) == read


def test_a_mark_stands_behind_its_letter() -> None:
    letters = [Letter("ل", 20, 26, 19), Letter("ت", 30, 40, 30), Letter("\u0651", 27, 31, 19), Letter("م", 10, 18, 9)]
    assert word(letters) == "تل\u0651م"


def test_a_line_is_read_from_the_right_and_what_is_in_it_of_another_script_from_the_left() -> None:
    line = [placed(one, 100.0 * at) for at, one in enumerate(["םש", "City", "1920", "York", "לא", "12", "ה"])]
    below = placed("ב", 0, -20)
    found = [[word(one.letters) for one in row] for row in rows([*line, below])]
    assert found == [["ה", "12", "אל", "City", "1920", "York", "שם"], ["ב"]]


def test_a_part_of_a_word_is_joined_and_a_bracket_is_parted() -> None:
    assert [word(one.letters) for one in joined([placed("א", 10), placed("ב", 0)])] == ["אב"]
    assert len(joined([placed("א", 14), placed("ב", 0)])) == 2
    letters = [Letter("א", 40, 50, 40), Letter("(", 30, 35, 30), Letter("ב", 20, 30, 20)]
    assert [len(part) for part in parted(letters, 12)] == [1, 2]
    assert is_leftward("שלום")
    assert not is_leftward("Orion")


@pytest.mark.nightly
def test_what_a_browser_has_written_is_read_as_it_was(tmp_path: Path) -> None:
    need_browser()
    told = [one.lstrip("# ") for one in ARABIC.split("\n\n")]
    page = "".join(f"<p>{one}</p>" for one in told)
    with browser() as chromium:
        made = chromium.new_page()
        made.set_content(f'<html lang="ar" dir="rtl"><body>{page}</body></html>')
        made.pdf(path=str(tmp_path / "a.pdf"))
    text = load(tmp_path / "a.pdf").text
    if "\ufffd" in text or not is_leftward(text):
        pytest.skip("the browser has no letters of Arabic here")
    read, wanted = text.replace("#", "").split(), " ".join(told).split()
    assert len(read) == len(wanted)
    assert sum(one == other for one, other in zip(read, wanted, strict=True)) == len(wanted)
