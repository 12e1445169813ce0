"""The report on the agreement of judges and people: figures for the record, and several sets in one table."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from redraft.errors import UsageError
from redraft.evaluators.consistency import Consistency
from redraft.evaluators.coverage import Coverage
from redraft.evaluators.figures import Interval, mean
from redraft.evaluators.panel import OPEN
from redraft.evaluators.similarity import rouge1
from redraft.lab.agreement.correlation import (
    BIGRAMS,
    bigram_share,
    dataset_series,
    has_systems,
    score_series,
    sentence_separation,
    sentence_series,
)
from redraft.lab.agreement.measures import Correlation, compare_verdicts, correlate
from redraft.lab.agreement.people import Dataset
from redraft.lab.agreement.tables import (
    STARRED,
    SUMMARIES,
    SYSTEMS,
    agreement_tables,
    best_rating,
    systems_correlation,
    verdict_pairs,
    with_stars,
)
from redraft.lab.agreement.trial import (
    READ,
    AgreementDesign,
    AgreementOutcome,
    Column,
    ItemOutcome,
    Setting,
    Sweep,
    human_field,
    plan_table,
    run_trial,
)
from redraft.llm.budget import PriceTable
from redraft.report.history.certificates import judge_setup_of
from redraft.report.tables import Cell, Report, Table, figure, number, plain
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.settings import Evaluate
from redraft.store.judgments import Agreement
from redraft.store.store import Store
from redraft.store.table import now

_MAX = 6


def agree_report(outcome: AgreementOutcome) -> Report:
    """Return the report of judges and people, with a record for every item."""
    design, tables = outcome.design, tuple(agreement_tables(outcome))
    return Report(
        "agree",
        f"{design.metric} compared with people: {plain(outcome.dataset.name)}",
        tuple(_about(outcome)),
        {
            "metric": design.metric,
            "human": design.human,
            "judges": list(design.judges),
            "judging": design.judging.model_dump(mode="json"),
            "sweep": {name: list(values) for name, values in design.sweep.values.items()},
        },
        tables,
        [_item(outcome, n) for n in range(len(outcome.dataset.items))],
        tuple(_headline(outcome, tables)),
    )


def _headline(outcome: AgreementOutcome, tables: Sequence[Table]) -> Iterator[str]:
    cells = {table.name: table.records for table in tables}
    right = {row["judge"]: row["balanced accuracy"] for row in cells.get("classes", ())}
    for row in cells["agreement"][:_MAX]:
        told = f"; balanced accuracy {_shown(right.get(row['judge']))}" if right else ""
        span = f"[{_shown(row['95% from'])}, {_shown(row['95% to'])}] over {row['summaries']} of {row['of']} summaries"
        yield f"{plain(str(row['judge']))}: tau-b {_shown(row['tau-b'])} {span}{told}"
    yield from list(_about(outcome))[2:]


def _shown(cell: Cell) -> str:
    return figure(number(cell))


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


def _item(outcome: AgreementOutcome, n: int) -> dict[str, object]:
    item = outcome.dataset.items[n]
    return {
        "id": item.id,
        "document": item.document,
        "system": item.system,
        "people": dict(item.people),
        "labels": list(item.labels),
        "judges": {column.name: asdict(column.said[n]) for column in outcome.columns},
    }


TAU, BALANCED = "tau-b", "balanced accuracy"
SENTENCES = "sentences"


def save_agreements(outcome: AgreementOutcome, store: Store) -> list[Agreement]:
    """Save every figure of every judge; save nothing of a comparison that was stopped early."""
    if outcome.stopped is not None:
        return []
    found = [agreement for column in outcome.columns for agreement in agreements(outcome, column, store)]
    with store.transaction():
        for one in found:
            store.agreements.keep(one)
    return found


def agreements(outcome: AgreementOutcome, column: Column, store: Store) -> list[Agreement]:
    """Return all figures of one judge under one setting."""
    made = next((outcome for outcome in column.said if outcome.run and outcome.version), None)
    if made is None or made.run is None:
        return []
    run = replace(store.runs.get(made.run), purpose=Evaluate(judging=column.judging))
    standing = judge_setup_of(run, outcome.design.metric, made.version)
    dataset, human, today = outcome.dataset.name, outcome.design.human, now()[:10]
    return [
        Agreement(standing, dataset, human, level, measure, n, value, low, high, today)
        for level, measure, n, value, interval in _figures(outcome, column)
        for low, high in [interval or (None, None)]
        if value is not None
    ]


def _figures(
    outcome: AgreementOutcome, column: Column
) -> Iterator[tuple[str, str, int, float | None, Interval | None]]:
    """Yield level, measure, number of items, value and interval; the value is None for too few items."""
    series = score_series(outcome, column)
    whole = correlate(series["ours"], series["people"], series["documents"])
    yield SUMMARIES, TAU, whole.n, whole.tau, whole.interval
    if has_systems(series):
        ranked = systems_correlation(series)
        yield SYSTEMS, TAU, ranked.n, ranked.tau, ranked.interval
    if best_rating(outcome) is not None:
        people, said = verdict_pairs(outcome, series)
        if said is not None:
            separation = compare_verdicts(said, people, series["documents"])
            yield SUMMARIES, BALANCED, separation.n, separation.balanced, separation.interval
    if (sentences := sentence_series(outcome.dataset, column)) is not None:
        separation = sentence_separation(sentences)
        yield SENTENCES, BALANCED, separation.n, separation.balanced, separation.interval


DIMENSIONS = (Consistency.name, Coverage.name)
QUESTEVAL = "QuestEval-like"
"""Both metrics' own questions and answers, scored as QuestEval does: by the mean token F1 of the answers, without a
threshold. The coverage figure is also QAEval's."""
_IDLE: Mapping[str, tuple[str, ...]] = {Coverage.name: (*READ, "claims"), Consistency.name: ("questions",)}
"""What makes no difference to a metric, and is not swept for it."""
_ANSWERS = {Consistency.name: "claims", Coverage.name: "questions"}
"""The detail of a metric that lists its answers."""


