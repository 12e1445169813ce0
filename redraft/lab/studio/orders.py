"""Requests for experiments (kind, systems, documents, metrics and limits), and the designs that they mean."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import BeforeValidator, Field

from redraft.domain import Document
from redraft.errors import UsageError
from redraft.evaluators.catalog import check_goals, metrics
from redraft.lab.agreement.annotations import read_annotations, read_summaries
from redraft.lab.experiments import chunk_size, context, grid, hamlet, longsumeval, qa, thesis
from redraft.lab.experiments.booookscore import CoherenceDesign, measure_summaries
from redraft.lab.experiments.chunk_size import SIZES, ChunkSizeDesign
from redraft.lab.experiments.context import ContextDesign
from redraft.lab.experiments.data.read import SUFFIXES, form_suffix
from redraft.lab.experiments.experiment import AnyExperiment
from redraft.lab.experiments.grid import GridDesign, contestants
from redraft.lab.experiments.hamlet import HamletDesign
from redraft.lab.experiments.longsumeval import LongSumEvalDesign
from redraft.lab.experiments.plan import NamedModel
from redraft.lab.experiments.qa import QaDesign
from redraft.lab.experiments.reading import parse_steps
from redraft.lab.experiments.sources import DATASET, Corpus, corpus, read_references_of
from redraft.lab.experiments.thesis import ThesisDesign
from redraft.lab.extra import require_lab
from redraft.llm.budget import PriceTable
from redraft.readers.documents import load_bytes
from redraft.report.tables import Table
from redraft.settings import EXTRACTIVE, DraftConfig, JudgeConfig, Limits, ModelSettings, PolicyName
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
_MIN_CHUNK = 64
_GOALS = {"coverage": 0.6, "consistency": 0.73}
"""The default goals of LongSumEval."""
T = TypeVar("T")
_SPLIT = re.compile(r"[,;\s]+")


def _numbers(value: object) -> object:
    """Split a typed list of numbers, such as 100, 200."""
    return [number for number in _SPLIT.split(value) if number] if isinstance(value, str) else value


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


def plan_asked(
    store: Store,
    models: Models,
    asked: ExperimentBody,
    files: tuple[tuple[bytes, str], ...],
    before: ExperimentPlan | None,
) -> ExperimentPlan:
    """Return a request with its documents, or with those of an earlier plan. It is checked as far as possible without a
    model."""
    if asked.kind == "booookscore":
        texts = {name: getattr(before.asked, name) for name in TEXTS} if before and not asked.summaries else {}
        plan = ExperimentPlan(asked.model_copy(update=texts), ())
    else:
        kept = before is not None and before.documents and not (asked.documents or asked.from_batch or files)
        corpus = Corpus([*before.documents], before.asked.sets) if before and kept else _corpus(store, asked, files)
        plan = ExperimentPlan(_with_references(asked, corpus, before), tuple(corpus.documents))
    design_of(plan.asked, models)
    return plan


def _with_references(asked: ExperimentBody, found: Corpus, before: ExperimentPlan | None) -> ExperimentBody:
    """Return the request with the datasets and the existing summaries of its documents."""
    references = asked.references or (before.asked.references if before else {})
    if asked.reference == DATASET:
        references = found.references or references
        if not references:
            raise UsageError("the documents have no summaries of their own", hint="upload a set that has them")
    elif text := asked.reference:
        name = f"reference{'.jsonl' if text.lstrip().startswith('{') else '.txt'}"
        try:
            references = _from_file(text.encode(), name, lambda file: read_references_of(file, found.documents))
        except UsageError as error:
            raise UsageError(error.message, place=Path(error.place).name, hint=error.hint) from error
    return asked.model_copy(update={"reference": "", "references": references, "sets": asked.sets or found.sets})


def _from_file(content: bytes, name: str, read: Callable[[str], T]) -> T:
    """Return what is read of a file with this content."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_bytes(content)
        return read(str(file))


