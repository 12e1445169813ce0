"""`redraft data`: list public data sets, say where to get them, and check and convert their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options
from redraft.cli.output_files import check_output, write_text
from redraft.cli.sections import CommandGroup, command
from redraft.cli.terminal import DONE, SHORT, say, say_reading
from redraft.errors import UsageError
from redraft.lab.commands import delivery
from redraft.text.words import count

if TYPE_CHECKING:
    from redraft.lab.experiments.data.read import DataContents
    from redraft.report.tables import Report

_EPILOG = """\b
Examples:
  redraft data list
  redraft data fetch-help squality
  redraft data check dev.jsonl
  redraft data describe dev.jsonl --sample 5
  redraft data convert xsum.jsonl --join-tokens 128000 -o long.jsonl

redraft downloads nothing itself: fetch-help says what to download from where.
Whatever `check` can read is a SOURCE of every experiment.
"""


@click.group(cls=CommandGroup, epilog=_EPILOG)
def data() -> None:
    """Public sets of long documents: where to get them, and what a file of one holds."""


@command("list", short_help="List the public data sets that can be read.")
@options.as_json
def list_(as_json: bool) -> int:
    """List the public sets whose files can be read, with the forms in which they are published."""
    from redraft.cli.views.render import show
    from redraft.lab.experiments.data.read import SETS

    sets = SETS.values()
    content = [{"name": dataset.name, "title": dataset.title, "forms": list(dataset.forms)} for dataset in sets]
    lines = (
        f"{dataset.name:14} {dataset.title}\n{'':14} {dataset.about}\n{'':14} forms: {'; '.join(dataset.forms)}"
        for dataset in sets
    )
    show(content, lines, as_json=as_json)
    return 0


@command("fetch-help", short_help="Show how to download a set.")
@click.argument("name", metavar="NAME")
def fetch_help(name: str) -> int:
    """Show where to download the set NAME, and its licence as far as known."""
    from redraft.lab.experiments.data.read import SETS

    if name not in SETS:
        raise UsageError(f"there is no data set {name!r}", hint=f"choose from: {', '.join(SETS)}")
    dataset = SETS[name]
    click.echo(f"{dataset.title}\n{dataset.about}\n")
    for number, step in enumerate(dataset.where, 1):
        click.echo(f"{number}. {step}")
    click.echo(f"\nlicence: {dataset.licence} Check it where the set is published.")
    for file, entries in dataset.published.items():
        click.echo(f"published: {file}, {entries:,}")
    click.echo("then: redraft data check FILE")
    return 0


@command("check", short_help="Check files: form, counts, checksum, oddities.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.max_source
@delivery.output
@options.as_json
@options.quiet
def check(files: tuple[str, ...], output: str | None, as_json: bool, quiet: bool) -> int:
    """Check FILEs entry by entry: their form, how many documents and summaries, the SHA-256, and oddities.

    The exit code is 3 when an entry cannot be read.
    """
    from redraft.lab.experiments.data.describe import check as checked

    return _report(files, checked, output, as_json=as_json, quiet=quiet)


@command("describe", short_help="Statistics of sets: lengths, compression, copying.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.option(
    "--sample",
    section="summary",
    type=click.IntRange(min=1),
    metavar="N",
    found="yes",
    help="Documents of each FILE, evenly spread.  [default: all]",
)
@options.max_source
@delivery.output
@options.as_json
@options.quiet
def describe(files: tuple[str, ...], sample: int | None, output: str | None, as_json: bool, quiet: bool) -> int:
    """Measure the summaries of FILEs against their documents, as in table 4.1 of the thesis."""
    from redraft.lab.experiments.data.describe import description

    return _report(files, lambda found: description(found, sample), output, as_json=as_json, quiet=quiet)


@command("convert", short_help="Write the documents of a set as lines of JSON.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.typed_option(
    "--join-tokens",
    section="summary",
    type=click.IntRange(min=1),
    metavar="N",
    help="Join short articles, and their summaries, until a document has N tokens.",
)
@options.max_source
@options.typed_option("--output", "-o", section="output", required=True, metavar="FILE", help="File to write.")
@options.quiet
def convert(files: tuple[str, ...], join_tokens: int | None, output: str | None, quiet: bool) -> int:
    """Write the documents of FILEs with their summaries into one file, a JSON object on each line.

    Entries that cannot be read are left out; the exit code is 3 then.
    """

    from redraft.lab.experiments.data.describe import VOCABULARY
    from redraft.lab.experiments.data.read import as_line, join_examples, read_contents, read_examples
    from redraft.text.tokens import tokenizer_named

    check_output(output)
    say_reading(*files, quiet=quiet)
    data_contents = [read_contents(file) for file in files]
    examples: Any = [
        example
        for file, contents in zip(files, data_contents, strict=True)
        for example in contents.examples or read_examples(file)
    ]
    read, left_out = len(examples), sum(len(contents.troubles) for contents in data_contents)
    if join_tokens is not None:
        examples = list(join_examples(examples, join_tokens, tokenizer_named(VOCABULARY)))
    if not examples:
        raise UsageError(f"all {read:,} documents together have fewer than {join_tokens:,} tokens")
    write_text("".join(map(as_line, examples)), output)
    if not quiet:
        say(f"{count(len(examples), 'document')} written to {output or 'stdout'}, made of {read:,}")
        if left_out:
            say(f"left out: {left_out:,} that cannot be read; `redraft data check` lists them")
    return SHORT if left_out else DONE


def _report(
    files: Sequence[str],
    describe: Callable[[list[DataContents]], Report],
    output: str | None,
    *,
    as_json: bool,
    quiet: bool,
) -> int:
    """Read files, and deliver a report on them; returns the exit code."""
    from redraft.lab.experiments.data.read import read_contents

    folder = delivery.folder(output)
    say_reading(*files, quiet=quiet)
    data_contents = [read_contents(file) for file in files]
    delivery.deliver(describe(data_contents), folder, as_json=as_json, quiet=quiet)
    return SHORT if any(contents.troubles or not contents.examples for contents in data_contents) else DONE


for each in (list_, fetch_help, check, describe, convert):
    data.add_command(each)
