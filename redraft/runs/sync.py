"""Blocking calls for scripts and notebooks that need no session of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typing_extensions import Unpack

from redraft.domain import Finding
from redraft.llm.langsmith import Tracing
from redraft.report.history.citations import Answer
from redraft.report.history.results import Result
from redraft.runs.inputs import Sources
from redraft.runs.session import Session, SessionCall, SessionOptions
from redraft.store.store import Store


class AllOptions(SessionOptions, SessionCall, total=False):
    """The arguments of `Session`, and those of its methods."""

    store: Store | str | Path | None


def summarize(source: Sources, **options: Unpack[AllOptions]) -> Result:
    """Draft a summary, judge it if there are `metrics`, and refine it if there are `goals`:
    `redraft.summarize("book.md", model="openai:gpt-5-mini", words=300)`. The arguments are those of `Session` and
    `Session.summarize`. The run is stored in the default database, or in `store`, and can be resumed if it is
    interrupted."""
    of_session, of_run = _divided(options)
    of_both = {name: of_session[name] for name in ("metrics", "judging") if name in of_session}
    with Session(**of_session) as session:
        return session.summarize(source, **of_both, **of_run)


def evaluate(source: Sources, summary: str | Path, **options: Unpack[AllOptions]) -> Result:
    """Judge a summary, its text or the `Path` of its file, with the arguments of `Session` and `Session.evaluate`."""
    of_session, of_run = _divided(options)
    with Session(**of_session) as session:
        return session.evaluate(source, summary, **of_run)


def refine(
    source: Sources, summary: str | Path, *, findings: Sequence[Finding] = (), **options: Unpack[AllOptions]
) -> Result:
    """Refine a summary until it meets its goals; the arguments are those of `Session` and `Session.refine`."""
    of_session, of_run = _divided(options)
    with Session(**of_session) as session:
        return session.refine(source, summary, findings=findings, **of_run)


def ask(source: Sources, question: str, **options: Unpack[AllOptions]) -> Answer:
    """Answer a question about a document; the arguments are those of `Session` and `Session.ask`."""
    of_session, of_run = _divided(options)
    with Session(**of_session) as session:
        return session.ask(source, question, **of_run)


_OF_SESSION = {"store", *SessionOptions.__annotations__} - {*Tracing.__annotations__}


def _divided(options: AllOptions) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of the session, and those of the run."""
    arguments = dict(options)
    of_session = {name: value for name, value in arguments.items() if name in _OF_SESSION}
    return of_session, {name: value for name, value in arguments.items() if name not in of_session}
