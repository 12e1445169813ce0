"""DOCX: converted to HTML by mammoth, with tracked changes accepted, headings by their styles, and notes in place."""

from __future__ import annotations

import mammoth
from lxml import etree

from redraft.errors import DocumentError
from redraft.readers.builder import ReadText, TextBuilder
from redraft.readers.html import HtmlWalker
from redraft.readers.markup import Archive, child, coverage, elements, remove, tag, text_of, xml, zipped

_MAIN = "word/document.xml"
_LEFT_OUT = {"del": "tracked deletions", "r": "hidden parts", "rt": "phonetic readings", "txbx": "text boxes"}
_IGNORED = [f"{{*}}{wrapper}" for wrapper in ("ruby", "rubyBase", "fldSimple", "dir", "bdo")]
"""Elements that mammoth skips, although there is text in them."""
_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='caption'] => figcaption:fresh
p[style-name^='toc '] => div.toc > p:fresh
"""


def read(data: bytes, name: str) -> ReadText:
    """Return the content of a DOCX document, with each note after the paragraph, list or table that refers to it."""
    archive, builder = Archive(data, name), TextBuilder()
    if not archive.has(_MAIN):
        raise DocumentError("this is not a DOCX document", place=name, hint="save it again as .docx")
    roots = {part: xml(archive.part(part), name) for part in archive.names if part.endswith((".xml", ".rels"))}
    for part in roots.keys() & {_MAIN, "word/footnotes.xml", "word/endnotes.xml"}:
        builder.extents.append(coverage(archive.part(part), roots[part], part, name))
        etree.strip_tags(roots[part], *_IGNORED)
        for element in [*elements(roots[part], *_LEFT_OUT)]:
            copies = next(element.iterancestors("{*}AlternateContent"), None)
            is_shown = tag(element) == "r" and child(child(element, "rpr"), "vanish") is None
            is_shown |= tag(element) == "txbx" and child(copies, "fallback") is not None
            if not is_shown and next(element.iterancestors("{*}rPr"), None) is None:
                builder.leave_out(_LEFT_OUT[tag(element)], text=text_of(element))
                remove(element)
    for part, root in [*roots.items()]:
        if kind := next((kind for kind in ("comment", "footer", "header") if part.startswith(f"word/{kind}")), ""):
            builder.leave_out(f"{kind}s", text=text_of(root))
            del roots[part]
    file = zipped({part: etree.tostring(root) for part, root in roots.items()})
    options = {"style_map": _STYLES, "include_embedded_style_map": False, "convert_image": lambda _: []}
    html = mammoth.convert_to_html(file, **options).value
    page = etree.fromstring(f"<div>{html}</div>", etree.HTMLParser(huge_tree=True))
    links = [link for link in elements(page, "a") if "note-ref-" in f"{link.get('id')}{link.get('href')}"]
    notes = {f"#{item.get('id')}": item for item in elements(page, "li") if item.get("id")}
    for number, link in reversed([*enumerate(links, 1)]):
        block, note = [link, *link.iterancestors()][-4], notes.get(link.get("href") or "")
        remove(link)
        if note is not None:
            note.tag, first = "aside", next(elements(note, "p"), note)
            note.attrib.update({"class": "footnote"})
            first.text = f"[{number}] {first.text or ''}"
            block.addnext(note)
    HtmlWalker(builder).walk(page)
    return builder.reading(builder.first_title)
