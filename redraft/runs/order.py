"""What a caller passes in, and the order that a session makes of it: documents, summaries, findings, questions, metrics
passed as objects; and the orders of chapters."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from redraft.document import is_content_id
from redraft.domain import REVIEW, Document, Evidence, Finding
from redraft.errors import RunCommand, RunError, UsageError
from redraft.evaluators.base import Evaluator, as_evaluator
from redraft.evaluators.catalog import names as known_names
from redraft.evaluators.catalog import valid_name
from redraft.evaluators.rubric import Rubric
from redraft.fields import error_text, list_argument
from redraft.graphs.plan import chapter_words
from redraft.graphs.state import Scope, Task
from redraft.graphs.strategies import name_of
from redraft.llm.budget import PriceTable
from redraft.llm.langsmith import Tracing, check_config
from redraft.order import Kind, Order, OrderParts, order_of_draft, refuse_idle
from redraft.readers.documents import check_sources, combine, is_readable, load, no_document, prepared, read_text
from redraft.readers.parts import only
from redraft.report.history.citations import read_answer
from redraft.report.history.results import document_read
from redraft.runs.model_settings import ModelRoles, writer_as_judge
from redraft.settings import (
    DEFAULT_GOALS,
    EXTRACTIVE,
    GIVEN_STRATEGY,
    MAX_EARLIER,
    DraftConfig,
    Exchange,
    JudgeConfig,
    Limits,
    ModelSettings,
    RefineConfig,
)
from redraft.sources import MAX_BYTES, STDIN, is_inline_text, read_file
from redraft.store.documents import ChapterRun
from redraft.store.runs import WITHOUT_SUMMARY, Run
from redraft.store.store import Store
from redraft.text.languages import declared_language, language_of, language_spans_of, undetected_language
from redraft.text.quotes import locate
from redraft.text.sanitizer import CleanText, clean_with_notes, one_line
from redraft.text.word_keys import keys
from redraft.text.words import count_words, has_words

_RUN_OR_ID = re.compile(r"[0-9a-f]{2,8}|[0-9a-f]{64}")


Source = str | Path | Document
"""A document by path, by id in the store, or as an object."""
Sources = Source | Sequence[Source]
"""A document, or several that are read as one."""


def document_of(store: Store, source: Sources) -> Document:
    """Return the document for a path, an id or a `Document`; several are joined into one."""
    if not isinstance(source, str | Path | Document):
        if not isinstance(source, list | tuple):
            raise no_document(source)
        check_sources(source)
        return combine([document_of(store, part) for part in source])
    if isinstance(source, Document):
        # Only a document that a program has made of a title and a text has neither: no reader has prepared it.
        return source if source.sections or source.source else prepared(source)
    if not str(source):
        raise UsageError("the path of the document is empty", hint="pass the path of a file")
    if is_content_id(str(source)) and store.documents.has(str(source)):
        return store.documents.get(str(source))
    return load(source)


def document_of_task(store: Store, task: Task) -> Document:
    """Return the document in the order of a graph: its `text`, or its `source`."""
    text, source = task.get("text"), task.get("source")
    if text is not None and source is not None:
        raise UsageError("the order names its document twice", hint="leave `text` or `source` out of the order")
    if source is not None:
        return document_of(store, source)
    if not isinstance(text, str):
        raise UsageError(f"text is a {type(text).__name__}", hint="give the text of the document as a string")
    if len(text) > MAX_BYTES:
        raise UsageError(f"text has {len(text):,} characters", hint=f"give at most {MAX_BYTES:,}")
    return prepared(Document.from_text(text))


def document_asked_about(store: Store, source: Sources) -> Sources:
    """The document that a question is about, if its id or that of a run on it is given; any other source unchanged."""
    if not isinstance(source, str) or not _RUN_OR_ID.fullmatch(source) or Path(source).exists():
        return source
    if is_content_id(source):
        return document_of(store, source)
    try:
        return document_read(store, store.runs.get(source))
    except RunError as error:
        raise UsageError(f"there is no file {source!r}, and {error.message}", fix=error.fix) from error


def summary_of(store: Store, source: str | Path) -> CleanText:
    """Return the summary that a graph was given: a path, the id of a stored text, or the text itself."""
    if not isinstance(source, str | Path):
        raise UsageError(f"summary is a {type(source).__name__}", hint="give its text, its path, or the id of a text")
    if is_content_id(str(source)):
        return CleanText(store.documents.text(str(source)), ())
    if isinstance(source, Path) or os.path.exists(source) or _is_file_name(source):
        return read_text(source)
    clean_text = clean_with_notes(source)
    if not has_words(clean_text.text):
        raise UsageError("summary has no words", hint="give its text, its path, or the id of a text")
    return CleanText(clean_text.text.strip(), clean_text.notes)


def _is_file_name(source: str) -> bool:
    path = Path(source)
    return bool(path.suffix) and is_readable(path) and not is_inline_text(source)


def summary_text(summary: str | Path, name: str = "summary") -> CleanText:
    """Return a summary that was passed as text, or as the `Path` of a file. Raises `UsageError` for the path of a file
    in place of its text."""
    if isinstance(summary, Path):
        return read_text(summary)
    if not isinstance(summary, str):
        raise UsageError(
            f"{name} is of the type {type(summary).__name__}",
            hint="pass the text of a summary, or the Path of its file",
        )
    is_path = " " not in summary and _is_file_name(summary)
    if is_path or ("\n" not in summary and len(summary) <= _LONGEST_PATH and os.path.isfile(summary)):
        raise UsageError(
            f"{name} is {summary!r}, the path of a file, and not the text of a summary",
            hint=f"pass pathlib.Path({summary!r}) to have the file read",
        )
    return CleanText(summary, ())


def check_summaries(first: str, second: str) -> None:
    """Refuse a summary that says nothing: there is no preference for silence."""
    for name, text in (("A", first), ("B", second)):
        if not has_words(text):
            raise UsageError("it has no words", place=f"summary {name}")


def draft_of_round(store: Store, run: Run, number: int) -> str:
    """Return the text of the draft of a round; a run without rounds has round 0."""
    if run.kind == "ask":
        fix = (RunCommand("runs"), " lists the runs that have one")
        raise RunError(f"run {run.id} answered a question, and has no summary to refine", fix=fix)
    if run.kind in WITHOUT_SUMMARY:
        run.drafted()
    drafts = {turn.number: turn.draft for turn in store.rounds.of(run.id)}
    if not drafts and run.draft is not None:
        drafts[0] = run.draft
    if number not in drafts:
        run.drafted()
        numbers = ", ".join(str(draft) for draft in sorted(drafts))
        hint = f"it has drafts of the rounds {numbers}" if numbers else "it has no draft at all"
        raise RunError(f"run {run.id} has no draft of round {number!r}", hint=hint)
    return store.runs.draft(drafts[number]).text


MAX_FINDINGS = 1000
_LONGEST_PATH = 1000
_LONGEST = 20_000
_MAX_BYTES = 20_000_000
_WANTED = (
    'it is what `redraft evaluate --json` prints, or {"findings": [{"task":'
    ' "add", "explanation": "...", "sentence": "...", "expected": "...", "evidence": {"text": "..."}}]}'
)
_FINDING: TypeAdapter[Finding] = TypeAdapter(Finding)


def read_findings(source: str) -> tuple[Finding, ...]:
    """Return the findings in a file, or in stdin, in redraft's JSON: each is a request by the caller. Raises
    `UsageError` where there are none."""
    place = "stdin" if source == STDIN else source
    try:
        data = read_file(None if source == STDIN else Path(source).expanduser(), _MAX_BYTES)
    except OSError as error:
        raise UsageError(f"it cannot be read: {error.strerror}", place=place, hint="check the path") from error
    findings: list[Finding] = []
    try:
        content: Any = json.loads(data)
        if isinstance(content, dict):
            parts = content["metrics"].values() if "metrics" in content else [content]
            content = [entry for part in parts for entry in part["findings"]]
        for entry in content[:MAX_FINDINGS]:
            fields = {name: entry[name] for name in entry if name not in ("said_by", "read", "value", "place")}
            if not fields.get("explanation") or len(json.dumps(fields)) > _LONGEST:
                problem = f"an explanation is required, and no finding may have more than {_LONGEST:,} characters"
                raise UsageError(f"there are no findings in it: {problem}", place=place, hint=_WANTED)
            findings.append(_FINDING.validate_python({"kind": "request", **fields, "metric": REVIEW}))
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        reason = f": {error_text(error.errors()[0])}" if isinstance(error, ValidationError) else ""
        raise UsageError(f"there are no findings in it{reason}", place=place, hint=_WANTED) from error
    return tuple(findings)


def caller_findings(findings: Sequence[object], document: Document, summary: str) -> tuple[Finding, ...]:
    """Return a caller's findings as they are stored: as requests, with their places in the document. Raises
    `UsageError` for a sentence that the summary does not have, or evidence that the document does not have."""
    language = language_of(summary)
    words_of_summary = f" {' '.join(keys(summary, language))} "
    settled: dict[str, Finding] = {}
    for number, finding in enumerate(findings, 1):
        if not isinstance(finding, Finding):
            problem = f"finding {number} is {finding!r:.80}, which is not a redraft.Finding"
            raise UsageError(problem, hint="pass findings such as those of `result.findings`")
        if finding.sentence and f" {' '.join(keys(finding.sentence, language))} " not in words_of_summary:
            problem = f"finding {number} is about a sentence that is not in the summary"
            raise UsageError(f"{problem}: {one_line(finding.sentence, 80)!r}", hint="give findings on this summary")
        evidence = finding.evidence if finding.evidence and finding.evidence.text else None
        if evidence and not (evidence.span and document.text[slice(*evidence.span)] == evidence.text):
            evidence = Evidence(evidence.text, locate(document.text, evidence.text))
        if evidence and evidence.span is None:
            problem = f"finding {number} quotes words that are not in the document"
            raise UsageError(f"{problem}: {one_line(evidence.text, 80)!r}", hint="give findings on this document")
        completed = replace(finding, metric=REVIEW, evidence=evidence, said_by=None, place=None)
        settled.setdefault(completed.id, completed)
    return tuple(settled.values())


@dataclass(frozen=True, slots=True)
class SessionOrder:
    """What a session makes orders of: the parts that calls override, its models with their prices, and its metrics."""

    parts: OrderParts = field(default_factory=OrderParts)
    roles: ModelRoles = field(default_factory=ModelRoles)
    prices: PriceTable | None = None
    metrics: tuple[str, ...] = ()
    """The metrics of the session or call, besides those of the judging settings."""
    own: dict[str, Evaluator] = field(default_factory=dict)
    """All metrics that were passed as objects so far, by name."""

    @property
    def evaluators(self) -> tuple[Evaluator, ...]:
        """Return the metrics that were passed as objects."""
        return tuple(self.own.values())

    def edited(self, options: Mapping[str, Any], parts: OrderParts | None = None) -> SessionOrder:
        """Return this with what a call overrides of it, or of other `parts`: settings by name, whole parts, and metrics
        by name, as objects or as functions."""
        values = dict(options)
        check_config({name: values.pop(name) for name in options if name in Tracing.__annotations__})
        if limit := next((name for name in values if name == "limits" or name in Limits.model_fields), None):
            argument = "..." if limit == "limits" else f"{limit}=..."
            hint = f"limits belong to a session, and to `resume`: limits=redraft.Limits({argument})"
            raise UsageError(f"there is no setting {limit!r} of a call", hint=hint)
        if "strategy" in values:
            values["strategy"] = name_of(values["strategy"])
        names: dict[str, None] = {}
        own = dict(self.own)
        for metric in list_argument(values.pop("metrics", None), "metrics"):
            if isinstance(metric, str):
                names[metric] = None
            else:
                evaluator = as_evaluator(metric)
                if (name := valid_name(evaluator)) in names:
                    raise UsageError(f"there are two metrics named {name}", hint="give yours another name")
                names[name], own[name] = None, evaluator
        # A name that is taken is refused before the session knows it.
        known_names(tuple(own.values()))
        self.own.update(own)
        return replace(self, parts=(parts or self.parts).edited(values), metrics=tuple(names) or self.metrics)

    def of_call(self, kind: Kind, options: Mapping[str, Any], **inputs: Any) -> Order:
        """Return the order of a call with these options; `inputs` are its summaries and findings. To summarize with a
        goal, or any other setting of refining, is to refine."""
        is_judged = bool(options.get("metrics")) or options.get("judging") is not None
        if kind != "summarize":
            refuse_idle(kind, options)
        session_order = self.edited(options)
        if kind == "summarize":
            if session_order.parts.refinement is not None or any(name in RefineConfig.model_fields for name in options):
                kind = "refine"
            else:
                settings = {name: value for name, value in options.items() if name != "metrics"}
                refuse_idle(kind, settings, is_judged=is_judged)
        return session_order.order(kind, is_judged=is_judged, **inputs)

    def of_task(self, task: Task, scope: Scope) -> tuple[SessionOrder, str | Path | None]:
        """Return the order with the input of a graph, and where a given summary comes from."""
        options = {name: value for name, value in task.items() if name not in _INPUTS}
        judging = RefineConfig.model_fields.keys() | {"metrics"}
        if scope == "summarize" and (stray := sorted(n for n, value in task.items() if value and n in judging)):
            hint = "use redraft.graphs.summarizer, or leave it out"
            raise UsageError(f"this graph only drafts, so {stray[0]} has no effect", hint=hint)
        if "source" not in task and "text" not in task:
            hint = 'name one: {"order": {"text": ...}} or {"order": {"source": PATH}}'
            raise UsageError("the graph was given no document", hint=hint)
        is_given = task["strategy"] == GIVEN_STRATEGY
        options |= {} if is_given else {"strategy": task["strategy"]}
        session_order = self.edited(options)
        if session_order.parts.settings.by_chapter:
            raise UsageError("a graph drafts no chapters", hint="use `await session.summarize(..., by_chapter=True)`")
        if not is_given:
            return session_order, None
        if "summary" not in task:
            raise UsageError("the graph was given no summary", hint='give its text, or its path, as "summary"')
        return session_order, task["summary"]

    def judged_as_before(self, before: DraftConfig) -> SessionOrder:
        """Return the order of a fork. If it has another writer and no judge is named, the model `before` judges, at its
        own address: a model that judges its own text is lenient."""
        judging, writer = self.parts.judging, self.roles.settings(self.parts.settings)
        if judging.judges or (before.model, before.base_url) == (writer.model, writer.base_url):
            return self
        tables = {}
        if before.model != EXTRACTIVE:
            shared = ModelSettings.model_fields.keys() & DraftConfig.model_fields.keys()
            fields = {name: getattr(writer_as_judge(before), name) for name in shared}
            tables[before.model] = ModelSettings(**{name: value for name, value in fields.items() if value is not None})
        update = {"judges": (before.model,), "models": {**judging.models, **tables}}
        return replace(self, parts=self.parts.model_copy(update={"judging": judging.model_copy(update=update)}))

    def order(self, kind: Kind, *, is_judged: bool = False, **inputs: Any) -> Order:
        """Return the order of a run of this kind. `inputs` are what it begins with, such as a `given` summary; a new
        one is only judged with `is_judged`."""
        goals = self.parts.refinement or RefineConfig(goals=dict(DEFAULT_GOALS))
        refinement = goals if kind == "refine" else None
        parts = self.roles.applied(self.parts.model_copy(update={"refinement": refinement}))
        judging, names = parts.judging, (*self.metrics, *parts.judging.metrics)
        metrics = {*names, *(refinement.goals if refinement else ())}
        own = self.own.items()
        rubrics = {name: metric.settings for name, metric in own if isinstance(metric, Rubric) and name in metrics}
        judging = judging.model_copy(update={"metrics": names, "rubrics": {**judging.rubrics, **rubrics}})
        parts = parts.model_copy(update={"judging": judging})
        return parts.order(kind, is_judged=is_judged).model_copy(update=inputs)


_INPUTS = frozenset({"text", "source", "summary", "recorded", "strategy"})
"""What is in the order of a graph besides settings and metrics."""
_LONGEST_QUESTION = 2_000


def checked_question(question: object) -> str:
    """Return a question on one line; raise `UsageError` for anything else."""
    if not isinstance(question, str):
        raise UsageError(f"the question is of the type {type(question).__name__}", hint="pass it as text")
    question = one_line(question)
    if not has_words(question):
        raise UsageError("the question is empty", hint="write it in words, such as: Why did the bank break?")
    if len(question) > _LONGEST_QUESTION:
        raise UsageError(f"the question has {len(question):,} characters", hint=f"use at most {_LONGEST_QUESTION:,}")
    return question


def order_of_question(
    settings: DraftConfig, judging: JudgeConfig, question: str, earlier: Sequence[Exchange] = ()
) -> Order:
    """Return the order to answer a question after the `earlier` ones. The answer is judged where a judge is named."""
    values = {"query": checked_question(question), "earlier": tuple(earlier)}
    return OrderParts(settings=settings, judging=judging).edited(values).order("ask")


def settings_to_ask(run: Run) -> tuple[DraftConfig, JudgeConfig]:
    """Return the settings by which a question is asked about the document of a run: with its models."""
    settings = run.settings.model_copy(update={"words": None, "chosen": "", "query": None, "earlier": ()})
    judging = run.judging or JudgeConfig()
    return settings, judging.model_copy(update={"pack": None, "keyfacts": None, "reference": None})


def exchanges_until(store: Store, key: str | None) -> tuple[Exchange, ...]:
    """Return the last questions with their answers, up to that of a run; none without a run."""
    if key is None:
        return ()
    answer = read_answer(store, key)
    latest = Exchange(question=answer.question, answer=answer.answer)
    return (*answer.result.settings.earlier, latest)[-MAX_EARLIER:]


def chapter_of(document: Document, chapter: ChapterRun, settings: DraftConfig) -> tuple[Document, DraftConfig]:
    """Return a chapter as a document of its own, and its settings from those of the whole, whose word limit is known.
    Its language is detected unless the user gave one."""
    part = only(document, [chapter.chunk.span])
    language = document.language
    if not language:
        tongues = language_spans_of(part)
        language = tongues[0].language if len(tongues) == 1 else ""
    elif not undetected_language(document):
        language = declared_language(language, part.text)
    assert settings.words is not None
    limit = chapter_words(settings.words, count_words(part.text))
    settings = settings.model_copy(update={"by_chapter": False, "words": limit, "source_language": None})
    return replace(part, title=f"{document.title}: {chapter.title}", notes=(), language=language), settings


def order_of_chapter(order: Order) -> Order:
    """Return the order for a chapter: that of the whole, with questions of its own."""
    if order.judging is None:
        return order
    judging = order.judging.model_copy(update={"pack": None, "keyfacts": None, "reference": None})
    return order_of_draft(judging, order.refinement, settings=order.settings, limits=order.limits)
