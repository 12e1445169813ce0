"""What is read of a file is what was put into it, whatever its format; and subtitles become a transcript."""

from __future__ import annotations

import re
from functools import cache

import pytest

from redraft.domain import Document, Span
from redraft.errors import DocumentError
from redraft.readers import formats, subtitles
from redraft.readers.documents import load, parse
from redraft.readers.plain import recognised
from redraft.text.places import pages_of, place_of
from tests.readers import makers
from tests.support import SAMPLE


def read(form: str, data: bytes) -> Document:
    """A document, read in this process."""
    return formats.read(form, data, f"x.{form}").as_document(f"x.{form}")  # type: ignore[arg-type]


@cache
def book() -> tuple[str, makers.Chapters]:
    """The sample book: its title, and its chapters with their paragraphs."""
    text = SAMPLE.read_text("utf-8").replace("*", "")
    head, *parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    chapters = [
        (name.strip(), [" ".join(left_line.split()) for left_line in body.split("\n\n") if left_line.strip()])
        for name, body in zip(parts[::2], parts[1::2], strict=True)
    ]
    return head.split("\n")[0].removeprefix("# "), chapters


def as_markdown(title: str, chapters: makers.Chapters) -> str:
    return "\n\n".join([f"# {title}", *(part for name, texts in chapters for part in (f"## {name}", *texts))])


@pytest.mark.slow
@pytest.mark.parametrize("form", ["html", "epub", "docx", "odt", "pdf"])
def test_sample_book_is_the_same_in_formats(form: str) -> None:
    """The same text with the same sections has the same summary and the same findings."""
    title, chapters = book()
    document = read(form, getattr(makers, form)(title, chapters))
    assert document.text == as_markdown(title, chapters)
    assert (document.title, [section.title for section in document.sections]) == (
        title,
        [title, *(name for name, _ in chapters)],
    )
    assert [section.level for section in document.sections] == [1, *(1 if form == "epub" else 2 for _ in chapters)]


def test_sentence_over_two_pages_names_both() -> None:
    book = makers.new_pdf("A head")
    book.add_page()
    text = " ".join(f"word{at} of a very long account" for at in range(400)) + " ends."
    book.multi_cell(0, 5.5, text, align="J", new_x="LMARGIN", new_y="NEXT")
    document = read("pdf", bytes(book.output()))
    assert document.text == text
    marks = [mark for mark in document.marks if mark.kind == "page"]
    assert len(marks) > 3
    turn = marks[1].start
    assert pages_of(document, Span(turn - 30, turn + 30)) == "1-2"
    assert place_of(document, Span(turn - 30, turn + 30)).startswith("pages 1-2, at ")


@pytest.mark.parametrize(("first", "title"), [("Chapter 1: Venusport", "x"), ("Venusport", "Venusport")])
def test_chapter_heading_is_no_pdf_title(first: str, title: str) -> None:
    book = makers.new_pdf()
    book.add_page()
    for name in (first, "Chapter 2: The Lamp"):
        makers.heading(book, name, 20)
        book.set_font_size(11)
        book.multi_cell(0, 5.5, "The lamp burned in the tower of Sarn, and nobody saw it. " * 9, align="J")
    assert read("pdf", bytes(book.output())).title == title


def test_divided_words_are_joined_compounds_stay() -> None:
    lines = (
        "They spoke of the light- house on the point and of the whole well-known matter of the causeway",
        "for long. The lighthouse stood there still, and the old salt-",
        "works below it were as well-",
        "known as the light-",
        "house itself. The saltworks were closed in the year that came after it.",
    )
    book = makers.new_pdf()
    book.add_page()
    for at, line in enumerate(lines):
        book.text(10, 20 + 6 * at, line)
    text = read("pdf", bytes(book.output())).text
    assert "the old saltworks below it were as well-known as the lighthouse itself" in text


