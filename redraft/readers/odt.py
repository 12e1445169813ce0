"""ODT: its elements are renamed to those of HTML, with tracked changes accepted, and notes after their paragraph."""

from __future__ import annotations

from redraft.errors import DocumentError
from redraft.readers.archive import Archive
from redraft.readers.builder import ReadText, TextBuilder
from redraft.readers.markup import Element, attr, child, coverage, remove, tag, text_of, xml
from redraft.readers.office import leave_out, put_behind, put_note_behind, read_tree

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
_NAMES = {"p": "p", "list": "ul", "list-item": "li", "table": "table", "table-row": "tr", "table-cell": "td",
          "line-break": "br"} | dict.fromkeys(
    ("s", "tab", "span", "a", "ruby", "ruby-base", "bookmark", "soft-page-break"), "span"
)  # fmt: skip
_MATTER = {"table-of-content": "toc", "alphabetical-index": "index"}


def read(data: bytes, name: str) -> ReadText:
    """Return the content of an ODT document."""
    archive, builder = Archive(data, name), TextBuilder()
    if archive.has("META-INF/manifest.xml") and b"encryption-data" in archive.part("META-INF/manifest.xml"):
        raise DocumentError("it is encrypted", place=name, hint="save it without a password first")
    if not archive.has(_CONTENT):
        raise DocumentError("this is not an ODT document", place=name, hint="save it again as .odt, or as .docx")
    root = xml(archive.part(_CONTENT), name)
    builder.extents.append(coverage(archive.part(_CONTENT), root, _CONTENT, name))
    leave_out(root, builder, _reason_to_leave_out)
    for element in list(root.iter()):
        _rename(element)
    for element in xml(archive.part("styles.xml"), name).iter() if archive.has("styles.xml") else ():
        kind = tag(element).partition("-")[0]
        if kind in ("header", "footer") and (text := text_of(element).strip()):
            builder.leave_out(f"{kind}s", text=text)
    for part in archive.names:
        if part.endswith(f"/{_CONTENT}"):
            builder.leave_out("embedded objects", text=text_of(xml(archive.part(part), name)))
    return read_tree(root, builder, xml(archive.part("meta.xml"), name) if archive.has("meta.xml") else None)


def _reason_to_leave_out(element: Element) -> str | None:
    kind = tag(element)
    is_text_box = kind == "frame" and any(tag(inner) == "text-box" for inner in element.iter())
    return None if is_text_box else _LEFT_OUT.get(kind)


def _rename(element: Element) -> None:
    """Give an element the name that it has in HTML, and move a note or a text box behind its paragraph."""
    kind = tag(element)
    if kind == "h":
        level = attr(element, "outline-level")
        element.tag = f"h{min(int(level), 6) if level.isascii() and level.isdigit() and len(level) < 3 else 1}"
    elif kind == "note":
        citation = child(element, "note-citation")
        if citation is not None:
            remove(citation)
        put_note_behind(element, text_of(citation).strip())
    elif kind in ("frame", "custom-shape"):
        put_behind(element)
    elif kind in _MATTER:
        element.tag, element.attrib["role"] = "div", _MATTER[kind]
    else:
        if kind in ("s", "tab"):
            element.text = " "
        element.tag = _NAMES.get(kind, "div")
