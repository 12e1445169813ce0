"""Makes files of every format out of chapters that a test knows, so that what is read can be compared with them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from fpdf import FPDF

Chapters = Sequence[tuple[str, Sequence[str]]]
"""Titles, each with its paragraphs."""
SANS = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_XHTML = 'xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"'
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
_OFFICE = "urn:oasis:names:tc:opendocument:xmlns"


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    """A zip archive of these parts."""
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return output.getvalue()


def html(title: str, chapters: Chapters) -> bytes:
    """A page with what pages have around their text."""
    body = "".join(f"<h2>{escape(name)}</h2>{_paragraphs(texts)}" for name, texts in chapters)
    return (
        f"<!DOCTYPE html><html lang=en><head><title>{escape(title)} | A site</title><style>p {{}}</style></head><body>"
        f"<nav><a href=/>Home</a></nav><main><h1>{escape(title)}</h1>{body}</main>"
        "<footer>All rights</footer><script>var a = 1;</script></body></html>"
    ).encode()


def epub(
    title: str,
    chapters: Chapters,
    *,
    nav: str = "",
    items: str = "",
    spine: str = "",
    extra: Mapping[str, str] | None = None,
) -> bytes:
    """A book with one file for each chapter, and a title page; `items` and `spine` come behind its own."""
    names = [f"c{at}" for at in range(len(chapters))]
    files = {
        f"OEBPS/{key}.xhtml": page(f"<h2>{escape(name)}</h2>{_paragraphs(texts)}")
        for key, (name, texts) in zip(names, chapters, strict=True)
    }
    nav = nav or "".join(
        f'<li><a href="{key}.xhtml">{escape(name)}</a></li>' for key, (name, _) in zip(names, chapters, strict=True)
    )
    items = items + "".join(
        f'<item id="{key}" href="{key}.xhtml" media-type="application/xhtml+xml"/>' for key in names
    )
    spine = "".join(f'<itemref idref="{key}"/>' for key in names) + spine
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfile full-path="OEBPS/book.opf"/></container>',
            "OEBPS/book.opf": f'<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/'
            f'elements/1.1/"><dc:title>{escape(title)}</dc:title><dc:language>en</dc:language></metadata><manifest>'
            f'<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
            f'<item id="t" href="t.xhtml" media-type="application/xhtml+xml"/>{items}</manifest>'
            f'<spine><itemref idref="t"/>{spine}</spine></package>',
            "OEBPS/t.xhtml": page(f"<h1>{escape(title)}</h1>"),
            "OEBPS/nav.xhtml": page(f'<nav epub:type="toc"><ol>{nav}</ol></nav>'),
            **files,
            **(extra or {}),
        }
    )


def page(body: str) -> str:
    """One file of a book."""
    return (
        f'<?xml version="1.0" encoding="utf-8"?><html {_XHTML}><head><title>x</title></head><body>{body}</body></html>'
    )


def docx(title: str, chapters: Chapters, *, body: str = "", parts: Mapping[str, str] | None = None) -> bytes:
    """A document of a word processor; `body` stands for its paragraphs where it is given."""
    body = body or _styled("Title", title) + "".join(
        _styled("Heading2", name) + "".join(f"<w:p><w:r><w:t>{escape(text)}</w:t></w:r></w:p>" for text in texts)
        for name, texts in chapters
    )
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/></w:style>'
        for key, name in (("Title", "Title"), ("Heading1", "heading 1"), ("Heading2", "heading 2"), ("TOC1", "toc 1"))
    )
    levels = "".join(
        f'<w:lvl w:ilvl="{level}"><w:numFmt w:val="bullet"/><w:lvlText w:val="-"/></w:lvl>' for level in range(3)
    )
    lists = f'<w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>'
    lists += '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{_TYPES}">'
            f'<Override PartName="/word/document.xml" ContentType="{_MAIN}"/></Types>',
            "word/document.xml": f"<w:document {WORD}><w:body>{body}</w:body></w:document>",
            "word/styles.xml": f"<w:styles {WORD}>{styles}</w:styles>",
            "word/numbering.xml": f"<w:numbering {WORD}>{lists}</w:numbering>",
            **(parts or {}),
        }
    )


def odt(title: str, chapters: Chapters, body: str = "", parts: Mapping[str, str] | None = None) -> bytes:
    """The same as an open document; `body` comes behind its chapters."""
    texts = "".join(
        f'<text:h text:outline-level="2"><text:bookmark-start/>{escape(name)}</text:h>'
        + "".join(f"<text:p>{escape(t)}</text:p>" for t in texts)
        for name, texts in chapters
    )
    spaces = f'xmlns:office="{_OFFICE}:office:1.0" xmlns:text="{_OFFICE}:text:1.0" xmlns:table="{_OFFICE}:table:1.0"'
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f"<office:document-content {spaces}><office:body><office:text>"
            f'<text:h text:outline-level="1">{escape(title)}</text:h>{texts}{body}'
            "</office:text></office:body></office:document-content>",
            **(parts or {}),
        }
    )


def rtf(paragraphs: Sequence[str]) -> bytes:
    """Paragraphs as RTF."""
    return ("{\\rtf1\\ansi " + "\\par ".join(paragraphs) + "}").encode("cp1252")


class Book(FPDF):
    """A PDF file with a running head and a page number on each page, as books have them."""

    head = ""
    first_number = 1

    def header(self) -> None:
        if self.head:
            self.set_font(size=8)
            self.cell(0, 5, self.head, align="C")
            self.ln(12)

    def footer(self) -> None:
        if self.head:
            self.set_y(-15)
            self.set_font(size=8)
            self.cell(0, 5, str(self.page_no() + self.first_number - 1), align="C")


def new_pdf(head: str = "", *, size: float = 11, first_number: int = 1) -> Book:
    """A PDF file to be written into."""
    book = Book(format=(148, 210))
    book.head, book.first_number = head, first_number
    book.set_auto_page_break(True, 20)
    if SANS.is_file():
        book.add_font("Sans", fname=SANS)
        book.set_font("Sans", size=size)
    else:
        book.set_font("Helvetica", size=size)
    return book


def pdf(title: str, chapters: Chapters, *, head: str = "A running head") -> bytes:
    """A book with an outline; its lines are set to full width, and paragraphs are apart."""
    book = new_pdf(head)
    book.set_title(title)
    book.add_page()
    book.start_section(title)
    heading(book, title, 20)
    for name, texts in chapters:
        book.start_section(name, level=1)
        heading(book, name, 15)
        for text in texts:
            book.set_font_size(11)
            book.multi_cell(0, 5.5, text, align="J", new_x="LMARGIN", new_y="NEXT")
            book.ln(4)
    return bytes(book.output())


def heading(output: FPDF, text: str, size: float) -> None:
    """A line in larger letters."""
    output.ln(3)
    output.set_font_size(size)
    output.multi_cell(0, size / 2, text, align="L", new_x="LMARGIN", new_y="NEXT")
    output.ln(4)


def _styled(style: str, text: str) -> str:
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{escape(text)}</w:t></w:r></w:p>'


def _paragraphs(texts: Sequence[str]) -> str:
    return "".join(f"<p>{escape(text, quote=False)}</p>\n" for text in texts)
