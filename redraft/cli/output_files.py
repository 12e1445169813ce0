"""Output files and their formats, checked before anything is spent."""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import click

from redraft.cli import options
from redraft.cli.terminal import say, show_markdown
from redraft.errors import UsageError
from redraft.sources import write

if TYPE_CHECKING:
    from redraft.report.outputs.formats import Format


def check_output(output: str | None) -> None:
    """Raise if a file cannot be written, before anything is spent on its content."""
    if output is None:
        return
    path = Path(output).expanduser()
    if path.is_dir() or not path.parent.is_dir():
        what = "it is a directory" if path.is_dir() else "its directory does not exist"
        raise UsageError(f"cannot be written: {what}", place=output)


def table_form(form: TableForm | None, output: str | None) -> TableForm:
    """Return the form of a table of documents: `form`, or else that of the file's suffix. Raises for a file that cannot
    be written."""
    refused = FILES - {".csv", ".jsonl", ".json", ".txt"}
    suffix = _suffix(output, form, refused, "name a .csv or .jsonl file, or choose with --format")
    return form or ("csv" if suffix == ".csv" else "jsonl")


def _suffix(output: str | None, form: str | None, refused: Collection[str], hint: str) -> str:
    """Return the suffix of a file that is to be written; raise if it cannot be, or if no form is named and its suffix
    is `refused`."""
    check_output(output)
    suffix = Path(output or "").suffix.lower()
    if suffix in refused and form is None:
        raise UsageError(f"{suffix[1:].upper()} files cannot be written", place=str(output), hint=hint)
    return suffix


@dataclass(frozen=True, slots=True)
class OutputTarget:
    """A file and its format, or stdout; with `as_json` stdout gets the JSON object, whatever the file gets."""

    output: str | None
    form: Format
    as_json: bool = False

    @property
    def printed(self) -> Format | None:
        """The format printed to stdout; None if only the file is written."""
        if self.as_json:
            return "json"
        return None if self.output else self.form


def target(output: str | None, form: Format | None, *, as_json: bool) -> OutputTarget:
    """Return the output target; the file's suffix decides the format unless `--format` is given."""
    from redraft.report.outputs.formats import format_of

    if output is None:
        if as_json and form not in (None, "json"):
            problem = f"--json prints JSON, and --format {form} is another format"
            raise UsageError(problem, hint="write one to a file: -o")
        if form == "docx":
            raise UsageError("a .docx file cannot be printed", hint="name it with -o, as in -o summary.docx")
        if form == "html" and sys.stdout.isatty():
            raise UsageError("HTML is not printed to a terminal", hint="name a file with -o, as in -o summary.html")
        return OutputTarget(None, form or "text", as_json or form == "json")
    _suffix(output, form, _OTHERS - {".docx"}, "name a .docx, .html, .md or .txt file, or choose with --format")
    return OutputTarget(output, form or format_of(output), as_json)


Form = Literal["html", "markdown", "json"]
TableForm = Literal["jsonl", "csv"]
# Suffixes under which a page would not open.
_OTHERS = frozenset({".docx", ".doc", ".odt", ".rtf", ".pdf", ".epub", ".xlsx", ".csv", ".tex", ".xml", ".jsonl"})
FILES = _OTHERS | {".html", ".htm", ".md", ".markdown", ".txt", ".json"}


page_options = options.grouped(
    options.output_file,
    options.typed_option(
        *("--format", "form"),
        type=click.Choice(get_args(Form)),
        help="The format; by default FILE's ending decides, and without a file it is Markdown.",
    ),
)
"""The options of a command that writes a page, or one of the other formats."""


def form_of(form: Form | None, output: str | None) -> Form:
    """Return the form that is asked for, or else that of the file's suffix; without a file Markdown. Raises for a file
    that cannot be written."""
    from redraft.report.outputs.formats import format_of

    _suffix(output, form, _OTHERS, "name a .html, .md or .json file")
    of_suffix = format_of(output) if output else "markdown"
    return form or (of_suffix if of_suffix == "markdown" or of_suffix == "json" else "html")


def write_text(text: str, output: str | None, hint: str = "name another file with -o") -> None:
    """Write a text to a file if one is named, else to stdout."""
    if output:
        write(Path(output).expanduser(), text, hint)
    else:
        click.echo(text, nl=bool(text) and not text.endswith("\n"))


def hand_over(text: str, form: Form, holds: str, output: str | None, *, quiet: bool) -> None:
    """Write a text to the file or stdout, and say what it contains."""
    if form == "markdown" and output is None:
        show_markdown(text)
        return
    write_text(text, output)
    if output and not quiet:
        say(f"written to {output}: {len(text.encode()) / 1000:,.0f} KB. {holds}")