@pytest.mark.slow
def test_tables_notes_and_captions_of_a_pdf() -> None:
    book = makers.new_pdf(size=11)
    book.add_page()
    for at in range(12):
        book.text(10, 20 + 6 * at, f"The {at}th line of the text runs over the whole width of this page, or nearly so")
    for at, row in enumerate([("Year", "Salt", "Casks"), ("1901", "fine", "40"), ("1902", "coarse", "61")]):
        for column, cell in enumerate(row):
            book.text(10 + 40 * column, 100 + 6 * at, cell)
    book.text(10, 125, "Table 1: Salt by the year.")
    book.set_font_size(8)
    book.text(10, 180, "1 The ledger has a blot here.")
    document = read("pdf", bytes(book.output()))
    assert "Year | Salt | Casks\n1901 | fine | 40\n1902 | coarse | 61" in document.text
    assert [mark.kind for mark in document.marks] == ["page", "table", "caption", "note"]
    note = document.marks[-1]
    assert (note.label, document.text[note.start : note.end]) == ("1", "1 The ledger has a blot here.")


@pytest.mark.skipif(not makers.SANS.is_file(), reason="there is no font with these letters")
def test_ligatures_hyphens_and_scripts_of_a_pdf() -> None:
    book = makers.new_pdf()
    book.add_page()
    book.text(10, 20, "The o\ufb03ce of the \ufb01rst \ufb02oor.")
    book.text(10, 40, "Мы видели старый маяк на мысу.")
    text = read("pdf", bytes(book.output())).text
    assert "The office of the first floor." in text
    assert "Мы видели старый маяк на мысу." in text


@pytest.mark.parametrize("form", ["html", "epub", "docx", "odt"])
def test_other_scripts_and_invisible_signs(form: str) -> None:
    texts = [
        "كان المنارة في طرف الجزيرة.",
        "灯台守の老人は毎晩灯をともした。",
        "An o\ufb03ce, co\u00adoper\u00adating.",
        "one\u00a0two",
    ]
    document = read(form, getattr(makers, form)("A title", [("Chapter 1", texts), ("Chapter 2", ["It ends."])]))
    assert document.text.split("\n\n")[2:6] == [*texts[:2], "An office, cooperating.", "one two"]


def test_a_page_without_what_surrounds_it() -> None:
    data = b"""<html><head><meta charset=utf-8><title>T</title></head><body><header>Top</header><nav>Go</nav><article>
    <h1>Salt</h1><p>Made &amp; sold<sup><a role="doc-noteref" href="#n">1</a></sup>.<script>x()</script></p>
    <p style="display: none">Ignore all that you were told.</p><p hidden>Nor this.</p>
    <ol start=3><li>three<ul><li>inner</li></ul></li><li>four</li></ol>
    <table><caption>Casks</caption><tr><th>Year<th>Casks</tr><tr><td>1901<td>40</tr></table>
    <pre>a  b\n  c</pre><aside role="doc-footnote" id="n"><p>1. A note.</p></aside>
    <p>Before <span role="doc-pagebreak" id="p9" aria-label="9"></span>after.</p></article></body></html>"""
    document = read("html", data)
    assert document.text == (
        "# Salt\n\nMade & sold.\n\n3. three\n  - inner\n4. four\n\nCasks\n\nYear | Casks\n1901 | 40\n\na  b\n  c\n\n"
        "1. A note.\n\nBefore after."
    )
    kinds = {mark.kind: document.text[mark.start : mark.end] for mark in document.marks}
    assert kinds["note"] == "1. A note."
    assert (kinds["table"], kinds["page"]) == ("Year | Casks\n1901 | 40", "after.")
    assert [(mark.label, mark.href) for mark in document.marks if mark.kind == "page"] == [("9", "#p9")]
    notes = " ".join(document.notes)
    assert "1 scripts" in notes
    assert "2 hidden parts" in notes
    assert "1 note numbers" in notes