def _corpus(store: Store, asked: ExperimentBody, files: tuple[tuple[bytes, str], ...]) -> Corpus:
    """Return the documents that a request names or has; raise if there are none, or too many."""
    named = [document_named(store, key) for key in asked.documents]
    parts = [(document.title, Corpus([document])) for document in named]
    if asked.from_batch:
        items = store.batches.some(asked.from_batch, "", "", 0, _MAX_DOCUMENTS)
        if not items:
            raise UsageError(f"no batch {asked.from_batch!r} has documents", hint="GET /api/batches lists them")
        of_batch = [store.documents.get(item.document) for item in items if item.document]
        parts.append((asked.from_batch, Corpus(of_batch)))
    parts += [(Path(name).stem, documents_in_file(content, name)) for content, name in files]
    documents = {document.id: document for _, part in parts for document in part.documents}
    if not documents:
        raise UsageError("no documents were given", hint="choose documents, upload files, or name a batch")
    if len(documents) > _MAX_DOCUMENTS:
        hint = "redraft experiment takes larger sets"
        raise UsageError(f"{len(documents):,} documents are too many here: at most {_MAX_DOCUMENTS}", hint=hint)
    sets = {document.id: name for name, part in reversed(parts) for document in part.documents}
    references = {key: text for _, part in reversed(parts) for key, text in part.references.items()}
    return Corpus([*documents.values()], sets, references)


def documents_in_file(content: bytes, name: str) -> Corpus:
    """Return the document in a file, or the documents of a set: for example JSON lines with id, title and text."""
    if form_suffix(Path(name)) not in SUFFIXES:
        return Corpus([load_bytes(content, name)])
    return _from_file(content, name, lambda file: corpus([file], DATASET))


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


def design_of(asked: ExperimentBody, models: Models) -> tuple[AnyExperiment, Any]:
    """Return the requested experiment and its design, like those that the command of the same name makes from its
    options; raise UsageError if it needs a model and has none."""
    request = _Request(asked, models)
    if asked.kind == "booookscore":
        return request.booookscore()
    if not asked.models and asked.kind != "chunk-size":
        raise UsageError("no model takes part", hint="choose at least one model")
    experiments: Mapping[str, tuple[AnyExperiment, Callable[[], Any]]] = {
        "grid": (grid.EXPERIMENT, request.grid),
        "longsumeval": (longsumeval.EXPERIMENT, request.longsumeval),
        "hamlet": (hamlet.EXPERIMENT, request.hamlet),
        "context": (context.EXPERIMENT, request.context),
        "qa": (qa.EXPERIMENT, request.qa),
        "thesis": (thesis.EXPERIMENT, lambda: ThesisDesign(request.context("direct"), request.qa())),
        "chunk-size": (chunk_size.EXPERIMENT, request.chunk_size),
    }
    experiment, design = experiments[asked.kind]
    return experiment, design()


