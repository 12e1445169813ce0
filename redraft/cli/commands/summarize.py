"""`redraft summarize`: the summary of a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from redraft.cli import judging, options
from redraft.cli.presets import about_judging_alone, preset_option
from redraft.cli.sections import command
from redraft.cli.terminal import reading, say
from redraft.errors import UsageError

if TYPE_CHECKING:
    from redraft.outputs.formats import Format

_EPILOG = """\b
Examples:
  redraft summarize book.txt
  cat book.md | redraft summarize - -w 300 --json
  redraft summarize book.epub --chapters 3-12 --skip notes
  redraft summarize a.docx b.html c.md --words 500
  redraft summarize report.pdf --pages 10-80 --by-chapter -o summaries.md
  redraft summarize book.txt --query "Why does the bank fail?"
  redraft summarize book.txt -m openai:gpt-5-mini --max-cost 0.50 -o out.docx
  redraft summarize book.txt --refine -g coverage=0.8 -g consistency=0.9
  redraft summarize report.pdf --template form.md -o form.docx

The options on goals and judges go with --refine, which is explained by
`redraft refine --help`.
"""


@command(
    epilog=_EPILOG,
    first=("words", "model", "refine", "goal", "judge", "max-cost", "dry-run", "output", "json", "quiet"),
)
@options.sources
@options.drafting_options
@options.by_chapter
@options.option(
    "--refine", section="summary", is_flag=True, help="Judge the summary, and refine it until it meets its goals."
)
@judging.refining_options
@judging.judging_options
@preset_option
@options.model_options
@options.part_options
@options.limit_options
@options.max_source
@options.prices
@options.dry_run
@options.summary_output
@options.typed_option(
    "--template",
    section="summary",
    metavar="FILE",
    help="A form to fill: Markdown headings such as '## Findings (120 words)', with what belongs there below each.",
)
@options.db
@options.as_json
@options.quiet
def summarize(
    sources: tuple[str, ...],
    refine: bool,
    output: str | None,
    form: Format | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Summarize SOURCE: text, Markdown, HTML, EPUB, PDF, DOCX, ODT, RTF, or - for stdin.

    Several are read as one, and of each sentence it is known which of them it comes from.
    """
    reading(*sources, quiet=quiet)
    from redraft.cli import given as asked
    from redraft.cli.filling import fill_form
    from redraft.cli.running import work
    from redraft.cli.target import target
    from redraft.cli.views.outcome import finish
    from redraft.cli.views.plans import show_plan
    from redraft.models.prices import price_table
    from redraft.runs.preparing import Order
    from redraft.settings import with_draft
    from redraft.store.store import Store

    to = target(output, form, as_json=as_json)
    _check_alone(refine, given, quiet=quiet)
    settings, limits = asked.settings(given), asked.limits(given)
    refinement = asked.refinement(given) if refine else None
    judging = asked.judging(given, refinement) if refine else None
    if refinement and refinement.review and "-" in sources and not given["dry_run"]:
        raise UsageError("--review reads your answers from stdin", hint="give SOURCE as a file")
    if given["template"]:
        return fill_form(sources, given, settings, with_draft(judging, refinement), limits, to, quiet=quiet)
    document, table = asked.document_at(sources, given), price_table(given["prices"])
    if given["dry_run"]:
        return show_plan(document, settings, Order(with_draft(judging, refinement)), table, limits, as_json=to.as_json)
    with Store(given["db"]) as store:
        judging = asked.known_pack(judging, store) if judging else None
        result = work(
            store,
            lambda shop: shop.summarize(document, settings=settings, judging=judging, refinement=refinement),
            limits=limits,
            prices=table,
            quiet=quiet,
        )
        return finish(store, result, target=to, as_json=to.as_json, quiet=quiet)


def _check_alone(refine: bool, given: dict[str, Any], *, quiet: bool) -> None:
    """Refuse options that a draft alone has no use for, and say so of a preset."""
    from redraft.cli import given as asked

    if refine:
        return
    if stray := asked.typed(given):
        name = next(iter(stray)).replace("_", "-")
        raise UsageError(f"--{name} is about judging the summary and refining it", hint="add --refine")
    if not quiet and (preset := about_judging_alone(click.get_current_context())):
        say(f"note: the preset {preset} is about judging and refining, and makes no difference without --refine")
