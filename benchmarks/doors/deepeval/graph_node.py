import asyncio
from pathlib import Path
from typing import TypedDict

from deepeval.metrics import SummarizationMetric
from deepeval.test_case import LLMTestCase
from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    text: str
    summary: str
    score: float


async def judge(state):
    case = LLMTestCase(input=state["text"], actual_output=state["summary"])
    return {"score": await SummarizationMetric(model="gpt-4.1").a_measure(case)}


graph = StateGraph(State)
graph.add_node("judge", judge)
graph.add_edge(START, "judge")
graph.add_edge("judge", END)
given = {"text": Path("document.txt").read_text(), "summary": Path("summary.txt").read_text()}
print(asyncio.run(graph.compile().ainvoke(given))["score"])
