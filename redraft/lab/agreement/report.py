"""The report on the agreement of judges and people: figures for the record, and several sets in one table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from statistics import fmean
from typing import Any

import pandas as pd
from sklearn.metrics import roc_auc_score

from redraft.errors import UsageError
from redraft.evaluators.consistency import Consistency
from redraft.evaluators.coverage import Coverage
from redraft.evaluators.reference.keyfacts import UNJUDGED, share
from redraft.evaluators.similarity import rouge1
from redraft.evaluators.statistics import mean
from redraft.lab.agreement.measures import (
    Cells,
    between_systems,
    beyond_chance,
    cohens_kappa,
    compare_verdicts,
    correlate,
    precision_and_recall,
    tau_b,
    within_documents,
)
from redraft.lab.agreement.people import Dataset, human_field, measured_fields
from redraft.lab.agreement.trial import (
    READ,
    AgreementDesign,
    AgreementOutcome,
    Column,
    Setting,
    plan_table,
    run_trial,
    setting_words,
)
from redraft.lab.declared import make_table
from redraft.lab.experiments.experiment import AGAIN
from redraft.lab.experiments.frames import spent
from redraft.llm.budget import PriceTable
from redraft.report.tables import Cell, Report, Table, figure, number, plain
from redraft.runs.experiment_runner import ExperimentRunner

BIGRAMS = "share of bigrams in the document"
"""The baseline for every judge: it only knows which words follow each other."""
_STATUSES = ("unjudged", "not applicable", "failed", "not made")
_PEOPLE = "people"
_WORD = re.compile(r"\w+")


def score_frame(dataset: Dataset, human: str, scores: Mapping[Any, Sequence[float | None]]) -> pd.DataFrame:
    """Return a row for each judge and item that people rated: `judge`, `document`, `system`, `people`, `ours`, and
    `filled`, in which a missing score is the mean of the judge's others."""
    items = dataset.items
    rated = pd.DataFrame(
        {
            "document": [item.document for item in items],
            "system": [item.system for item in items],
            "people": pd.Series([item.people.get(human) for item in items], dtype=float),
        }
    )
    frames = []
    for judge, values in scores.items():
        ours = pd.Series(values, dtype=float)
        frame = rated.assign(judge=pd.Series([judge] * len(items), dtype=object), ours=ours)
        frames.append(frame.assign(filled=ours.fillna(ours.mean())))
    return pd.concat(frames).dropna(subset="people")


def judged_frame(outcome: AgreementOutcome) -> pd.DataFrame:
    """Return the scores of every judge, and those of the baseline, beside people's figures."""
    scores = {column.name: column.scores for column in outcome.columns}
    return score_frame(outcome.dataset, outcome.design.human, {**scores, BIGRAMS: bigram_shares(outcome.dataset)})


def bigram_shares(dataset: Dataset) -> list[float]:
    """Return the share of each summary's word bigrams that occur in its document."""
    bigrams = {text: {*pairwise(_WORD.findall(text.lower()))} for text in {item.source for item in dataset.items}}
    shares: list[float] = []
    for item in dataset.items:
        words = [_WORD.findall(part.lower()) for part in item.sentences or (item.summary,)]
        pairs = [pair in bigrams[item.source] for sentence in words for pair in pairwise(sentence)]
        shares.append(fmean(pairs) if pairs else 0.0)
    return shares


def correlations(rows: pd.DataFrame, *, with_intervals: bool = False) -> dict[str, Cells]:
    """Return the correlation over all summaries with a score and, if they are by several known systems, that of the
    systems' means; intervals take a while."""
    rows = rows.dropna(subset="ours")
    documents = rows["document"].tolist() if with_intervals else []
    by_per = {"summaries": correlate(rows["ours"], rows["people"], documents)}
    if rows["system"].nunique() > 1 and "" not in set(rows["system"]):
        by_per["systems"] = between_systems(rows["ours"], rows["people"], rows["system"], documents)
    return by_per


def system_tau(rows: pd.DataFrame) -> float | None:
    """Return tau-b of the systems' means over all summaries."""
    means = rows.groupby("system")[["filled", "people"]].mean().dropna()
    return tau_b(means["filled"], means["people"])


