import asyncio
from pathlib import Path
from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from openai import AsyncOpenAI
from ragas.llms import llm_factory
from ragas.metrics.collections import SummaryScore


class State(TypedDict, total=False):
    text: str
    summary: str
    score: float


async def judge(state):
    metric = SummaryScore(llm=llm_factory("gpt-4.1", client=AsyncOpenAI()))
    result = await metric.ascore(reference_contexts=[state["text"]], response=state["summary"])
    return {"score": result.value}


graph = StateGraph(State)
graph.add_node("judge", judge)
graph.add_edge(START, "judge")
graph.add_edge("judge", END)
given = {"text": Path("document.txt").read_text(), "summary": Path("summary.txt").read_text()}
print(asyncio.run(graph.compile().ainvoke(given))["score"])
