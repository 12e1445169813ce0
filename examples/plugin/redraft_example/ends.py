"""A strategy that reads the ends: the first chunk and the last are summarized, and the two are merged."""

from __future__ import annotations

from typing import Any

from langgraph.graph import START, StateGraph

from redraft.graphs import DraftOutput, DraftState, Job, Plan, Planner, SessionProtocol, Strategy, Update, node
from redraft.prompts import PROMPTS

_NAME = "first-and-last"
_CHUNK, _MERGE = PROMPTS["summarize_chunk"], PROMPTS["merge"]
_MIN_WORDS = 15


class Ends(DraftState, total=False):
    """What the nodes know besides: the ids of the summaries of the ends."""

    ends: list[str]


def _share(words: int) -> int:
    """The limit of the summary of one end."""
    return max(_MIN_WORDS, words * 2 // 3)


async def read_first(_state: Ends, job: Job) -> Update:
    """Summarize the first chunk."""
    return {"ends": [await _read(job, 0, 0)], "pieces": {"0": 1}}


async def read_last(state: Ends, job: Job) -> Update:
    """Summarize the last chunk, where that is another."""
    last = len(job.chunks) - 1
    ends = [*state["ends"], await _read(job, last, 1)] if last else state["ends"]
    # A node's update is never empty: whoever streams the graph is given None for it.
    return {"ends": ends, "pieces": {"0": len(ends)}}


async def merge(state: Ends, job: Job) -> Update:
    """Make one summary of what there is, and keep it as the draft."""
    texts = [await job.text(end) for end in state["ends"]]
    ends = [await job.as_parent(end) for end in state["ends"]]
    if len(texts) == 1:
        return {"draft": await job.keep(texts[0], _NAME, parents=ends)}
    written = await job.writer.merge(texts, "", job.plan.words, "merge")
    merged = await job.piece(written, 1, 0, (0, len(job.chunks) - 1), job.plan.words, ends)
    return {"draft": await job.keep(written.text, _NAME, parents=[merged]), "pieces": {"0": 2, "1": 1}}


async def _read(job: Job, index: int, at: int) -> str:
    words = _share(job.plan.words)
    chunk = job.chunks[index]
    written = await job.writer.summarize_chunk(job.excerpt(chunk), words, f"chunk {index + 1}")
    await job.piece(written, 0, at, (index, index), words, [job.part(chunk)])
    return await job.keep_text(written.text)


def graph(session: SessionProtocol | None = None) -> StateGraph[Ends, Any, Ends, DraftOutput]:
    """Three nodes in a row. A run that is killed goes on after the last of them that was done."""
    made = StateGraph(Ends, output_schema=DraftOutput)
    made.add_node("read_first", node(read_first, session))
    made.add_node("read_last", node(read_last, session))
    made.add_node("merge", node(merge, session))
    made.add_edge(START, "read_first")
    made.add_edge("read_first", "read_last")
    made.add_edge("read_last", "merge")
    return made


def plan(planner: Planner) -> Plan:
    """What that comes to at most; refused where a chunk does not fit beside its summary."""
    ends = [planner.chunks[0].tokens, planner.chunks[-1].tokens][: len(planner.chunks)]
    part, frame = planner.reply(_share(planner.words)), planner.overhead(_CHUNK)
    planner.fits(max(ends) + frame + part, "a chunk with its summary")
    if len(ends) == 1:
        return planner.made((), 1)
    merged = planner.overhead(_MERGE) + 2 * part
    planner.fits(merged + planner.reply(planner.words), "a merge of two summaries")
    return planner.made((), 3)


FIRST_AND_LAST = Strategy(_NAME, graph, plan, (_CHUNK, _MERGE))
