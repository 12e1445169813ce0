"""The estimated cost of examining a judge, before any request."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from redraft.domain import Usage
from redraft.lab.doctor.checkup import DoctorSubject, ProbeRun, check_aims, probe_runs
from redraft.lab.doctor.probes import texts
from redraft.lab.experiments.plan import PlanStep, table_of
from redraft.llm.prices import PriceTable
from redraft.report.tables import Table
from redraft.runs.dry_run import Stage, dry_run
from redraft.runs.model_pool import assign_models, under_settings
from redraft.runs.prepare import prepare
from redraft.runs.roster import known_window, with_windows
from redraft.settings import DraftConfig, Limits


def plan_table(subjects: Sequence[DoctorSubject], prices: PriceTable) -> Table:
    """Return the plan: the steps and their estimated cost."""
    about = "Each metric judges each summary once; questions and key facts are built once. Numbers are approximate."
    return table_of([step for subject in subjects for step in _steps(subject)], about, prices)


def _steps(subject: DoctorSubject) -> Iterator[PlanStep]:
    """Yield each metric with all its summaries, and before it what it builds from the document once for all of them."""
    check_aims(subject.metrics)
    scoring = {one.name for one in subject.metrics}
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
        used = Usage(sum(one.prompt_tokens for one in some), sum(one.completion_tokens for one in some))
        yield PlanStep(texts().title, name, judge, len(some), sum(one.calls for one in some), used)


def _stages(subject: DoctorSubject, probe_run: ProbeRun) -> tuple[DraftConfig, Sequence[Stage]]:
    """Return the judge's settings and the stages of a dry run, without any request, not even for a server's window."""
    order = subject.order(probe_run)
    settings, order, _ = with_windows(order.settled(subject.settings), order, known_window, subject.objects)
    prepared = prepare(probe_run.document, settings, given=order.given)
    pool = under_settings(assign_models(prepared.settings, order.judging, Limits(), None, objects=subject.objects))
    return pool["judge"], dry_run(prepared, order).stages
