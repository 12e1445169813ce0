"""Designs of experiments from requests, like those that the command of the same name makes from its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from redraft.errors import UsageError
from redraft.evaluators.catalog import check_goals, metrics
from redraft.lab.agreement.annotations import read_annotations, read_summaries
from redraft.lab.experiments import chunk_size, longsumeval, thesis
from redraft.lab.experiments.booookscore.experiment import CoherenceDesign, measured
from redraft.lab.experiments.chunk_size import SIZES, SizeDesign
from redraft.lab.experiments.context import tables as context
from redraft.lab.experiments.context.records import ContextDesign, read_steps
from redraft.lab.experiments.experiment import Experiment
from redraft.lab.experiments.grid import tables as grid
from redraft.lab.experiments.grid.experiment import GridDesign, contestants
from redraft.lab.experiments.hamlet import tables as hamlet
from redraft.lab.experiments.hamlet.experiment import HamletDesign
from redraft.lab.experiments.longsumeval import LongSumEvalDesign
from redraft.lab.experiments.plan import NamedModel
from redraft.lab.experiments.qa import tables as qa
from redraft.lab.experiments.qa.experiment import QaDesign
from redraft.lab.experiments.thesis import ThesisDesign
from redraft.llm.budget import PriceTable
from redraft.plugins import require_agreement
from redraft.report.tables import Table
from redraft.settings import EXTRACTIVE, DraftConfig, Limits, PolicyName
from redraft.store.store import Store
from redraft.studio.experiment_orders import ExperimentBody, ExperimentPlan, with_documents
from redraft.studio.orders import Models, judging_of, known_model, limits_of, own_settings, refuse_unpriced, settings_of

_LEAST_CHUNK = 64
_PAPERS = {"coverage": 0.6, "consistency": 0.73}
"""The default goals of LongSumEval."""


def plan_asked(
    store: Store,
    models: Models,
    asked: ExperimentBody,
    files: tuple[tuple[bytes, str], ...],
    before: ExperimentPlan | None,
) -> ExperimentPlan:
    """Return a request with its documents, or with those of an earlier plan. It is checked as far as possible without a
    model."""
    plan = with_documents(store, asked, files, before)
    designed(plan.asked, models)
    return plan


def plan_table(plan: ExperimentPlan, models: Models, prices: PriceTable, usual: Limits) -> Table:
    """Return the estimated cost of the experiment, step by step; the last row is the total."""
    experiment, design = designed(plan.asked, models)
    table = experiment.plan(plan.documents, design, prices)
    refuse_unpriced(unpriced(table), limits_of(usual, plan.asked.max_cost, plan.asked.max_calls))
    return table


def unpriced(table: Table) -> tuple[str, ...]:
    """Return the models in a plan whose price is unknown."""
    model, cost = table.columns.index("model"), table.columns.index("USD")
    return tuple(dict.fromkeys(str(row[model]) for row in table.rows[:-1] if row[cost] is None))


def designed(asked: ExperimentBody, models: Models) -> tuple[Experiment[Any, Any], Any]:
    """Return the requested experiment and its design; raise UsageError if it needs a model and has none."""
    if asked.kind == "booookscore":
        return _booookscore(asked, models)
    experiment, design = _DESIGNS[asked.kind]
    if not asked.models and asked.kind != "chunk-size":
        raise UsageError("no model takes part", hint="choose at least one model")
    return experiment, design(asked, models)


def _writers(asked: ExperimentBody, models: Models) -> tuple[NamedModel, ...]:
    changes = {"words": asked.word_limits[0]} if asked.word_limits else {}
    strategy = asked.strategies[0] if asked.strategies else "hierarchical"
    return tuple(
        NamedModel(name, settings_of(asked, models, name, strategy=strategy, **changes))
        for name in dict.fromkeys(asked.models)
    )


def _judges(asked: ExperimentBody, models: Models) -> tuple[NamedModel, ...]:
    """Return the judges, by default the first model, each with its own settings."""
    shared = asked.said({"prompts", "replies", "sample"})
    made = []
    for name in dict.fromkeys(asked.judges or asked.models[:1]):
        own: dict[str, Any] = {"model": EXTRACTIVE} if name == EXTRACTIVE else own_settings(known_model(name, models))
        made.append(NamedModel(name, DraftConfig(**{"strategy": "given", **shared, **own})))
    if not made:
        raise UsageError("no model judges", hint="choose at least one judge")
    return tuple(made)


def _only_judge(asked: ExperimentBody, models: Models) -> NamedModel:
    judges = _judges(asked, models)
    if len(judges) > 1:
        raise UsageError(f"{asked.kind} takes one judge, not {len(judges)}", hint="choose one judge")
    return judges[0]


def _grid(asked: ExperimentBody, models: Models) -> GridDesign:
    judges = _judges(asked, models)
    names = tuple(one.name for one in judges)
    how = judging_of(asked, models, tuple(dict.fromkeys((*asked.metrics, *asked.rubrics))), names)
    systems = contestants(
        _writers(asked, models),
        tuple(dict.fromkeys(asked.strategies)) or ("hierarchical",),
        tuple(dict.fromkeys(asked.chunk_sizes)) or (asked.said({"chunk_tokens"}).get("chunk_tokens", 2048),),
        tuple(dict.fromkeys(asked.word_limits)) or (asked.said({"words"}).get("words"),),
    )
    return GridDesign(systems, judges, how.model_copy(update={"judges": (), "base_url": None}), prefers=asked.prefer)


def _longsumeval(asked: ExperimentBody, models: Models) -> LongSumEvalDesign:
    judge = _only_judge(asked, models)
    goals = asked.goals or _PAPERS
    check_goals(goals, metrics(tuple(goals)))
    how = judging_of(asked, models, tuple(goals), (judge.name,))
    orders: tuple[PolicyName, ...] = ("paper", "consistency-first")
    rounds = asked.said({"rounds"}).get("rounds")
    return LongSumEvalDesign(_writers(asked, models), judge, how, (goals,), orders, rounds)


def _hamlet(asked: ExperimentBody, models: Models) -> HamletDesign:
    said = asked.said({"validator", "perspective"})
    validator = said.get("validator")
    own = {validator: known_model(validator, models)} if validator not in (None, EXTRACTIVE) else {}
    return HamletDesign(
        models=_writers(asked, models),
        judge=_only_judge(asked, models),
        validator=validator,
        own=own,
        perspective=said.get("perspective", "both"),
        queries=asked.queries,
    )


def _context(asked: ExperimentBody, models: Models) -> ContextDesign:
    return ContextDesign(
        models=_writers(asked, models),
        judge=_only_judge(asked, models),
        strategies=tuple(dict.fromkeys(asked.strategies)) or ("hierarchical",),
        steps=read_steps(asked.steps) if asked.steps else None,
        words=asked.word_limits[0] if asked.word_limits else None,
        embeddings=asked.said({"embeddings"}).get("embeddings"),
        places=asked.places,
        **_about_documents(asked),
    ).complete()


def _about_documents(asked: ExperimentBody) -> dict[str, Any]:
    return {"references": asked.references, "sets": asked.sets if asked.by_source else {}}


def _qa(asked: ExperimentBody, models: Models) -> QaDesign:
    said = asked.said({"similarity", "embeddings"})
    if said.get("similarity") == "judge":
        raise UsageError("qa compares answers by a measure, not by the judge", hint="choose rouge1, exact or cosine")
    return QaDesign(
        models=_writers(asked, models),
        judge=_only_judge(asked, models),
        strategies=tuple(dict.fromkeys(asked.strategies)) or ("direct",),
        words=asked.word_limits[0] if asked.word_limits else None,
        steps=read_steps(asked.steps) if asked.steps else None,
        per_third=asked.per_third,
        **_about_documents(asked),
        **said,
    )


def _thesis(asked: ExperimentBody, models: Models) -> ThesisDesign:
    both = asked.model_copy(update={"strategies": asked.strategies or ("direct",)})
    return ThesisDesign(_context(both, models), _qa(both, models))


def _chunk_size(asked: ExperimentBody, models: Models) -> SizeDesign:
    sizes = tuple(sorted({*asked.chunk_sizes})) or SIZES
    if sizes[0] < _LEAST_CHUNK:
        raise UsageError(f"a chunk of {sizes[0]} tokens is too small", hint=f"use {_LEAST_CHUNK} tokens or more")
    names = tuple(one.name for one in _judges(asked, models))
    own = {name: known_model(name, models) for name in names if name != EXTRACTIVE}
    how = asked.said({"context_tokens", "temperature", "prompts", "replies"})
    return SizeDesign(names, own=own, sizes=sizes, sample=asked.sample_size, **how)


def _booookscore(asked: ExperimentBody, models: Models) -> tuple[Experiment[Any, Any], Any]:
    """Return the summaries with their annotations. Without annotations, the built-in model judges by default."""
    require_agreement("measuring coherence")
    if not asked.summaries:
        raise UsageError("no summaries were given", hint="upload a JSON file with their texts by id")
    names = tuple(dict.fromkeys(asked.judges)) or (() if asked.annotations else (EXTRACTIVE,))
    own = {name: known_model(name, models) for name in names if name != EXTRACTIVE}
    said = asked.said({"batch", "context_tokens", "temperature", "prompts", "replies"})
    file = read_summaries("summaries.json", asked.summaries.encode())
    known = read_annotations("annotations.json", asked.annotations.encode()) if asked.annotations else None
    tables = import_module("redraft.lab.experiments.booookscore.tables")  # needs the extra `agreement`
    return tables.EXPERIMENT, measured(file, known, CoherenceDesign(names, own=own, **said))


_DESIGNS: Mapping[str, tuple[Experiment[Any, Any], Callable[[ExperimentBody, Models], Any]]] = {
    "grid": (grid.EXPERIMENT, _grid),
    "longsumeval": (longsumeval.EXPERIMENT, _longsumeval),
    "hamlet": (hamlet.EXPERIMENT, _hamlet),
    "context": (context.EXPERIMENT, _context),
    "qa": (qa.EXPERIMENT, _qa),
    "thesis": (thesis.EXPERIMENT, _thesis),
    "chunk-size": (chunk_size.EXPERIMENT, _chunk_size),
}
