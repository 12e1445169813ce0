"""Requests for experiments (kind, systems, documents, metrics and limits), and the designs that they mean, like those
that the command of the same name makes from its options.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from redraft.domain import Document
from redraft.errors import RunCommand, UsageError
from redraft.evaluators.catalog import check_goals, metrics
from redraft.lab.agreement.annotations import read_annotations, read_summaries
from redraft.lab.experiments import chunk_size, longsumeval, thesis
from redraft.lab.experiments.booookscore.experiment import CoherenceDesign, measure_summaries
from redraft.lab.experiments.chunk_size import SIZES, ChunkSizeDesign
from redraft.lab.experiments.context import tables as context
from redraft.lab.experiments.context.records import ContextDesign, parse_steps
from redraft.lab.experiments.data.read import SUFFIXES, form_suffix
from redraft.lab.experiments.experiment import Experiment
from redraft.lab.experiments.grid import tables as grid
from redraft.lab.experiments.grid.experiment import GridDesign, contestants
from redraft.lab.experiments.hamlet import tables as hamlet
from redraft.lab.experiments.hamlet.experiment import HamletDesign
from redraft.lab.experiments.longsumeval import LongSumEvalDesign
from redraft.lab.experiments.plan import NamedModel
from redraft.lab.experiments.qa import tables as qa
from redraft.lab.experiments.qa.experiment import QaDesign
from redraft.lab.experiments.sources import DATASET, Corpus, corpus, read_references_of
from redraft.lab.experiments.thesis import ThesisDesign
from redraft.lab.extra import require_lab
from redraft.llm.budget import PriceTable
from redraft.readers.documents import load_bytes
from redraft.report.tables import Table
from redraft.settings import EXTRACTIVE, DraftConfig, Limits, PolicyName
from redraft.store.store import Store
from redraft.studio.orders import (
    Models,
    SettingsBody,
    document_named,
    judging_of,
    known_model,
    limits_of,
    own_settings,
    refuse_unpriced,
    settings_of,
)

_MAX_DOCUMENTS = 200
_SPLIT = re.compile(r"[,;\s]+")


def _numbers(given: object) -> object:
    """Split a typed list of numbers, such as 100, 200."""
    return [one for one in _SPLIT.split(given) if one] if isinstance(given, str) else given


Numbers = Annotated[tuple[int, ...], BeforeValidator(_numbers), Field(max_length=8)]
Kind = Literal["grid", "longsumeval", "hamlet", "context", "qa", "thesis", "chunk-size", "booookscore"]


TEXTS = ("summaries", "annotations")


class KindInfo(NamedTuple):
    """The description of a kind of experiment in the form."""

    title: str
    about: str


KINDS: Mapping[Kind, KindInfo] = {
    "grid": KindInfo(
        "Compare models and settings", "Every system summarizes every document, and judges score the summaries."
    ),
    "longsumeval": KindInfo("Measure what refining gains", "Every model refines its drafts until they meet goals."),
    "hamlet": KindInfo(
        "Answer queries about key facts", "Every model answers queries, and judges check the answers by key facts."
    ),
    "context": KindInfo(
        "Read further step by step", "Every model summarizes the first 10,000 tokens, the first 20,000, and so on."
    ),
    "qa": KindInfo("Answer questions about the document", "Every model answers questions as it reads further."),
    "thesis": KindInfo("Trace summaries and answers", "The two above together, as in the traceability thesis."),
    "chunk-size": KindInfo("Compare chunk sizes", "Judges rate how well chunks of several sizes suit key facts."),
    "booookscore": KindInfo(
        "Measure how coherent summaries are", "Judges or annotations say which sentences of your summaries confuse."
    ),
}
"""The kinds of experiments that can be started here."""


class ExperimentBody(SettingsBody):
    """A request for an experiment. Its documents are `documents`, those of `from_batch`, or files of the request."""

    kind: Kind = "grid"
    name: str = Field(default="", max_length=60)
    """What to call it. Default: its kind and the date."""
    documents: tuple[str, ...] = Field(default=(), max_length=_MAX_DOCUMENTS)
    """The ids of documents in the database."""
    from_batch: str = Field(default="", max_length=300)
    """The name of a batch, whose documents are used."""
    models: tuple[str, ...] = ()
    """The models that are compared."""
    judges: tuple[str, ...] = ()
    """The models that judge. Default: the first of `models`."""
    strategies: tuple[str, ...] = ()
    """Grid, context, qa and thesis: the strategies that are compared."""
    chunk_sizes: Numbers = ()
    """Grid and chunk-size: the sizes of chunks that are compared, in tokens."""
    word_limits: Numbers = ()
    """Grid: the word limits that are compared; others use the first."""
    metrics: tuple[str, ...] = ()
    """Grid: the metrics that judge the summaries. Default: coverage and consistency."""
    goals: dict[str, float] = Field(default_factory=dict)
    """Longsumeval: the least score of each metric."""
    prefer: bool = False
    """Grid: let the judges choose the better of two summaries, too."""
    steps: str = Field(default="", max_length=200)
    """Context, qa and thesis: how many tokens are read at each step, as START:STOP:STEP or N,N."""
    places: Literal["lineage", "tfidf", "embeddings"] = "lineage"
    """Context and thesis: where a sentence comes from, by lineage or by the most similar paragraph."""
    by_source: bool = False
    """Context, qa and thesis: show each file, set or batch in the tables as a dataset of its own."""
    reference: str = ""
    """Context, qa and thesis: the existing summary of the document, or JSON lines with `document` and `summary`, or
    `dataset` for those in an uploaded set. They are the baseline, set the length, and are shown to the judge."""
    references: dict[str, str] = Field(default_factory=dict)
    """These summaries by the id of the document."""
    sets: dict[str, str] = Field(default_factory=dict)
    """The dataset of each document, by id."""
    queries: int | None = Field(default=None, ge=1)
    """Hamlet: the most queries about each document."""
    per_third: int = Field(default=1, ge=1, le=100)
    """Qa and thesis: the questions of each type about each third of a document."""
    sample_size: int = Field(default=100, ge=1, le=10_000)
    """Chunk-size: the most chunks of each size."""
    summaries: str = ""
    """Booookscore: the content of a JSON file of summaries, their texts by id."""
    annotations: str = ""
    """Booookscore: the content of a JSON file of annotations, as the BooookScore project released them."""
    max_calls: int | None = Field(default=None, ge=1)
    """Stop before there are more calls."""


class ExperimentStart(ExperimentBody):
    """An experiment to start, or to plan."""

    dry_run: bool = False
    """Only return the plan: no model is called and nothing is stored."""


class ExperimentPlan(NamedTuple):
    """An experiment that can be started, with its documents."""

    asked: ExperimentBody
    documents: tuple[Document, ...]


def with_documents(
    store: Store, asked: ExperimentBody, files: tuple[tuple[bytes, str], ...], before: ExperimentPlan | None
) -> ExperimentPlan:
    """Return a request with its documents, or with those of an earlier plan."""
    if asked.kind == "booookscore":
        kept = {name: getattr(before.asked, name) for name in TEXTS} if before and not asked.summaries else {}
        return ExperimentPlan(asked.model_copy(update=kept), ())
    if before is not None and before.documents and not (asked.documents or asked.from_batch or files):
        known = Corpus([*before.documents], before.asked.sets)
        return ExperimentPlan(_with_references(asked, known, before), before.documents)
    found = _corpus(store, asked, files)
    return ExperimentPlan(_with_references(asked, found, before), tuple(found.documents))


def _with_references(asked: ExperimentBody, found: Corpus, before: ExperimentPlan | None) -> ExperimentBody:
    """Return the request with the datasets and the existing summaries of its documents."""
    known = asked.references or (before.asked.references if before else {})
    if asked.reference == DATASET:
        known = found.references or known
        if not known:
            raise UsageError("the documents have no summaries of their own", hint="upload a set that has them")
    elif asked.reference:
        known = _references_in(asked.reference, found.documents)
    return asked.model_copy(update={"reference": "", "references": known, "sets": asked.sets or found.sets})


def _references_in(text: str, documents: list[Document]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"reference{'.jsonl' if text.lstrip().startswith('{') else '.txt'}"
        file.write_text(text, "utf-8")
        try:
            return read_references_of(str(file), documents)
        except UsageError as error:
            raise UsageError(error.message, place=Path(error.place).name, hint=error.hint) from error


def _corpus(store: Store, asked: ExperimentBody, files: tuple[tuple[bytes, str], ...]) -> Corpus:
    found = [
        (document.title, Corpus([document])) for document in (document_named(store, key) for key in asked.documents)
    ]
    if asked.from_batch:
        items = store.batches.some(asked.from_batch, "", "", 0, _MAX_DOCUMENTS)
        found.append((asked.from_batch, Corpus([store.documents.get(row.document) for row in items if row.document])))
        if not items:
            raise UsageError(
                f"no batch {asked.from_batch!r} has documents", fix=(RunCommand("batch list"), " lists them")
            )
    found += [(Path(name).stem, documents_in_file(content, name)) for content, name in files]
    documents = {document.id: document for _, some in found for document in some.documents}
    if not documents:
        raise UsageError("no documents were given", hint="choose documents, upload files, or name a batch")
    if len(documents) > _MAX_DOCUMENTS:
        hint = "redraft experiment takes larger sets"
        raise UsageError(f"{len(documents):,} documents are too many here: at most {_MAX_DOCUMENTS}", hint=hint)
    sets = {document.id: name for name, some in reversed(found) for document in some.documents}
    references = {key: text for _, some in reversed(found) for key, text in some.references.items()}
    return Corpus([*documents.values()], sets, references)


def documents_in_file(content: bytes, name: str) -> Corpus:
    """Return the document in a file, or the documents of a set: for example JSON lines with id, title and text."""
    if form_suffix(Path(name)) not in SUFFIXES:
        return Corpus([load_bytes(content, name)])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_bytes(content)
        return corpus([str(file)], DATASET)


_MIN_CHUNK = 64
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
    design_of(plan.asked, models)
    return plan


def plan_table(plan: ExperimentPlan, models: Models, prices: PriceTable, usual: Limits) -> Table:
    """Return the estimated cost of the experiment, step by step; the last row is the total."""
    experiment, design = design_of(plan.asked, models)
    table = experiment.plan(plan.documents, design, prices)
    refuse_unpriced(unpriced(table), limits_of(usual, plan.asked.max_cost, plan.asked.max_calls))
    return table


def unpriced(table: Table) -> tuple[str, ...]:
    """Return the models in a plan whose price is unknown."""
    model, cost = table.columns.index("model"), table.columns.index("USD")
    return tuple(dict.fromkeys(str(row[model]) for row in table.rows[:-1] if row[cost] is None))


def design_of(asked: ExperimentBody, models: Models) -> tuple[Experiment[Any, Any], Any]:
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
    named_models = []
    for name in dict.fromkeys(asked.judges or asked.models[:1]):
        own: dict[str, Any] = {"model": EXTRACTIVE} if name == EXTRACTIVE else own_settings(known_model(name, models))
        named_models.append(NamedModel(name, DraftConfig(**{"strategy": "given", **shared, **own})))
    if not named_models:
        raise UsageError("no model judges", hint="choose at least one judge")
    return tuple(named_models)


def _only_judge(asked: ExperimentBody, models: Models) -> NamedModel:
    judges = _judges(asked, models)
    if len(judges) > 1:
        raise UsageError(f"{asked.kind} takes one judge, not {len(judges)}", hint="choose one judge")
    return judges[0]


def _grid(asked: ExperimentBody, models: Models) -> GridDesign:
    judges = _judges(asked, models)
    names = tuple(model.name for model in judges)
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
    orders: tuple[PolicyName, ...] = ("paper", "editor")
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
        steps=parse_steps(asked.steps) if asked.steps else None,
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
        steps=parse_steps(asked.steps) if asked.steps else None,
        per_third=asked.per_third,
        **_about_documents(asked),
        **said,
    )


def _thesis(asked: ExperimentBody, models: Models) -> ThesisDesign:
    both = asked.model_copy(update={"strategies": asked.strategies or ("direct",)})
    return ThesisDesign(_context(both, models), _qa(both, models))


def _chunk_size(asked: ExperimentBody, models: Models) -> ChunkSizeDesign:
    sizes = tuple(sorted({*asked.chunk_sizes})) or SIZES
    if sizes[0] < _MIN_CHUNK:
        raise UsageError(f"a chunk of {sizes[0]} tokens is too small", hint=f"use {_MIN_CHUNK} tokens or more")
    names = tuple(model.name for model in _judges(asked, models))
    own = {name: known_model(name, models) for name in names if name != EXTRACTIVE}
    how = asked.said({"context_tokens", "temperature", "prompts", "replies"})
    return ChunkSizeDesign(names, own=own, sizes=sizes, sample=asked.sample_size, **how)


def _booookscore(asked: ExperimentBody, models: Models) -> tuple[Experiment[Any, Any], Any]:
    """Return the summaries with their annotations. Without annotations, the built-in model judges by default."""
    require_lab("measuring coherence")
    if not asked.summaries:
        raise UsageError("no summaries were given", hint="upload a JSON file with their texts by id")
    names = tuple(dict.fromkeys(asked.judges)) or (() if asked.annotations else (EXTRACTIVE,))
    own = {name: known_model(name, models) for name in names if name != EXTRACTIVE}
    said = asked.said({"batch", "context_tokens", "temperature", "prompts", "replies"})
    file = read_summaries("summaries.json", asked.summaries.encode())
    known = read_annotations("annotations.json", asked.annotations.encode()) if asked.annotations else None
    tables = import_module("redraft.lab.experiments.booookscore.tables")  # needs the extra `agreement`
    return tables.EXPERIMENT, measure_summaries(file, known, CoherenceDesign(names, own=own, **said))


_DESIGNS: Mapping[str, tuple[Experiment[Any, Any], Callable[[ExperimentBody, Models], Any]]] = {
    "grid": (grid.EXPERIMENT, _grid),
    "longsumeval": (longsumeval.EXPERIMENT, _longsumeval),
    "hamlet": (hamlet.EXPERIMENT, _hamlet),
    "context": (context.EXPERIMENT, _context),
    "qa": (qa.EXPERIMENT, _qa),
    "thesis": (thesis.EXPERIMENT, _thesis),
    "chunk-size": (chunk_size.EXPERIMENT, _chunk_size),
}
