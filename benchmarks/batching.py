"""What it costs to judge the coherence of a summary sentence by sentence, and in batches.

    python -m benchmarks.batching [--sentences 60]

The built-in model answers behind a wire that takes its time, so that requests are under way together. A token of a
prompt is cacheable when it belongs to the longest beginning that the prompt shares with a request that was answered
before it was sent; providers count from 1,024 such tokens on, in steps of 128.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.common import prose, table, use_vocabulary
from redraft import Store
from redraft.agents.judge import Judge, reply_tokens
from redraft.agents.proofreader import Proofreader
from redraft.builtin.model import ExtractiveModel
from redraft.evaluators.base import statements_of
from redraft.evaluators.booookscore import sentences_of
from redraft.llm.base import Reply, Request, Sampling
from redraft.prompts.book import PromptBook
from redraft.text.tokens import Tokenizer, tokenizer_named

SENTENCES = 60
BATCHES = (1, 5, 10, 20)
WINDOW = 8192
_LEAST, _STEP = 1024, 128
_SECONDS = 0.05
# A narrated sentence: whatever stands beside it, it ends where it ends.
_PLAIN = re.compile(r"[A-Z][\w ,;’'-]{60,160}\.")


class Wire:
    """The built-in model at the end of a wire. It remembers every prompt, and which were answered before it."""

    identity = "wire"

    def __init__(self, book: PromptBook, tokenizer: Tokenizer) -> None:
        self._book, self._tokenizer = book, tokenizer
        self._model = ExtractiveModel()
        self._answered: list[str] = []
        self.tokens: list[int] = []
        self.cacheable: list[int] = []

    def most_tokens(self, sampling: Sampling) -> int:  # noqa: ARG002  (as the protocol has it)
        """Nobody bills for it."""
        return 0

    async def ask(self, request: Request[Any, Any]) -> Reply[Any]:
        """Answer after a while."""
        text = self._book.render(request.prompt, request.given)
        shared = max((_shared(text, known) for known in self._answered), default=0)
        self.tokens.append(self._tokenizer.count(text))
        self.cacheable.append(_cacheable(self._tokenizer.count(text[:shared])))
        await asyncio.sleep(_SECONDS)
        reply = await self._model.ask(request)
        self._answered.append(text)
        return reply


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _cacheable(tokens: int) -> int:
    return tokens // _STEP * _STEP if tokens >= _LEAST else 0


async def cost(summary: str, batch: int, store: Store) -> tuple[int, int, int]:
    """The calls, the tokens of their prompts, and how many of these are cacheable."""
    book, tokenizer = PromptBook(), tokenizer_named("cl100k_base")
    wire = Wire(book, tokenizer)
    judge = Judge(wire, book, store.judgments, sample=batch, reply_tokens=reply_tokens(WINDOW))
    statements = sentences_of(statements_of(summary))
    found = await Proofreader(judge, tokenizer, WINDOW, batch).read(summary, statements)
    assert len(found.verdicts) == len(statements)
    return len(wire.tokens), sum(wire.tokens), sum(wire.cacheable)


def summary_of(sentences: int) -> str:
    """A text of so many sentences, in paragraphs of six."""
    plain = (one.sentence for one in statements_of(prose(400_000)) if _PLAIN.fullmatch(one.sentence))
    texts = list(islice(plain, sentences))
    return "\n\n".join(" ".join(texts[at : at + 6]) for at in range(0, len(texts), 6))


def print_costs(sentences: int = SENTENCES) -> None:
    """The table: one by one as in the paper, and in batches."""
    use_vocabulary()
    summary = summary_of(sentences)
    rows: list[Sequence[object]] = [("sentences a call", "calls", "prompt tokens", "cacheable", "to be read", "share")]
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "redraft.db") as store:
        for batch in BATCHES:
            calls, tokens, cacheable = asyncio.run(cost(summary, batch, store))
            rows.append(
                (batch, calls, f"{tokens:,}", f"{cacheable:,}", f"{tokens - cacheable:,}", f"{cacheable / tokens:.0%}")
            )
    print(f"a summary of {len(statements_of(summary))} sentences and {len(summary.split())} words")
    table(rows)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sentences", type=int, default=SENTENCES)
    print_costs(arguments.parse_args().sentences)


if __name__ == "__main__":
    main()
