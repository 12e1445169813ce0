"""Runs a judge on the controls, after an estimate: every probe is a normal run, compared with what is expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, get_args

from pydantic import InstanceOf, PlainSerializer

from redraft.agents.judge import gather_all
from redraft.domain import Document, Evaluation, Totals
from redraft.errors import BudgetError, UsageError
from redraft.evaluators.base import Evaluator
from redraft.evaluators.catalog import built_in, metrics
from redraft.evaluators.metric_info import METRICS
from redraft.events import StageStarted
from redraft.lab.doctor.controls import (
    HOLLOW,
    IN_SUMMARY,
    SHUFFLED,
    SUMMARY,
    WRONG,
    Probe,
    Verdict,
    document_text,
    expectations_of,
    load_texts,
    probes,
)
from redraft.lab.experiments.runner import PlanStep, RunBatch, check_models, cost_table, plan_steps, total_usage
from redraft.llm.budget import PriceTable
from redraft.order import Evaluate
from redraft.report.tables import Table
from redraft.runs.experiment_runner import ExperimentRunner, RunWatch

DOCTOR = "doctor"
"""The purpose of its runs, and the command that repeats them."""


@dataclass(frozen=True, slots=True)
class ControlCheck:
    """One control of one metric, and its result."""

    control: str
    metric: str
    should: str
    said: str
    """What the metric said."""
    verdict: Verdict
    runs: tuple[str, ...] = ()
    """The runs that it is based on."""


@dataclass(frozen=True, slots=True)
class JudgeCheckup:
    """The results of one judge, and the number of controls with each."""

    judge: str
    controls: tuple[ControlCheck, ...]
    usage: Totals
    passed: int
    failed: int
    cannot_tell: int
    not_made: int
    """The number of controls that the budget did not reach."""


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """The results of all judges, as `doctor --json` prints them."""

    judges: tuple[JudgeCheckup, ...]
    stopped: Annotated[InstanceOf[BudgetError] | None, PlainSerializer(lambda error: error and error.message)] = None
    """Why some controls were not run."""


def checked_metrics(names: Iterable[str], objects: Sequence[Evaluator] = ()) -> tuple[Evaluator, ...]:
    """Return the metrics of these names, some of which are passed as objects. Raise for one without controls, which
    gives no score, or asks no judge."""
    evaluators = metrics(names, objects)
    for evaluator in evaluators:
        asks_nobody = evaluator.name in METRICS and not evaluator.prompts
        if why := "gives no score" if evaluator.aim is None else "asks no judge" if asks_nobody else "":
            scoring = ", ".join(name for name in METRICS if built_in(name).aim and built_in(name).prompts)
            raise UsageError(
                f"there are no controls for {evaluator.name}, which {why}",
                hint=f"there are controls for {scoring}, and for your own metrics",
            )
    return evaluators


def probe_runs(evaluators: Sequence[Evaluator]) -> list[tuple[Probe, Document, tuple[str, ...]]]:
    """Return all probes with their documents and the metrics that judge them, those that others depend on first.

    The content metrics share one document, since they judge by its pack. For the other metrics each probe has its own
    copy, distinguished by blank lines at the end: verdicts on a sentence in one probe must not be reused in another,
    and no questions may be asked about key facts that were built from the document.
    """
    runs: list[tuple[Probe, Document, tuple[str, ...]]] = []
    for probe in probes().values():
        names: dict[bool, list[str]] = {True: [], False: []}
        for metric in evaluators:
            if any(probe.name in expectation.uses for expectation in expectations_of(metric).values()):
                names[metric.aim == "content"].append(metric.name)
        runs += [(probe, _document(probe, content), tuple(listed)) for content, listed in names.items() if listed]
    return runs


def _document(probe: Probe, content: bool) -> Document:
    lines = 0 if content else list(probes()).index(probe.name) + 1
    return Document.from_text(document_text(probe.ordered) + "\n" * lines, load_texts()["title"])


async def examine_all(orders: Sequence[Evaluate], runner: ExperimentRunner) -> DoctorReport:
    """Examine the judge of each order by its metrics, in sequence, on one shared budget."""
    # Reject unknown names or prices before any request is made.
    check_models(runner, *((order.settings, order.judging) for order in orders))
    runner.share_budget(DOCTOR, repr(orders))
    return DoctorReport(tuple([await examine(order, runner) for order in orders]), runner.stopped)


async def examine(order: Evaluate, runner: ExperimentRunner, objects: Sequence[Evaluator] = ()) -> JudgeCheckup:
    """Have a judge judge all probes within the runner's limits, and compare its verdicts with the expected ones. Some
    metrics may be `objects`.

    Finished runs are reused. Any error that ends a run, such as an unavailable provider, ends the examination.
    """
    evaluators, checks = checked_metrics(order.judging.metrics, objects), list[ControlCheck]()
    results = await _judge_probes(order, evaluators, runner)
    for metric in evaluators:
        for control, expectation in expectations_of(metric).items():
            of_probes = {name: results[metric.name, name] for name in expectation.uses}
            evaluations = {name: evaluation for name, (_, evaluation) in of_probes.items() if evaluation}
            verdict: Verdict = "not made"
            words = "the budget was used up"
            if len(evaluations) == len(of_probes):
                verdict, words = expectation.check(evaluations)
            runs = tuple(run for run, _ in of_probes.values() if run)
            checks.append(ControlCheck(control, metric.name, expectation.should, words, verdict, runs))
    counts = Counter(check.verdict for check in checks)
    usage = await total_usage(runner, sorted({run for run, _ in results.values() if run}))
    numbers = (counts[verdict] for verdict in get_args(Verdict))
    return JudgeCheckup(order.judging.judges[0], tuple(checks), usage, *numbers)


async def _judge_probes(
    order: Evaluate, evaluators: Sequence[Evaluator], runner: ExperimentRunner
) -> dict[tuple[str, str], tuple[str | None, Evaluation | None]]:
    """Return the run and the evaluation of each metric and probe, as far as the budget reaches."""
    planned = probe_runs(evaluators)
    batch = RunBatch(runner, len(planned))
    runner.observer(StageStarted(f"controls for {order.judging.judges[0]}", 0))
    results: dict[tuple[str, str], tuple[str | None, Evaluation | None]] = {}

    async def judge(probe: Probe, document: Document, names: tuple[str, ...]) -> None:
        judging = order.judging.model_copy(update={"metrics": names, "repeat": probe.repeat})
        of_probe = order.model_copy(update={"judging": judging, "given": probe.text, "experiment": DOCTOR})
        watch, result = RunWatch(probe.name, runner.observer, step=", ".join(names)), None
        async with batch.places:
            with suppress(BudgetError):
                result = await runner.find_or_run(document, of_probe, watch)
        run = result.run.id if result else watch.run
        results.update({(name, probe.name): (run, result.evaluations.get(name) if result else None) for name in names})
        batch.report_progress(f"{probe.name}: {watch.step}")

    # The first probe builds the pack by which the others are judged. A summary with an injected instruction comes after
    # the same one without it: the replies on its sentences are cached, and must not be affected by the instruction.
    ordered = {f"{name}, {IN_SUMMARY}" for name in (WRONG, HOLLOW, SHUFFLED)}
    turns = {probe.name: 0 if probe.name == SUMMARY else 2 if probe.name in ordered else 1 for probe, *_ in planned}
    for turn in range(3):
        await gather_all(judge(*part) for part in planned if turns[part[0].name] == turn)
    return results


def plan_table(orders: Sequence[Evaluate], prices: PriceTable) -> Table:
    """Return the plan: what judging all summaries costs by metric, with what is built from the document once. No
    request is made, not even for a server's window."""
    steps: dict[tuple[int, str], PlanStep] = {}
    for number, order in enumerate(orders):
        evaluators = checked_metrics(order.judging.metrics)
        _, counted = plan_steps(lambda runner: _judge_probes(order, evaluators, runner), (), prices)  # noqa: B023
        for step in counted:
            same = steps.setdefault((number, step.name), step)
            if same is not step:
                same.add(step.calls, step)
                same.runs += step.runs
    about = "Each metric judges each summary once; questions and key facts are built once. Numbers are approximate."
    return cost_table([*steps.values()], about, prices)
