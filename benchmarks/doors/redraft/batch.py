import asyncio

import redraft


async def main():
    async with redraft.Session(judges=["openai:gpt-4.1"]) as session:
        made = await redraft.batch(session, ["document.txt", "other.txt"], words=60, metrics=["consistency"])
        print([(one.source, one.scores) for one in made.items])


asyncio.run(main())