@dataclass(frozen=True, slots=True)
class MethodKey:
    """What is correlated with people's figures: a judge under a setting or a baseline, by a metric, per summary or per
    system."""

    name: str
    metric: str
    setting: tuple[tuple[str, str], ...]
    per: str


@dataclass(frozen=True, slots=True)
class AgreementOverview:
    """Every set of annotations by every metric that its people's figures measure."""

    outcomes: tuple[AgreementOutcome, ...]
    sets: Mapping[str, Dataset]
    found: Mapping[MethodKey, Mapping[str, Correlation]]
    """The correlations by method and set."""

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return all(outcome.complete for outcome in self.outcomes)


def designs(
    sets: Mapping[str, Dataset], metrics: Sequence[str], base: AgreementDesign
) -> list[tuple[str, Dataset, AgreementDesign]]:
    """Return what is compared: each set by each metric that its people's figures measure."""
    found = [
        (name, dataset, replace(base, metric=metric, human=human_field(dataset, metric, None), sweep=sweep))
        for name, dataset in sets.items()
        for metric in metrics
        if any(metric in field.metrics for field in dataset.fields.values())
        for sweep in [Sweep({key: one for key, one in base.sweep.values.items() if key not in _IDLE.get(metric, ())})]
    ]
    if not found:
        raise UsageError(
            f"no file has people's figures on {' or '.join(metrics)}", hint="name another --metric, or other files"
        )
    return found


async def run_overview(
    sets: Mapping[str, Dataset],
    metrics: Sequence[str],
    base: AgreementDesign,
    runner: ExperimentRunner,
) -> AgreementOverview:
    """Judge all sets, within the limits, and correlate the scores with people's."""
    done = [(name, await run_trial(dataset, design, runner)) for name, dataset, design in designs(sets, metrics, base)]
    found: dict[MethodKey, dict[str, Correlation]] = defaultdict(dict)
    for name, outcome in done:
        metric = outcome.design.metric
        for method, setting, scores in await asyncio.to_thread(_scored, outcome, runner.store):
            series = dataset_series(outcome.dataset, outcome.design.human, scores)
            found[MethodKey(method, metric, setting, SUMMARIES)][name] = correlate(
                series["ours"], series["people"], series["documents"]
            )
            if has_systems(series):
                found[MethodKey(method, metric, setting, SYSTEMS)][name] = systems_correlation(series)
    return AgreementOverview(tuple(agreement_outcome for _, agreement_outcome in done), sets, found)


