"""A file has text in every place where its format can hold text: all of it is read, or said to be left out."""

from __future__ import annotations

import pytest
from fpdf import FPDF

from redraft.domain import Document
from redraft.readers import formats
from tests.readers import makers

_places: list[str] = []


def marker(place: str) -> str:
    """A sentence that names the place where it stands. It has seven words."""
    _places.append(place)
    return f"The {place} says that the lamp burned."


def read(form: str, data: bytes) -> Document:
    return formats.read(form, data, f"x.{form}").as_document(f"x.{form}")  # type: ignore[arg-type]


def html() -> bytes:
    return f"""<html><head><title>T</title></head><body><h1>Salt</h1><p>{marker("paragraph")}</p>
    <details><summary>{marker("summary")}</summary><p>{marker("details")}</p></details>
    <blockquote>{marker("quotation")}</blockquote><pre>{marker("code")}</pre><dl><dt>{marker("term")}</dt></dl>
    <table><caption>{marker("caption")}</caption><tr><td>{marker("cell")}</td><td>b</td></tr></table>
    <div class="pagebreak">{marker("break")} He saw him.</div>
    <a role="doc-noteref">{marker("reference")} And more of it.</a>
    <noscript>{marker("noscript")}</noscript><template><p>{marker("template")}</p></template>
    <p hidden>{marker("hidden")}</p><div style="display:none">{marker("unseen")}</div>
    <textarea>{marker("field")}</textarea><select><option>{marker("option")}</option></select>
    <nav>{marker("navigation")}</nav><svg><text>{marker("drawing")}</text></svg>
    <iframe>{marker("frame")}</iframe><ruby>a<rt>{marker("ruby")}</rt></ruby>
    <footer>{marker("footer")}</footer></body></html>""".encode()


def epub() -> bytes:
    parts = {"OEBPS/unlisted.xhtml": makers.page(f"<p>{marker('unlisted')}</p>")}
    for name in ("outside", "side", "deep", "fallback"):
        parts[f"OEBPS/{name}.xhtml"] = makers.page(f"<p>{marker(name)}</p>")
    parts["OEBPS/map.pdf"] = parts["OEBPS/scan.pdf"] = "%PDF"
    items = "".join(
        f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>'
        for name in ("outside", "side", "deep", "fallback")
    )
    items += '<item id="map" href="map.pdf" media-type="application/pdf" fallback="fallback"/>'
    items += '<item id="scan" href="scan.pdf" media-type="application/pdf"/>'
    spine = '<itemref idref="side" linear="no"/><group><itemref idref="deep"/></group>'
    return makers.epub(
        "A book",
        [("One", [marker("chapter")])],
        items=items,
        spine=f'{spine}<itemref idref="map"/><itemref idref="scan"/>',
        extra=parts,
    )


def _word_part(root: str, *texts: str, of: str = "") -> str:
    paragraphs = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts)
    return f"<w:{root} {makers.WORD}>{of.format(paragraphs) if of else paragraphs}</w:{root}>"


