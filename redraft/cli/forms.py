"""What commands that show what there is write: a page, Markdown, or JSON, to a file or to stdout."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from redraft.cli import options
from redraft.cli.terminal import say
from redraft.errors import UsageError
from redraft.files import write

Form = Literal["html", "markdown", "json"]
_BY_SUFFIX: dict[str, Form] = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
}
# What a page would be taken for, and would not open.
_OTHERS = frozenset({".docx", ".doc", ".odt", ".rtf", ".pdf", ".epub", ".xlsx", ".csv", ".tex", ".xml", ".jsonl"})

form_options = options.grouped(
    options.typed_option(
        "--output", "-o", section="output", metavar="FILE", help="Write it there instead of to stdout."
    ),
    options.typed_option(
        "--format",
        "form",
        section="output",
        type=click.Choice(["html", "markdown", "json"]),
        help="A page, Markdown, or all of it for programs; without it, as FILE is called, or else a page.",
    ),
)


def form_of(form: Form | None, output: str | None, hint: str) -> Form:
    """The form that is wanted. A terminal gets no page: the hint is a command that writes one to a file."""
    suffix = Path(output or "").suffix.lower()
    if form is None and suffix in _OTHERS:
        raise UsageError(
            f"{output}: this is written as a page, Markdown or JSON, and not as {suffix[1:].upper()}",
            hint=f"a summary alone: redraft show RUN -o {output}" if suffix == ".docx" else hint,
        )
    wanted = form or _BY_SUFFIX.get(suffix, "html")
    if output is None and wanted == "html" and sys.stdout.isatty():
        raise UsageError("a page is nothing for a terminal", hint=hint)
    return wanted


def hand_over(text: str, holds: str, output: str | None, *, quiet: bool) -> None:
    """Write it where it is wanted, and say what it contains."""
    if output is None:
        click.echo(text, nl=not text.endswith("\n"))
        return
    write(Path(output).expanduser(), text, "name another file with -o")
    if not quiet:
        say(f"written to {output}: {len(text.encode()) / 1000:,.0f} KB. {holds}")
