"""A summary in every format says what the summary says, and nothing of it is more than text; and templates."""

from __future__ import annotations

import re
import zipfile
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree, html

from redraft.cli import options
from redraft.domain import Document, Span
from redraft.errors import UsageError
from redraft.readers.formats import read as read_here
from redraft.readers.markup import tag
from redraft.report.history.citations import Citation, Citations, SentenceCitations
from redraft.report.outputs import formats
from redraft.report.outputs.formats import (
    FORMATS,
    WRITERS,
    Format,
    Paper,
    PaperPart,
    TemplateSection,
    format_of,
    read_template,
)
from redraft.text.sentences import is_heading, sentences

SUMMARY = """## How it *began*

Ines kept the light on the cape. **One night** the lamp
went out, and a ship was lost.

- It was never found.
- Nobody asked.

3. Third.
4. Fourth."""
HOSTILE = '<script>alert(1)</script> & "quotes" ![x](http://a.b/c) [y]: <http://a.b> \x00\x1b[31m\u202e\ufffe]]>'
ARABIC = "كان المنارة في طرف الجزيرة عام 1912. لم تكن هناك سفن."


def citations(text: str, quote: str = "Ines kept the light", language: str = "") -> Citations:
    """Every sentence of a text cites a place of its own, and the second two."""
    document, spans = Document("d", "The Light", "x" * 1000, language=language), sentences(text)
    numbered = []
    for number, span in enumerate(spans, 1):
        cites = (number, len(spans) + 1) if number == 2 else (number,)
        words = text[span.start : span.end]
        numbered.append(SentenceCitations(number, words, span, () if is_heading(words) else cites))
    starts = [10 * number for number in range(1, len(spans) + 1)] + [900]
    places = [
        Citation("", "Chapter 2", "7-8", Span(at, at + 9), at // 10, number, quote, language, "words")
        for number, at in enumerate(starts, 1)
    ]
    return Citations("r", "d1", document, text, tuple(numbered), tuple(places))


def paper(text: str = SUMMARY, *, title: str = "The Light", quote: str = "Ines kept the light") -> Paper:
    return Paper(title, (PaperPart(text, citations=citations(text, quote)),), about=("Summary, by m.",), language="en")


def arabic_paper() -> Paper:
    return Paper("المنارة", (PaperPart(ARABIC, citations=citations(ARABIC, language="ar")),), language="ar")


def read_back(form: Format, content: str | bytes) -> Document:
    data = content.encode() if isinstance(content, str) else content
    return read_here(form, data, f"x.{form}").as_document(f"x.{form}")  # type: ignore[arg-type]


def test_text_formats_keep_the_words() -> None:
    parameters = options.summary_output(lambda: None).__click_params__
    choice = next(parameter for parameter in parameters if parameter.name == "form")
    assert tuple(choice.type.choices) == FORMATS
    forms = {"a.DOCX": "docx", "a.htm": "html", "b/a.md": "markdown", "a.txt": "text", "a": "text"}
    assert {name: format_of(name) for name in forms} == forms
    assert formats.text(paper()) == formats.markdown(paper()) == SUMMARY + "\n"
    escaped = formats.markdown(paper("![a](http://b) [[c]](d) \\](e) \\\\](f) [g]: h <i> a < b [sic] [^1]: j"))
    assert escaped == ("![a\\](http://b) [[c]\\](d) \\](e) \\\\\\](f) [g\\]: h \\<i> a < b [sic] [^1\\]: j\n")


def test_page_links_notes_and_text() -> None:
    page = str(WRITERS["html"](paper()))
    root = html.fromstring(page)
    assert (root.get("lang"), root.get("dir")) == ("en", "ltr")
    assert [heading.text_content() for heading in root.iter("h1", "h2")][:2] == ["The Light", "How it *began*"]
    assert [strong.text_content() for strong in root.findall(".//main//strong")] == ["One night"]
    assert root.find(".//main//ol/li").get("value") == "3"
    marks, notes = root.findall(".//main//sup/a"), root.findall(".//section//ol/li")
    assert [mark.get("href")[1:] for mark in marks] == [note.get("id") for note in notes]
    assert [back.get("href")[1:] for back in root.findall(".//section//a")] == [mark.get("id") for mark in marks]
    assert [place.text_content().replace(" ↩", "") for place in notes[0]] == [
        "Chapter 2, pages 7-8, at 2% of the document: Ines kept the light",
        "Chapter 2, pages 7-8, at 90% of the document: Ines kept the light",
    ]
    text = "Ines kept the light on the cape. One night the lamp went out, and a ship was lost."
    assert text in read_back("html", page).text


def test_docx_has_footnotes_and_lists() -> None:
    content = WRITERS["docx"](paper())
    assert isinstance(content, bytes)
    assert content == WRITERS["docx"](paper()), "the same paper makes the same file"
    parts = zipfile.ZipFile(BytesIO(content))
    for name in parts.namelist():
        etree.fromstring(parts.read(name))
    document = read_back("docx", content)
    assert document.title == "The Light"
    assert document.text.split("\n\n")[:3] == [
        "# The Light",
        "# How it *began*",
        "Ines kept the light on the cape. One night the lamp went out, and a ship was lost.",
    ]
    notes = [document.text[mark.start : mark.end] for mark in document.marks if mark.kind == "note"]
    assert notes[0] == (
        "[1] Chapter 2, pages 7-8, at 2% of the document: “Ines kept the light”\n\n"
        "Chapter 2, pages 7-8, at 90% of the document: “Ines kept the light”"
    )
    numbers = [piece.number for block in paper().blocks for piece in block.pieces if piece.number]
    assert sum(note.startswith("[") for note in notes) == len(numbers) == 6
    assert "- It was never found." in document.text
    # Lists with numbers begin at 1, as word processors count by themselves.
    assert "1. Third." in document.text


@pytest.mark.parametrize("form", ["html", "docx"])
def test_hostile_text_stays_text(form: Format) -> None:
    content = WRITERS[form](paper(f"{HOSTILE} It goes on.", title=HOSTILE, quote=HOSTILE))
    if isinstance(content, str):
        assert not {"script", "img", "iframe"} & {tag(element) for element in html.fromstring(content).iter()}
        assert not re.search("[\x00\x1b\u202e]", content)
    text = read_back(form, content).text
    assert "<script>alert(1)</script>" in text
    assert "It goes on." in text


@pytest.mark.parametrize("form", ["html", "docx"])
def test_arabic_runs_from_right_to_left(form: Format) -> None:
    content = WRITERS[form](arabic_paper())
    if isinstance(content, bytes):
        document = zipfile.ZipFile(BytesIO(content)).read("word/document.xml").decode()
        assert document.count("<w:bidi/>") == 2
        assert document.count("<w:rtl/>") >= 2
    else:
        assert '<html lang="ar" dir="rtl">' in content
        assert '<q lang="ar" dir="auto">' in content
    assert ARABIC in read_back(form, content).text


@pytest.mark.nightly
@given(st.text(st.characters(codec="utf-8"), max_size=300), st.text(max_size=40))
def test_any_text_makes_a_readable_file(text: str, heading: str) -> None:
    any_paper = Paper(heading, (PaperPart(text, heading, 3), PaperPart(text)), is_titled=True)
    for form in FORMATS:
        if form != "json":
            content = WRITERS[form](any_paper)
            assert content
            if form in ("html", "docx") and re.search(r"\w", text):
                read_back(form, content)


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


def test_template_has_limits_and_instructions() -> None:
    template = read_template(FORM, "form.md", words=50)
    assert template.sections == (
        TemplateSection("Report", 1, 1),
        TemplateSection("Findings", 2, 5, 120, "What was found out, and how sure is it?"),
        TemplateSection("Who", 2, 9, 40),
        TemplateSection("Outlook (after 1924)", 3, 10, 50, "What comes next?"),
    )
    queries = ["Findings: What was found out, and how sure is it?", "Who", "Outlook (after 1924): What comes next?"]
    assert [section.query for section in template.drafted] == queries
    # As in word processors, the title may have the level of the sections.
    titled = read_template("# Report\n# Findings (20 words)", "form.docx")
    assert [section.words for section in titled.sections] == [None, 20]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no heading"),
        ("# A (20 words)\n\n## B\nWhat?", "line 3: the section 'B' has no limit"),
        ("# A (9 words)", "line 1: a limit is at least 10 words"),
        (f"# A (20 words)\n{'x ' * 2000}", "line 1: the instruction under 'A' is longer than 2,000 characters"),
        ("# A (20 words)\n" * 101, "line 101: a template has at most 100 headings"),
    ],
)
def test_invalid_templates_name_the_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_template(text, "form.md")
    assert message in raised.value.message
    assert raised.value.place == "form.md"
    assert raised.value.hint
