"""The report on the agreement of judges and people: figures for the record, and several sets in one table."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from redraft.errors import UsageError
from redraft.evaluators.consistency import Consistency
from redraft.evaluators.coverage import Coverage
from redraft.evaluators.figures import mean
from redraft.evaluators.reference.keyfacts import UNJUDGED
from redraft.evaluators.similarity import rouge1
from redraft.lab.agreement.people import Dataset, human_field, measured_fields
from redraft.lab.agreement.tables import BIGRAMS, agreement_tables, bigram_shares, correlations, score_frame
from redraft.lab.agreement.trial import READ, AgreementDesign, AgreementOutcome, Setting, plan_table, run_trial
from redraft.lab.declared import make_table
from redraft.llm.budget import PriceTable
from redraft.report.tables import Cell, Report, Table, figure, number, plain
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
_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


def agree_report(outcome: AgreementOutcome) -> Report:
    """Return the report of judges and people, with a record for every item."""
    design, dataset, tables = outcome.design, outcome.dataset, tuple(agreement_tables(outcome))
    about = tuple(_about(outcome))
    items: list[Mapping[str, object]] = [
        {name: getattr(item, name) for name in ("id", "document", "system")}
        | {"people": dict(item.people), "labels": list(item.labels)}
        | {"judges": {column.name: column.said[n].as_json() for column in outcome.columns}}
        for n, item in enumerate(dataset.items)
    ]
    settings = {"metric": design.metric, "human": design.human, **_settings([outcome])}
    title = f"{design.metric} compared with people: {plain(dataset.name)}"
    headline: list[str] = []
    for row in next(table.records for table in tables if table.name == "agreement")[:_MAX]:
        tau, low, high = (figure(number(row[name])) for name in ("tau-b", "95% from", "95% to"))
        span = f"[{low}, {high}] over {row['summaries']} of {row['of']} summaries"
        headline.append(f"{plain(str(row['judge']))}: tau-b {tau} {span}")
    return Report("agree", title, about, settings, tables, items, (*headline, *about[2:]))


def _settings(outcomes: Sequence[AgreementOutcome]) -> dict[str, object]:
    """Return the judges, how they judge, and what was swept."""
    design = outcomes[0].design
    sweep = {name: list(values) for outcome in outcomes for name, values in outcome.design.sweep.items()}
    return {"judges": list(design.judges), "judging": design.judging.model_dump(mode="json"), "sweep": sweep}


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


def _designs(
    sets: Mapping[str, Dataset], metrics: Sequence[str], base: AgreementDesign
) -> list[tuple[str, Dataset, AgreementDesign]]:
    """Return what is compared: each set by each metric that its people's figures measure."""
    designs = []
    for name, dataset in sets.items():
        for metric in metrics:
            if measured_fields(dataset, metric):
                sweep = {key: values for key, values in base.sweep.items() if key not in _IDLE.get(metric, ())}
                human = human_field(dataset, metric, None)
                designs.append((name, dataset, replace(base, metric=metric, human=human, sweep=sweep)))
    if not designs:
        message = f"no file has people's figures on {' or '.join(metrics)}"
        raise UsageError(message, hint="name another --metric, or other files")
    return designs


async def run_overview(
    sets: Mapping[str, Dataset], metrics: Sequence[str], base: AgreementDesign, runner: ExperimentRunner
) -> tuple[list[AgreementOutcome], list[dict[str, Any]]]:
    """Judge all sets, within the limits, by every metric that its people's figures measure, and correlate the scores
    with people's, per summary and per system: a record for each set, metric, and method, which is a judge under a
    setting or a baseline."""
    outcomes: list[AgreementOutcome] = []
    items: list[dict[str, Any]] = []
    for name, dataset, design in _designs(sets, metrics, base):
        outcomes.append(await run_trial(dataset, design, runner))
        scores = await asyncio.to_thread(scores_by_method, outcomes[-1], runner.store)
        for (method, setting), rows in score_frame(dataset, design.human, scores).groupby("judge", sort=False):
            for per, row in correlations(rows).items():
                head = {"method": method, "metric": design.metric, "setting": dict(setting), "per": per, "set": name}
                items.append({**head, "n": row["n"], "tau": row["tau-b"], "p": row["p"]})
    return outcomes, items


def scores_by_method(outcome: AgreementOutcome, store: Store) -> dict[tuple[str, Setting], Sequence[float | None]]:
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
                decided = [answer for answer in listed if answer["verdict"] != UNJUDGED]
                means.append(mean([rouge1(answer["found"], answer["expected"]) for answer in decided]))
            scores[f"{QUESTEVAL} ({column.judge})", setting] = means
        scores[column.judge, column.setting] = column.scores
    return scores


def overview_report(
    sets: Mapping[str, Dataset], outcomes: Sequence[AgreementOutcome], items: Sequence[Mapping[str, Any]]
) -> Report:
    """Return the report of `run_overview`: a row for each method and a column for each set, and a record for each
    figure."""
    rows: dict[tuple[object, ...], dict[str, Cell]] = {}
    for item in sorted(items, key=lambda item: (item["metric"], item["per"])):
        head = {"method": plain(item["method"]), "metric": item["metric"], **item["setting"], "per": item["per"]}
        tau, p = item["tau"], item["p"]
        stars = next((stars for limit, stars in _STARS if p is not None and p < limit), "")
        row = rows.setdefault(tuple(head.items()), head)
        row[item["set"]] = None if tau is None else f"{tau:.3f}{stars}"
    statuses = [item_outcome.status for outcome in outcomes for item_outcome in outcome.outcomes]
    counts = (f"{statuses.count(status)} {status}" for status in ("scored", "unjudged", "failed", "not made"))
    basis = f"Based on {len(statuses)} judgments: {', '.join(counts)}."
    names = dict.fromkeys(name for item in items for name in item["setting"])
    table = make_table("agree", "overview", basis, rows.values(), more=(*names, "per", *sets), questeval=QUESTEVAL)
    about = tuple(f"{plain(name)}: {plain(data.name)}, {len(data.items)} items" for name, data in sets.items())
    return Report("overview", "Agreement with people", about, _settings(outcomes), (table,), items, (basis,))


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
