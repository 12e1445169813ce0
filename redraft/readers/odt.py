"""ODT: its elements are renamed to those of HTML, with tracked changes accepted, and notes after their paragraph."""

from __future__ import annotations

from redraft.errors import DocumentError
from redraft.readers.builder import ReadText, TextBuilder
from redraft.readers.html import HtmlWalker
from redraft.readers.markup import Archive, attr, coverage, elements, remove, tag, text_of, xml

_LEFT_OUT = {
    "annotation": "comments",
    "deletion": "tracked deletions",
    "frame": "pictures",
    "forms": "form fields",
    "ruby-text": "phonetic readings",
    **dict.fromkeys(("hidden-text", "hidden-paragraph"), "hidden parts"),
    **dict.fromkeys(("automatic-styles", "font-face-decls", "scripts", "note-citation"), ""),
}
_NAMES = {"p": "p", "table": "table", "list": "ul", "list-item": "li", "table-row": "tr", "table-cell": "td"}
_NAMES |= {"line-break": "br", "note": "aside"}
_NAMES |= dict.fromkeys(("s", "tab", "span", "a", "ruby", "ruby-base", "bookmark", "soft-page-break"), "span")
_ROLES = {"table-of-content": "toc", "alphabetical-index": "index"}


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
        kind = tag(element)
        if kind in _LEFT_OUT and (kind != "frame" or next(elements(element, "text-box"), None) is None):
            if _LEFT_OUT[kind]:
                builder.leave_out(_LEFT_OUT[kind], text=text_of(element))
            remove(element)
            continue
        level = attr(element, "outline-level") if kind == "h" else ""
        unknown = "div" if len(element) else "span"
        element.tag = f"h{min(int(level), 6)}" if level in set("123456789") else _NAMES.get(kind, unknown)
        paragraph = next(element.iterancestors("p", *(f"h{rank}" for rank in range(1, 7))), None)
        if kind in ("s", "tab"):
            element.text = " "
        elif kind in _ROLES:
            element.attrib["role"] = _ROLES[kind]
        elif kind == "note" and paragraph is not None:
            number, first = next(elements(element, "note-citation"), None), next(elements(element, "p"), element)
            first.text = f"[{text_of(number).strip()}] {first.text or ''}"
            remove(element)
            element.attrib["class"] = "footnote"
            while (following := paragraph.getnext()) is not None and following.get("class") == "footnote":
                paragraph = following
            paragraph.addnext(element)
    HtmlWalker(builder).walk(root)
    return builder.reading(builder.first_title)
