"""Summarize a document from Python: python examples/embed.py [FILE]"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import redraft
from redraft.events import CallAnswered, Event

SAMPLE = Path(__file__).parent / "the-salt-ledger.md"


def watch(event: Event) -> None:
    """Anything that happens in a run can be observed."""
    if isinstance(event, CallAnswered):
        print(f"{event.label}: {event.usage.completion_tokens} tokens", file=sys.stderr)


async def main(source: str) -> None:
    with tempfile.TemporaryDirectory() as folder, redraft.Store(Path(folder) / "redraft.db") as store:
        settings = redraft.Settings(words=150, strategy="incremental")
        result = await redraft.summarize(source, settings, store=store, observer=watch)
    print(result.summary)
    print(f"\n{result.usage.calls} calls for {result.chunks} chunks of {result.title}", file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else str(SAMPLE)))
