"""ODT: its elements are renamed to those of HTML, with tracked changes accepted, and notes after their paragraph."""

from __future__ import annotations

from redraft.errors import DocumentError
from redraft.readers.archive import Archive
from redraft.readers.builder import ReadText, TextBuilder
from redraft.readers.html import HtmlWalker
from redraft.readers.markup import Element, attr, child, coverage, elements, remove, tag, text_of, xml

_CONTENT = "content.xml"
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
_PARAGRAPHS = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6"})
_INLINE = frozenset({"s", "tab", "span", "a", "ruby", "ruby-base", "bookmark", "soft-page-break"})
_NAMES = {"list": "ul", "list-item": "li", "table-row": "tr", "table-cell": "td", "line-break": "br"}
_MATTER = {"table-of-content": "toc", "alphabetical-index": "index"}


def read(data: bytes, name: str) -> ReadText:
    """Return the content of an ODT document."""
    archive = Archive(data, name)
    if archive.has("META-INF/manifest.xml") and b"encryption-data" in archive.part("META-INF/manifest.xml"):
        raise DocumentError("it is encrypted", place=name, hint="save it without a password first")
    if not archive.has(_CONTENT):
        raise DocumentError("this is not an ODT document", place=name, hint="save it again as .odt, or as .docx")
    root, builder = xml(archive.part(_CONTENT), name), TextBuilder()
    builder.extents.append(coverage(archive.part(_CONTENT), root, _CONTENT, name))
    for element in list(root.iter()):
        _rename(element, builder)
    HtmlWalker(builder).walk(root)
    for element in xml(archive.part("styles.xml"), name).iter() if archive.has("styles.xml") else ():
        kind = tag(element).partition("-")[0]
        if kind in ("header", "footer") and (text := text_of(element).strip()):
            builder.leave_out(f"{kind}s", text=text)
    for part in archive.names:
        if part.endswith(f"/{_CONTENT}"):
            builder.leave_out("embedded objects", text=text_of(xml(archive.part(part), name)))
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
    elif kind == "h":
        level = attr(element, "outline-level")
        element.tag = f"h{min(int(level), 6) if level.isascii() and level.isdigit() and len(level) < 3 else 1}"
    elif kind == "note":
        citation, body = child(element, "note-citation"), child(element, "note-body")
        paragraph = next((outer for outer in element.iterancestors() if tag(outer) in _PARAGRAPHS), None)
        remove(element)
        if paragraph is not None and body is not None:
            first = next(elements(body, "p"), body)
            first.text = f"[{text_of(citation).strip()}] {first.text or ''}"
            element.tag, element.attrib["class"] = "aside", "footnote"
            if citation is not None:
                remove(citation)
            last = paragraph
            while (following := last.getnext()) is not None and following.get("class") == "footnote":
                last = following
            last.addnext(element)
    elif kind in _INLINE:
        element.tag, element.text = "span", " " if kind in ("s", "tab") else element.text
    else:
        element.tag = kind if kind in ("p", "table") else _NAMES.get(kind, "div")
        if kind in _MATTER:
            element.attrib["role"] = _MATTER[kind]
