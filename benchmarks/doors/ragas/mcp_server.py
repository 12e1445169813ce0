import asyncio

from mcp import Client
from mcp.server import MCPServer
from openai import AsyncOpenAI
from ragas.llms import llm_factory
from ragas.metrics.collections import SummaryScore

server = MCPServer("judge")


@server.tool()
async def judge(document: str, summary: str) -> float:
    metric = SummaryScore(llm=llm_factory("gpt-4.1", client=AsyncOpenAI()))
    return (await metric.ascore(reference_contexts=[document], response=summary)).value


async def main():
    async with Client(server) as client:
        print((await client.call_tool("judge", texts)).structured_content)


texts = {"document": open("document.txt").read(), "summary": open("summary.txt").read()}
asyncio.run(main())