def docx() -> bytes:
    box = "<w:txbxContent><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:txbxContent>"
    choice = f"<mc:Choice><w:drawing>{box.format(marker('box'))}</w:drawing></mc:Choice>"
    fallback = f"<mc:Fallback><w:pict>{box.format(marker('box'))}</w:pict></mc:Fallback>"
    runs = {
        "paragraph": "<w:t>{}</w:t>",
        "link": "</w:r><w:hyperlink><w:r><w:t>{}</w:t></w:r></w:hyperlink><w:r>",
        "control": "</w:r><w:sdt><w:sdtContent><w:r><w:t>{}</w:t></w:r></w:sdtContent></w:sdt><w:r>",
        "insertion": "</w:r><w:ins><w:r><w:t>{}</w:t></w:r></w:ins><w:r>",
        "deletion": "</w:r><w:del><w:r><w:delText>{}</w:delText></w:r></w:del><w:r>",
        "vanished": "<w:rPr><w:vanish/></w:rPr><w:t>{}</w:t>",
        "old box": f"<w:pict>{box}</w:pict>",
        "new box": f'<w:drawing><wps:txbx xmlns:wps="wps">{box}</wps:txbx></w:drawing>',
        "ruby": "<w:ruby><w:rt><w:r><w:t>{}</w:t></w:r></w:rt></w:ruby>",
    }
    body = "".join(f"<w:p><w:r>{run.format(marker(place))}</w:r></w:p>" for place, run in runs.items())
    body += f'<w:p xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><w:r><mc:AlternateContent>{choice}{fallback}</mc:AlternateContent></w:r></w:p>'
    body += '<w:p><w:r><w:footnoteReference w:id="1"/><w:endnoteReference w:id="1"/></w:r></w:p>'
    body += f"<w:tbl><w:tr><w:tc><w:p><w:r><w:t>{marker('cell')}</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    notes = {
        f"word/{kind}s.xml": _word_part(f"{kind}s", marker(kind), of=f'<w:{kind} w:id="1">{{}}</w:{kind}>')
        for kind in ("footnote", "endnote")
    }
    parts = {
        "word/header1.xml": _word_part("hdr", marker("header")),
        "word/footer1.xml": _word_part("ftr", marker("footer")),
        "word/comments.xml": _word_part("comments", marker("comment"), of="<w:comment>{}</w:comment>"),
    }
    return makers.docx("", [], body=body, parts=notes | parts)


def odt() -> bytes:
    body = f"""<text:p>{marker("paragraph")}<text:span>{marker("span")}</text:span>
    <office:annotation><text:p>{marker("comment")}</text:p></office:annotation>
    <text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>{marker("note")}</text:p></text:note-body>
    </text:note><draw:frame xmlns:draw="d"><draw:text-box><text:p>{marker("box")}</text:p></draw:text-box></draw:frame>
    <draw:custom-shape xmlns:draw="d"><text:p>{marker("shape")}</text:p></draw:custom-shape>
    <draw:frame xmlns:draw="d" xmlns:svg="s"><svg:desc>{marker("picture")}</svg:desc></draw:frame>
    <text:hidden-text>{marker("hidden")}</text:hidden-text>
    <text:ruby><text:ruby-base>a</text:ruby-base><text:ruby-text>{marker("ruby")}</text:ruby-text></text:ruby></text:p>
    <text:list><text:list-item><text:p>{marker("item")}</text:p></text:list-item></text:list>
    <text:section><text:p>{marker("section")}</text:p></text:section>
    <table:table><table:table-row><table:table-cell><text:p>{marker("cell")}</text:p></table:table-cell></table:table-row>
    </table:table><text:tracked-changes><text:changed-region><text:deletion><text:p>{marker("deletion")}</text:p>
    </text:deletion></text:changed-region></text:tracked-changes>"""
    return makers.odt("Salt", [], body)


def rtf() -> bytes:
    boxed = f"{marker('box')}\\par {marker('box end')}\\par"
    box = f"{{\\*\\shpinst\\shpleft1{{\\sp{{\\sn pib}}{{\\sv 7}}}}{{\\shptxt {boxed}}}}}"
    old = f"{{\\shprslt{{\\*\\do\\dobxpage{{\\dptxbxtext {marker('box')}\\par}}}}}}"
    return f"""{{\\rtf1\\ansi\\ansicpg1252{{\\fonttbl{{\\f0 Helvetica;}}}}{{\\*\\generator A program of some sort;}}
{{\\header {marker("header")}\\par}}{{\\footerl\\pard {marker("footer")}\\par}}
Before the {{\\shp{box}{old}}}box. {marker("paragraph")}{{\\footnote {marker("note")}}}\\par
{{\\*\\do\\dobxpage\\dptxbx{{\\dptxbxtext {marker("old box")}\\par}}\\dpx1}}\\par
{{\\object\\objemb{{\\*\\objdata 0105}}{{\\result {{\\pard {marker("object")}\\par}}}}}}
{{\\shp{{\\*\\shpinst{{\\shptxt Out {{\\shp{{\\*\\shpinst{{\\shptxt {marker("inner box")}\\par}}}}}}er.{{\\footnote \
{marker("inner note")}}}\\par}}}}}}
{{\\*\\atnid AB}}{{\\*\\annotation{{\\*\\atnref 1}}\\pard {marker("comment")}}}
{{\\field{{\\*\\fldinst PAGEREF}}{{\\fldrslt {marker("field")}}}}}\\par
{marker("table")}\\cell\\row\\par}}""".encode("cp1252")


