import asyncio
from pathlib import Path
from typing import TypedDict

from inspect_ai import Task, eval_async
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import model_graded_qa
from langgraph.graph import END, START, StateGraph


class State(TypedDict, total=False):
    text: str
    summary: str
    score: str


async def judge(state):
    sample = Sample(state["text"], target="Every statement is supported by the document")
    written = ModelOutput.from_content("mockllm", state["summary"])
    task = Task([sample], scorer=model_graded_qa(model="openai/gpt-4.1"))
    [log] = await eval_async(task, model=get_model("mockllm/model", custom_outputs=[written]))
    return {"score": next(iter(log.samples[0].scores.values())).value}


graph = StateGraph(State)
graph.add_node("judge", judge)
graph.add_edge(START, "judge")
graph.add_edge("judge", END)
given = {"text": Path("document.txt").read_text(), "summary": Path("summary.txt").read_text()}
print(asyncio.run(graph.compile().ainvoke(given))["score"])
