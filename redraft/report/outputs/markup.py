"""Templates of the markup output formats."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from itertools import groupby
from xml.sax import saxutils
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from redraft.report.outputs.paper import Block, Paper, is_rtl, notes_of
from redraft.text.sanitizer import clean, one_line

# XML cannot contain these, escaped or not.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def fill(name: str, **values: object) -> str:
    """Return a template filled in with values."""
    return _environment().get_template(name).render(**values)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    made.filters.update(html=_html, xml=_xml)
    made.tests.update(rtl=is_rtl)
    return made


def _source(name: str) -> str:
    """Return the text of a template, without white space between XML elements, which readers would show."""
    text = (files("redraft.report.outputs") / "templates" / name).read_text("utf-8")
    return "".join(map(str.strip, text.splitlines())) if name.endswith(".xml") else text


def _html(text: str) -> Markup:
    return Markup(escape(clean(text)))  # noqa: S704 - it is escaped


def _xml(text: str) -> Markup:
    return Markup(saxutils.escape(_UNWRITABLE.sub(" ", clean(text)), {'"': "&quot;"}))  # noqa: S704 - it is escaped


def html(paper: Paper) -> str:
    """Return the page."""
    blocks = paper.blocks
    groups = [(name, list(group)) for name, group in groupby(blocks, _list)]
    return fill("paper.html", paper=paper, title=one_line(paper.title), groups=groups, notes=notes_of(blocks))


def _list(block: Block) -> str:
    """Return the list element for a block; empty if it is not an item."""
    return "" if block.kind != "item" else "ol" if block.number else "ul"


_DECLARED = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
# A fixed time makes the file of a paper reproducible.
_WHEN = (1980, 1, 1, 0, 0, 0)
_BULLET = 1
_PARTS = {
    "[Content_Types].xml": "types.xml",
    "_rels/.rels": "relations.xml",
    "docProps/core.xml": "properties.xml",
    "word/document.xml": "document.xml",
    "word/_rels/document.xml.rels": "document_relations.xml",
    "word/styles.xml": "styles.xml",
    "word/numbering.xml": "numbering.xml",
    "word/footnotes.xml": "footnotes.xml",
    "word/settings.xml": "settings.xml",
}


def docx(paper: Paper) -> bytes:
    """Return the content of the file."""
    blocks = paper.blocks
    lists = _lists(blocks)
    values = {
        "paper": paper,
        "title": one_line(paper.title),
        "body": list(zip(blocks, lists, strict=True)),
        "notes": notes_of(blocks),
        "lists": max(lists, default=0),
    }
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, template in _PARTS.items():
            info = ZipInfo(name, _WHEN)
            info.compress_type = ZIP_DEFLATED
            archive.writestr(info, _DECLARED + fill(f"docx/{template}", **values))
    return file.getvalue()


def _lists(blocks: Sequence[Block]) -> list[int]:
    """Return the list number of each block: one for all bullets, a new one for each numbered list, 0 for no list."""
    found: list[int] = []
    latest = _BULLET
    for at, block in enumerate(blocks):
        if block.kind != "item":
            found.append(0)
        elif not block.number:
            found.append(_BULLET)
        else:
            goes_on = at > 0 and bool(blocks[at - 1].number)
            latest = latest if goes_on else latest + 1
            found.append(latest)
    return found
