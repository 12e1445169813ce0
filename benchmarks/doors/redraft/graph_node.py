import asyncio

from langgraph.graph import START, StateGraph

import redraft

graph = StateGraph(redraft.graphs.Task, context_schema=redraft.Session, output_schema=redraft.graphs.GraphOutput)
graph.add_node("judge", redraft.graphs.judge().compile())
graph.add_edge(START, "judge")


async def main():
    async with redraft.Session(judges=["openai:gpt-4.1"]) as session:
        given = {"source": "document.txt", "summary": "summary.txt"}
        print((await graph.compile().ainvoke(given, context=session))["scores"])


asyncio.run(main())
