"""Runs a judge on the controls, after an estimate: every probe is a normal run, compared with what is expected."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Annotated, Any

from pydantic import InstanceOf, PlainSerializer

from redraft.agents.accounts import gather_all
from redraft.domain import Document, Evaluation, Totals, Usage, computed
from redraft.errors import BudgetError, UsageError
from redraft.evaluators.base import Evaluator
from redraft.evaluators.catalog import BUILT_IN
from redraft.events import PartDone, StageStarted
from redraft.lab.doctor.expectations import (
    HOLLOW,
    SHUFFLED,
    SUMMARY,
    WRONG,
    ControlResult,
    Probe,
    Verdict,
    expectations_of,
    injected_summary,
    load_texts,
    metrics_by_probe,
    probes,
)
from redraft.lab.experiments.plan import PlanStep, cost_table
from redraft.llm.base import Model
from redraft.llm.budget import PriceTable
from redraft.report.tables import Table
from redraft.runs.dry_run import dry_run
from redraft.runs.experiment_runner import ExperimentRunner, RunWatch
from redraft.runs.models import assign_models, resolve, settings_by_role, with_addresses
from redraft.runs.plans import Stage
from redraft.runs.prepare import RunSpec, prepare, with_windows
from redraft.runs.roster import known_window
from redraft.runs.session import Session
from redraft.settings import DraftConfig, Evaluate, JudgeConfig, Limits, ModelSettings
from redraft.store.connection import off_loop
from redraft.store.store import Store

DOCTOR = "doctor"
"""The purpose of its runs, and the command that repeats them."""
_TURNS, _BOTH = 3, (True, False)
_ORDERED = frozenset(map(injected_summary, (WRONG, HOLLOW, SHUFFLED)))
_UNMADE = ControlResult("not made", "the budget was used up")


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

    def order(self, probe_run: ProbeRun) -> RunSpec:
        """Return the run specification for judging a probe."""
        judging = JudgeConfig(
            judges=(self.judge,),
            base_url=self.base_url,
            models=dict(self.models),
            metrics=tuple(evaluator.name for evaluator in probe_run.metrics),
            repeat=probe_run.probe.repeat,
        )
        there = with_addresses(judging, self.settings, objects=self.objects)
        return RunSpec(Evaluate(judging=there), given=probe_run.probe.text, own=self.own, experiment=DOCTOR)


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
    """The results of one judge."""

    judge: str
    controls: tuple[ControlCheck, ...]
    usage: Totals

    @computed
    def passed(self) -> int:
        """Return the number of controls that it passed."""
        return self._count("pass")

    @computed
    def failed(self) -> int:
        """Return the number of controls that it failed."""
        return self._count("fail")

    @computed
    def cannot_tell(self) -> int:
        """Return the number of controls that cannot tell."""
        return self._count("cannot tell")

    @computed
    def not_made(self) -> int:
        """Return the number of controls that the budget did not reach."""
        return self._count("not made")

    def _count(self, verdict: Verdict) -> int:
        return sum(check.verdict == verdict for check in self.controls)


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """The results of all judges, as `doctor --json` prints them."""

    judges: tuple[JudgeCheckup, ...]
    stopped: Annotated[InstanceOf[BudgetError] | None, PlainSerializer(lambda it: it and it.message)] = None
    """Why some controls were not run."""


def check_metrics(metrics: Sequence[Evaluator]) -> None:
    """Raise for a metric without controls: one that gives no score, or that asks no judge."""
    for evaluator in metrics:
        why = (
            "gives no score"
            if evaluator.aim is None
            else "asks no judge"
            if evaluator.name in BUILT_IN and not evaluator.prompts
            else ""
        )
        if why:
            there = ", ".join(name for name, known in BUILT_IN.items() if known.aim and known.prompts)
            raise UsageError(
                f"there are no controls for {evaluator.name}, which {why}",
                hint=f"there are controls for {there}, and for your own metrics",
            )


def probe_runs(metrics: Sequence[Evaluator]) -> list[ProbeRun]:
    """Return all probe runs, those that others depend on first.

    The content metrics share one document, since they judge by its pack. For the other metrics each probe has its own
    copy, distinguished by blank lines at the end: verdicts on a sentence in one probe must not be reused in another,
    and no questions may be asked about key facts that were built from the document.
    """
    wanted, made = metrics_by_probe(metrics), list[ProbeRun]()
    for name, probe in probes().items():
        for content in (True, False):
            here = tuple(evaluator for evaluator in wanted.get(name, ()) if (evaluator.aim == "content") == content)
            if here:
                made.append(ProbeRun(probe, _document(probe, content), here))
    return made


def _document(probe: Probe, content: bool) -> Document:
    lines = 0 if content else list(probes()).index(probe.name) + 1
    return Document.from_text(load_texts().document_text(probe.ordered) + "\n" * lines, load_texts().title)


def probe_names(store: Store, runs: Iterable[str]) -> dict[str, str]:
    """Return the probe that each of the doctor's runs judges; runs with the texts of another version are left out."""
    known = {(_document(probe, content).id, probe.text): name for name, probe in probes().items() for content in _BOTH}
    found = {run: store.runs.get(run) for run in runs}
    texts_of = {run: store.runs.draft(one.draft).text if one.draft else "" for run, one in found.items()}
    names = {run: known.get((one.document, texts_of[run])) for run, one in found.items()}
    return {run: name for run, name in names.items() if name}


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

    async def judge_in_turn(probe_run: ProbeRun) -> _ProbeVerdicts:
        async with semaphore:
            probe_verdicts = await _judge_probe(subject, probe_run, runner)
        metrics = ", ".join(evaluator.name for evaluator in probe_run.metrics)
        runner.observer(PartDone(f"{probe_run.probe.name}: {metrics}", next(numbers), len(planned)))
        return probe_verdicts

    verdicts: list[_ProbeVerdicts] = []
    for turn in range(_TURNS):
        verdicts += await gather_all(judge_in_turn(one) for one in planned if _turn(one.probe.name) == turn)
    return JudgeCheckup(subject.judge, tuple(_checks(subject, verdicts)), await off_loop(_usage, runner, verdicts))


