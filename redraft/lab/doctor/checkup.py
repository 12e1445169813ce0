"""Runs a judge on the controls, after an estimate: every probe is a normal run, compared with what is expected."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Annotated, Any

from pydantic import InstanceOf, PlainSerializer

from redraft.agents.judge import gather_all
from redraft.domain import Document, Evaluation, Totals, Usage
from redraft.errors import BudgetError, UsageError
from redraft.evaluators.base import Evaluator
from redraft.evaluators.catalog import BUILT_IN
from redraft.events import PartDone, StageStarted
from redraft.lab.doctor.controls import (
    HOLLOW,
    SHUFFLED,
    SUMMARY,
    WRONG,
    Probe,
    Verdict,
    expectations_of,
    injected_summary,
    load_texts,
    probes,
)
from redraft.lab.experiments.plan import PlanStep, cost_table
from redraft.llm.base import Model
from redraft.llm.budget import PriceTable
from redraft.order import Evaluate, Order
from redraft.report.tables import Table
from redraft.runs.dry_run import Stage, dry_run
from redraft.runs.experiment_runner import ExperimentRunner, RunWatch
from redraft.runs.models import assign_models, known_window, resolve, settings_by_role
from redraft.runs.prepare import complete, prepare
from redraft.runs.session import Session, runner_of
from redraft.settings import DraftConfig, JudgeConfig, Limits, ModelSettings
from redraft.store.connection import off_loop
from redraft.store.store import Store

DOCTOR = "doctor"
"""The purpose of its runs, and the command that repeats them."""
_UNMADE: tuple[Verdict, str] = ("not made", "the budget was used up")
_ORDERED = frozenset(map(injected_summary, (WRONG, HOLLOW, SHUFFLED)))


@dataclass(frozen=True, slots=True)
class JudgeUnderTest:
    """A judge to be examined, and the metrics."""

    judge: str
    """Its name, or the identity of an object in `objects`."""
    metrics: tuple[Evaluator, ...]
    settings: DraftConfig = field(default_factory=DraftConfig)
    base_url: str | None = None
    models: Mapping[str, ModelSettings] = field(default_factory=dict)
    """The settings of judges that have their own, by name."""
    objects: Mapping[str, Model] = field(default_factory=dict)
    """The models passed as objects, by identity."""
    own: tuple[Evaluator, ...] = ()
    """The metrics passed as objects."""

    def order(self, probe_run: ProbeRun) -> Order:
        """Return the run specification for judging a probe."""
        judging = JudgeConfig(
            judges=(self.judge,),
            base_url=self.base_url,
            models=dict(self.models),
            metrics=tuple(evaluator.name for evaluator in probe_run.metrics),
            repeat=probe_run.probe.repeat,
        )
        text = probe_run.probe.text
        return Evaluate(settings=self.settings, judging=judging, given=text, experiment=DOCTOR)


@dataclass(frozen=True, slots=True)
class ProbeRun:
    """A probe with a document, and the metrics that judge it."""

    probe: Probe
    document: Document
    metrics: tuple[Evaluator, ...]


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
    stopped: Annotated[InstanceOf[BudgetError] | None, PlainSerializer(lambda it: it and it.message)] = None
    """Why some controls were not run."""


def check_metrics(metrics: Sequence[Evaluator]) -> None:
    """Raise for a metric without controls: one that gives no score, or that asks no judge."""
    for evaluator in metrics:
        asks_nobody = evaluator.name in BUILT_IN and not evaluator.prompts
        if why := "gives no score" if evaluator.aim is None else "asks no judge" if asks_nobody else "":
            names = ", ".join(name for name, metric in BUILT_IN.items() if metric.aim and metric.prompts)
            raise UsageError(
                f"there are no controls for {evaluator.name}, which {why}",
                hint=f"there are controls for {names}, and for your own metrics",
            )


def probe_runs(metrics: Sequence[Evaluator]) -> list[ProbeRun]:
    """Return all probe runs, those that others depend on first.

    The content metrics share one document, since they judge by its pack. For the other metrics each probe has its own
    copy, distinguished by blank lines at the end: verdicts on a sentence in one probe must not be reused in another,
    and no questions may be asked about key facts that were built from the document.
    """
    uses = {
        metric.name: {name for expectation in expectations_of(metric).values() for name in expectation.uses}
        for metric in metrics
    }
    runs: list[ProbeRun] = []
    for name, probe in probes().items():
        for content in (True, False):
            own_metrics = tuple(
                metric_ for metric_ in metrics if name in uses[metric_.name] and (metric_.aim == "content") == content
            )
            if own_metrics:
                runs.append(ProbeRun(probe, _document(probe, content), own_metrics))
    return runs


def _document(probe: Probe, content: bool) -> Document:
    lines = 0 if content else list(probes()).index(probe.name) + 1
    return Document.from_text(load_texts().document_text(probe.ordered) + "\n" * lines, load_texts().title)


def probe_names(store: Store, runs: Iterable[str]) -> dict[str, str]:
    """Return the probe that each of the doctor's runs judges; runs with the texts of another version are left out."""
    names = {
        (_document(probe, content).id, probe.text): name
        for name, probe in probes().items()
        for content in (True, False)
    }
    by_run: dict[str, str] = {}
    for key in runs:
        run = store.runs.get(key)
        text = store.runs.draft(run.draft).text if run.draft else ""
        if name := names.get((run.document, text)):
            by_run[key] = name
    return by_run


async def examine_all(subjects: Sequence[JudgeUnderTest], runner: ExperimentRunner) -> DoctorReport:
    """Examine judges in sequence, on one shared budget."""
    for subject in subjects:
        # Reject unknown names or prices before any request is made.
        order = subject.order(probe_runs(subject.metrics)[0])
        assign_models(resolve(subject.settings), order.judging, runner.limits, runner.prices, objects=subject.objects)
    return DoctorReport(tuple([await examine(subject, runner) for subject in subjects]), runner.stopped)


