"""Graph factories for LangGraph's server, named in its `langgraph.json`. The server has its own checkpointer.

The server has no session, so each graph is built with one from the environment, as the command line would be:
REDRAFT_DB, REDRAFT_MODEL, REDRAFT_JUDGE, REDRAFT_BASE_URL, REDRAFT_TRACE_TO_LANGSMITH.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from redraft.graphs import assembly
from redraft.runs.session import Session
from redraft.settings import AUTO, EXTRACTIVE, DraftConfig
from redraft.store.connection import off_loop
from redraft.store.store import Store

_YES = frozenset({"1", "true", "t", "yes", "y", "on"})
Served = AbstractAsyncContextManager[CompiledStateGraph[Any, Any, Any, Any]]


def _factory(name: str, *, drafts: bool = False) -> Callable[[RunnableConfig], Served]:
    @asynccontextmanager
    async def serve(config: RunnableConfig) -> AsyncIterator[CompiledStateGraph[Any, Any, Any, Any]]:
        chosen = [str(config.get("configurable", {}).get("strategy", AUTO))] if drafts else []
        settings = DraftConfig(
            model=os.environ.get("REDRAFT_MODEL") or EXTRACTIVE, base_url=os.environ.get("REDRAFT_BASE_URL") or None
        )
        judges = os.environ.get("REDRAFT_JUDGE", "").split()
        traced = os.environ.get("REDRAFT_TRACE_TO_LANGSMITH", "").lower() in _YES
        # The server rejects calls that block its event loop.
        store = await off_loop(Store, os.environ.get("REDRAFT_DB"))
        try:
            opening = partial(Session, store, judges=judges, settings=settings, trace_to_langsmith=traced)
            async with await off_loop(opening) as session:
                # A strategy may come from another package, and finding it reads files.
                graph = await off_loop(assembly.BUILDERS[name], *chosen, session=session)
                yield graph.compile(name=name)
        finally:
            await off_loop(store.close)

    return serve


summarizer = _factory("summarizer", drafts=True)
"""Draft by the configured strategy, and refine."""

draft = _factory("draft", drafts=True)
"""Draft by the configured strategy."""

refine = _factory("refine")
"""Refine a given summary."""

judge = _factory("judge")
"""Judge a given summary."""
