"""How a node starts its work: with the graph's session, on the run named in its state."""

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
from redraft.graphs.state import Options, Scope, Task, Update


class SessionProtocol(Protocol):
    """The session methods that a graph needs: to begin a run, to work on it, and to finish it."""

    async def begin(self, task: Task, scope: Scope) -> str:
        """Record a new run; return its id."""
        ...

    def at_work(self, run: str) -> AbstractAsyncContextManager[Job]:
        """Work on a run; an interruption is recorded with it."""
        ...

    async def finish(self, run: str, draft: str, reason: str, why: str = "") -> str:
        """Finish the run with this draft; return the stop reason. `why` explains a stop that a model decided on."""
        ...


_watched: ContextVar[bool] = ContextVar("redraft_watched", default=False)
Node = Callable[..., Awaitable[Update | Command[str]]]
Work = Callable[[Any, Job], Awaitable[Update | Command[str]]]
"""The work of a node: returns the changes of the state, or a command."""


def session_of(runtime: Runtime[Any], session: SessionProtocol | None) -> SessionProtocol:
    """Return the session that the graph was built with, or is run with."""
    found = session or runtime.context
    if found is None:
        raise UsageError(
            "the graph was run without a session",
            hint="pass context=session, from `async with redraft.Session(...) as session`, also to resume",
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
def streaming(runtime: Runtime[Any]) -> Iterator[None]:
    """Stream events to the graph, and to the outer graph if this one is a subgraph of ours."""
    if _watched.get():
        yield
        return
    token = _watched.set(True)
    try:
        with streamed(runtime.stream_writer):
            yield
    finally:
        _watched.reset(token)


def asked_for(state: Any) -> dict[str, Any]:
    """Return the options in a state. Texts, sources and runs are for one start, and not kept."""
    return {name: state[name] for name in (*Options.__annotations__, "metrics") if name in state}


def check_unchanged(state: Any) -> None:
    """Raise `UsageError` where the input was changed after the run began, which would make no difference to it."""
    begun = state.get("asked")
    if begun is None:
        return
    now = asked_for(state)
    if changed := next((name for name in (*now, *begun) if now.get(name) != begun.get(name)), None):
        raise UsageError(
            f"{changed} was changed in the state of run {state['run']}, which goes on with what it began with",
            hint=f"put it back, and use `await session.fork({state['run']!r}, round, {changed}=...)`",
        )


def node(work: Work, session: SessionProtocol | None = None) -> Node:
    """Return a graph node that does `work` on a run."""

    async def at_work(state: Any, runtime: Runtime[Any]) -> Update | Command[str]:
        check_unchanged(state)
        with streaming(runtime):
            async with session_of(runtime, session).at_work(state["run"]) as job:
                return await work(state, job)

    at_work.__name__ = work.__name__
    at_work.__doc__ = work.__doc__
    return at_work
