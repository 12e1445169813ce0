"""What examining a judge comes to at most, before anything is asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from redraft.domain import Usage
from redraft.lab.doctor.checkup import Patient, ProbeRun, check_aims, sittings
from redraft.lab.doctor.probes import texts
from redraft.lab.experiments.plan import PlanStep, table_of
from redraft.llm.prices import PriceTable
from redraft.report.tables import Table
from redraft.runs.dry_run import Stage, dry_run
from redraft.runs.model_pool import hire, under_settings
from redraft.runs.models import price_of
from redraft.runs.prepare import prepare
from redraft.runs.roster import known_window, with_windows
from redraft.settings import DraftConfig, Limits

TOOK: Mapping[str, tuple[int, int, int]] = {
    "asking about the document": (2, 1_643, 597),
    "coverage": (9, 4_841, 678),
    "finding key facts": (4, 3_460, 376),
    "validating key facts": (6, 6_085, 1_248),
    "asking what the trees answer": (4, 3_067, 118),
    "keyfact_recall": (9, 6_458, 660),
    "consistency": (41, 30_966, 11_434),
    "faithfulness": (17, 19_996, 6_951),
    "booookscore": (8, 32_387, 877),
}
"""What the built-in judge took, by step: calls, tokens of the prompts and of the replies."""


def plan_table(patients: Sequence[Patient], prices: PriceTable) -> Table:
    """What there is to do, and what it may cost."""
    steps = {patient.judge: list(_steps(patient)) for patient in patients}
    about = ["An item is one summary put to one judge by one metric; it comes to so much at most."]
    about += [said for name, some in steps.items() if (said := _usually(name, some, prices))]
    return table_of([step for some in steps.values() for step in some], " ".join(about), prices)


def _usually(judge: str, steps: Sequence[PlanStep], prices: PriceTable) -> str:
    """What an examination has taken that was measured, beside which the most that it may take is far off."""
    took = [TOOK[step.name] for step in steps if step.name in TOOK]
    if len(took) < len(steps) or not took:
        return ""  # with a metric of somebody's own nothing is known
    calls, prompt, completion = (sum(column) for column in zip(*took, strict=True))
    price = price_of(steps[0].model, prices)
    cost = (
        f", which is about {price.of(Usage(prompt, completion)):.2f} USD by {judge} if it does not think"
        if price
        else ""
    )
    return (
        "As a rule it is a small part of that: the built-in judge took"
        f" {calls:,} calls, {prompt:,} tokens in and {completion:,} out for the same{cost}."
    )


def _steps(patient: Patient) -> Iterator[PlanStep]:
    """Each metric with all its summaries, and before it what it has built of the document once for all of them."""
    check_aims(patient.metrics)
    scoring = {one.name for one in patient.metrics}
    built = set[tuple[str, str]]()
    stages: dict[str, list[Stage]] = defaultdict(list)
    judge: DraftConfig | None = None
    for sitting in sittings(patient.metrics):
        judge, found = _forecast(patient, sitting)
        for stage in found:
            if stage.name in scoring or (sitting.document.id, stage.name) not in built:
                built.add((sitting.document.id, stage.name))
                stages[stage.name].append(stage)
    for name, some in stages.items():
        assert judge is not None
        calls, prompt, completion = _sums(some)
        yield PlanStep(texts().title, name, judge, len(some), calls, Usage(prompt, completion))


def _forecast(patient: Patient, sitting: ProbeRun) -> tuple[DraftConfig, Sequence[Stage]]:
    """Under which settings it is judged, and what is asked. Nobody is asked, a server for its window neither."""
    order = patient.order(sitting)
    settings, order, _ = with_windows(order.settled(patient.settings), order, known_window, patient.objects)
    prepared = prepare(sitting.document, settings, given=order.given)
    pool = under_settings(hire(prepared.settings, order.judging, Limits(), None, objects=patient.objects))
    return pool["judge"], dry_run(prepared, order).stages


def _sums(stages: Iterable[Stage]) -> tuple[int, int, int]:
    found = [(one.calls, one.prompt_tokens, one.completion_tokens) for one in stages]
    calls, prompt, completion = (sum(column) for column in zip(*found, strict=True))
    return calls, prompt, completion
