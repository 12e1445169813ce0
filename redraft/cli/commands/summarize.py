"""`redraft summarize`, `evaluate`, `refine` and `compare`: write a summary, judge one, revise one until it meets its
goals, and compare two; `resume` and `fork`: continue a run, and refine one of its drafts again with other settings."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from redraft.cli import options, parse_options
from redraft.cli.hints import if_installed, own_places
from redraft.cli.output_files import target
from redraft.cli.sections import SourceArgument, command
from redraft.cli.terminal import say_reading
from redraft.errors import UsageError
from redraft.order import JUDGES_ADDRESS, Compare, Evaluate, OrderParts, Refine, order_of_draft
from redraft.settings import EXTRACTIVE
from redraft.sources import STDIN

if TYPE_CHECKING:
    from redraft.report.outputs.formats import Format


@command()
@options.sources
@options.drafting_options
@options.settings("by_chapter")
@options.refine_flag("Judge the summary, and refine it until it meets its goals.")
@options.refining_options
@options.judging_options
@options.preset_option
@options.asking_options
@options.summary_output
@options.typed_option(
    "--template",
    section="summary",
    metavar="FILE",
    help="Form to fill: Markdown headings such as '## Findings (120 words)', each with an instruction below.",
)
@options.store_options
def summarize(sources: tuple[str, ...], output: str | None, form: Format | None, **values: Any) -> int:
    """Summarize SOURCE: text, Markdown, HTML, EPUB, PDF, DOCX, ODT, RTF, or - for stdin.

    Several sources are read as one document; citations name the source.
    """
    from redraft.cli.runner import carry_out, fill_form

    to = target(output, form, as_json=values["as_json"])
    judging, refinement = parse_options.refined(values, "the summary")
    order = order_of_draft(judging, refinement, settings=parse_options.settings(values))
    if refinement and refinement.review and "-" in sources and not values["dry_run"]:
        raise UsageError("--review reads your answers from stdin", hint="give SOURCE as a file")
    if not values["template"]:
        return carry_out(sources, order, values, target=to)

    from redraft.evaluators.catalog import evaluators
    from redraft.report.outputs.formats import read_template

    if order.settings.query is not None:
        hint = "each section of the template is a question"
        raise UsageError("--query cannot be combined with --template", hint=hint)
    if order.settings.by_chapter:
        raise UsageError("--by-chapter cannot be combined with --template", hint="leave one out")
    if refinement and refinement.review:
        raise UsageError("--review works on one summary, and a form has several", hint="leave it out")
    metrics = evaluators(judging) if judging else ()
    if of_whole_document := [metric.name for metric in metrics if metric.needs]:
        problem = f"{' and '.join(of_whole_document)} judges the whole document, and a section answers one question"
        raise UsageError(problem, hint="judge sections by a metric of their own text, such as -g consistency=0.9")
    text = parse_options.read_text(values["template"], quiet=True)
    template = read_template(text, values["template"], order.settings.words)
    return fill_form(parse_options.document_at(sources, values), template, order, values, to)


@command()
@options.sources
@click.argument("summary", cls=SourceArgument)
@options.settings("metrics", "query")
@options.judging_options
@options.settings("verify_against")
@options.option(
    "--reference",
    section="judging",
    metavar="FILE",
    help="Another summary of SOURCE, for comparison by --metric position.",
)
@options.preset_option
@options.asking_options
@options.show_all
@options.store_options
def evaluate(sources: tuple[str, ...], summary: str, reference: str | None, **values: Any) -> int:
    """Judge SUMMARY, a summary of SOURCE: a file, or a stored run. One of them may be - for stdin."""
    from redraft.cli.runner import carry_out

    quiet = values["quiet"]
    settings, judging = parse_options.settings(values), parse_options.judging(values)
    parse_options.check_query(values, judging)
    text = parse_options.read_summary(sources, summary, quiet=quiet)
    if reference:
        judging = judging.model_copy(update={"reference": parse_options.read_text(reference, quiet=quiet)})
    order = Evaluate(settings=settings, judging=judging, given=text)
    return carry_out(sources, order, values)


@command()
@options.sources
@click.argument("summary", cls=SourceArgument)
@options.findings
@options.requests
@options.refining_options
@options.length_options
@options.judging_options
@options.preset_option
@options.asking_options
@options.summary_output
@options.store_options
def refine(
    sources: tuple[str, ...],
    summary: str,
    findings: str | None,
    requests: tuple[str, ...],
    output: str | None,
    form: Format | None,
    **values: Any,
) -> int:
    """Refine SUMMARY, a summary of SOURCE, until it meets its goals. It is a file, or a stored run.

    One of them may be - for stdin.
    """
    from redraft.cli.runner import carry_out

    quiet = values["quiet"]
    to = target(output, form, as_json=values["as_json"])
    if click.get_current_context().get_parameter_source("words") is ParameterSource.DEFAULT_MAP:
        # A settings file says how long drafts are; a given summary keeps its own length.
        values["words"] = None
    settings, refinement = parse_options.settings(values), parse_options.refinement(values)
    judging = parse_options.judging(values, refinement)
    if settings.query and settings.model == EXTRACTIVE:
        parse_options.check_query(values, judging, "the built-in model in a revision")
    review = refinement.review and not values["dry_run"]
    text = parse_options.read_summary(sources, summary, findings, review=review, quiet=quiet)
    to_fix = parse_options.findings_to_fix(findings, requests, settings.model)
    order = Refine(settings=settings, judging=judging, refinement=refinement, given=text, findings=to_fix)
    return carry_out(sources, order, values, target=to)


@command()
@options.sources
@click.argument("first", metavar="A", cls=SourceArgument)
@click.argument("second", metavar="B", cls=SourceArgument)
@options.panel_options
@options.settings("repeat")
@options.asking_options
@options.store_options
def compare(sources: tuple[str, ...], first: str, second: str, **values: Any) -> int:
    """Ask a language model which of A and B is the better summary of SOURCE. Each is a file, or a stored run; one may
    be - for stdin.

    Each judge decides overall, and on detail, structure and logic. It is asked twice, with A first and with B first,
    since judges may favour a position.
    """
    from redraft.cli.runner import carry_out
    from redraft.runs.order import check_summaries

    quiet = values["quiet"]
    if [*sources, first, second].count(STDIN) > 1:
        raise UsageError("only one of SOURCE, A and B can be stdin", hint="give the others as files")
    settings, judging = parse_options.settings(values), parse_options.judging_without_draft(values)
    if {*(judging.judges or [settings.model])} == {EXTRACTIVE}:
        each = "; ".join(shlex.join(["redraft", "evaluate", *sources, summary]) for summary in (first, second))
        each += if_installed("; and compare both: redraft compare-runs RUN RUN")
        ways = f"name a language model with -m or --judge; or {each}"
        raise UsageError("the built-in model does not compare summaries", hint=ways)
    a, b = parse_options.summary_at(first, quiet=quiet), parse_options.summary_at(second, quiet=quiet)
    check_summaries(a, b)
    order = Compare(settings=settings, judging=judging, given=a, other=b)
    return carry_out(sources, order, values)


@command()
@options.stopped_run_argument
@options.own_place_options
@options.limit_options
@options.prices
@options.summary_output
@options.store_options
def resume(run_id: str, output: str | None, form: Format | None, **values: Any) -> int:
    """Resume RUN where it stopped; nothing is paid for twice. Without RUN, the newest run that stopped.

    The run keeps its settings. Limits given here replace its own. A database may come from somebody else, so an
    address, a key's variable or a folder in it is used only if you name it now, in an option, the environment or your
    own configuration, and an output file only with --output.
    """
    say_reading(f"run {run_id}", quiet=values["quiet"])
    from redraft.cli.runner import run_and_finish

    with parse_options.store_to_read(values["db"]) as store:
        run = store.runs.get(run_id)
        if form not in (None, "json") and run.kind not in ("summarize", "refine"):
            raise UsageError(
                f"run {run.id} makes no summary, so --format does not apply", hint="leave it out, or use --format json"
            )
        to = target(output, form, as_json=values["as_json"])
        limits = parse_options.limits(values, run.limits)
        return run_and_finish(store, lambda session: session.resume(run_id, limits=limits), values, limits, to)


@command()
@options.run_argument
@options.typed_option(
    "--round",
    "number",
    section="refining",
    type=click.IntRange(min=0),
    metavar="N",
    help="The round whose draft to begin with. A run with a single draft begins with that.",
)
@options.settings("words")
@options.settings("model", help="Model that revises; the judges of RUN still judge, unless there is a --judge.")
@options.server_options
@options.judge_options
@options.findings
@options.requests
@options.refining_options
@options.limit_options
@options.prices
@options.summary_output
@options.store_options
def fork(
    run_id: str,
    number: int | None,
    findings: str | None,
    requests: tuple[str, ...],
    output: str | None,
    form: Format | None,
    **values: Any,
) -> int:
    """Refine the draft of a round of RUN again, as a new run; without RUN, of the newest.

    Goals given here are added to those of RUN or replace them. Everything else stays as it was, judges included, unless
    it is given on the command line: if RUN names no judge, its model judges what another --model writes. Drafts that
    are judged already are not judged again.
    """
    say_reading(f"run {run_id}", quiet=values["quiet"])
    from redraft.cli.runner import run_and_finish

    to = target(output, form, as_json=values["as_json"])
    with parse_options.store_to_read(values["db"]) as store:
        before = store.runs.get(run_id)
        rounds = sorted({draft.round for draft in store.runs.drafts(before.id)})
        if number is None and len(rounds) > 1:
            choices = ", ".join(map(str, rounds))
            hint = f"name the round, one of {choices}, as --round {rounds[-1]}: `redraft trace {before.id}` shows them"
            raise UsageError(f"run {before.id} has {len(rounds)} drafts", hint=hint)
        round_number = next(iter(rounds), 0) if number is None else number
        # What a settings file says is meant for new runs; this one has its settings from the other.
        refinement = parse_options.refinement(parse_options.typed(values), before)
        typed = parse_options.typed(values, ("words", "model", "base_url", "key_env", "context_tokens"))
        if not typed.keys() <= {"words"}:
            of_model = parse_options.settings({"model": before.settings.model, **typed})
            names = {"model", "base_url", "key_env", *of_model.model_fields_set} - {"found"}
            typed |= {name: getattr(of_model, name) for name in names}
        settings, judging = before.settings.model_copy(update=typed), before.judging
        judges = parse_options.typed(values, ("judges", JUDGES_ADDRESS))
        if judges:
            parts = OrderParts.of(before.order)
            judges["models"] = {**parts.judging.models, **parse_options.named_models(judges)}
            judging = parts.edited(judges).judging
        chosen = {"settings": settings, "judging": judging, "refinement": refinement}
        own_places(values).check(before.id, OrderParts.of(before.order).edited(chosen))
        limits = parse_options.limits(values, before.limits)
        to_fix = parse_options.findings_to_fix(findings, requests, settings.model, review=refinement.review)
        return run_and_finish(
            store,
            lambda session: session.fork(
                run_id, round_number, settings=settings, judging=judging, refinement=refinement, findings=to_fix
            ),
            values,
            limits,
            to,
            # The run that it is forked from knows nothing of who is named only now.
            decider=parse_options.named_models(parse_options.typed(values)).get(refinement.decider or ""),
        )