def agreement_tables(outcome: AgreementOutcome) -> Iterator[Table]:
    """Yield the tables that there is data for; the last ones describe that data."""
    statuses, human = Counter(item_outcome.status for item_outcome in outcome.outcomes), outcome.design.human
    counts = ", ".join(f"{statuses[status]} {status}" for status in _STATUSES)
    rated, items = sum(human in item.people for item in outcome.dataset.items), outcome.dataset.items
    base = f"Based on {rated} of {len(items)} items and {statuses.total()} judgments: {counts}."
    words: dict[str, Any] = {"bigrams": BIGRAMS, "human": human, "best": outcome.dataset.fields[human]}
    score_rows = _score_rows(outcome, rated)
    for name, rows in {**score_rows, "sentences": [*_sentences(outcome)], "raters": [*_raters(outcome)]}.items():
        if rows or name == "agreement":
            yield make_table("agree", name, base, rows, **words)
    unread = f"{len(outcome.dataset.troubles)} entries of the file could not be read."
    yield make_table("agree", "counts", unread, _counts(outcome))
    costs: list[Cells] = [
        {"judge": column.judge, "setting": setting_words(column.setting), "runs": len(column.usage)}
        | spent(column.usage)
        for column in outcome.columns
        if column.usage
    ]
    yield make_table("agree", "cost", base, costs)
    troubles = [(problem.place, "", "reading", "", problem.message) for problem in outcome.dataset.troubles]
    troubles += [
        (item.id, column.name, item_outcome.failure.stage, item_outcome.failure.code, item_outcome.failure.message)
        for column in outcome.columns
        for item, item_outcome in zip(items, column.outcomes, strict=True)
        if item_outcome.failure is not None
    ]
    yield make_table("agree", "troubles", base, troubles, again=AGAIN if troubles else "Nothing failed.")


def _score_rows(outcome: AgreementOutcome, rated: int) -> dict[str, list[Cells]]:
    """Return the rows of the tables of scores beside people's figures: over all summaries; and within documents and by
    system, if the first judge scored several."""
    best = outcome.dataset.fields[outcome.design.human]
    rows: dict[str, list[Cells]] = {name: [] for name in ("agreement", "documents", "systems")}
    several_documents = several_systems = None
    for judge, with_people in judged_frame(outcome).groupby("judge", sort=False):
        of_judge, by_per = with_people.dropna(subset="ours"), correlations(with_people, with_intervals=True)
        ours, figures, documents = (of_judge[name] for name in ("ours", "people", "document"))
        if several_documents is None:
            several_documents, several_systems = bool(documents.duplicated().any()), "systems" in by_per
        head, pairs = {"judge": judge, "of": rated, "summaries": len(of_judge)}, by_per["summaries"]
        tau = tau_b(with_people["filled"].dropna(), with_people["people"])
        labels = [value >= best for value in figures] if best else []
        area = float(roc_auc_score(labels, ours)) if len(set(labels)) == 2 else None
        rows["agreement"].append({**head, **pairs, "tau, all": tau, "AUC": area})
        if several_documents and len(of_judge):
            rows["documents"].append({"judge": judge, **within_documents(ours, figures, documents)})
        if several_systems:
            systems = by_per.get("systems") or between_systems(ours, figures, of_judge["system"], documents)
            row = {"judge": judge, "systems": systems["n"], **systems, "tau, all": system_tau(with_people)}
            rows["systems"].append(row)
    return rows


def _sentences(outcome: AgreementOutcome) -> Iterator[Cells]:
    """Yield how each judge's verdicts on sentences agree with people's, if it has any."""
    for column in outcome.columns:
        sentences = sentence_frame(outcome.dataset, column)
        decided = sentences.dropna(subset="ours")
        if decided.empty:
            continue
        ours, labels = decided["ours"].astype(bool).tolist(), decided["people"].astype(bool).tolist()
        wrong = [not label for label in sentences["people"]]
        yield {
            "judge": column.name,
            "judged": len(decided),
            "of": len(sentences),
            "wrong": sum(wrong),
            **compare_verdicts(ours, labels, decided["document"]),
            "found of all": precision_and_recall([verdict is False for verdict in sentences["ours"]], wrong)[1],
            "kappa": cohens_kappa(labels, ours),
            **beyond_chance(list(zip(labels, ours, strict=True))),
        }