class _Request:
    """A request with the models of the studio, from which designs are made."""

    def __init__(self, asked: ExperimentBody, models: Models) -> None:
        self.asked, self.models = asked, models
        self.words = asked.word_limits[0] if asked.word_limits else None

    def settings(self, *names: str) -> dict[str, Any]:
        """Return the settings that were given, of these."""
        return self.asked.said(set(names))

    def strategies(self, default: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.asked.strategies)) or (default,)

    @property
    def writers(self) -> tuple[NamedModel, ...]:
        changes: dict[str, Any] = {"words": self.words} if self.words else {}
        strategy = self.asked.strategies[0] if self.asked.strategies else "hierarchical"
        return tuple(
            NamedModel(name, settings_of(self.asked, self.models, name, strategy=strategy, **changes))
            for name in dict.fromkeys(self.asked.models)
        )

    @property
    def judges(self) -> tuple[NamedModel, ...]:
        """The judges, by default the first model, each with its own settings."""
        shared, judges = self.settings("prompts", "replies", "sample"), list[NamedModel]()
        for name in dict.fromkeys(self.asked.judges or self.asked.models[:1]):
            own = self.own(name)
            settings: dict[str, Any] = own_settings(own) if own else {"model": EXTRACTIVE}
            judges.append(NamedModel(name, DraftConfig(**{"strategy": "given", **shared, **settings})))
        if not judges:
            raise UsageError("no model judges", hint="choose at least one judge")
        return tuple(judges)

    @property
    def judge(self) -> NamedModel:
        """The only judge."""
        judges = self.judges
        if len(judges) > 1:
            raise UsageError(f"{self.asked.kind} takes one judge, not {len(judges)}", hint="choose one judge")
        return judges[0]

    def own(self, name: str) -> ModelSettings | None:
        """Return the settings of a model of the studio; None for the built-in one."""
        return None if name == EXTRACTIVE else known_model(name, self.models)

    def judging(self, metrics: tuple[str, ...], judges: Sequence[NamedModel]) -> JudgeConfig:
        return judging_of(self.asked, self.models, metrics, tuple(judge.name for judge in judges))

    def grid(self) -> GridDesign:
        asked, judges = self.asked, self.judges
        systems = contestants(
            self.writers,
            self.strategies("hierarchical"),
            tuple(dict.fromkeys(asked.chunk_sizes)) or (self.settings("chunk_tokens").get("chunk_tokens", 2048),),
            tuple(dict.fromkeys(asked.word_limits)) or (self.settings("words").get("words"),),
        )
        judging = self.judging(tuple(dict.fromkeys((*asked.metrics, *asked.rubrics))), judges)
        judging = judging.model_copy(update={"judges": (), "base_url": None})
        return GridDesign(systems, judges, judging, prefers=asked.prefer)

    def longsumeval(self) -> LongSumEvalDesign:
        judge, goals = self.judge, self.asked.goals or _GOALS
        check_goals(goals, metrics(tuple(goals)))
        orders: tuple[PolicyName, ...] = ("paper", "editor")
        rounds = self.settings("rounds").get("rounds")
        return LongSumEvalDesign(self.writers, judge, self.judging(tuple(goals), [judge]), (goals,), orders, rounds)

    def hamlet(self) -> HamletDesign:
        settings = self.settings("validator", "perspective")
        validator = settings.get("validator")
        own = self.own(validator) if validator else None
        return HamletDesign(
            models=self.writers,
            judge=self.judge,
            validator=validator,
            own={validator: own} if validator and own else {},
            perspective=settings.get("perspective", "both"),
            queries=self.asked.queries,
        )

    def _reading(self, default: str) -> dict[str, Any]:
        """Return what experiments that read step by step share."""
        return {
            "models": self.writers,
            "judge": self.judge,
            "strategies": self.strategies(default),
            "steps": parse_steps(self.asked.steps) if self.asked.steps else None,
            "words": self.words,
            "references": self.asked.references,
            "sets": self.asked.sets if self.asked.by_source else {},
        }

    def context(self, default: str = "hierarchical") -> ContextDesign:
        embeddings = self.settings("embeddings").get("embeddings")
        reading = self._reading(default)
        return ContextDesign(**reading, places=self.asked.places, embeddings=embeddings).complete()

    def qa(self) -> QaDesign:
        settings = self.settings("similarity", "embeddings")
        if settings.get("similarity") == "judge":
            hint = "choose rouge1, exact or cosine"
            raise UsageError("qa compares answers by a measure, not by the judge", hint=hint)
        return QaDesign(**self._reading("direct"), per_third=self.asked.per_third, **settings)

    def chunk_size(self) -> ChunkSizeDesign:
        sizes = tuple(sorted({*self.asked.chunk_sizes})) or SIZES
        if sizes[0] < _MIN_CHUNK:
            raise UsageError(f"a chunk of {sizes[0]} tokens is too small", hint=f"use {_MIN_CHUNK} tokens or more")
        names = tuple(judge.name for judge in self.judges)
        settings = self.settings("context_tokens", "temperature", "prompts", "replies")
        return ChunkSizeDesign(names, own=self._own(names), sizes=sizes, sample=self.asked.sample_size, **settings)

    def booookscore(self) -> tuple[AnyExperiment, Any]:
        """Return the summaries with their annotations. Without annotations, the built-in model judges by default."""
        require_lab("measuring coherence")
        asked = self.asked
        if not asked.summaries:
            raise UsageError("no summaries were given", hint="upload a JSON file with their texts by id")
        names = tuple(dict.fromkeys(asked.judges)) or (() if asked.annotations else (EXTRACTIVE,))
        settings = self.settings("batch", "context_tokens", "temperature", "prompts", "replies")
        file = read_summaries("summaries.json", asked.summaries.encode())
        annotations = read_annotations("annotations.json", asked.annotations.encode()) if asked.annotations else None
        tables = import_module("redraft.lab.experiments.booookscore")  # needs the extra
        design = CoherenceDesign(names, own=self._own(names), **settings)
        return tables.EXPERIMENT, measure_summaries(file, annotations, design)

    def _own(self, names: Sequence[str]) -> dict[str, ModelSettings]:
        return {name: own for name in names if (own := self.own(name)) is not None}
