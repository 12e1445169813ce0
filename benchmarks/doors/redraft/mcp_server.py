import asyncio

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    server = StdioServerParameters(command="redraft", args=["mcp", "--root", "."])
    async with Client(stdio_client(server)) as client:
        print([tool.name for tool in (await client.list_tools()).tools])


asyncio.run(main())
