import asyncio
from pathlib import Path
from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from pydantic_evals.evaluators.llm_as_a_judge import judge_input_output


class State(TypedDict, total=False):
    text: str
    summary: str
    score: float


async def judge(state):
    rubric = "Every statement is supported by the input"
    graded = await judge_input_output(state["text"], state["summary"], rubric, "openai-chat:gpt-4.1")
    return {"score": graded.score}


graph = StateGraph(State)
graph.add_node("judge", judge)
graph.add_edge(START, "judge")
graph.add_edge("judge", END)
given = {"text": Path("document.txt").read_text(), "summary": Path("summary.txt").read_text()}
print(asyncio.run(graph.compile().ainvoke(given))["score"])
