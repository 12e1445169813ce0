"""`redraft data`: measure and convert the files of public data sets."""

from __future__ import annotations

from typing import Any

import click

from redraft.cli import options
from redraft.cli.output_files import check_output, write_text
from redraft.cli.terminal import DONE, SHORT, say, say_reading
from redraft.errors import UsageError
from redraft.lab.commands import delivery
from redraft.lab.commands.delivery import lab_command, lab_group
from redraft.lab.declared import require_lab
from redraft.text.words import count


@lab_command("describe")
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
    """Measure summaries against their documents, as in table 4.1 of the thesis."""
    require_lab("redraft data describe")
    from redraft.lab.experiments.sources import description, read_contents

    folder = delivery.folder(output)
    say_reading(*files, quiet=quiet)
    contents = [read_contents(file) for file in files]
    delivery.deliver(description(contents, sample), folder, as_json=as_json, quiet=quiet)
    return SHORT if any(file_contents.troubles or not file_contents.examples for file_contents in contents) else DONE


@lab_command("convert")
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
    """Write the documents of data sets into one file."""
    from redraft.lab.experiments.sources import VOCABULARY, as_line, join_examples, read_contents, read_examples
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
            say(f"left out: {left_out:,} that cannot be read; `redraft data describe` lists them")
    return SHORT if left_out else DONE


data = lab_group("data", describe, convert)