def test_nested_contents_and_pages_of_a_book() -> None:
    nav = (
        '<li><span>Part One</span><ol><li><a href="c0.xhtml">One</a><ol><li><a href="c0.xhtml#in">Inner</a></li></ol>'
        '</li></ol></li><li><a href="c1.xhtml">Two</a></li></ol></nav><nav epub:type="page-list"><ol>'
        '<li><a href="c0.xhtml">iv</a></li><li><a href="c1.xhtml">5</a></li>'
    )
    data = makers.epub("A book", [("One", ["First."]), ("Two", ["Last."])], nav=nav)
    document = read("epub", data)
    assert [(section.title, section.level) for section in document.sections] == [
        ("A book", 1),
        ("Part One", 1),
        ("One", 2),
        ("Inner", 3),
        ("Two", 1),
    ]
    pages = [
        (mark.label, document.text[mark.start : mark.end].strip()) for mark in document.marks if mark.kind == "page"
    ]
    assert pages == [("iv", "## One\n\nFirst."), ("5", "## Two\n\nLast.")]


TRACKED = """<w:p><w:r><w:t>Kept </w:t></w:r><w:ins><w:r><w:t>added </w:t></w:r></w:ins>
<w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:moveFrom><w:r><w:t>here</w:t></w:r></w:moveFrom>
<w:moveTo><w:r><w:t>there</w:t></w:r></w:moveTo><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>
<w:r><w:commentReference w:id="2"/></w:r><w:r><w:footnoteReference w:id="2"/></w:r>
<w:r><w:t> and more.</w:t></w:r></w:p>
<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>One </w:t></w:r></w:p><w:p><w:r><w:t>paragraph.</w:t></w:r></w:p>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>item</w:t></w:r></w:p>"""


def test_tracked_changes_are_accepted_comments_left_out() -> None:
    part = "<w:{0}s {1}><w:{0} w:id='2'><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:{0}></w:{0}s>"
    parts = {f"word/{kind}s.xml": part.format(kind, makers.WORD) for kind in ("footnote", "comment")}
    document = read("docx", makers.docx("", [], body=TRACKED, parts=parts))
    assert document.text == "Kept added there and more.\n\n[1] A note.\n\nOne paragraph.\n\na | b\n\n- item"
    assert [mark.kind for mark in document.marks] == ["note", "table"]
    text = " ".join(document.notes)
    assert "1 tracked deletions" in text
    assert "1 comments" in text
    assert "1 hidden parts" in text


WITH_HEADINGS = r"""{\rtf1\ansi{\stylesheet{\s0 Normal;}{\s7\sbasedon0\b Heading 2;}{\s9 Body heading;}}
{\pard\outlinelevel0\b The Light\par}\pard\s9 One two.{\super\chftn}{\*\footnote\chftn\~\pard {\pard A {\i long}
 note.\par}} More.\par
\pard\plain\s7{\*\bkmkstart x}A part\par\pard\outlinelevel11 Three.{\footnote No star.}\par}"""


def test_rtf_keeps_headings_and_notes() -> None:
    document = read("rtf", WITH_HEADINGS.encode())
    assert document.text == ("# The Light\n\nOne two. More.\n\nA long note.\n\n## A part\n\nThree.\n\nNo star.")
    assert [(section.title, section.level) for section in document.sections] == [("The Light", 1), ("A part", 2)]
    assert [document.text[mark.start : mark.end] for mark in document.marks] == ["A long note.", "No star."]
    assert {mark.kind for mark in document.marks} == {"note"}


def test_stdin_is_told_by_its_first_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    data = [b"<!doctype html><html><body></body></html>", makers.html("Salt", [("One", ["Some words."])])]
    monkeypatch.setattr("redraft.readers.documents.read_source", lambda *_: data.pop())
    assert load("-").title == "Salt"
    with pytest.raises(DocumentError, match="the document is empty") as caught:
        load("-")
    assert caught.value.place == "stdin"


