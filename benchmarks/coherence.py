"""What it costs to judge the coherence of a summary sentence by sentence, and in batches.

    python -m benchmarks.coherence [--sentences 60]

A stand-in that finds nothing confusing answers behind a wire that takes its time, so that requests are under way
together. A token of a prompt is cacheable when it belongs to the longest beginning that the prompt shares with a
request that was answered before it was sent; providers count from 1,024 such tokens on, in steps of 128. How the
published scores are recomputed from released annotations is in `benchmarks.papers`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

from benchmarks.common import fresh, options_of, prose, shared_prefix, table, use_vocabulary
from redraft import Store
from redraft.agents.judge import Judge, reply_tokens
from redraft.builtin.stand_in import TYPICAL, StandIn
from redraft.evaluators.base import statements_of
from redraft.evaluators.booookscore import Proofreader, sentences_of
from redraft.llm.base import Reply, Request, Sampling
from redraft.prompts.book import PromptBook
from redraft.text.tokens import tokenizer_named

BATCHES = (1, 5, 10, 20)
WINDOW = 8192
_LEAST, _STEP = 1024, 128
_SECONDS = 0.05
# A narrated sentence: whatever stands beside it, it ends where it ends.
_PLAIN = re.compile(r"[A-Z][\w ,;’'-]{60,160}\.")


class Wire:
    """A stand-in at the end of a wire. It remembers every prompt, and which were answered before it."""

    identity = "wire"

    def __init__(self, book: PromptBook) -> None:
        self._book, self._model = book, StandIn(self.identity, {}, TYPICAL)
        self._answered: list[str] = []
        self.prompts: list[tuple[str, str]] = []
        """Each prompt, and what of it an earlier one began with."""

    def most_tokens(self, sampling: Sampling) -> int:  # noqa: ARG002  (as the protocol has it)
        """Nobody bills for it."""
        return 0

    async def ask(self, request: Request[Any, Any]) -> Reply[Any]:
        """Answer after a while."""
        text = self._book.render(request.prompt, request.given)
        self.prompts.append((text, text[: shared_prefix(text, self._answered)]))
        await asyncio.sleep(_SECONDS)
        reply = await self._model.ask(request)
        self._answered.append(text)
        return reply


async def cost(summary: str, batch: int, store: Store) -> tuple[int, int, int]:
    """The calls, the tokens of their prompts, and how many of these are cacheable."""
    book, tokenizer = PromptBook(), tokenizer_named("cl100k_base")
    wire = Wire(book)
    judge = Judge(wire, book, store.judgments, sample=batch, reply_tokens=reply_tokens(WINDOW))
    statements = sentences_of(statements_of(summary))
    readings = await Proofreader(judge, tokenizer, WINDOW, batch).read(summary, statements)
    assert len(readings.verdicts) == len(statements)
    sent, shared = ([tokenizer.count(text) for text in texts] for texts in zip(*wire.prompts, strict=True))
    return len(sent), sum(sent), sum(tokens // _STEP * _STEP for tokens in shared if tokens >= _LEAST)


def summary_of(sentences: int) -> str:
    """A text of so many sentences, in paragraphs of six."""
    plain = (one.sentence for one in statements_of(prose(400_000)) if _PLAIN.fullmatch(one.sentence))
    texts = list(islice(plain, sentences))
    return "\n\n".join(" ".join(texts[at : at + 6]) for at in range(0, len(texts), 6))


async def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--sentences", type=int, default=60)
    summary = summary_of(parser.parse_args().sentences)
    use_vocabulary()
    rows: list[Sequence[object]] = [("sentences a call", "calls", "prompt tokens", "cacheable", "to be read", "share")]
    for batch in BATCHES:
        async with fresh() as session:
            calls, tokens, cacheable = await cost(summary, batch, session.store)
        counts = (f"{count:,}" for count in (tokens, cacheable, tokens - cacheable))
        rows.append((batch, calls, *counts, f"{cacheable / tokens:.0%}"))
    print(f"a summary of {len(statements_of(summary))} sentences and {len(summary.split())} words")
    table(rows)


if __name__ == "__main__":
    asyncio.run(main())
