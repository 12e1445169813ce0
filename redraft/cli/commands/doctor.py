"""`redraft doctor`: whether a judge says what it should of summaries of which that is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from redraft.cli import delivery, options
from redraft.cli import given as asked
from redraft.cli.sections import command
from redraft.cli.terminal import DONE, SHORT, reading
from redraft.errors import UsageError
from redraft.settings import EXTRACTIVE, JudgeConfig, is_decision, is_entailment

if TYPE_CHECKING:
    from redraft.lab.doctor.checkup import JudgeUnderTest

_EPILOG = """\b
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
    epilog=_EPILOG,
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
@options.window("the judge's own if known, else 8192")
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
    reading("the controls", quiet=quiet)
    from redraft.cli.runner import closed, run_experiment
    from redraft.cli.views.plans import show
    from redraft.lab.doctor.checkup import examine_all, plan_table
    from redraft.store.store import Store

    subjects, limits, table = _patients(given), asked.limits(given), asked.prices(given)
    if given["dry_run"]:
        return delivery.show_plan(plan_table(subjects, table), as_json=as_json)
    with Store(given["db"]) as store:
        found = run_experiment(lambda runner: examine_all(subjects, runner), store, limits, table, quiet=quiet)
    show(found, as_json=as_json)
    if found.stopped is not None:
        return closed(False, found.stopped, done=True, quiet=quiet)
    return SHORT if any(one.failed for one in found.judges) else DONE


def _patients(given: Mapping[str, Any]) -> list[JudgeUnderTest]:
    """The judges that are named, each by itself."""
    from redraft.evaluators.catalog import BUILT_IN, metrics
    from redraft.lab.doctor.checkup import JudgeUnderTest, check_metrics
    from redraft.llm.claim_judge import DECIDED
    from redraft.llm.nli import SERVES

    names = given["judge"] or (EXTRACTIVE,)
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"the judge {twice} is named twice")
    settings, models, named = asked.settings(given), asked.models_named(given), tuple(dict.fromkeys(given["metric"]))
    usual = [name for name, one in BUILT_IN.items() if one.aim and one.prompts]
    subjects = []
    for name in names:
        own = {name: models[name]} if name in models else {}
        model = models[name].model if own else name
        # Of those that a judge that writes nothing serves, the last needs key facts, and it finds none.
        served = SERVES[:-1] if is_entailment(model) else DECIDED[:-1] if is_decision(model) else usual
        chosen = metrics(named or served)
        check_metrics(chosen)
        subjects.append(JudgeUnderTest(name, chosen, settings, given["judge_base_url"], own))
    return subjects
