"""The report on the agreement of judges and people: figures for the record, and several sets in one table."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from redraft.errors import UsageError
from redraft.evaluators.base import OPEN
from redraft.evaluators.consistency import Consistency
from redraft.evaluators.coverage import Coverage
from redraft.evaluators.figures import mean
from redraft.evaluators.similarity import rouge1
from redraft.lab.agreement.frames import (
    BIGRAMS,
    bigram_shares,
    has_systems,
    score_frame,
    summary_correlation,
    system_correlation,
)
from redraft.lab.agreement.measures import PERMUTATIONS, Correlation
from redraft.lab.agreement.people import Dataset, human_field
from redraft.lab.agreement.tables import SUMMARIES, SYSTEMS, agreement_tables, with_stars
from redraft.lab.agreement.trial import (
    READ,
    AgreementDesign,
    AgreementOutcome,
    Setting,
    Sweep,
    plan_table,
    run_trial,
)
from redraft.lab.declared import make_table
from redraft.llm.budget import PriceTable
from redraft.report.tables import Report, Table, figure, number, plain
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.store.store import Store

QUESTEVAL = "QuestEval-like"
"""Both metrics' own questions and answers, scored as QuestEval does: by the mean token F1 of the answers, without a
threshold. The coverage figure is also QAEval's."""
_IDLE: Mapping[str, tuple[str, ...]] = {Coverage.name: (*READ, "claims"), Consistency.name: ("questions",)}
"""What makes no difference to a metric, and is not swept for it."""
_ANSWERS = {Consistency.name: "claims", Coverage.name: "questions"}
"""The detail of a metric that lists its answers."""
_MAX = 6


def agree_report(outcome: AgreementOutcome) -> Report:
    """Return the report of judges and people, with a record for every item."""
    design, dataset, tables = outcome.design, outcome.dataset, tuple(agreement_tables(outcome))
    about = tuple(_about(outcome))
    items: list[Mapping[str, object]] = [
        {
            "id": item.id,
            "document": item.document,
            "system": item.system,
            "people": dict(item.people),
            "labels": list(item.labels),
            "judges": {column.name: asdict(column.said[n]) for column in outcome.columns},
        }
        for n, item in enumerate(dataset.items)
    ]
    settings = {
        "metric": design.metric,
        "human": design.human,
        "judges": list(design.judges),
        "judging": design.judging.model_dump(mode="json"),
        "sweep": {name: list(values) for name, values in design.sweep.values.items()},
    }
    title = f"{design.metric} compared with people: {plain(dataset.name)}"
    records = {table.name: table.records for table in tables}
    balanced = {row["judge"]: figure(number(row["balanced accuracy"])) for row in records.get("classes", ())}
    headline: list[str] = []
    for row in records["agreement"][:_MAX]:
        accuracy = f"; balanced accuracy {balanced.get(row['judge'], figure(None))}" if balanced else ""
        tau, low, high = (figure(number(row[name])) for name in ("tau-b", "95% from", "95% to"))
        span = f"[{low}, {high}] over {row['summaries']} of {row['of']} summaries"
        headline.append(f"{plain(str(row['judge']))}: tau-b {tau} {span}{accuracy}")
    return Report("agree", title, about, settings, tables, items, (*headline, *about[2:]))


def _about(outcome: AgreementOutcome) -> Iterator[str]:
    design, dataset = outcome.design, outcome.dataset
    yield f"metric: {design.metric}; people were asked about {plain(design.human)}"
    yield f"judges: {', '.join(plain(judge) for judge in design.judges)}"
    yield f"items: {len(dataset.items)} of {len({item.document for item in dataset.items})} documents"
    if dataset.troubles:
        yield f"entries that could not be read: {len(dataset.troubles)}; see the last table"
    yield "– means not available: too few figures, or all of them the same"
    if outcome.stopped is not None:
        yield (
            f"stopped: {plain(outcome.stopped.message)}; partial results are below, and the same command with a"
            " higher limit continues"
        )


class Method(NamedTuple):
    """What is correlated with people's figures: a judge under a setting or a baseline, by a metric, per summary or per
    system."""

    name: str
    metric: str
    setting: Setting
    per: str


@dataclass(frozen=True, slots=True)
class AgreementOverview:
    """Every set of annotations by every metric that its people's figures measure."""

    outcomes: tuple[AgreementOutcome, ...]
    sets: Mapping[str, Dataset]
    correlations: Mapping[Method, Mapping[str, Correlation]]
    """The correlations by method and set."""


def _designs(
    sets: Mapping[str, Dataset], metrics: Sequence[str], base: AgreementDesign
) -> list[tuple[str, Dataset, AgreementDesign]]:
    """Return what is compared: each set by each metric that its people's figures measure."""
    designs = [
        (name, dataset, replace(base, metric=metric, human=human_field(dataset, metric, None), sweep=Sweep(swept)))
        for name, dataset in sets.items()
        for metric in metrics
        if any(metric in field.metrics for field in dataset.fields.values())
        for swept in [{key: values for key, values in base.sweep.values.items() if key not in _IDLE.get(metric, ())}]
    ]
    if not designs:
        message = f"no file has people's figures on {' or '.join(metrics)}"
        raise UsageError(message, hint="name another --metric, or other files")
    return designs


