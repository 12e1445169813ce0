"""Summarize a document from Python: python examples/embed.py [FILE]"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import redraft

SAMPLE = Path(__file__).parent / "the-salt-ledger.md"


def watch(event: redraft.Event) -> None:
    """Anything that happens in a run can be observed."""
    if isinstance(event, redraft.CallAnswered):
        print(f"{event.label}: {event.usage.completion_tokens} tokens", file=sys.stderr)


async def main(source: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with redraft.Workshop(Path(folder) / "redraft.db", observer=watch) as shop:
            result = await shop.summarize(source, words=150, strategy="incremental")
    print(result.summary)
    print(f"\n{result.usage.calls} calls for {result.chunks} chunks of {result.title}", file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else str(SAMPLE)))
