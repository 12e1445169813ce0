"""`redraft refine`: a summary mended until it meets its goals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from redraft.cli import judging, options
from redraft.cli.presets import preset_option
from redraft.cli.sections import command
from redraft.cli.terminal import reading

if TYPE_CHECKING:
    from redraft.outputs.formats import Format

_EPILOG = """\b
Examples:
  redraft refine book.txt summary.md
  redraft refine book.txt summary.md -g coverage=0.9 -g consistency=0.9
  redraft refine book.txt summary.md -m openai:gpt-5-mini -o better.md
  redraft refine book.txt summary.md -g keyfact_recall=0.5 -g faithfulness=0.9
  redraft refine book.txt summary.md -g booookscore=0.9 -g coverage=0.7
  redraft refine book.txt summary.md --review
  redraft lineage 3fa2 --lost --json > lost.json
  redraft refine book.txt summary.md --findings lost.json

Without any --goal the goals are coverage=0.8 and consistency=0.85. The limit is
--words, or else the length of the summary that is given. The exit code is 3 when
a goal is missed; the best draft is printed all the same.
"""


@command(
    epilog=_EPILOG,
    first=("words", "model", "judge", "goal", "rounds", "review", "max-cost", "dry-run", "output", "quiet"),
)
@options.sources
@click.argument("summary")
@judging.findings
@judging.refining_options
@options.length_options
@judging.judging_options
@preset_option
@options.model_options
@options.part_options
@options.limit_options
@options.max_source
@options.prices
@options.dry_run
@options.summary_output
@options.db
@options.as_json
@options.quiet
def refine(
    sources: tuple[str, ...],
    summary: str,
    findings: str | None,
    dry_run: bool,
    output: str | None,
    form: Format | None,
    db: str | None,
    prices: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Refine SUMMARY, a summary of SOURCE or of several, until it meets its goals. One of them may be - for stdin."""
    reading(*sources, summary, quiet=quiet)
    from redraft.cli import given as asked
    from redraft.cli.running import work
    from redraft.cli.target import target
    from redraft.cli.terminal import say
    from redraft.cli.views.outcome import finish
    from redraft.cli.views.plans import show_plan
    from redraft.cli.views.render import count
    from redraft.models.prices import price_table
    from redraft.runs.preparing import Order
    from redraft.settings import with_draft
    from redraft.store.store import Store

    to = target(output, form, as_json=as_json)
    settings, limits, refinement = asked.settings(given), asked.limits(given), asked.refinement(given)
    judging = asked.judging(given, refinement)
    text = asked.draft(sources, summary, findings, review=refinement.review and not dry_run, quiet=quiet)
    wanted = asked.findings(findings)
    table, document = price_table(prices), asked.document_at(sources, given)
    if dry_run:
        order = Order(with_draft(judging, refinement), given=text, findings=wanted)
        return show_plan(document, settings, order, table, limits, as_json=to.as_json)
    with Store(db) as store:
        judging = asked.known_pack(judging, store)
        result = work(
            store,
            lambda shop: shop.refine(
                document, text, settings=settings, judging=judging, refinement=refinement, findings=wanted
            ),
            limits=limits,
            prices=table,
            quiet=quiet,
        )
        code = finish(store, result, target=to, as_json=to.as_json, quiet=quiet)
        if given["words"] is None and not quiet:
            say(f"limit: {count(result.settings.words or 0, 'word')} (--words N for another)")
        return code
