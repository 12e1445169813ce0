"""ODT: its elements are renamed to those of HTML, with tracked changes accepted, and notes after their paragraph."""

from __future__ import annotations

from redraft.errors import DocumentError
from redraft.readers.archive import Archive
from redraft.readers.builder import ReadText, TextBuilder
from redraft.readers.html import HtmlWalker
from redraft.readers.markup import Element, attr, coverage, elements, remove, tag, text_of, xml

_LEFT_OUT = {
    "annotation": "comments",
    "deletion": "tracked deletions",
    "frame": "pictures",
    "forms": "form fields",
    "ruby-text": "phonetic readings",
    "hidden-text": "hidden parts",
    "hidden-paragraph": "hidden parts",
    **dict.fromkeys(("automatic-styles", "font-face-decls", "scripts"), ""),
}
_NAMES = {"p": "p", "table": "table", "list": "ul", "list-item": "li", "table-row": "tr", "table-cell": "td"}
_NAMES |= {"line-break": "br", "note": "aside"}
_NAMES |= dict.fromkeys(("s", "tab", "span", "a", "ruby", "ruby-base", "bookmark", "soft-page-break"), "span")
_MATTER = {"table-of-content": "toc", "alphabetical-index": "index"}


def read(data: bytes, name: str) -> ReadText:
    """Return the content of an ODT document."""
    archive, part = Archive(data, name), "content.xml"
    if archive.has("META-INF/manifest.xml") and b"encryption-data" in archive.part("META-INF/manifest.xml"):
        raise DocumentError("it is encrypted", place=name, hint="save it without a password first")
    if not archive.has(part):
        raise DocumentError("this is not an ODT document", place=name, hint="save it again as .odt, or as .docx")
    root, builder = xml(archive.part(part), name), TextBuilder()
    builder.extents.append(coverage(archive.part(part), root, part, name))
    for element in list(root.iter()):
        _rename(element, builder)
    HtmlWalker(builder).walk(root)
    for element in xml(archive.part("styles.xml"), name).iter() if archive.has("styles.xml") else ():
        kind = tag(element).partition("-")[0]
        if kind in ("header", "footer") and (text := text_of(element).strip()):
            builder.leave_out(f"{kind}s", text=text)
    for embedded in (embedded for embedded in archive.names if embedded.endswith(f"/{part}")):
        builder.leave_out("embedded objects", text=text_of(xml(archive.part(embedded), name)))
    meta = xml(archive.part("meta.xml"), name) if archive.has("meta.xml") else root
    properties = {tag(element): element.text or "" for element in elements(meta, "title", "language")}
    return builder.reading(builder.first_title or properties.get("title", ""), properties.get("language", ""))


def _rename(element: Element, builder: TextBuilder) -> None:
    """Give an element the name that it has in HTML; move a note behind its paragraph, and remove what is no text."""
    kind = tag(element)
    if kind in _LEFT_OUT and not (kind == "frame" and next(elements(element, "text-box"), None) is not None):
        if _LEFT_OUT[kind]:
            builder.leave_out(_LEFT_OUT[kind], text=text_of(element))
        remove(element)
        return
    level = attr(element, "outline-level") if kind == "h" else ""
    element.tag = f"h{min(int(level), 6)}" if level in set("123456789") else "h1" if level else _NAMES.get(kind, "div")
    if kind in ("s", "tab"):
        element.text = " "
    elif kind in _MATTER:
        element.attrib["role"] = _MATTER[kind]
    elif kind == "note" and (paragraph := next(element.iterancestors("p", "h1", "h2", "h3"), None)) is not None:
        remove(element)
        element.attrib["class"] = "footnote"
        citation, first = next(elements(element, "note-citation"), None), next(elements(element, "p"), element)
        first.text = f"[{text_of(citation).strip()}] {first.text or ''}"
        if citation is not None:
            remove(citation)
        while (following := paragraph.getnext()) is not None and following.get("class") == "footnote":
            paragraph = following
        paragraph.addnext(element)
