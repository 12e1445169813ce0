"""`redraft models` and `redraft doctor`: what is known of the models in use, and a test of one as a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import delivery, options, parse_options
from redraft.cli.sections import command
from redraft.cli.settings_file import model_tables
from redraft.cli.terminal import DONE, FAILED, SHORT, echo_json, say_reading
from redraft.domain import record_json
from redraft.errors import UsageError
from redraft.settings import EXTRACTIVE, JudgeConfig, is_entailment

if TYPE_CHECKING:
    from redraft.lab.doctor.checkup import JudgeUnderTest
    from redraft.runs.roster import RosterEntry
    from redraft.store.store import Store


_MODELS_EPILOG = """\b
Examples:
  redraft models
  redraft models -m openai:qwen3 --base-url http://localhost:11434/v1
  redraft models --check
  redraft models --check strong
  redraft models --check openai:gpt-5-mini --json

The models are those of the options, of the environment and of redraft.toml,
whose tables [models.NAME] have names of their own:

  [models.strong]
  model = "openai:gpt-5"
  key_env = "STRONG_KEY"

Servers are asked for the windows of their models. --check sends two short
requests to the model that is named, or else to that of each role. The exit code
is 1 if a check fails.
"""
# A question that takes longer is no short one.
_PATIENCE = 60.0
# No model has such a name.
_EVERYBODY = "*"


@command(
    epilog=_MODELS_EPILOG,
    first=(
        "check",
        "model",
        "base-url",
        "key-env",
        "context-tokens",
        "judge",
        "judge-base-url",
        "prices",
        "db",
        "json",
    ),
)
@options.typed_option(
    "--check",
    section="model",
    metavar="[NAME]",
    is_flag=False,
    flag_value=_EVERYBODY,
    help="Check that this model works, and how it takes structured replies; without NAME, the models of all roles.",
)
@options.judge_options
@options.validator
@options.decider
@options.model_options
@options.timeout
@options.prices
@options.db
@options.as_json
def models(check: str | None, db: str | None, as_json: bool, **given: Any) -> int:
    """Show the models that write, judge, validate and decide, with their windows, prices and reply formats; and the
    model servers on this machine.
    """
    from redraft.cli.views.plans import nearby_lines, roster_lines
    from redraft.cli.views.render import show
    from redraft.llm import servers
    from redraft.runs.roster import roster
    from redraft.store.store import Store

    tables, table = model_tables(), parse_options.prices(given)
    if check and check not in (_EVERYBODY, EXTRACTIVE) and ":" not in check and check not in tables:
        there = f"choose from: {', '.join(tables)}" if tables else "there are none"
        raise UsageError(f"there is no model {check!r}", hint=f"name a table [models.NAME] ({there}), or PROVIDER:NAME")
    with Store(db) as store:
        if check and check != _EVERYBODY:
            entry = roster(
                parse_options.settings({**given, "model": check}), JudgeConfig(), None, {}, table, store, check
            )[0]
            return _checked([replace(entry, role=None)], store, given["timeout"], as_json=as_json, alone=True)
        settings, panel = parse_options.settings(given), parse_options.judging_without_draft(given)
        writes_as = given["model"] if given["model"] in tables else None
        entries = roster(settings, panel, given["decider"], tables, table, store, writes_as)
        if check:
            held = [entry for entry in entries if entry.role]
            return _checked(held, store, given["timeout"], as_json=as_json, alone=False)
    local_servers = servers.local_servers(servers.USUAL)
    here = [
        {"kind": server.port.kind, "base_url": server.port.url, "models": server.models} for server in local_servers
    ]
    content = {"models": [record_json(entry) for entry in entries], "nearby": here}
    show(content, (*roster_lines(entries), "", *nearby_lines(local_servers)), as_json=as_json)
    return DONE


def _checked(entries: Sequence[RosterEntry], store: Store, timeout: float | None, *, as_json: bool, alone: bool) -> int:
    """Ask everybody, one after the other, and say what works. One that was named alone is one object as JSON."""
    import asyncio

    from redraft.cli.views.plans import check_lines
    from redraft.runs.roster import check

    check_results = []
    for entry in entries:
        check_results.append(asyncio.run(check(entry, store, timeout or _PATIENCE)))
        for line in () if as_json else check_lines(check_results[-1]):
            click.echo(line)
    if as_json:
        said = [record_json(check_result) for check_result in check_results]
        echo_json(said[0] if alone else {"checked": said})
    return DONE if all(check_result.works for check_result in check_results) else FAILED


_DOCTOR_EPILOG = """\b
Examples:
  redraft doctor
  redraft doctor --judge openai:gpt-5-mini --dry-run
  redraft doctor --judge openai:a --judge openai:b --max-cost 1
  redraft doctor --judge openai:a --metric faithfulness --json

