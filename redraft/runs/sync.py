"""The calls for scripts and notebooks that want one result and no session: they block until it is there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict, Unpack

from redraft.domain import Finding
from redraft.evaluators.base import Metric
from redraft.events import Observer
from redraft.graphs.state import CallOptions
from redraft.graphs.strategies import Strategy
from redraft.llm.prices import PriceTable
from redraft.report.history.answers import Answer
from redraft.report.history.results import Result
from redraft.runs.driver import Reviewer
from redraft.runs.inputs import Sources
from redraft.runs.model_pool import ModelLike
from redraft.runs.session import Session
from redraft.settings import DraftConfig, JudgeConfig, Limits, RefineConfig
from redraft.store.store import Store


class SessionOptions(TypedDict, total=False):
    """The arguments of `Session` that a single call takes."""

    store: Store | str | Path | None
    model: ModelLike | None
    judges: Sequence[ModelLike]
    validator: ModelLike | None
    decider: ModelLike | None
    metrics: Sequence[Metric]
    strategies: Sequence[Strategy]
    settings: DraftConfig | None
    judging: JudgeConfig | None
    refinement: RefineConfig | None
    limits: Limits | None
    prices: PriceTable | None
    reviewer: Reviewer | None
    observer: Observer
    trace_to_langsmith: bool


class AllOptions(SessionOptions, CallOptions, total=False):
    """The arguments of `Session`, and those of its methods."""


def summarize(source: Sources, **options: Unpack[AllOptions]) -> Result:
    """Draft a summary, judge it if there are `metrics`, and refine it if there are `goals`:
    `redraft.summarize("book.md", model="openai:gpt-5-mini", words=300)`. The arguments are those of `Session` and
    `Session.summarize`. The run is stored in the default database, or in `store`, and can be resumed if it is
    interrupted."""
    of_session, of_run = _divided(options)
    again = {name: of_session[name] for name in ("metrics", "judging") if name in of_session}
    with Session(**of_session) as session:
        return session.summarize(source, **again, **of_run)


def evaluate(source: Sources, summary: str, **options: Unpack[AllOptions]) -> Result:
    """Judge the text of a summary; the arguments are those of `Session` and `Session.evaluate`."""
    of_session, of_run = _divided(options)
    with Session(**of_session) as session:
        return session.evaluate(source, summary, **of_run)


def refine(source: Sources, summary: str, *, findings: Sequence[Finding] = (), **options: Unpack[AllOptions]) -> Result:
    """Refine a summary until it meets its goals; the arguments are those of `Session` and `Session.refine`."""
    of_session, of_run = _divided(options)
    with Session(**of_session) as session:
        return session.refine(source, summary, findings=findings, **of_run)


def ask(source: Sources, question: str, **options: Unpack[AllOptions]) -> Answer:
    """Answer a question about a document; the arguments are those of `Session` and `Session.ask`."""
    of_session, of_run = _divided(options)
    with Session(**of_session) as session:
        return session.ask(source, question, **of_run)


def _divided(options: AllOptions) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of the session, and those of the run."""
    given = dict(options)
    of_session = {name: value for name, value in given.items() if name in SessionOptions.__annotations__}
    return of_session, {name: value for name, value in given.items() if name not in of_session}