def _turn(probe: str) -> int:
    """Return the turn of a probe.

    The first probe builds the pack by which the others are judged. A summary with an injected instruction comes after
    the same one without it: the replies on its sentences are cached, and must not be affected by the instruction.
    """
    return 0 if probe == SUMMARY else _TURNS - 1 if probe in _ORDERED else 1


@dataclass(frozen=True, slots=True)
class _ProbeVerdicts:
    """The evaluations of one probe run by metric; empty if the budget ran out."""

    probe: str
    run: str | None
    said: Mapping[str, Evaluation]


async def _judge_probe(subject: JudgeUnderTest, probe_run: ProbeRun, runner: ExperimentRunner) -> _ProbeVerdicts:
    watch = RunWatch(probe_run.probe.name, runner.observer)
    said: Mapping[str, Evaluation] = {}
    if runner.stopped is None:
        session = Session(
            runner.store,
            judges=tuple(subject.objects.values()),
            metrics=subject.own,
            limits=runner.limits,
            prices=runner.prices,
            observer=watch,
            budget=runner.budget,
        )
        try:
            async with session:
                result = await session.begin_order(probe_run.document, subject.settings, subject.order(probe_run))
            said = {metric.name: result.evaluations[metric.name] for metric in probe_run.metrics}
        except BudgetError as error:
            runner.stopped = error
    return _ProbeVerdicts(probe_run.probe.name, watch.run, said)


def _checks(subject: JudgeUnderTest, done: Sequence[_ProbeVerdicts]) -> list[ControlCheck]:
    checks = []
    for metric in subject.metrics:
        said = {verdicts.probe: verdicts.said[metric.name] for verdicts in done if metric.name in verdicts.said}
        runs = {verdicts.probe: verdicts.run for verdicts in done if metric.name in verdicts.said and verdicts.run}
        for control, expectation in expectations_of(metric).items():
            made = all(name in said for name in expectation.uses)
            its = {name: said[name] for name in expectation.uses} if made else {}
            heard = expectation.heard(its) if made else _UNMADE
            where = tuple(runs[name] for name in expectation.uses if name in runs)
            checks.append(ControlCheck(control, metric.name, expectation.should, heard.said, heard.verdict, where))
    return checks


def _usage(runner: ExperimentRunner, done: Sequence[_ProbeVerdicts]) -> Totals:
    """Return the total usage of all runs; a figure that is unknown for one run is unknown in the total."""
    used = [asdict(runner.store.calls.totals(verdicts.run)) for verdicts in done if verdicts.run]
    values = {name: [one[name] for one in used] for name in asdict(Totals())}
    sums: dict[str, Any] = {name: None if None in found else sum(found) for name, found in values.items()}
    return Totals(**sums)


def plan_table(subjects: Sequence[JudgeUnderTest], prices: PriceTable) -> Table:
    """Return the plan: the steps and their estimated cost."""
    about = "Each metric judges each summary once; questions and key facts are built once. Numbers are approximate."
    return cost_table([step for subject in subjects for step in _steps(subject)], about, prices)


def _steps(subject: JudgeUnderTest) -> Iterator[PlanStep]:
    """Yield each metric with all its summaries, and before it what it builds from the document once for all of them."""
    check_metrics(subject.metrics)
    scoring = {evaluator.name for evaluator in subject.metrics}
    built = set[tuple[str, str]]()
    stages: dict[str, list[Stage]] = defaultdict(list)
    judge: DraftConfig | None = None
    for probe_run in probe_runs(subject.metrics):
        judge, found = _stages(subject, probe_run)
        for stage in found:
            if stage.name in scoring or (probe_run.document.id, stage.name) not in built:
                built.add((probe_run.document.id, stage.name))
                stages[stage.name].append(stage)
    for name, some in stages.items():
        assert judge is not None
        usage = Usage(sum(one.prompt_tokens for one in some), sum(one.completion_tokens for one in some))
        yield PlanStep(load_texts().title, name, judge, len(some), sum(one.calls for one in some), usage)


def _stages(subject: JudgeUnderTest, probe_run: ProbeRun) -> tuple[DraftConfig, Sequence[Stage]]:
    """Return the judge's settings and the stages of a dry run, without any request, not even for a server's window."""
    order = subject.order(probe_run)
    settings, order, _ = with_windows(order.settled(subject.settings), order, known_window, subject.objects)
    prepared = prepare(probe_run.document, settings, given=order.given)
    pool = settings_by_role(assign_models(prepared.settings, order.judging, Limits(), None, objects=subject.objects))
    return pool["judge"], dry_run(prepared, order).stages