def sentence_frame(dataset: Dataset, column: Column) -> pd.DataFrame:
    """Return a judge's verdicts on the sentences that people judged (`ours`, None if it abstains) beside people's."""
    rows = [
        (verdict, label, item.document)
        for item, outcome in zip(dataset.items, column.outcomes, strict=True)
        for verdict, label in zip(outcome.sentences or (None,) * len(item.labels), item.labels, strict=True)
        if label is not None
    ]
    return pd.DataFrame(rows, columns=["ours", "people", "document"], dtype=object)


def _raters(outcome: AgreementOutcome) -> Iterator[Cells]:
    """Yield how two judges agree, and people."""
    for first, second in combinations([column for column in outcome.columns if not column.setting], 2):
        scores = pd.DataFrame({"first": first.scores, "second": second.scores}, dtype=float).dropna()
        verdicts = [
            pair
            for of_first, of_second in zip(first.outcomes, second.outcomes, strict=True)
            for pair in zip(of_first.sentences, of_second.sentences, strict=False)
        ]
        sides = pd.DataFrame(verdicts, columns=["first", "second"], dtype=object).dropna()
        head = {"one": first.name, "other": second.name, "items": len(scores)}
        figures = {"kappa": cohens_kappa(*(sides[side].tolist() for side in sides))}
        figures["tau-b"] = tau_b(scores["first"], scores["second"])
        yield {**head, **beyond_chance(scores.to_numpy().tolist(), "interval"), **figures}
    if votes := [row for item in outcome.dataset.items for row in item.votes]:
        yield {"one": _PEOPLE, "other": "each other", "items": len(votes), **beyond_chance(votes, "interval")}


def _counts(outcome: AgreementOutcome) -> Iterator[Cells]:
    """Yield what the figures of people and of each judge are based on."""
    human, items = outcome.design.human, outcome.dataset.items
    yield {"by": _PEOPLE, "items": len(items), "figures": sum(human in item.people for item in items)}
    for column in outcome.columns:
        statuses = Counter(item_outcome.status for item_outcome in column.outcomes)
        evaluations = [item_outcome.evaluation for item_outcome in column.outcomes if item_outcome.evaluation]
        unjudged = sum(evaluation.unjudged for evaluation in evaluations)
        yield {
            "by": column.name,
            "items": len(column.outcomes),
            "figures": statuses["scored"],
            **{status: statuses[status] for status in _STATUSES},
            "items unjudged": share(unjudged, unjudged + sum(evaluation.judged for evaluation in evaluations)),
        }


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
        | {"judges": {column.name: column.outcomes[n].as_json() for column in outcome.columns}}
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
        frame = score_frame(dataset, design.human, scores_by_method(outcomes[-1]))
        for (method, setting), rows in frame.groupby("judge", sort=False):
            for per, row in correlations(rows).items():
                head = {"method": method, "metric": design.metric, "setting": dict(setting), "per": per, "set": name}
                items.append({**head, "n": row["n"], "tau": row["tau-b"], "p": row["p"]})
    return outcomes, items


def scores_by_method(outcome: AgreementOutcome) -> dict[tuple[str, Setting], Sequence[float | None]]:
    """Return the baseline's scores, each judge's, and those of the same answers scored as QuestEval does."""
    metric = outcome.design.metric
    scores: dict[tuple[str, Setting], Sequence[float | None]] = {(BIGRAMS, ()): bigram_shares(outcome.dataset)}
    for column in outcome.columns:
        # The first reading of a setting has its usage.
        if column.usage and metric in _ANSWERS:
            setting = tuple(pair for pair in column.setting if pair[0] not in READ)
            means = scores[f"{QUESTEVAL} ({column.judge})", setting] = list[float | None]()
            for evaluation in (item_outcome.evaluation for item_outcome in column.outcomes):
                answers = evaluation.details.get(_ANSWERS[metric]) if evaluation else None
                listed = answers if isinstance(answers, list) else []
                decided = [answer for answer in listed if answer["verdict"] != UNJUDGED]
                means.append(mean([rouge1(answer["found"], answer["expected"]) for answer in decided]))
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
