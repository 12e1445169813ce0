"""`redraft read`: what redraft reads of a file."""

from __future__ import annotations

from typing import Any

from redraft.cli import given as asked
from redraft.cli import options
from redraft.cli.sections import command
from redraft.cli.terminal import prose, reading

_EPILOG = """\b
Examples:
  redraft read report.pdf
  redraft read book.epub --chapters 3-12 --text
  redraft read page.html --skip none --json
"""


@command(epilog=_EPILOG)
@options.sources
@options.typed_option("--text", "as_text", section="output", is_flag=True, help="Print the text.")
@options.part_options
@options.max_source
@options.as_json
@options.quiet
def read(sources: tuple[str, ...], as_text: bool, as_json: bool, quiet: bool, **given: Any) -> int:
    """Show how SOURCE is read: sections, pages, words, what is left out, and problems.

    Several sources are read as one document.
    """
    reading(*sources, quiet=quiet)
    from redraft.cli.views.documents import document_json, lines
    from redraft.cli.views.render import show
    from redraft.readers.documents import load_all

    document = load_all(sources, wanted=asked.part(given))
    content = document_json(document) | ({"text": document.text} if as_text else {})
    show(content, [prose(document.text)] if as_text else lines(document), as_json=as_json)
    return 0
