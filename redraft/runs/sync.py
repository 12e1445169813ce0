"""Blocking calls for scripts and notebooks that need no session of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typing_extensions import Unpack

from redraft.domain import Finding
from redraft.llm.langsmith import Tracing
from redraft.report.history.citations import Answer
from redraft.report.history.results import Result
from redraft.runs.order import Sources
from redraft.runs.session import Session, SessionCall, SessionOptions, SyncSession
from redraft.store.store import Store


class AllOptions(SessionOptions, SessionCall, total=False):
    """The arguments of `Session`, and those of its methods. After `timeout` seconds the call is stopped and raises
    `DeadlineError`."""

    store: Store | str | Path | None
    timeout: float | None


def summarize(source: Sources, **options: Unpack[AllOptions]) -> Result:
    """Draft a summary, judge it if there are `metrics`, and refine it if there are `goals`:
    `redraft.summarize("book.md", model="openai:gpt-5-mini", words=300)`. The arguments are those of `Session` and
    `Session.summarize`, and `timeout`, the seconds that the call may take. The run is stored in the default database,
    or in `store`, and can be resumed if it is interrupted."""
    of_both: dict[str, Any] = {name: options.get(name) for name in ("metrics", "judging") if name in options}
    with _opened(options) as (session, of_run):
        return session.summarize(source, **of_both, **of_run)


def evaluate(source: Sources, summary: str | Path, **options: Unpack[AllOptions]) -> Result:
    """Judge a summary, its text or the `Path` of its file, with the arguments of `Session` and `Session.evaluate`."""
    with _opened(options) as (session, of_run):
        return session.evaluate(source, summary, **of_run)


def refine(
    source: Sources, summary: str | Path, *, findings: Sequence[Finding] = (), **options: Unpack[AllOptions]
) -> Result:
    """Refine a summary until it meets its goals; the arguments are those of `Session` and `Session.refine`."""
    with _opened(options) as (session, of_run):
        return session.refine(source, summary, findings=findings, **of_run)


def ask(source: Sources, question: str, **options: Unpack[AllOptions]) -> Answer:
    """Answer a question about a document; the arguments are those of `Session` and `Session.ask`."""
    with _opened(options) as (session, of_run):
        return session.ask(source, question, **of_run)


_OF_SESSION = {"store", *SessionOptions.__annotations__} - {*Tracing.__annotations__}


@contextmanager
def _opened(options: AllOptions) -> Iterator[tuple[SyncSession, dict[str, Any]]]:
    """Open a session with its share of the arguments; yield it with those of the run."""
    arguments = dict(options)
    of_session: dict[str, Any] = {name: arguments.pop(name) for name in options if name in _OF_SESSION}
    seconds: Any = arguments.pop("timeout", None)
    with Session(**of_session) as session:
        session.timeout = seconds
        yield session, arguments
