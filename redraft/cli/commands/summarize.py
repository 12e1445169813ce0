"""`redraft summarize`: the summary of a document, or a form filled from it (`--template`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from redraft.cli import given as asked
from redraft.cli import options
from redraft.cli.options import preset_option
from redraft.cli.output_files import target
from redraft.cli.sections import command
from redraft.errors import UsageError
from redraft.settings import with_draft

if TYPE_CHECKING:
    from redraft.report.outputs.formats import Format, Template
    from redraft.settings import DraftConfig, Purpose


def _template(given: Mapping[str, Any], settings: DraftConfig, purpose: Purpose) -> Template:
    """Return the template; raises for options that a form cannot honor."""
    from redraft.evaluators.catalog import evaluators
    from redraft.report.outputs.formats import read_template

    if settings.query is not None:
        raise UsageError(
            "--query cannot be combined with --template", hint="each section of the template is a question"
        )
    if settings.by_chapter:
        raise UsageError("--by-chapter cannot be combined with --template", hint="leave one out")
    if purpose.refinement and purpose.refinement.review:
        raise UsageError("--review works on one summary, and a form has several", hint="leave it out")
    if whole := [one.name for one in (evaluators(purpose.judging) if purpose.judging else ()) if one.needs]:
        said = f"{' and '.join(whole)} judges the whole document, and a section answers one question"
        raise UsageError(said, hint="judge sections by a metric of their own text, such as -g consistency=0.9")
    path = given["template"]
    return read_template(asked.text(path, quiet=True), path, settings.words)


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

Options on goals and judges need --refine: see `redraft refine --help`.
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
@options.refining_options
@options.judging_options
@preset_option
@options.asking_options
@options.summary_output
@options.typed_option(
    "--template",
    section="summary",
    metavar="FILE",
    help="Form to fill: Markdown headings such as '## Findings (120 words)', each with an instruction below.",
)
@options.store_options
def summarize(sources: tuple[str, ...], output: str | None, form: Format | None, **given: Any) -> int:
    """Summarize SOURCE: text, Markdown, HTML, EPUB, PDF, DOCX, ODT, RTF, or - for stdin.

    Several sources are read as one document; citations name the source.
    """
    from redraft.cli.runner import carry_out, fill_form
    from redraft.runs.prepare import RunSpec

    to = target(output, form, as_json=given["as_json"])
    judging, refinement = asked.refined(given, "the summary")
    settings, purpose = asked.settings(given), with_draft(judging, refinement)
    if refinement and refinement.review and "-" in sources and not given["dry_run"]:
        raise UsageError("--review reads your answers from stdin", hint="give SOURCE as a file")
    template = _template(given, settings, purpose) if given["template"] else None
    document = asked.document_at(sources, given)
    if template:
        return fill_form(document, template, settings, purpose, given, to)
    return carry_out(document, settings, RunSpec(purpose), given, target=to)
