"""Refine a poor summary from Python, and read why each revision was taken: python examples/refine.py [FILE]"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import redraft

SAMPLE = Path(__file__).parent / "the-salt-ledger.md"


async def main(source: str) -> None:
    document = redraft.load(source)
    poor = document.text[:1500].rpartition(".")[0] + "."
    goals = {"coverage": 0.6, "consistency": 0.9}
    with tempfile.TemporaryDirectory() as folder:
        async with redraft.Workshop(Path(folder) / "redraft.db") as shop:
            result = await shop.refine(document, poor, words=250, goals=goals, rounds=3)
    print(result.summary)
    for made in result.rounds[1:]:
        verdict = "taken" if made.accepted else "refused"
        print(f"round {made.number}, for {' and '.join(made.aims)}: {verdict}, {made.reason}", file=sys.stderr)
    for metric, score in result.scores.items():
        print(f"{metric}: {result.initial_scores[metric]:.2f} -> {score:.2f}", file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else str(SAMPLE)))
