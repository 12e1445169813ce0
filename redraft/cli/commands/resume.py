"""`redraft resume` and `redraft fork`: continue a stopped run, and refine a draft again with other settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options, parse_options
from redraft.cli.hints import own_places
from redraft.cli.output_files import target
from redraft.cli.sections import command
from redraft.cli.terminal import say_reading
from redraft.errors import UsageError
from redraft.order import JUDGES_ADDRESS, OrderParts

if TYPE_CHECKING:
    from redraft.report.outputs.formats import Format


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