def _scored(outcome: AgreementOutcome, store: Store) -> list[tuple[str, Setting, Sequence[float | None]]]:
    """Return the baseline's scores, each judge's, and those of the same answers scored as QuestEval does."""
    metric = outcome.design.metric
    found: list[tuple[str, Setting, Sequence[float | None]]] = [
        (BIGRAMS, (), [bigram_share(item) for item in outcome.dataset.items])
    ]
    for column in outcome.columns:
        # The first reading of a setting has its usage.
        if column.usage and metric in _ANSWERS:
            asked = tuple(one for one in column.setting if one[0] not in READ)
            found.append(
                (f"{QUESTEVAL} ({column.judge})", asked, [_token_f1(outcome, metric, store) for outcome in column.said])
            )
        found.append((column.judge, column.setting, column.scores))
    return found


def _token_f1(said: ItemOutcome, metric: str, store: Store) -> float | None:
    """Return the mean token F1 of the answers from the summary and from the document."""
    draft = store.runs.get(said.run).draft if said.run and said.outcome else None
    answers = store.judgments.of(draft)[metric].details.get(_ANSWERS[metric]) if draft else None
    judged = [answer for answer in answers if answer["verdict"] not in OPEN] if isinstance(answers, list) else []
    return mean([rouge1(one["found"], one["expected"]) for one in judged])


def overview_report(done: AgreementOverview) -> Report:
    """Return the report: the table, and a record for each of its figures."""
    design = done.outcomes[0].design
    names = list(dict.fromkeys(name for method in done.found for name, _ in method.setting))
    rows = [
        (
            *(plain(method.name), method.metric, *(dict(method.setting).get(name) for name in names), method.per),
            *(with_stars(by[one]) if one in by else None for one in done.sets),
        )
        for method, by in sorted(done.found.items(), key=lambda one: (one[0].metric, one[0].per))
    ]
    table = Table(
        "overview",
        "Agreement with people (LongSumEval, tables II and V to VII)",
        f"Kendall's tau-b with people's figures: {STARRED}. Per systems: of the systems' means, as the paper's on"
        f" SummEval, Arxiv and GovReport are. {QUESTEVAL}: the judge's questions and answers, by their mean token F1"
        " without a threshold; for coverage, that is QAEval's F1.",
        _basis(done),
        ("method", "metric", *names, "per", *done.sets),
        tuple(rows),
    )
    items = [
        {
            "method": method.name,
            "metric": method.metric,
            "setting": dict(method.setting),
            "per": method.per,
            "set": name,
            "n": correlation.n,
            "tau": correlation.tau,
            "p": correlation.p,
            "p_by": correlation.p_by,
        }
        for method, by in done.found.items()
        for name, correlation in by.items()
    ]
    settings = {
        "judges": list(design.judges),
        "judging": design.judging.model_dump(mode="json"),
        "sweep": {
            name: list(values) for outcome in done.outcomes for name, values in outcome.design.sweep.values.items()
        },
    }
    about = [f"{plain(name)}: {plain(dataset.name)}, {len(dataset.items)} items" for name, dataset in done.sets.items()]
    return Report("overview", "Agreement with people", tuple(about), settings, (table,), items, (_basis(done),))


def _basis(done: AgreementOverview) -> str:
    said = [
        item_outcome.status for outcome in done.outcomes for column in outcome.columns for item_outcome in column.said
    ]
    counts = ", ".join(f"{said.count(status)} {status}" for status in ("scored", "unjudged", "failed", "not made"))
    return f"Based on {len(said)} judgments: {counts}."


def overview_plan(
    sets: Mapping[str, Dataset], metrics: Sequence[str], base: AgreementDesign, prices: PriceTable
) -> Table:
    """Return the estimated cost of all sets."""
    plans = [
        (name, design.metric, plan_table(dataset, design, prices))
        for name, dataset, design in designs(sets, metrics, base)
    ]
    rows = tuple((name, metric, *row) for name, metric, one in plans for row in one.rows)
    return replace(plans[0][2], columns=("set", "metric", *plans[0][2].columns), rows=rows)