async def run_overview(
    sets: Mapping[str, Dataset], metrics: Sequence[str], base: AgreementDesign, runner: ExperimentRunner
) -> AgreementOverview:
    """Judge all sets, within the limits, and correlate the scores with people's."""
    outcomes: list[AgreementOutcome] = []
    correlations: dict[Method, dict[str, Correlation]] = {}
    for name, dataset, design in _designs(sets, metrics, base):
        outcomes.append(await run_trial(dataset, design, runner))
        scores = await asyncio.to_thread(_scores, outcomes[-1], runner.store)
        frame = score_frame(dataset, design.human, scores)
        for (method, setting), rows in frame.groupby("judge", sort=False):
            by_per = {SUMMARIES: summary_correlation, **({SYSTEMS: system_correlation} if has_systems(rows) else {})}
            for per, correlation_of in by_per.items():
                correlations.setdefault(Method(method, design.metric, setting, per), {})[name] = correlation_of(rows)
    return AgreementOverview(tuple(outcomes), sets, correlations)


def _scores(outcome: AgreementOutcome, store: Store) -> dict[tuple[str, Setting], Sequence[float | None]]:
    """Return the baseline's scores, each judge's, and those of the same answers scored as QuestEval does."""
    metric = outcome.design.metric
    scores: dict[tuple[str, Setting], Sequence[float | None]] = {(BIGRAMS, ()): bigram_shares(outcome.dataset)}
    for column in outcome.columns:
        # The first reading of a setting has its usage.
        if column.usage and metric in _ANSWERS:
            setting, means = tuple(pair for pair in column.setting if pair[0] not in READ), list[float | None]()
            for item_outcome in column.said:
                draft = store.runs.get(item_outcome.run).draft if item_outcome.run and item_outcome.outcome else None
                answers = store.judgments.of(draft)[metric].details.get(_ANSWERS[metric]) if draft else None
                listed = answers if isinstance(answers, list) else []
                decided = [answer for answer in listed if answer["verdict"] not in OPEN]
                means.append(mean([rouge1(answer["found"], answer["expected"]) for answer in decided]))
            scores[f"{QUESTEVAL} ({column.judge})", setting] = means
        scores[column.judge, column.setting] = column.scores
    return scores


def overview_report(overview: AgreementOverview) -> Report:
    """Return the report: the table, and a record for each of its figures."""
    design, sets = overview.outcomes[0].design, overview.sets
    names = list(dict.fromkeys(name for method in overview.correlations for name, _ in method.setting))
    rows = [
        (
            *(plain(method.name), method.metric, *(dict(method.setting).get(name) for name in names), method.per),
            *(with_stars(by_set[name]) if name in by_set else None for name in sets),
        )
        for method, by_set in sorted(overview.correlations.items(), key=lambda pair: (pair[0].metric, pair[0].per))
    ]
    items: list[Mapping[str, object]] = [
        {"method": method.name, "metric": method.metric, "setting": dict(method.setting), "per": method.per}
        | {"set": name, "n": result.n, "tau": result.tau, "p": result.p, "p_by": result.p_by}
        for method, by_set in overview.correlations.items()
        for name, result in by_set.items()
    ]
    statuses = [item_outcome.status for outcome in overview.outcomes for item_outcome in outcome.outcomes]
    counts = (f"{statuses.count(status)} {status}" for status in ("scored", "unjudged", "failed", "not made"))
    basis = f"Based on {len(statuses)} judgments: {', '.join(counts)}."
    words: dict[str, Any] = {"permutations": PERMUTATIONS, "questeval": QUESTEVAL}
    table = make_table("agree", "overview", basis, rows, more=(*names, "per", *sets), **words)
    swept = {
        name: list(values) for outcome in overview.outcomes for name, values in outcome.design.sweep.values.items()
    }
    settings = {"judges": list(design.judges), "judging": design.judging.model_dump(mode="json"), "sweep": swept}
    about = tuple(f"{plain(name)}: {plain(data.name)}, {len(data.items)} items" for name, data in sets.items())
    return Report("overview", "Agreement with people", about, settings, (table,), items, (basis,))


def overview_plan(
    sets: Mapping[str, Dataset], metrics: Sequence[str], base: AgreementDesign, prices: PriceTable
) -> Table:
    """Return the estimated cost of all sets."""
    plans = [
        (name, design.metric, plan_table(dataset, design, prices))
        for name, dataset, design in _designs(sets, metrics, base)
    ]
    rows = tuple((name, metric, *row) for name, metric, plan in plans for row in plan.rows)
    return replace(plans[0][2], columns=("set", "metric", *plans[0][2].columns), rows=rows)
