"""What DOCX, ODT and RTF have in common: their text as a tree of HTML elements, in which notes follow their paragraph."""

from __future__ import annotations

from collections.abc import Callable

from redraft.readers.builder import ReadText, TextBuilder
from redraft.readers.html import HtmlWalker
from redraft.readers.markup import Element, elements, remove, tag, text_of
from redraft.text.sanitizer import one_line

_PARAGRAPHS = frozenset({"p", "h", "h1", "h2", "h3", "h4", "h5", "h6", "li"})
_BEHIND = "behind"
"""The class of what stands behind the paragraph that it belongs to."""


def leave_out(root: Element, builder: TextBuilder, reason_of: Callable[[Element], str | None]) -> None:
    """Remove the outermost elements for which `reason_of` returns what they are, and record them with their words; an
    empty reason is not recorded."""
    stack = [root]
    while stack:
        element = stack.pop()
        reason = reason_of(element)
        if reason is None:
            stack.extend(reversed(element))
            continue
        if reason:
            builder.leave_out(reason, text=text_of(element))
        remove(element)


def put_behind(element: Element, name: str = "div", kind: str = "") -> None:
    """Move a text box or a note behind its paragraph or table, and give it another name and class."""
    outer = list(element.iterancestors())
    table = next((ancestor for ancestor in outer if tag(ancestor) in ("table", "tbl")), None)
    paragraph = next((ancestor for ancestor in outer if tag(ancestor) in _PARAGRAPHS), None)
    element.tag = name
    element.attrib.clear()
    element.set("class", f"{_BEHIND} {kind}".strip())
    last = paragraph if table is None else table
    if last is None:
        return
    remove(element)
    while (following := last.getnext()) is not None and (following.get("class") or "").startswith(_BEHIND):
        last = following
    last.addnext(element)


def put_note_behind(note: Element, label: str = "") -> None:
    """Move a note behind its paragraph or table, and begin it with its label."""
    if label:
        first = next(elements(note, "p"), note)
        first.text = f"[{label}] {first.text or ''}"
    put_behind(note, "aside", "footnote")


def read_tree(root: Element, builder: TextBuilder, properties: Element | None) -> ReadText:
    """Return the content of a tree, with the title and the language that the properties of its file declare."""
    HtmlWalker(builder).walk(root)
    declared = {} if properties is None else {tag(element): element.text or "" for element in properties.iter()}
    title = builder.first_title or one_line(declared.get("title", ""))
    return builder.reading(title, one_line(declared.get("language", "")))
