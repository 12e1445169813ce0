"""`redraft doctor`: a test of judges on summaries with known faults."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from redraft.cli import options, parse_options
from redraft.cli.terminal import DONE, SHORT, say_reading, show_record
from redraft.lab.commands.delivery import lab_command
from redraft.order import JUDGES_ADDRESS
from redraft.settings import EXTRACTIVE, JudgeConfig, is_entailment

if TYPE_CHECKING:
    from redraft.lab.doctor.controls import JudgeCheckup

_LONGEST = 100


@lab_command("doctor")
@options.of_field(
    JudgeConfig,
    "judges",
    help="Judge to test: extractive, openai:NAME, or PROVIDER:NAME; may be repeated.  [default: extractive]",
)
@options.settings(JUDGES_ADDRESS)
@options.typed_option(
    "--metric",
    section="judging",
    multiple=True,
    metavar="NAME",
    help="Metric to test it with; may be repeated.  [default: all that the judge supports]",
)
@options.window_option("the judge's own if known, else 8192")
@options.settings("prompts", "replies")
@options.limit_options
@options.prices
@options.dry_run
@options.store_options
def doctor(as_json: bool, quiet: bool, **values: Any) -> int:
    """Test judges on summaries whose faults are known."""
    say_reading("the controls", quiet=quiet)
    from redraft.cli.runner import report_end, run_experiment
    from redraft.cli.views.plans import show_plan
    from redraft.domain import record_json
    from redraft.evaluators.catalog import built_in
    from redraft.evaluators.metric_info import METRICS
    from redraft.lab.doctor.controls import checked_metrics, examine_all, plan_table
    from redraft.llm.nli import SERVES
    from redraft.order import Evaluate
    from redraft.store.store import Store

    limits, table, settings = parse_options.limits(values), parse_options.prices(values), parse_options.settings(values)
    models, orders = parse_options.named_models(values), []
    usual = tuple(name for name in METRICS if built_in(name).aim and built_in(name).prompts)
    for name in dict.fromkeys(values["judges"] or (EXTRACTIVE,)):
        own_table = {name: models[name]} if name in models else {}
        # Of those that a judge that writes nothing serves, the last needs key facts, and it finds none.
        served = SERVES[:-1] if is_entailment(models[name].model if own_table else name) else usual
        metrics = tuple(dict.fromkeys(values["metric"])) or served
        checked_metrics(metrics)
        judging = JudgeConfig(judges=(name,), base_url=values["judge_base_url"], models=own_table, metrics=metrics)
        orders.append(Evaluate(settings=settings, judging=judging))
    if values["dry_run"]:
        return show_plan(plan_table(orders, table), as_json=as_json)
    with Store(values["db"]) as store:
        run = partial(examine_all, orders)
        checkups, stopped = run_experiment(run, store, limits, table, quiet=quiet)
    record = {"judges": list(map(record_json, checkups)), "stopped": stopped and stopped.message}
    show_record(record, "\n".join(map(_markdown, checkups)), as_json=as_json)
    if stopped is not None:
        return report_end(False, stopped, done=True, quiet=quiet)
    return SHORT if any(checkup.failed for checkup in checkups) else DONE


def _markdown(judge: JudgeCheckup) -> str:
    """Return the results of a judge: a table of its controls by metric, and what did not pass."""
    from redraft.lab.doctor.controls import controls
    from redraft.report.markdown.evaluation import joined, section, table
    from redraft.report.markdown.trace import usage
    from redraft.report.tables import line
    from redraft.text.words import count

    counts = [f"{count(judge.passed, 'control')} passed", f"{judge.failed} failed", f"{judge.cannot_tell} cannot tell"]
    counts += [f"{judge.not_made} not made"] if judge.not_made else []
    metrics = tuple(dict.fromkeys(check.metric for check in judge.controls))
    verdicts = {(check.control, check.metric): check.verdict for check in judge.controls}
    listed = [[control, *(verdicts.get((control, metric), "") for metric in metrics)] for control in controls()]
    rows = [row for row in listed if any(row[1:])]
    blocks = [
        f"# {line(judge.judge)}, on English texts: {', '.join(counts)}",
        usage(judge.usage),
        table([["control", *metrics], *rows]),
    ]
    for verdict, title in (("fail", "Failed"), ("cannot tell", "Cannot tell")):
        lines = [
            f"- {check.metric}, {check.control}: expected: {line(check.should)}; got: {line(check.said, _LONGEST)}"
            + (f" ({', '.join(check.runs[:2])})" if check.runs else "")
            for check in judge.controls
            if check.verdict == verdict
        ]
        blocks.append(section(title, lines))
    return joined(blocks)
