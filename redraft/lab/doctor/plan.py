"""About what examining a judge comes to, before anything is asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from redraft.domain import Usage
from redraft.lab.doctor.checkup import Patient, ProbeRun, check_aims, sittings
from redraft.lab.doctor.probes import texts
from redraft.lab.experiments.plan import PlanStep, sums, table_of, told
from redraft.llm.prices import PriceTable
from redraft.report.tables import Table
from redraft.runs.dry_run import Stage, dry_run
from redraft.runs.model_pool import hire, under_settings
from redraft.runs.prepare import prepare
from redraft.runs.roster import known_window, with_windows
from redraft.settings import DraftConfig, Limits


def plan_table(patients: Sequence[Patient], prices: PriceTable) -> Table:
    """What there is to do, and what it may cost."""
    about = "An item is one summary put to one judge by one metric; it comes to about so much."
    return table_of([step for patient in patients for step in _steps(patient)], about, prices)


def _steps(patient: Patient) -> Iterator[PlanStep]:
    """Each metric with all its summaries, and before it what it has built of the document once for all of them."""
    check_aims(patient.metrics)
    scoring = {one.name for one in patient.metrics}
    built = set[tuple[str, str]]()
    stages: dict[str, list[Stage]] = defaultdict(list)
    judge: DraftConfig | None = None
    for sitting in sittings(patient.metrics):
        judge, found = _stages(patient, sitting)
        for stage in found:
            if stage.name in scoring or (sitting.document.id, stage.name) not in built:
                built.add((sitting.document.id, stage.name))
                stages[stage.name].append(stage)
    for name, some in stages.items():
        assert judge is not None
        calls, prompt, completion = sums(told(some))
        yield PlanStep(texts().title, name, judge, len(some), calls, Usage(prompt, completion))


def _stages(patient: Patient, sitting: ProbeRun) -> tuple[DraftConfig, Sequence[Stage]]:
    """Under which settings it is judged, and what is asked. Nobody is asked, a server for its window neither."""
    order = patient.order(sitting)
    settings, order, _ = with_windows(order.settled(patient.settings), order, known_window, patient.objects)
    prepared = prepare(sitting.document, settings, given=order.given)
    pool = under_settings(hire(prepared.settings, order.judging, Limits(), None, objects=patient.objects))
    return pool["judge"], dry_run(prepared, order).stages
