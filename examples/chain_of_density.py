"""Chain of density as a strategy of one's own: python examples/chain_of_density.py FILE MODEL

A summary is written, and then rewritten four times at the same length, each time with what it lacks most.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

from langgraph.graph import START, StateGraph

import redraft
from redraft.graphs import DraftState, Job, Plan, Planner, SessionProtocol, Strategy, Update, node

STEPS = 4


class DensityInput(redraft.prompts.PromptInput):
    document: Annotated[str, redraft.prompts.Fence("document")]
    summary: Annotated[str, redraft.prompts.Fence("summary")]
    words: int
    step: int


class Denser(redraft.prompts.ReplyModel):
    missing: list[str]
    summary: str


DENSER = redraft.prompts.Prompt("denser", DensityInput, Denser, "make a summary denser", 0.3, """
{{ document }}

{{ summary }}

Rewriting {{ step }}: name one to three entities of the document that the summary lacks and a reader would miss.
Then rewrite it with them, in at most {{ words }} words: fuse and compress, but drop no entity. Reply with JSON:
{"missing": [...], "summary": "..."}
""")  # fmt: skip


async def condense(state: DraftState, job: Job) -> Update:
    """Summarize the document, and make the summary denser."""
    document, words = job.document.text, job.plan.words
    summary = (await job.writer.summarize_whole(document, words, "first summary")).text
    for step in range(1, STEPS + 1):
        density = DensityInput(document=document, summary=summary, words=words, step=step)
        summary = (await job.writer.ask(DENSER, density, f"density {step}", words=words)).summary
    return {"draft": await job.keep(summary, "chain-of-density", parents=[job.whole()])}


def graph(session: SessionProtocol | None = None) -> StateGraph[DraftState]:
    return StateGraph(DraftState).add_node("condense", node(condense, session)).add_edge(START, "condense")


def plan(planner: Planner) -> Plan:
    planner.fits(planner.tokens + 3 * planner.reply(planner.words) + 400, "the document with its summary")
    return planner.made((), 1 + STEPS)


CHAIN_OF_DENSITY = Strategy("chain-of-density", graph, plan, (redraft.prompts.PROMPTS["summarize_whole"], DENSER))


async def main(path: Path, model: str) -> None:
    async with redraft.Session(":memory:", model=model) as session:
        result = await session.summarize(path, strategy=CHAIN_OF_DENSITY, words=80)
    print(result.summary)
    print(f"{result.usage.calls} calls", file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
