"""`redraft experiment chunk-size`: how large chunks should be."""

from __future__ import annotations

from typing import Any

from redraft.cli import delivery, options
from redraft.cli.commands.experiment import contestants as common
from redraft.cli.presets import preset_option
from redraft.cli.sections import command
from redraft.cli.terminal import reading
from redraft.errors import UsageError

_LEAST_SIZE = 64


_EPILOG = """\b
Examples:
  redraft experiment chunk-size book.txt --judge openai:a --judge openai:b
  redraft experiment chunk-size *.txt --judge openai:a --sizes 1024,2048

The exit code is 3 when something is missing: items failed, or the budget is
used up. Repeat the command, with a higher limit, to continue.
"""


@command(
    "chunk-size",
    short_help="Measure which chunk size suits key facts best.",
    epilog=_EPILOG,
    first=("sizes", "sample", "judge", "context-tokens", "dry-run", "max-calls", "max-cost", "output", "json", "quiet"),
)
@options.sources
@options.required_judges
@options.judge_base_url
@options.typed_option(
    "--sizes",
    section="summary",
    default="1024,2048,4096,8192",
    metavar="N,N...",
    help="Chunk sizes to compare, in tokens.",
)
@common.count(
    "--sample", "summary", "Maximum number of chunks per size, drawn at random from all SOURCEs.", 100, at="chunks"
)
@options.typed_option("--seed", section="summary", type=int, default=0, metavar="N", help="Seed of the random draw.")
@options.window("what the largest size needs")
@options.temperature
@options.prompt_set
@options.replies
@preset_option
@options.dry_run
@delivery.run_options
def chunk_size(sources: tuple[str, ...], **given: Any) -> int:
    """Ask judges how suitable chunks of SOURCEs of several sizes are for finding key facts."""
    reading(*sources, quiet=given["quiet"])
    from redraft.lab.experiments.chunk_size import EXPERIMENT, SizeDesign
    from redraft.lab.experiments.sources import documents_of

    sizes, how = _sizes(given["sizes"]), common.reading_of(given, given["judge"])
    design = SizeDesign(sizes=sizes, sample=given["chunks"], seed=given["seed"], **how)
    return delivery.carry_out(EXPERIMENT, documents_of(sources), design, given)


def _sizes(words: str) -> tuple[int, ...]:
    try:
        sizes = tuple(sorted({int(word) for word in words.split(",")}))
    except ValueError:
        raise UsageError(f"--sizes: {words!r} is not a list of sizes", hint="write them as 1024,2048") from None
    if sizes[0] < _LEAST_SIZE:
        raise UsageError(f"--sizes: a chunk of {sizes[0]} tokens is too small", hint=f"use {_LEAST_SIZE} or more")
    return sizes
