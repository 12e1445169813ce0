"""The summarizer as a subgraph of one's own graph: python examples/embed/subgraph.py [FILE]

The graphs share the state's keys: what stands under `source`, `words` and `goals` goes in, and `run`, `scores` and
`stop` come out. Their context is the application's own, which has the session as its attribute `session`.
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


class Mail(TypedDict, total=False):
    """What the application's graph knows."""

    text: str
    source: str
    words: int
    goals: dict[str, float]
    allow_self_check: bool
    run: str
    scores: dict[str, float | None]
    stop: str
    letter: str


async def receive(state: Mail, runtime: Runtime[Around]) -> dict[str, Any]:
    """Whatever there is to do before: here a text gets into the store, so that its id can stand for it."""
    source = await runtime.context.session.add(redraft.Document.from_text(state["text"]))
    return {"source": source, "words": 120, "goals": {"coverage": 0.2}, "allow_self_check": True}


async def reply(state: Mail, runtime: Runtime[Around]) -> dict[str, Any]:
    """Whatever there is to do with the summary."""
    result = await runtime.context.session.result(state["run"])
    scores = ", ".join(f"{metric} {score:.2f}" for metric, score in result.scores.items() if score is not None)
    return {
        "letter": f"{result.title} in {result.draft.words if result.draft else 0} words ({scores}):\n\n{result.summary}"
    }


def mail_graph() -> StateGraph[Mail, Around, Mail, Mail]:
    """The application's graph, with redraft's in it."""
    graph = StateGraph(Mail, context_schema=Around)
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
    print(f"\nThe run ended because of {state['stop']}.", file=sys.stderr)


if __name__ == "__main__":
    chosen = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE
    asyncio.run(main(chosen.read_text("utf-8")))
