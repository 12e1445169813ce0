"""Output files and their formats, checked before anything is spent."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import click

from redraft.cli import options
from redraft.cli.terminal import say
from redraft.errors import UsageError
from redraft.sources import write

if TYPE_CHECKING:
    from pydantic import BaseModel

    from redraft.report.outputs.formats import Format


C = TypeVar("C", bound="BaseModel")


def check_output(output: str | None) -> None:
    """Raise if a file cannot be written, before anything is spent on its content."""
    if output is None:
        return
    path = Path(output).expanduser()
    if path.is_dir() or not path.parent.is_dir():
        what = "it is a directory" if path.is_dir() else "its directory does not exist"
        raise UsageError(f"cannot be written: {what}", place=output)


def check_folder(output: str | None) -> None:
    """Raise if what is to be a folder has the name of a file, unless there is such a folder."""
    if output and Path(output).suffix.lower() in _FILES and not Path(output).expanduser().is_dir():
        hint = "for a table: redraft batch results -o results.csv"
        raise UsageError("--output names a folder for the summaries", place=output, hint=hint)


def table_form(form: TableForm | None, output: str | None) -> TableForm:
    """Return the form of a table of documents: `form`, or else that of the file's suffix. Raises for a file that cannot
    be written."""
    check_output(output)
    suffix = Path(output or "").suffix.lower()
    if form is None and suffix in _FILES - {".csv", ".jsonl", ".json", ".txt"}:
        hint = "name a .csv or .jsonl file, or choose with --format"
        raise UsageError(f"{suffix[1:].upper()} files cannot be written", place=str(output), hint=hint)
    return form or ("csv" if suffix == ".csv" else "jsonl")


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

    check_output(output)
    if output is None:
        if as_json and form not in (None, "json"):
            problem = f"--json prints JSON, and --format {form} is another format"
            raise UsageError(problem, hint="write one to a file: -o")
        if form == "docx":
            raise UsageError("a .docx file cannot be printed", hint="name it with -o, as in -o summary.docx")
        if form == "html" and sys.stdout.isatty():
            raise UsageError("HTML is not printed to a terminal", hint="name a file with -o, as in -o summary.html")
        return OutputTarget(None, form or "text", as_json or form == "json")
    suffix = Path(output).suffix.lower()
    if form is None and suffix in _OTHERS - {".docx"}:
        raise UsageError(
            f"{output}: {suffix[1:].upper()} files cannot be written",
            hint="name a .docx, .html, .md or .txt file, or choose with --format",
        )
    return OutputTarget(output, form or format_of(output), as_json)


Form = Literal["html", "markdown", "json"]
TableForm = Literal["jsonl", "csv"]
# Suffixes under which a page would not open.
_OTHERS = frozenset({".docx", ".doc", ".odt", ".rtf", ".pdf", ".epub", ".xlsx", ".csv", ".tex", ".xml", ".jsonl"})
_FILES = _OTHERS | {".html", ".htm", ".md", ".markdown", ".txt", ".json"}


def form_options(*forms: Form) -> Callable[[options.F], options.F]:
    """Return the options of a command that writes a page, or one of the other formats."""
    return options.grouped(
        options.output_file,
        options.typed_option(
            *("--format", "form"),
            type=click.Choice(forms),
            help="The format; by default FILE's ending decides, else a page, on a terminal Markdown.",
        ),
    )


def form_of(form: Form | None, output: str | None) -> Form:
    """Return the form that is asked for, or else that of the file's suffix; without a file a page, or Markdown on a
    terminal. Raises for a file that cannot be written."""
    from redraft.report.outputs.formats import format_of

    check_output(output)
    suffix = Path(output or "").suffix.lower()
    if form is None and suffix in _OTHERS:
        raise UsageError(
            f"{suffix[1:].upper()} files cannot be written", place=str(output), hint="name a .html, .md or .json file"
        )
    if form is None and output is None and sys.stdout.isatty():
        return "markdown"
    of_suffix = format_of(output or "")
    return form or (of_suffix if of_suffix == "markdown" or of_suffix == "json" else "html")


def render_content(content: C, form: Form, page: Callable[[C], str]) -> str:
    """Return the content as JSON or HTML."""
    return content.model_dump_json(indent=2) + "\n" if form == "json" else page(content)


def write_text(text: str, output: str | None, hint: str = "name another file with -o") -> None:
    """Write a text to a file if one is named, else to stdout."""
    if output:
        write(Path(output).expanduser(), text, hint)
    else:
        click.echo(text, nl=bool(text) and not text.endswith("\n"))


def hand_over(text: str, form: Form, holds: str, output: str | None, *, quiet: bool) -> None:
    """Write a text to the file or stdout, and say what it contains."""
    if form == "markdown" and output is None:
        from redraft.cli.views.markdown import show

        show(text)
        return
    write_text(text, output)
    if output and not quiet:
        say(f"written to {output}: {len(text.encode()) / 1000:,.0f} KB. {holds}")
