"""The summarizer as a subgraph of one's own graph: python examples/embed/subgraph.py [FILE]

One key goes in, `order`, and one comes out, `result`. Their context is the application's own, which has the session as
its attribute `session`.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

import redraft

SAMPLE = Path(__file__).parent.parent / "the-salt-ledger.md"


@dataclass
class Around:
    """What the application's nodes work with."""

    session: redraft.Session


class Received(TypedDict):
    """The input of the application's graph."""

    text: str


class Mail(Received):
    """Its state."""

    order: redraft.graphs.Task
    result: redraft.graphs.GraphResult
    letter: str


async def receive(state: Mail) -> dict[str, Any]:
    """Decide what is wanted of the summary."""
    return {"order": {"text": state["text"], "words": 120, "goals": {"coverage": 0.2}}}


async def reply(state: Mail, runtime: Runtime[Around]) -> dict[str, Any]:
    """Do something with the summary; the session has the rest of the run."""
    summary, run = state["result"]["summary"], state["result"]["run"]
    result = await runtime.context.session.result(run)
    scores = ", ".join(f"{metric} {score:.2f}" for metric, score in result.scores.items() if score is not None)
    return {"letter": f"{result.title} in {len(summary.split())} words ({scores}):\n\n{summary}"}


def mail_graph() -> StateGraph[Mail, Around, Received, Mail]:
    """The application's graph, with redraft's in it."""
    graph = StateGraph(Mail, context_schema=Around, input_schema=Received)
    graph.add_node("receive", receive)
    graph.add_node("summary", redraft.graphs.summarizer("hierarchical", refine=True).compile())
    graph.add_node("reply", reply)
    graph.add_edge(START, "receive")
    graph.add_edge("receive", "summary")
    graph.add_edge("summary", "reply")
    graph.add_edge("reply", END)
    return graph


async def main(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with redraft.Session(Path(folder) / "redraft.db") as session:
            state = await mail_graph().compile().ainvoke({"text": text}, context=Around(session))
    print(state["letter"])
    print(f"\nThe run ended because of {state['result']['stop']}.", file=sys.stderr)


if __name__ == "__main__":
    chosen = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE
    asyncio.run(main(chosen.read_text("utf-8")))
