"""`redraft keyfacts`: the facts that a good summary of a document may state, as trees."""

from __future__ import annotations

from typing import Any

from redraft.cli import given as asked
from redraft.cli import options
from redraft.cli.presets import preset_option
from redraft.cli.sections import command
from redraft.cli.terminal import reading
from redraft.settings import BuildKeyfacts

_EPILOG = """\b
Examples:
  redraft keyfacts book.txt
  redraft keyfacts book.txt --perspective narrative --pruned
  redraft keyfacts book.txt -m openai:gpt-5-mini --validator openai:gpt-5
  redraft keyfacts book.txt --json > trees.json

`redraft evaluate --metric keyfact_recall` judges by them, and
`redraft evaluate --query TEXT` by one tree, when TEXT is its query.
`redraft pack export` shares them.
"""


@command(
    epilog=_EPILOG,
    first=("model", "judge", "validator", "perspective", "max-cost", "dry-run", "pruned", "db", "json", "quiet"),
)
@options.sources
@options.keyfact_options
@options.typed_option("--pruned", section="output", is_flag=True, help="Also show pruned facts, and why.")
@options.judge_options
@preset_option
@options.asking_options
@options.store_options
def keyfacts(sources: tuple[str, ...], pruned: bool, **given: Any) -> int:
    """Find the key facts of SOURCE, unless they are stored already, and show them as trees.

    Each chunk has main facts (roots), supporting facts (branches) and details (leaves). A validator prunes facts that
    the text does not support, opinions and trivia. Key facts are built once and then kept.
    """
    reading(*sources, quiet=given["quiet"])
    from redraft.cli.runner import carry_out
    from redraft.runs.prepare import RunSpec

    order = RunSpec(BuildKeyfacts(judging=asked.judging_no_draft(given)))
    return carry_out(asked.document_at(sources, given), asked.settings(given), order, given, pruned=pruned)
