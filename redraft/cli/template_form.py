"""`redraft summarize --template`: a form filled from a document, section by section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from redraft.cli import given as asked
from redraft.errors import UsageError

if TYPE_CHECKING:
    from redraft.cli.output_files import Target
    from redraft.report.outputs.formats import Template
    from redraft.settings import DraftConfig, Limits, Purpose


_STORED = "the drafts are stored: repeat the command with another file"


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
    """Draft every section of the template, then write and print the form; return the exit code."""
    from redraft.cli.delivery import closed, work
    from redraft.cli.views.outcome import close_form, deliver, show_form_plan
    from redraft.runs.forms import fill, form_paper, spendings
    from redraft.store.store import Store

    template, document = _template(given, settings, purpose), asked.document_at(sources, given)
    wanted, prices = (document, settings, template, purpose), asked.prices(given)
    if given["dry_run"]:
        return show_form_plan(template, spendings(*wanted, prices), as_json=to.as_json)
    with Store(given["db"]) as store:
        form = work(lambda runner: fill(runner, *wanted), store, limits, prices, quiet=quiet)
        deliver(lambda notes: form_paper(store, form, notes=notes), form.to_json(), to, _STORED)
    if not quiet:
        close_form(form, to.output)
    return closed(form.complete, form.stopped, done=any(one.run for one in form.filled), quiet=quiet)


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
        raise UsageError(said, hint="judge sections by what they say, as with -g consistency=0.9")
    path = given["template"]
    return read_template(asked.text(path, quiet=True), path, settings.words)
