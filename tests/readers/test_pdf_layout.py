"""What the layout of a PDF page means: prose, headings, running heads, notes, columns, and text from right to left."""

from __future__ import annotations

from random import Random

import pytest

from redraft.readers.pdf.file import read
from redraft.readers.pdf.lines import Letter, leftward_pieces
from redraft.text.places import pages_of
from tests.readers import makers
from tests.readers.webpages import texts

LONG = (
    "Notwithstanding the aforementioned misappropriations, the superintendents unhesitatingly acknowledged"
    " responsibilities incomparably disproportionate to their administrative qualifications. Correspondingly,"
    " interdepartmental recommendations characteristically underestimated infrastructural vulnerabilities throughout"
    " Wickmouth."
)


def paragraphs(book: makers.Book) -> list[str]:
    return read(bytes(book.output()), "x.pdf").text.split("\n\n")


def write(book: makers.Book, text: str, width: float = 0, size: float = 10) -> None:
    book.set_font_size(size)
    book.multi_cell(width, size / 2, text, align="J", new_x="LMARGIN", new_y="NEXT")
    book.ln(3)


def test_columns_and_tables_are_read_in_order() -> None:
    book = makers.new_pdf(size=10)
    book.add_page()
    prose = (LONG, *texts(0, 3))
    for text in prose:
        write(book, text, 60)
    assert paragraphs(book) == list(prose)
    book = makers.new_pdf(size=10)
    book.add_page()
    write(book, texts(1, 1)[0])
    rows = [("a long name of a thing that is sold", str(1900 + at), "and what was said of it then") for at in range(4)]
    for row in rows:
        for cell, at in zip(row, (10, 85, 100), strict=True):
            book.text(at, book.get_y() + 4, cell)
        book.ln(5)
    assert "\n".join(" | ".join(row) for row in rows) in paragraphs(book)
    book = makers.new_pdf(size=8)
    book.add_page()
    prose = texts(0, 5)
    with book.text_columns(ncols=3, gutter=6, text_align="J") as columns:
        for text in prose:
            columns.write(text)
            columns.ln()
            columns.ln()
    assert paragraphs(book) == list(prose)


@pytest.mark.parametrize("head", ["{title}", "{number}. {title}"])
@pytest.mark.parametrize("size", [8, 10])
def test_alternating_heads_leave_chapters_end(head: str, size: int) -> None:
    """Also where a head has the size of the text, and "Chapter 2" above a title stays."""

    class Titled(makers.Book):
        chapter, is_opening = "", True

        def header(self) -> None:
            self.set_font_size(size)
            if not self.is_opening:
                self.cell(0, 5, self.chapter if self.page_no() % 2 else "The salt road", align="C")
            self.ln(12)

    book = Titled(format=(148, 210))
    book.set_auto_page_break(True, 20)
    book.set_font("Helvetica", size=10)
    prose = [text.encode("ascii", "ignore").decode() for text in texts(0, 60)]
    expected, pages = [], []
    titles = ("Of rain, and of the light that came after it in the year of the storm", "Storms", "Salt", "The clerk")
    for number, (title, count) in enumerate(zip(titles, (7, 15, 8, 14), strict=True), 1):
        book.chapter, book.is_opening = head.format(number=number, title=title), True
        book.add_page()
        book.is_opening, first = False, book.page_no()
        makers.heading(book, f"Chapter {number}", 20)
        makers.heading(book, title, 16)
        chapter, prose = prose[:count], prose[count:]
        for text in chapter:
            write(book, text)
        expected += [f"# Chapter {number}", f"## {title}", *chapter]
        pages.append(f"{first}-{book.page_no()}" if book.page_no() > first else str(first))
    document = read(bytes(book.output()), "x.pdf").as_document("x.pdf")
    assert document.text.split("\n\n") == expected
    assert [pages_of(document, section.span) for section in document.sections if section.level == 1] == pages


def test_alternating_heads_in_larger_letters_leave() -> None:
    book, prose = makers.new_pdf(size=10), texts(0, 6)
    for number, text in enumerate(prose):
        book.add_page()
        makers.heading(book, ("The salt road", "Ada Quill")[number % 2], 14)
        book.ln(8)
        write(book, text)
    assert paragraphs(book) == list(prose)


def test_footnote_in_a_column_splits_no_sentence() -> None:
    book = makers.new_pdf(size=9)
    book.add_page()
    left = [f"left column line {at} goes on and on" for at in range(25)]
    right = [f"right column line {at} goes on as well" for at in range(25)]
    for at, (text, other) in enumerate(zip(left, right, strict=True)):
        book.text(10, 20 + 5 * at, text)
        book.text(80, 20 + 5 * at, other)
    book.set_font_size(7)
    book.text(10, 155, "7 The bank was built in the year 1820,")
    book.text(10, 159, "and nobody has mended it since then.")
    document = read(bytes(book.output()), "x.pdf")
    note = "7 The bank was built in the year 1820, and nobody has mended it since then."
    assert document.text == f"{' '.join([*left, *right])}\n\n{note}"
    assert [mark.label for mark in document.marks if mark.kind == "note"] == ["7"]


def letters(line: str, left: float = 0.0, base: float = 0.0) -> list[Letter]:
    """The letters of a line as it is seen on a page, from left to right: a space is room between two words."""
    placed, word = [], 0
    for at, sign in enumerate(line):
        word = at if sign == " " else word
        if sign != " ":
            placed.append(Letter(sign, left, left + 10, base, base + 10, 0, False, left, base, word))
        left += 4 if sign == " " else 10
    return placed


def read_leftward(*lines: str) -> list[str]:
    placed = [letter for at, line in enumerate(lines) for letter in letters(line, base=-20.0 * at)]
    Random(4).shuffle(placed)
    return [piece.text for piece in leftward_pieces(placed)]


@pytest.mark.parametrize(
    ("lines", "pieces"),
    [
        (["לארשי"], ["ישראל"]),
        ([".1912"], ["1912."]),
        (["%50"], ["50%"]),
        (["3.5"], ["3.5"]),
        (["ורא1912"], ["1912ארו"]),
        (["1912ב"], ["ב1912"]),
        ([".)ןשיה"], ["הישן)."]),
        ([".Orion"], ["Orion."]),
        (["don't"], ["don't"]),
        (["ה 12 לא City 1920 York םש"], ["שם City 1920 York אל 12 ה"]),
        (["בא", "דג"], ["אב", "גד"]),
        (["בא   דג"], ["גד", "אב"]),
    ],
)
def test_leftward_lines_keep_names_and_numbers(lines: list[str], pieces: list[str]) -> None:
    assert read_leftward(*lines) == pieces


def test_combining_marks_follow_their_letter() -> None:
    line = [
        Letter(text, left, right, 0, 10, 0, False, origin, 0, 0)
        for text, left, right, origin in (
            ("ل", 20, 26, 19), ("ت", 26, 36, 30), ("\u0651", 27, 31, 19), ("م", 10, 20, 9)
        )
    ]  # fmt: skip
    assert [piece.text for piece in leftward_pieces(line)] == ["تل\u0651م"]
