import asyncio

from mcp import Client
from mcp.server import MCPServer
from pydantic_evals.evaluators.llm_as_a_judge import judge_input_output

server = MCPServer("judge")


@server.tool()
async def judge(document: str, summary: str) -> float:
    rubric = "Every statement is supported by the input"
    return (await judge_input_output(document, summary, rubric, "openai-chat:gpt-4.1")).score


async def main():
    async with Client(server) as client:
        print((await client.call_tool("judge", texts)).structured_content)


texts = {"document": open("document.txt").read(), "summary": open("summary.txt").read()}
asyncio.run(main())
