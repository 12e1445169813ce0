"""Requests for experiments: their kind, systems, documents, metrics and limits."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator, Field

from redraft.domain import Document
from redraft.errors import UsageError
from redraft.lab.experiments.data.read import SUFFIXES, form_suffix
from redraft.lab.experiments.sources import DATASET, Corpus, corpus, references_of
from redraft.readers.documents import load_bytes
from redraft.store.store import Store
from redraft.studio.orders import SettingsBody, document_named

_MOST_DOCUMENTS = 200
_SPLIT = re.compile(r"[,;\s]+")


def _numbers(given: object) -> object:
    """Split a typed list of numbers, such as 100, 200."""
    return [one for one in _SPLIT.split(given) if one] if isinstance(given, str) else given


Numbers = Annotated[tuple[int, ...], BeforeValidator(_numbers), Field(max_length=8)]
Kind = Literal["grid", "longsumeval", "hamlet", "context", "qa", "thesis", "chunk-size", "booookscore"]


TEXTS = ("summaries", "annotations")
UPLOADED = (*TEXTS, "reference")
"""The fields that a form sends as files."""


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
    documents: tuple[str, ...] = Field(default=(), max_length=_MOST_DOCUMENTS)
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
            return references_of(str(file), documents)
        except UsageError as error:
            raise UsageError(error.message, place=Path(error.place).name, hint=error.hint) from error


def _corpus(store: Store, asked: ExperimentBody, files: tuple[tuple[bytes, str], ...]) -> Corpus:
    found = [(one.title, Corpus([one])) for one in (document_named(store, key) for key in asked.documents)]
    if asked.from_batch:
        items = store.batches.some(asked.from_batch, "", "", 0, _MOST_DOCUMENTS)
        found.append((asked.from_batch, Corpus([store.documents.get(one.document) for one in items if one.document])))
        if not items:
            raise UsageError(f"no batch {asked.from_batch!r} has documents", hint="/batches lists them")
    found += [(Path(name).stem, documents_in_file(content, name)) for content, name in files]
    documents = {one.id: one for _, some in found for one in some.documents}
    if not documents:
        raise UsageError("no documents were given", hint="choose documents, upload files, or name a batch")
    if len(documents) > _MOST_DOCUMENTS:
        hint = "redraft experiment takes larger sets"
        raise UsageError(f"{len(documents):,} documents are too many here: at most {_MOST_DOCUMENTS}", hint=hint)
    sets = {one.id: name for name, some in reversed(found) for one in some.documents}
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
