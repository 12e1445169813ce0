"""A summary in every format says what the summary says, and nothing of it is more than text; and templates."""

from __future__ import annotations

import re
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree, html

from redraft.cli import options
from redraft.domain import Document, Span
from redraft.errors import UsageError
from redraft.readers.formats import read as read_here
from redraft.readers.markup import tag
from redraft.report.history.citations import Citations, cited
from redraft.report.history.lineage import Lineage, Origin, TracedSentence
from redraft.report.history.texts import TextNode
from redraft.report.outputs import formats
from redraft.report.outputs.formats import FORMATS, TemplateSection, format_of, read_template, written
from redraft.report.outputs.paper import Footnote, Paper, PaperPart
from redraft.text.sentences import sentences
from tests.browser import browser, need_browser

SUMMARY = """## How it *began*

Ines kept the light on the cape. **One night** the lamp
went out, and a ship was lost.

- It was never found.
- Nobody asked.

3. Third.
4. Fourth."""
HOSTILE = '<script>alert(1)</script> & "quotes" ![x](http://a.b/c) [y]: <http://a.b> \x00\x1b[31m\u202e\ufffe]]>'


def citations(text: str, quote: str = "Ines kept the light", language: str = "") -> Citations:
    """Every sentence of a text cites a place of its own, and the second two."""
    document = Document("d", "The Light", "x" * 1000, language=language)

    def origin(at: int) -> Origin:
        return Origin(Span(at, at + 9), "", "Chapter 2", "7-8", at // 10, 1.0, quote)

    found = [
        TracedSentence(
            n, span, text[span.start : span.end], (origin(10 * n), *([origin(900)] if n == 2 else [])), (), "", 0.0
        )
        for n, span in enumerate(sentences(text), 1)
    ]
    member = TextNode("r", "d1", "the draft", None, text, ())
    return cited(Lineage("r", "d1", document, tuple(found), (member,)))


def paper(text: str = SUMMARY, *, title: str = "The Light", quote: str = "Ines kept the light") -> Paper:
    return Paper(title, (PaperPart(text, citations=citations(text, quote)),), about=("Summary, by m.",), language="en")


def read(form: str, made: str | bytes) -> Document:
    data = made.encode() if isinstance(made, str) else made
    return read_here(form, data, f"x.{form}").as_document(f"x.{form}")  # type: ignore[arg-type]


def test_the_options_have_the_formats_that_there_are() -> None:
    choice = next(one for one in options.summary_output(lambda: None).__click_params__ if one.name == "form")
    assert tuple(choice.type.choices) == FORMATS


@pytest.mark.parametrize(
    ("name", "form"), [("a.DOCX", "docx"), ("a.htm", "html"), ("b/a.md", "markdown"), ("a.txt", "text"), ("a", "text")]
)
def test_a_name_says_the_format(name: str, form: str) -> None:
    assert format_of(name) == form


def test_text_is_the_summary_as_it_is_and_markdown_leads_nowhere() -> None:
    assert formats.text(paper()) == formats.markdown(paper()) == SUMMARY + "\n"
    said = formats.markdown(paper("![a](http://b) [[c]](d) \\](e) \\\\](f) [g]: h <i> a < b [sic] [^1]: j"))
    assert said == ("![a\\](http://b) [[c]\\](d) \\](e) \\\\\\](f) [g\\]: h \\<i> a < b [sic] [^1\\]: j\n")


def test_bullets_are_one_sentence_each_and_headings_stay() -> None:
    assert formats.bullets(paper()).splitlines() == [
        "## How it *began*",
        "",
        "- Ines kept the light on the cape.",
        "- One night the lamp went out, and a ship was lost.",
        "- It was never found.",
        "- Nobody asked.",
        "- Third.",
        "- Fourth.",
    ]


def test_a_page_has_the_summary_its_notes_and_nothing_that_runs() -> None:
    page = str(written(paper(), "html"))
    root = html.fromstring(page)
    assert (root.get("lang"), root.get("dir")) == ("en", "ltr")
    assert [one.text_content() for one in root.iter("h1", "h2")][:2] == ["The Light", "How it *began*"]
    assert [one.text_content() for one in root.findall(".//main//strong")] == ["One night"]
    assert root.find(".//main//ol/li").get("value") == "3"
    marks = root.findall(".//main//sup/a")
    notes = {one.get("id"): one for one in root.findall(".//section//ol/li")}
    assert [one.get("href")[1:] for one in marks] == list(notes)
    assert [one.get("href")[1:] for one in root.findall(".//section//a")] == [one.get("id") for one in marks]
    places = [one.text_content() for one in notes["note-1"]]
    assert [one.replace(" ↩", "") for one in places] == [
        "Chapter 2, pages 7-8, 2%: Ines kept the light",
        "Chapter 2, pages 7-8, 90%: Ines kept the light",
    ]
    found = read("html", page)
    assert "Ines kept the light on the cape. One night the lamp went out, and a ship was lost." in found.text


def test_a_word_document_has_real_footnotes_and_is_read_back() -> None:
    made = written(paper(), "docx")
    assert isinstance(made, bytes)
    assert made == written(paper(), "docx"), "the same paper makes the same file"
    parts = zipfile.ZipFile(BytesIO(made))
    for name in parts.namelist():
        etree.fromstring(parts.read(name))
    found = read("docx", made)
    assert (found.title, found.language) == ("The Light", "en")
    body = found.text.split("\n\n")
    assert body[:3] == [
        "# The Light",
        "# How it *began*",
        "Ines kept the light on the cape. One night the lamp went out, and a ship was lost.",
    ]
    notes = [found.text[mark.start : mark.end] for mark in found.marks if mark.kind == "note"]
    assert notes[0] == (
        "[1] Chapter 2, pages 7-8, 2%: “Ines kept the light”\n\nChapter 2, pages 7-8, 90%: “Ines kept the light”"
    )
    cites = [one for block in paper().blocks for one in block.pieces if isinstance(one, Footnote)]
    assert sum(note.startswith("[") for note in notes) == len(cites) == 6
    assert "- It was never found." in found.text
    # Lists with numbers begin at 1, as word processors count by themselves.
    assert "1. Third." in found.text


@pytest.mark.parametrize("form", ["html", "docx"])
def test_hostile_text_is_text(form: str) -> None:
    made = written(paper(f"{HOSTILE} It goes on.", title=HOSTILE, quote=HOSTILE), form)  # type: ignore[arg-type]
    if isinstance(made, str):
        assert [tag(one) for one in html.fromstring(made).iter() if tag(one) in ("script", "img", "iframe")] == []
        assert not re.search("[\x00\x1b\u202e]", made)
    found = read(form, made)
    assert "<script>alert(1)</script>" in found.text
    assert "It goes on." in found.text


@pytest.mark.parametrize("form", ["html", "docx"])
def test_arabic_is_set_from_right_to_left(form: str) -> None:
    text = "كان المنارة في طرف الجزيرة. لم تكن هناك سفن."
    made = written(Paper("المنارة", (PaperPart(text, citations=citations(text, language="ar")),), language="ar"), form)  # type: ignore[arg-type]
    if isinstance(made, bytes):
        document = zipfile.ZipFile(BytesIO(made)).read("word/document.xml").decode()
        assert document.count("<w:bidi/>") == 2
        assert document.count("<w:rtl/>") >= 2
    else:
        assert '<html lang="ar" dir="rtl">' in made
        assert '<q lang="ar" dir="auto">' in made
    assert text in read(form, made).text


@pytest.mark.nightly
def test_a_note_behind_a_year_is_no_part_of_it(tmp_path: Path) -> None:
    need_browser()
    text = "كان المنارة في طرف الجزيرة عام 1912. لم تكن هناك سفن."
    made = written(Paper("المنارة", (PaperPart(text, citations=citations(text)),), language="ar"), "html")
    (tmp_path / "page.html").write_text(str(made), "utf-8")
    with browser() as chromium:
        page = chromium.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        year, note = page.evaluate(
            """() => {
              const text = document.querySelector("main p").firstChild, range = document.createRange();
              const at = text.data.indexOf("1912");
              range.setStart(text, at), range.setEnd(text, at + 4);
              return [range, document.querySelector("sup")].map(one => one.getBoundingClientRect().left);
            }"""
        )
    assert note < year, "it stands behind it, which is to its left"


@pytest.mark.nightly
@given(st.text(st.characters(codec="utf-8"), max_size=300), st.text(max_size=40))
def test_any_text_makes_a_file_that_can_be_read(text: str, heading: str) -> None:
    made = Paper(heading, (PaperPart(text, heading, 3), PaperPart(text)), is_titled=True)
    for form in FORMATS:
        if form != "json":
            said = written(made, form)
            assert said
            if form in ("html", "docx") and re.search(r"\w", text):
                read(form, said)


FORM = """# Report

<!-- Two lines
of comment (10 words) -->
## Findings (120 words) ##
What was found out,
and how sure is it?

## Who (at most 40 Words)
### Outlook (after 1924)
What comes next?
"""


def test_headings_have_limits_and_say_what_belongs_there() -> None:
    made = read_template(FORM, "form.md", words=50)
    assert made.sections == (
        TemplateSection("Report", 1, 1),
        TemplateSection("Findings", 2, 5, 120, "What was found out, and how sure is it?"),
        TemplateSection("Who", 2, 9, 40),
        TemplateSection("Outlook (after 1924)", 3, 10, 50, "What comes next?"),
    )
    assert [one.query for one in made.drafted] == [
        "Findings: What was found out, and how sure is it?",
        "Who",
        "Outlook (after 1924): What comes next?",
    ]


def test_a_title_may_be_of_the_same_rank_as_the_sections() -> None:
    made = read_template("# Report\n# Findings (20 words)", "form.docx")
    assert [one.words for one in made.sections] == [None, 20]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no heading"),
        ("Nothing but text.", "line 1: there is text before the first heading"),
        ("# A (20 words)\n\n## B\nWhat?", "line 3: the section 'B' has no limit"),
        ("# A (9 words)", "line 1: a limit is at least 10 words"),
        ("# A (20 words)\nx\n# A (20 words)\nx", "line 3: the section 'A' is the same as that of line 1"),
        ("# (20 words)", "line 1: the title is missing"),
        (f"# A (20 words)\n{'x ' * 2000}", "line 1: the instruction under 'A' is longer than 2,000 characters"),
        ("# A (20 words)\n" * 101, "line 101: a template has at most 100 headings"),
    ],
)
def test_what_is_wrong_is_said_with_its_line_and_what_to_do(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_template(text, "form.md")
    assert said in caught.value.message
    assert caught.value.place == "form.md"
    assert caught.value.hint
