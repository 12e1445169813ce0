"""Requests for experiments (kind, systems, documents, metrics and limits), and the designs that they mean."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import Field, create_model

from redraft.errors import UsageError
from redraft.lab.agreement.annotations import Annotations, Summaries
from redraft.lab.declared import declared, require_lab
from redraft.lab.experiments import booookscore, chunk_size, context, grid, hamlet, longsumeval, qa, thesis
from redraft.lab.experiments.orders import ORDERS, PAPER_GOALS, Asked, NamedModel
from redraft.lab.experiments.sources import DATASET, SUFFIXES, Corpus, corpus
from redraft.readers.documents import load_bytes
from redraft.report.tables import Table
from redraft.settings import EXTRACTIVE, DraftConfig
from redraft.store.store import Store
from redraft.studio.context import StudioContext
from redraft.studio.orders import (
    Models,
    SettingsBody,
    Startable,
    document_named,
    judging_of,
    known_model,
    limits_of,
    optional_fields,
    own_settings,
    refuse_unpriced,
    settings_of,
)

_MAX_DOCUMENTS = 200
_MODULES: tuple[Any, ...] = (grid, longsumeval, hamlet, context, qa, thesis, chunk_size, booookscore)
_WITHOUT_WRITERS = ("chunk-size", "booookscore")


Kind = Literal["grid", "longsumeval", "hamlet", "context", "qa", "thesis", "chunk-size", "booookscore"]
TEXTS = ("summaries", "annotations")
KINDS: Mapping[Kind, Mapping[str, str]] = {
    kind: dict(zip(("title", "about"), declared("commands")[kind]["studio"], strict=True)) for kind in get_args(Kind)
}
"""The kinds of experiments that can be started here, each with its title and what it is about, in the form."""


if TYPE_CHECKING:
    OrderSettings = SettingsBody
else:
    _fields = optional_fields(ORDERS.values(), SettingsBody)
    OrderSettings = create_model("OrderSettings", __base__=SettingsBody, **_fields)


class ExperimentBody(OrderSettings):
    """A request for an experiment. Its documents are `documents`, or files of the request."""

    kind: Kind = "grid"
    name: str = Field(default="", max_length=60)
    """What to call it. Default: its kind and the date."""
    documents: tuple[str, ...] = Field(default=(), max_length=_MAX_DOCUMENTS)
    """The ids of documents in the database."""
    models: tuple[str, ...] = ()
    """The models that are compared. By default the first of them judges."""
    by_source: bool = False
    """Context, qa and thesis: show each file or set in the tables as a dataset of its own."""
    reference: Literal["", "dataset"] = ""
    """Context, qa and thesis: `dataset` for the existing summaries in an uploaded set. They are the baseline, set the
    length, and are shown to the judge."""
    references: dict[str, str] = Field(default_factory=dict)
    """These summaries by the id of the document."""
    sets: dict[str, str] = Field(default_factory=dict)
    """The dataset of each document, by id."""
    summaries: str = ""
    """Booookscore: the content of a JSON file of summaries, their texts by id."""
    annotations: str = ""
    """Booookscore: the content of a JSON file of annotations, as the BooookScore project released them."""
    max_calls: int | None = Field(default=None, ge=1)
    """Stop before there are more calls."""


ExperimentPlan = Startable[ExperimentBody]


def plan_asked(
    store: Store,
    models: Models,
    body: ExperimentBody,
    files: tuple[tuple[bytes, str], ...],
    before: ExperimentPlan | None,
) -> ExperimentPlan:
    """Return a request with its documents, or with those of an earlier plan, and their datasets and existing summaries.
    It is checked as far as possible without a model."""
    if body.kind == "booookscore":
        texts = {name: getattr(before.asked, name) for name in TEXTS} if before and not body.summaries else {}
        plan = ExperimentPlan(body.model_copy(update=texts), ())
    else:
        is_kept = before is not None and before.documents and not (body.documents or files)
        corpus = Corpus([*before.documents], before.asked.sets) if before and is_kept else corpus_of(store, body, files)
        references = body.references or (before.asked.references if before else {})
        if body.reference == DATASET:
            references = corpus.references or references
            if not references:
                raise UsageError("the documents have no summaries of their own", hint="upload a set that has them")
        changes = {"reference": "", "references": references, "sets": body.sets or corpus.sets}
        plan = ExperimentPlan(body.model_copy(update=changes), tuple(corpus.documents))
    design_of(plan.asked, models)
    return plan


def corpus_of(store: Store, body: ExperimentBody, files: tuple[tuple[bytes, str], ...]) -> Corpus:
    """Return the documents that a request names or has; raise if there are none, or too many."""
    named_documents = [document_named(store, key) for key in body.documents]
    parts = [(document.title, Corpus([document])) for document in named_documents]
    parts += [(Path(name).stem, documents_in_file(content, name)) for content, name in files]
    documents = {document.id: document for _, part in parts for document in part.documents}
    if not documents:
        raise UsageError("no documents were given", hint="choose documents, or upload files")
    if len(documents) > _MAX_DOCUMENTS:
        hint = "redraft experiment takes larger sets"
        raise UsageError(f"{len(documents):,} documents are too many here: at most {_MAX_DOCUMENTS}", hint=hint)
    sets = {document.id: name for name, part in reversed(parts) for document in part.documents}
    references = {key: text for _, part in reversed(parts) for key, text in part.references.items()}
    return Corpus([*documents.values()], sets, references)


def documents_in_file(content: bytes, name: str) -> Corpus:
    """Return the document in a file, or the documents of a set: for example JSON lines with id, title and text."""
    if Path(name).suffix.lower() not in SUFFIXES:
        return Corpus([load_bytes(content, name)])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_bytes(content)
        return corpus([str(file)], DATASET)


def plan_table(plan: ExperimentPlan, context: StudioContext) -> Table:
    """Return the estimated cost of the experiment, step by step; the last row is the total."""
    table: Table = design_of(plan.asked, context.models).plan(plan.documents, context.config.prices)
    refuse_unpriced(unpriced(table), limits_of(context.config.limits, plan.asked.max_cost, plan.asked.max_calls))
    return table


def unpriced(table: Table) -> tuple[str, ...]:
    """Return the models in a plan whose price is unknown."""
    model, cost = table.columns.index("model"), table.columns.index("USD")
    return tuple(dict.fromkeys(str(row[model]) for row in table.rows[:-1] if row[cost] is None))


def design_of(body: ExperimentBody, models: Models) -> Any:
    """Return the design of the requested experiment; raise UsageError if it needs a model and has none."""
    if not body.models and body.kind not in _WITHOUT_WRITERS:
        raise UsageError("no model takes part", hint="choose at least one model")
    (module,) = (module for module in _MODULES if module.EXPERIMENT.name == body.kind)
    return module.EXPERIMENT.asked(asked_of(body, models))


def asked_of(body: ExperimentBody, models: Models) -> Asked:
    """Return what a request asks for, with the models of the studio. Without a judge, the first model judges; without
    annotations of coherence, the built-in one."""
    values: dict[str, Any] = {name: getattr(body, name) for name in type(body).model_fields}
    # The texts of a request are the content of files, and not places.
    texts = {name: values.pop(name).encode() for name in TEXTS}
    if body.kind == "booookscore":
        require_lab("measuring coherence")
        values["summaries"] = Summaries.read("summaries.json", texts["summaries"]) if body.summaries else None
        values["annotations"] = [Annotations.read("annotations.json", texts["annotations"])] if body.annotations else ()
    if limits := values.get("word_limits"):
        values["words"] = limits[0]
    if body.goals:
        values["thresholds"] = (body.goals,)
    strategy = (values.get("strategies") or ("hierarchical",))[0]
    words = {"words": values["words"]} if values.get("words") else {}
    sampling = {"strategy": "given", **body.said({"prompts", "replies", "sample"})}

    usual = () if body.annotations else (EXTRACTIVE,)
    names = tuple(dict.fromkeys(body.judges or body.models[:1] or (usual if body.kind == "booookscore" else ())))
    own = {name: own_settings(known_model(name, models)) for name in names if name != EXTRACTIVE}
    own[EXTRACTIVE] = {"model": EXTRACTIVE}
    goals = tuple(body.goals or PAPER_GOALS)
    metrics = goals if body.kind == "longsumeval" else tuple(dict.fromkeys((*body.metrics, *body.rubrics)))
    window = body.said({"context_tokens"}) if body.kind in _WITHOUT_WRITERS else {}
    asked = {name: settings_of(body, models, name, strategy=strategy, **words) for name in body.models}
    asking = {name: DraftConfig(**sampling | own[name] | window) for name in names}
    writers, judges = (tuple(NamedModel(*seat) for seat in seats.items()) for seats in (asked, asking))
    judging, sets = partial(judging_of, body, models, metrics, names), body.sets if body.by_source else {}
    return Asked(values, writers, judges, judging, sets=sets, references=body.references)
