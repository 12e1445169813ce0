"""How a node gets to work: with the session that the graph was given, on the run that its state names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from langgraph.runtime import Runtime
from langgraph.types import Command

from redraft.errors import UsageError
from redraft.events import streamed
from redraft.graphs.job import Job
from redraft.graphs.state import Scope, Task, Update


class SessionProtocol(Protocol):
    """What a graph needs of its session: to begin a run, to work on it, and to bring it to its end."""

    async def begin(self, task: Task, scope: Scope) -> str:
        """Record a new run of what is asked; returns its id."""
        ...

    def at_work(self, run: str) -> AbstractAsyncContextManager[Job]:
        """Work on a run; whatever ends that sooner, a person's absence included, is recorded with it."""
        ...

    async def finish(self, run: str, draft: str, reason: str, why: str = "") -> str:
        """The run is done, with this draft and for this reason, or else for the one that is returned.

        `why` is what whoever stopped it said.
        """
        ...


_watched: ContextVar[bool] = ContextVar("redraft_watched", default=False)
Node = Callable[..., Awaitable[Update | Command[str]]]
Work = Callable[[Any, Job], Awaitable[Update | Command[str]]]
"""What a node does: from the state and the run at work to what changes of the state, and where that goes on."""


def session_of(runtime: Runtime[Any], session: SessionProtocol | None) -> SessionProtocol:
    """The session that a graph was built with, or that it was run with."""
    found = session or runtime.context
    if found is None:
        raise UsageError(
            "the graph was run without a session",
            hint="pass context=session, from `async with redraft.Session(...) as session`, also when it goes on",
        )
    return (
        found
        if hasattr(found, "at_work")
        else session_of(runtime, getattr(found, "session", None) or _no_session(found))
    )


def _no_session(context: object) -> Any:
    raise UsageError(
        f"the graph was run with a context of the type {type(context).__name__}, which is no session",
        hint="pass a session, a context with one as its attribute `session`, or build the graph with session=",
    )


@contextmanager
def watched(runtime: Runtime[Any]) -> Iterator[None]:
    """What happens within is streamed by the graph; by the whole, where that is a part of another one of ours.

    LangGraph shows what is streamed within a part only to those who ask for subgraphs.
    """
    if _watched.get():
        yield
        return
    token = _watched.set(True)
    try:
        with streamed(runtime.stream_writer):
            yield
    finally:
        _watched.reset(token)


def node(work: Work, session: SessionProtocol | None = None) -> Node:
    """A node of a graph, for what is done on a run."""

    async def at_work(state: Any, runtime: Runtime[Any]) -> Update | Command[str]:
        with watched(runtime):
            async with session_of(runtime, session).at_work(state["run"]) as job:
                return await work(state, job)

    at_work.__name__ = work.__name__
    at_work.__doc__ = work.__doc__
    return at_work