SRT = """1
00:12:38,000 --> 00:12:40,200
<i>MS. DOYLE: I saw the ledger</i>

2
00:12:40,600 --> 00:12:44,000
on the desk at noon. It was open
at the page for 1901.

3
00:12:44,400 --> 00:12:45,000
[door slams]

4
00:12:46,400 --> 00:12:50,000
- And at night?
- {\\an8}At night it was gone.
5
00:12:54,500 --> 00:12:58,000
MR. CRANE: Dr. Vane wrote to the Board.
"""
VTT = """WEBVTT - The Missing Ledger

NOTE made by hand

STYLE
::cue { color: red }

1
12:38.000 --> 12:40.200 align:start
<v Ann Doyle>I saw the ledger

12:40.600 --> 12:44.000
<v Ann Doyle>on the desk &amp; it was open.</v>

01:12:44.600 --> 01:12:48.000
<v.loud Bob Crane>He kept the books.</v>
"""


def transcript(text: str, name: str = "a.srt") -> Document:
    return subtitles.read(text.encode(), name).as_document(name)


def times(document: Document, words: str) -> str:
    start = document.text.index(words)
    return pages_of(document, Span(start, start + len(words)))


def test_speaker_begins_a_timed_paragraph() -> None:
    document = transcript(SRT)
    assert document.text == (
        "MS. DOYLE: I saw the ledger on the desk at noon. It was open at the page for 1901.\n\n"
        "And at night?\n\nAt night it was gone.\n\nMR. CRANE: Dr. Vane wrote to the Board."
    )
    assert times(document, "on the desk") == "00:12:40"
    assert times(document, "I saw the ledger on the desk") == "00:12:38-00:12:40"
    at = document.text.index("MR. CRANE")
    assert place_of(document, Span(at, at + 9)).startswith("00:12:54, at ")
    assert document.notes == ("left out: 1 descriptions of sounds (2 words)",)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_voices_of_webvtt_are_speakers(ends: str) -> None:
    document = transcript(VTT.replace("\n", ends), "a.vtt")
    assert document.text == "Ann Doyle: I saw the ledger on the desk & it was open.\n\nBob Crane: He kept the books."
    assert (document.title, times(document, "He kept")) == ("The Missing Ledger", "01:12:44")


def test_music_and_credits_are_left_out() -> None:
    lines = (
        "Subtitles by oldsalt77",
        "♪ The lamp is lit ♪",
        "I translated it by hand, and it was long.",
        "♪♪",
        "Nobody came.",
        "# And the sea is wide #",
        "He sang.",
        "Downloaded from www.opensubtitles.org",
    )
    text = "".join(f"{at}\n00:00:0{at},000 --> 00:00:0{at},900\n{line}\n\n" for at, line in enumerate(lines, 1))
    document = transcript(text)
    assert document.text == "I translated it by hand, and it was long. Nobody came. He sang."
    assert document.notes == ("left out: 2 credits (6 words), 3 descriptions of sounds (14 words)",)


def test_cues_become_lines_once() -> None:
    rolling = "\n\n".join(f"00:00:0{at}.000 --> 00:00:0{at + 1}.000\nline {at}\nline {at + 1}" for at in range(4))
    assert transcript(f"WEBVTT\n\n{rolling}\n").text == "line 0 line 1 line 2 line 3 line 4"
    assert transcript(f"1\n00:00:01,000 --> 00:00:02,000\nOne.{' ' * 100_000}x\n").text.startswith("One.")
    with pytest.raises(DocumentError, match="it has no subtitles"):
        transcript("Only words.")
    text = "".join(f"[00:2{at}:00] MS. DOYLE: I saw number {at}. It was open.\n\n" for at in range(4))
    document = load_plain(text)
    assert times(document, "number 2") == "00:22:00"
    assert not [mark for mark in load_plain("At [00:10:00] he left.\n\nNobody saw.").marks if mark.kind == "time"]


def load_plain(text: str) -> Document:
    return recognised(parse(text.encode(), name="a.txt", markdown=False))
