"""A paper as an HTML page: one file, no script, no requests, with its notes at the end."""

from __future__ import annotations

from itertools import groupby

from redraft.report.outputs.markup import fill
from redraft.report.outputs.paper import Block, Paper, notes_of
from redraft.text.sanitizer import one_line


def html(paper: Paper) -> str:
    """Return the page."""
    blocks = paper.blocks
    groups = [(name, list(group)) for name, group in groupby(blocks, _list)]
    return fill("paper.html", paper=paper, title=one_line(paper.title), groups=groups, notes=notes_of(blocks))


def _list(block: Block) -> str:
    """Return the list element for a block; empty if it is not an item."""
    return "" if block.kind != "item" else "ol" if block.number else "ul"
