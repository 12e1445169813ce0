"""An application that embeds redraft while tracing is switched on: python -m tests.leaks.embedding WAY..."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.langchain import wait_for_all_tracers
from langchain_openai import ChatOpenAI

from redraft import RedraftError, Session, graphs

SOURCE = Path("book.md")


async def verb(session: Session) -> None:
    await session.summarize(SOURCE, words=60, strategy="direct")


async def within(session: Session) -> None:
    """A verb that is called in a step of the application's own, which is traced."""

    async def step(_: str) -> str:
        await verb(session)
        return "done"

    await RunnableLambda(step).ainvoke("the application's own words")


async def graph(session: Session) -> None:
    drafting = graphs.draft("direct").compile()
    await drafting.ainvoke({"order": {"source": str(SOURCE), "words": 60}}, context=session)


async def built(session: Session) -> None:
    """Building, which needs no graph, with a model that is handed over."""
    await session.build(SOURCE)


async def main(ways: Sequence[str], traced: bool) -> None:
    """Do it in each way, nothing of which is known from another."""
    chat = ChatOpenAI(model="m")
    for way in ways:
        async with Session(f"{way}.db", model=chat, trace_to_langsmith=traced) as session:
            with suppress(RedraftError):
                await {function.__name__: function for function in (verb, within, graph, built)}[way](session)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:], os.environ.get("TRACED") == "yes"))
    wait_for_all_tracers()
