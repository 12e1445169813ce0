"""`redraft summarize --template`: a form filled from a document, section by section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from redraft.cli import given as asked
from redraft.errors import UsageError

if TYPE_CHECKING:
    from redraft.cli.output_files import Target
    from redraft.domain import Document
    from redraft.report.outputs.formats import Template
    from redraft.runs.forms import FilledForm
    from redraft.settings import DraftConfig, Limits, Purpose


_STORED = "what is drafted is stored: repeat the command with another file"


def fill_form(
    sources: Sequence[str],
    given: Mapping[str, Any],
    settings: DraftConfig,
    purpose: Purpose,
    limits: Limits,
    to: Target,
    *,
    quiet: bool,
) -> int:
    """Draft every section of the template, and write and print the form; returns the exit code."""
    from redraft.cli.delivery import closed, work
    from redraft.cli.views.filled import closing
    from redraft.cli.views.outcome import deliver
    from redraft.llm.prices import price_table
    from redraft.runs.experiment_runner import ExperimentRunner
    from redraft.runs.forms import fill, form_paper
    from redraft.store.store import Store

    template = _template(given, settings, purpose)
    document, prices = _document(sources, given), price_table(given["prices"])
    if given["dry_run"]:
        return _plan(document, settings, template, purpose, given, as_json=to.as_json)
    with Store(given["db"]) as store:
        form: FilledForm = work(
            lambda display: fill(
                ExperimentRunner(store, limits, prices, display.observe), document, settings, template, purpose
            ),
            quiet=quiet,
        )
        deliver(lambda notes: form_paper(store, form, notes=notes), form.to_json(), to, _STORED)
    if not quiet:
        closing(form, to.output)
    return closed(form.complete, form.stopped, done=any(one.run for one in form.filled), quiet=quiet)


def _template(given: Mapping[str, Any], settings: DraftConfig, purpose: Purpose) -> Template:
    """The template, once it is known that nothing else was asked for that would be lost."""
    from redraft.evaluators.catalog import metrics
    from redraft.report.outputs.formats import read_template

    if settings.query is not None:
        raise UsageError("--template has a question for each section, and --query another", hint="leave one out")
    if settings.by_chapter:
        raise UsageError("--template has sections of its own, and --by-chapter others", hint="leave one out")
    if purpose.refinement and purpose.refinement.review:
        raise UsageError("--review asks about one summary, and a form has several", hint="leave it out")
    named = purpose.judging.metrics if purpose.judging else ()
    if whole := [one.name for one in metrics(named) if one.needs]:
        said = f"{' and '.join(whole)} asks about all of the document, and a section answers one question"
        raise UsageError(said, hint="judge sections by what they say, as with -g consistency=0.9")
    path = given["template"]
    return read_template(asked.text(path, quiet=True), path, settings.words)


def _document(sources: Sequence[str], given: Mapping[str, Any]) -> Document:
    from redraft.domain import Document
    from redraft.readers.documents import load_all

    found = asked.document_at(sources, given)
    return found if isinstance(found, Document) else load_all(sources)


def _plan(
    document: Document,
    settings: DraftConfig,
    template: Template,
    purpose: Purpose,
    given: Mapping[str, Any],
    *,
    as_json: bool,
) -> int:
    from redraft.cli.views.filled import show_spendings
    from redraft.llm.prices import price_table
    from redraft.runs.forms import spendings

    show_spendings(template, spendings(document, settings, template, purpose, price_table(given["prices"])), as_json)
    return 0
