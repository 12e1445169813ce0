"""A paper as a .docx document, with real footnotes.

The parts are Office Open XML templates of a few kilobytes: libraries that write .docx files are larger, and do not
support footnotes.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from redraft.report.outputs.markup import fill
from redraft.report.outputs.paper import Block, Paper, notes_of
from redraft.text.sanitizer import one_line

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