def pdf() -> bytes:
    book = FPDF()
    book.add_page()
    book.set_font("Helvetica")
    book.text(20, 20, marker("page"))
    book.text_annotation(50, 50, marker("comment"))
    book.free_text_annotation(marker("free text"), x=20, y=60, w=50, h=10)
    book.embed_file(bytes=marker("attachment").encode(), basename="a.txt")
    return bytes(book.output())


def pdf_form() -> bytes:
    return b"""%PDF-1.7
1 0 obj<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[5 0 R]>>>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Resources<</Font<</F 4 0 R>>>>/Contents 6 0 R/Annots[5 0 R]>>
endobj
4 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
5 0 obj<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/V(FIELD)/Rect[10 10 200 30]>>endobj
6 0 obj<</Length 68>>stream
BT /F 12 Tf 20 200 Td (PAGE) Tj ET
endstream endobj
trailer<</Root 1 0 R>>
""".replace(b"FIELD", marker("field").encode()).replace(b"PAGE", marker("page").encode())


FILES = {
    "html": html,
    "epub": epub,
    "docx": docx,
    "odt": odt,
    "rtf": rtf,
    "pdf": pdf,
    "pdf form": pdf_form,
}
# For the places that are not read, what is said: with the number of their words, seven each, or of bytes.
SAID = {
    "html": {
        "hidden parts (28 words)": "noscript, template, hidden, unseen",
        "form fields (14 words)": "field, option",
        "navigation (7 words)": "navigation",
        "pictures (7 words)": "drawing",
        "embedded pages (7 words)": "frame",
        "phonetic readings (7 words)": "ruby",
        "headers and footers (7 words)": "footer",
    },
    "epub": {"1 pages that the book does not name (7 words)": "unlisted"},
    "docx": {
        "1 tracked deletions (7 words)": "deletion",
        "1 hidden parts (7 words)": "vanished",
        "1 phonetic readings (7 words)": "ruby",
        "1 text boxes (8 words)": "new box",
        "1 headers (7 words)": "header",
        "1 footers (7 words)": "footer",
        "1 comments (7 words)": "comment",
    },
    "odt": {
        "1 comments (7 words)": "comment",
        "1 pictures (7 words)": "picture",
        "1 hidden parts (7 words)": "hidden",
        "1 phonetic readings (7 words)": "ruby",
        "1 tracked deletions (7 words)": "deletion",
    },
    "rtf": {
        "1 headers": "header",
        "1 footers": "footer",
        "1 comments": "comment",
        "5 text boxes": "box, box end, old box, inner box, inner note",
        "1 embedded objects": "object",
    },
    "pdf": {"2 comments (15 words)": "comment, free text", "1 attached files": "attachment"},
    "pdf form": {"1 form fields (7 words)": "field"},
}


@pytest.mark.parametrize("form", FILES)
def test_text_in_every_place_is_accounted_for(form: str) -> None:
    _places.clear()
    document = read(form.split()[0], FILES[form]())
    places, notes = {*_places}, " ".join(document.notes)
    left_out = {place for names in SAID[form].values() for place in names.split(", ")}
    assert left_out < places
    assert {place: document.text.count(marker(place)) for place in places} == {
        place: int(place not in left_out) for place in places
    }
    assert [note for note in SAID[form] if note not in notes] == []


def test_unlisted_part_of_a_book_is_noted() -> None:
    notes = read("epub", epub()).notes
    assert "a part of the book is not text: OEBPS/scan.pdf, application/pdf" in notes
    assert "1 parts that the spine does not name are at the end: OEBPS/outside.xhtml" in notes


def test_rtf_that_is_cut_off_says_so() -> None:
    notes = formats.read("rtf", b"{\\rtf1\\ansi Some text.\\par {\\*\\stranger It burned.\\par ", "x.rtf").notes
    assert "it is cut off: text at its end may be missing" in notes
