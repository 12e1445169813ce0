import asyncio

from deepeval.metrics import SummarizationMetric
from deepeval.test_case import LLMTestCase
from mcp import Client
from mcp.server import MCPServer

server = MCPServer("judge")


@server.tool()
async def judge(document: str, summary: str) -> float:
    metric = SummarizationMetric(model="gpt-4.1")
    return await metric.a_measure(LLMTestCase(input=document, actual_output=summary))


async def main():
    async with Client(server) as client:
        print((await client.call_tool("judge", texts)).structured_content)


texts = {"document": open("document.txt").read(), "summary": open("summary.txt").read()}
asyncio.run(main())
