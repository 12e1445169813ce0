import asyncio

from inspect_ai import Task, eval_async
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import model_graded_qa
from mcp import Client
from mcp.server import MCPServer

server = MCPServer("judge")


@server.tool()
async def judge(document: str, summary: str) -> str:
    sample = Sample(document, target="Every statement is supported by the document")
    written = ModelOutput.from_content("mockllm", summary)
    task = Task([sample], scorer=model_graded_qa(model="openai/gpt-4.1"))
    [log] = await eval_async(task, model=get_model("mockllm/model", custom_outputs=[written]))
    return next(iter(log.samples[0].scores.values())).value


async def main():
    async with Client(server) as client:
        print((await client.call_tool("judge", texts)).structured_content)


texts = {"document": open("document.txt").read(), "summary": open("summary.txt").read()}
asyncio.run(main())