async def examine(subject: JudgeUnderTest, runner: ExperimentRunner) -> JudgeCheckup:
    """Have a judge judge all probes within the runner's limits, and compare its verdicts with the expected ones.

    Earlier replies are reused. Any error that ends a run, such as an unavailable provider, ends the examination.
    """
    check_metrics(subject.metrics)
    planned = probe_runs(subject.metrics)
    runner.observer(StageStarted(f"controls for {subject.judge}", 0))
    semaphore, numbers = asyncio.Semaphore(runner.limits.concurrency), count(1)
    evaluations: dict[str, dict[str, Evaluation]] = defaultdict(dict)
    runs: dict[tuple[str, str], str] = {}

    async def judge_in_turn(probe_run: ProbeRun) -> None:
        name, watch = probe_run.probe.name, RunWatch(probe_run.probe.name, runner.observer)
        by_metric: Mapping[str, Evaluation] = {}
        async with semaphore:
            session = Session(
                runner.store,
                judges=tuple(subject.objects.values()),
                metrics=subject.own,
                limits=runner.limits,
                prices=runner.prices,
                observer=watch,
                budget=runner.budget,
            )
            if runner.stopped is None:
                try:
                    async with session:
                        order = subject.order(probe_run)
                        by_metric = (await runner_of(session).begin_order(probe_run.document, order)).evaluations
                except BudgetError as error:
                    runner.stopped = error
        for metric in probe_run.metrics:
            if watch.run:
                runs[metric.name, name] = watch.run
            if metric.name in by_metric:
                evaluations[metric.name][name] = by_metric[metric.name]
        names = ", ".join(metric.name for metric in probe_run.metrics)
        runner.observer(PartDone(f"{name}: {names}", next(numbers), len(planned)))

    # The first probe builds the pack by which the others are judged. A summary with an injected instruction comes after
    # the same one without it: the replies on its sentences are cached, and must not be affected by the instruction.
    turns: tuple[list[ProbeRun], ...] = ([], [], [])
    for probe_run in planned:
        turns[0 if probe_run.probe.name == SUMMARY else 2 if probe_run.probe.name in _ORDERED else 1].append(probe_run)
    for turn in turns:
        await gather_all(judge_in_turn(probe_run) for probe_run in turn)
    checks = _compare(subject.metrics, evaluations, runs)

    def add_up() -> Totals:
        """A figure that is unknown for one run is unknown in the total."""
        all_totals = [asdict(runner.store.calls.totals(run)) for run in sorted({*runs.values()})]
        values = {name: [totals[name] for totals in all_totals] for name in asdict(Totals())}
        sums: dict[str, Any] = {name: None if None in numbers else sum(numbers) for name, numbers in values.items()}
        return Totals(**sums)

    counts = Counter(check.verdict for check in checks)
    numbers_of = (counts[verdict] for verdict in ("pass", "fail", "cannot tell", "not made"))
    return JudgeCheckup(subject.judge, tuple(checks), await off_loop(add_up), *numbers_of)


def _compare(
    metrics: Sequence[Evaluator],
    evaluations: Mapping[str, Mapping[str, Evaluation]],
    runs: Mapping[tuple[str, str], str],
) -> list[ControlCheck]:
    """Return whether each metric says what each control expects, by its evaluations and its runs by probe."""
    checks: list[ControlCheck] = []
    for metric in metrics:
        for control, expectation in expectations_of(metric).items():
            by_probe = {
                name: evaluation
                for name, evaluation in evaluations.get(metric.name, {}).items()
                if name in expectation.uses
            }
            verdict, words = _UNMADE if len(by_probe) < len(expectation.uses) else expectation.check(by_probe)
            ids = tuple(run for name in expectation.uses if (run := runs.get((metric.name, name))))
            checks.append(ControlCheck(control, metric.name, expectation.should, words, verdict, ids))
    return checks


def plan_table(subjects: Sequence[JudgeUnderTest], prices: PriceTable) -> Table:
    """Return the plan: each metric with all its summaries, and before it what it builds from the document once for all
    of them, with the estimated cost. No request is made, not even for a server's window."""
    steps: list[PlanStep] = []
    for subject in subjects:
        check_metrics(subject.metrics)
        scoring, built = {evaluator.name for evaluator in subject.metrics}, set[tuple[str, str]]()
        by_name: dict[str, list[Stage]] = defaultdict(list)
        pool: Mapping[Any, DraftConfig] = {}
        for probe_run in probe_runs(subject.metrics):
            order, _ = complete(subject.order(probe_run), known_window, subject.objects)
            prepared = prepare(probe_run.document, order.settings, given=order.given)
            roles = assign_models(prepared.settings, order.judging, Limits(), None, objects=subject.objects)
            pool = settings_by_role(roles)
            for stage in dry_run(prepared, order, own=subject.own).stages:
                if stage.name in scoring or (probe_run.document.id, stage.name) not in built:
                    built.add((probe_run.document.id, stage.name))
                    by_name[stage.name].append(stage)
        for name, stages in by_name.items():
            calls, prompt, completion = (
                sum(getattr(stage, figure) for stage in stages)
                for figure in ("calls", "prompt_tokens", "completion_tokens")
            )
            usage = Usage(prompt, completion)
            steps.append(PlanStep(load_texts().title, name, pool["judge"], len(stages), calls, usage))
    about = "Each metric judges each summary once; questions and key facts are built once. Numbers are approximate."
    return cost_table(steps, about, prices)
