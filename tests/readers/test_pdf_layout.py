"""What the layout of a PDF page means: prose, headings, running heads, notes, columns, and text from right to left."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from redraft.errors import DocumentError
from redraft.readers.documents import load
from redraft.readers.pdf.file import _PdfReader, read
from redraft.readers.pdf.lines import Letter, LetterRun, is_leftward, joined, parted, rows, word
from redraft.text.places import pages_of
from tests.browser import browser, need_browser
from tests.readers import makers
from tests.readers.webpages import texts

LONG = (
    "Notwithstanding the aforementioned misappropriations, the superintendents unhesitatingly acknowledged"
    " responsibilities incomparably disproportionate to their administrative qualifications. Correspondingly,"
    " interdepartmental recommendations characteristically underestimated infrastructural vulnerabilities throughout"
    " Wickmouth."
)
HEADS = {0: "Ada Quill and others", 1: "The salt road"}


def paragraphs(made: makers.Book) -> list[str]:
    return read(bytes(made.output()), "x.pdf").text.split("\n\n")


def write(made: makers.Book, text: str, width: float = 0, size: float = 10) -> None:
    made.set_font_size(size)
    made.multi_cell(width, size / 2, text, align="J", new_x="LMARGIN", new_y="NEXT")
    made.ln(3)


def test_justified_prose_in_a_narrow_column_is_no_table() -> None:
    made = makers.new_pdf(size=10)
    made.add_page()
    said = (LONG, *texts(0, 3))
    for one in said:
        write(made, one, 60)
    assert paragraphs(made) == list(said)


def test_cells_that_stand_below_each_other_are_a_table_although_they_fill_the_width() -> None:
    made = makers.new_pdf(size=10)
    made.add_page()
    write(made, texts(1, 1)[0])
    rows = [("a long name of a thing that is sold", str(1900 + at), "and what was said of it then") for at in range(4)]
    for row in rows:
        for cell, at in zip(row, (10, 85, 100), strict=True):
            made.text(at, made.get_y() + 4, cell)
        made.ln(5)
    assert "\n".join(" | ".join(row) for row in rows) in paragraphs(made)


@pytest.mark.parametrize("pages", [4, 5])
def test_heads_that_alternate_are_found_in_a_file_of_few_pages(pages: int) -> None:
    class Alternating(makers.Book):
        def header(self) -> None:
            self.set_font_size(9)
            if self.page_no() > 1:
                self.cell(0, 5, HEADS[self.page_no() % 2], align="C")
            self.ln(12)

    made = Alternating(format=(148, 210))
    made.set_auto_page_break(True, 20)
    made.set_font("Helvetica", size=10)
    made.add_page()
    said = [one.encode("ascii", "ignore").decode() for one in texts(0, 40)]
    wanted = []
    for one in said:
        write(made, one)
        wanted.append(one)
        if made.page_no() == pages:
            break
    found = " ".join(paragraphs(made))
    assert not [head for head in HEADS.values() if head in found]
    assert re.sub(r"\W", "", " ".join(wanted)) == re.sub(r"\W", "", found)


def test_heads_with_the_titles_of_short_chapters_are_found_and_chapters_end_on_their_last_page() -> None:
    class Titled(makers.Book):
        chapter, is_opening = "", True

        def header(self) -> None:
            self.set_font_size(9)
            if not self.is_opening:
                self.cell(0, 5, self.chapter if self.page_no() % 2 else "The salt road", align="C")
            self.ln(12)

    made = Titled(format=(148, 210))
    made.set_auto_page_break(True, 20)
    made.set_font("Helvetica", size=10)
    said = [one.encode("ascii", "ignore").decode() for one in texts(0, 60)]
    wanted, pages = [], []
    for at, count in enumerate((3, 11, 4, 10, 3)):
        made.chapter, made.is_opening = f"Of {('rain', 'light', 'storms', 'salt', 'the clerk')[at]}", True
        made.add_page()
        made.is_opening, first = False, made.page_no()
        makers.heading(made, made.chapter, 16)
        own, said = said[: count + 4], said[count + 4 :]
        for one in own:
            write(made, one)
        wanted += [f"# {made.chapter}", *own]
        pages.append(f"{first}-{made.page_no()}" if made.page_no() > first else str(first))
    found = read(bytes(made.output()), "x.pdf").as_document("x.pdf")
    assert found.text.split("\n\n") == wanted
    assert [pages_of(found, section.span) for section in found.sections] == pages


@pytest.mark.parametrize("size", [14, 10])
def test_a_number_and_a_letter_are_a_heading(size: int) -> None:
    """Larger letters make one, and bold ones of the usual size."""
    made = makers.new_pdf()
    made.set_font("Helvetica", size=10)
    made.add_page()
    for number, title in ((13, "Y"), (14, "Z")):
        made.set_font("Helvetica", style="B" if size == 10 else "", size=size)
        made.cell(0, 8, f"{number}    {title}", new_x="LMARGIN", new_y="NEXT")
        made.set_font("Helvetica", style="", size=10)
        for one in texts(2, 3):
            write(made, one.encode("ascii", "ignore").decode())
    found = [one for one in paragraphs(made) if one.startswith("#")]
    assert [re.sub(r"[#\s]+", " ", one).strip() for one in found] == ["13 Y", "14 Z"]


def test_a_bold_word_within_a_text_and_a_bold_sentence_are_no_headings() -> None:
    made = makers.new_pdf()
    made.set_font("Helvetica", size=10)
    made.add_page()
    made.set_font("Helvetica", style="B", size=10)
    made.write(5, "Salt")
    made.set_font("Helvetica", style="", size=10)
    made.write(5, " is made of the sea, and of patience, as everybody on the island knows who has made it once. ")
    made.ln(9)
    made.set_font("Helvetica", style="B", size=10)
    made.multi_cell(0, 5, "It was so.", new_x="LMARGIN", new_y="NEXT")
    made.set_font("Helvetica", style="", size=10)
    for one in texts(2, 4):
        write(made, one.encode("ascii", "ignore").decode())
    assert not [one for one in paragraphs(made) if one.startswith("#")]


def test_a_note_at_the_foot_of_a_column_splits_no_sentence() -> None:
    made = makers.new_pdf(size=9)
    made.add_page()
    left = [f"left column line {at} goes on and on" for at in range(25)]
    right = [f"right column line {at} goes on as well" for at in range(25)]
    for at, (one, other) in enumerate(zip(left, right, strict=True)):
        made.text(10, 20 + 5 * at, one)
        made.text(80, 20 + 5 * at, other)
    made.set_font_size(7)
    made.text(10, 155, "7 The bank was built in the year 1820,")
    made.text(10, 159, "and nobody has mended it since then.")
    found = read(bytes(made.output()), "x.pdf")
    note = "7 The bank was built in the year 1820, and nobody has mended it since then."
    assert found.text == f"{' '.join([*left, *right])}\n\n{note}"
    assert [mark.label for mark in found.marks if mark.kind == "note"] == ["7"]


def test_notes_that_say_the_same_are_no_running_feet() -> None:
    made = makers.new_pdf(size=10)
    for at in range(5):
        made.add_page()
        made.set_font_size(10)
        for one in texts(3 * at, 2):
            write(made, one)
        made.set_font_size(7)
        made.text(10, 190, f"{2 * at + 11} Ibid., in the same place.")
    text = read(bytes(made.output()), "x.pdf").text
    assert [number for number in range(11, 20, 2) if f"{number} Ibid., in the same" in text] == [*range(11, 20, 2)]


def test_three_justified_columns_are_read_one_after_the_other() -> None:
    made = makers.new_pdf(size=8)
    made.add_page()
    said = texts(0, 5)
    with made.text_columns(ncols=3, gutter=6, text_align="J") as columns:
        for one in said:
            columns.write(one)
            columns.ln()
            columns.ln()
    assert paragraphs(made) == list(said)


def test_an_outline_without_end_is_refused() -> None:
    class Entry:
        level = 0

        def get_dest(self) -> None:
            return None

        def get_title(self) -> str:
            return "Chapter"

    class Endless:
        def get_toc(self, max_depth: int) -> Any:
            return itertools.repeat(Entry())

    with pytest.raises(DocumentError, match="its outline has more than 30,000 entries"):
        _PdfReader(cast(Any, Endless()), b"", "book.pdf")._outline()


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