Judges are tested one by one. Every control is a run, which `redraft runs --all`
lists. The exit code is 3 when a control fails, or the budget is used up. Repeat
the command, with a higher limit, to continue.
"""


@command(
    epilog=_DOCTOR_EPILOG,
    first=(
        "judge",
        "judge-base-url",
        "metric",
        "context-tokens",
        "max-calls",
        "max-cost",
        "dry-run",
        "db",
        "json",
        "quiet",
    ),
)
@options.of_field(
    JudgeConfig,
    "judges",
    help="Judge to test: extractive, openai:NAME, or PROVIDER:NAME; may be repeated.  [default: extractive]",
)
@options.judge_base_url
@options.typed_option(
    "--metric",
    section="judging",
    multiple=True,
    metavar="NAME",
    help="Metric to test it with; may be repeated.  [default: all that the judge supports]",
)
@options.window_option("the judge's own if known, else 8192")
@options.prompt_set
@options.replies
@options.limit_options
@options.prices
@options.dry_run
@options.store_options
def doctor(as_json: bool, quiet: bool, **given: Any) -> int:
    """Test a judge on summaries whose faults are known.

    They are: the document itself, an empty summary, a shuffled one, one of another document, planted errors in copied
    and in reworded sentences, a hidden instruction, a refusal, and the same summary twice.
    """
    say_reading("the controls", quiet=quiet)
    from redraft.cli.runner import report_end, run_experiment
    from redraft.cli.views.plans import show
    from redraft.lab.doctor.checkup import examine_all, plan_table
    from redraft.store.store import Store

    subjects, limits, table = _patients(given), parse_options.limits(given), parse_options.prices(given)
    if given["dry_run"]:
        return delivery.show_plan(plan_table(subjects, table), as_json=as_json)
    with Store(given["db"]) as store:
        report = run_experiment(lambda runner: examine_all(subjects, runner), store, limits, table, quiet=quiet)
    show(report, as_json=as_json)
    if report.stopped is not None:
        return report_end(False, report.stopped, done=True, quiet=quiet)
    return SHORT if any(checkup.failed for checkup in report.judges) else DONE


def _patients(given: Mapping[str, Any]) -> list[JudgeUnderTest]:
    """The judges that are named, each by itself."""
    from redraft.evaluators.catalog import BUILT_IN, metrics
    from redraft.lab.doctor.checkup import JudgeUnderTest, check_metrics
    from redraft.llm.nli import SERVES

    names = given["judge"] or (EXTRACTIVE,)
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"the judge {twice} is named twice")
    settings, models, named = (
        parse_options.settings(given),
        parse_options.named_models(given),
        tuple(dict.fromkeys(given["metric"])),
    )
    usual = [name for name, evaluator in BUILT_IN.items() if evaluator.aim and evaluator.prompts]
    subjects = []
    for name in names:
        own = {name: models[name]} if name in models else {}
        model = models[name].model if own else name
        # Of those that a judge that writes nothing serves, the last needs key facts, and it finds none.
        served = SERVES[:-1] if is_entailment(model) else usual
        evaluators = metrics(named or served)
        check_metrics(evaluators)
        subjects.append(JudgeUnderTest(name, evaluators, settings, given["judge_base_url"], own))
    return subjects
