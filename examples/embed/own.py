"""A metric and a model of one's own: python examples/embed/own.py

The metric is a goal like any other, and what it finds is what the model is told to mend.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

import redraft

MINUTES = """
The harbour board met on Tuesday at the Customs House. The treasurer reported that the dredging had cost eleven hundred
pounds more than was foreseen. After some debate the board agreed to raise the dues of visiting yachts by a tenth. The
new crane will be delivered in March. Tom Hale asked for a second lamp on the mole, and was told to put it in writing.
Edith Marlow, who was in the chair, closed the meeting at nine.
"""


class NamesTheChair(redraft.Evaluator):
    """Minutes say who was in the chair."""

    name = "names_the_chair"
    aim = "content"

    async def evaluate(self, case: redraft.Case) -> redraft.Evaluation:
        """1 where the name is there, and otherwise 0 with the sentence that is missing."""
        if "Marlow" in case.text:
            return self.scored(1.0)
        missing = "Edith Marlow was in the chair."
        finding = redraft.Finding(self.name, "missing", "add", "Say who was in the chair.", expected=missing)
        return self.scored(0.0, findings=[finding])


class FirstWords:
    """A model that answers two prompts: it summarizes by the first words, and mends by adding what is expected."""

    identity = "first-words:1"

    def most_tokens(self, sampling: redraft.prompts.Sampling) -> int:
        """Nobody bills for it."""
        return 0

    async def ask(self, request: redraft.Request[Any, Any]) -> redraft.Reply[Any]:
        """Answer with a text, which is what both prompts ask for."""
        given = request.given
        if request.prompt.name == "revise":
            text = " ".join([given.summary, *(point.answer for point in given.points)])
        else:
            kept = given.document.split()[: given.words // 2]
            text = f"{' '.join(kept).rpartition('.')[0]}."
        return redraft.Reply(text, text, redraft.Usage(len(request.text.split()), len(text.split())))


async def main() -> None:
    minutes = redraft.Document.from_text(MINUTES, "Minutes")
    with tempfile.TemporaryDirectory() as folder:
        async with redraft.Session(
            Path(folder) / "redraft.db", model=FirstWords(), metrics=[NamesTheChair()]
        ) as session:
            goals = {"names_the_chair": 1.0}
            # The default policy asks for more: judges compare its drafts.
            result = await session.summarize(
                minutes, strategy="direct", words=40, goals=goals, policy="paper", feedback="findings"
            )
    print(result.summary)
    for made in result.rounds[1:]:
        print(f"round {made.number}, for {' and '.join(made.aims)}: {made.reason}", file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main())
