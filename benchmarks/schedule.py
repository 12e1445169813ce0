"""How close a hierarchical run comes to the fastest schedule there is, and what it costs beside the paper's procedure.

    python -m benchmarks.schedule

A 600 KB text, chunks of 2,048 tokens, a window of 8,192, 16 requests at once, against a local server that takes
0.25 s plus 0.06 ms a prompt token plus 4.5 ms a reply token, give or take a fifth. The bound is the larger of all
latencies divided by 16 and the longest chain of calls that need each other's replies, with those that tidy the top.
"""

from __future__ import annotations

import heapq
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import Served, prose, redraft, server, table, use_vocabulary
from redraft.domain import Piece
from redraft.store.store import Store
from redraft.text.tokens import tokenizer_for

CONCURRENCY = 16
CHUNK_TOKENS, WINDOW, WORDS = 2_048, 8_192, 600
LATENCY = ("--latency-base", "0.25", "--latency-prompt", "0.00006", "--latency-completion", "0.0045")


@dataclass(frozen=True)
class Paper:
    """The paper's released procedure in figures: tokens of its prompts without the texts, of the label before a
    summary in a merge, and the margin it leaves in the window; counted with o200k_base."""

    chunk: int = 179
    merge: int = 182
    onward: int = 198
    label: int = 6
    margin: int = 20


def main() -> None:
    use_vocabulary()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        book, database = folder / "book.txt", folder / "redraft.db"
        book.write_text(prose(600_000), "utf-8")
        with server(folder, *LATENCY) as chat:
            result, process_seconds = redraft(
                *("summarize", str(book), "--model", "openai:gpt-4o-mini", "--words", str(WORDS)),
                *("--chunk-tokens", str(CHUNK_TOKENS), "--context-tokens", str(WINDOW)),
                *("--concurrency", str(CONCURRENCY)),
                url=chat.url,
                database=database,
            )
            served = [one for one in chat.served() if one.answered]
        with Store(database) as store:
            pieces = store.runs.pieces(result["run"])
        chunk_tokens = result["source"]["tokens"]
    report(served, pieces, chunk_tokens, result["usage"]["seconds"], process_seconds)


def report(
    served: list[Served], pieces: list[Piece], document_tokens: int, run_seconds: float, process_seconds: float
) -> None:
    seconds = {piece: next(one.seconds for one in served if one.reply == piece.text) for piece in pieces}
    tidying = sum(one.seconds for one in served if one.reply not in {piece.text for piece in pieces})
    total, chain = sum(seconds.values()) + tidying, longest_chain(pieces, seconds) + tidying
    bound = max(total / CONCURRENCY, chain)
    calls, tokens = paper_procedure(pieces, document_tokens)
    # The server takes four bytes for a token; the comparison is in tokens of the model's vocabulary.
    tokenizer, _ = tokenizer_for("gpt-4o-mini")
    ours = sum(tokenizer.count(one.prompt) for one in served)
    table(
        [
            ("", "calls", "prompt tokens", "seconds", "of the bound"),
            ("redraft", len(served), ours, run_seconds, run_seconds / bound),
            ("redraft, the whole process", "", "", process_seconds, process_seconds / bound),
            (
                "a barrier after every level",
                "",
                "",
                (barriers := with_barriers(pieces, seconds) + tidying),
                barriers / bound,
            ),
            ("the paper's procedure", calls, tokens, total, total / bound),
        ]
    )
    print(
        f"\nbound {bound:.2f} s: all latencies / {CONCURRENCY} {total / CONCURRENCY:.2f} s, longest chain {chain:.2f} s"
    )


def longest_chain(pieces: list[Piece], seconds: dict[Piece, float]) -> float:
    """A merge needs the pieces under it, and the merge before it on its level."""
    done: dict[Piece, float] = {}
    for piece in sorted(pieces, key=lambda one: (one.level, one.index)):
        below = [end for other, end in done.items() if other.level == piece.level - 1 and _within(other, piece)]
        before = [done[other] for other in done if other.level == piece.level and piece.level > 0]
        done[piece] = max([0.0, *below, *before]) + seconds[piece]
    return max(done.values())


def with_barriers(pieces: list[Piece], seconds: dict[Piece, float]) -> float:
    """The best that a map-reduce can do which begins a level when the one below is done."""
    free = [0.0] * CONCURRENCY
    for piece in pieces:
        if piece.level == 0:
            heapq.heapreplace(free, free[0] + seconds[piece])
    return max(free) + sum(seconds[piece] for piece in pieces if piece.level > 0)


def paper_procedure(pieces: list[Piece], document_tokens: int) -> tuple[int, int]:
    """Calls and prompt tokens of the paper's code, were its replies as long as ours."""
    paper = Paper()
    chunks = [piece.tokens for piece in pieces if piece.level == 0]
    calls, tokens, level = len(chunks), document_tokens + len(chunks) * paper.chunk, chunks
    top = max(piece.level for piece in pieces)
    for number in range(1, top + 1):
        merged = [piece for piece in pieces if piece.level == number]
        reply = math.ceil(merged[0].limit / 0.65)
        room = WINDOW - reply - paper.onward - paper.margin
        made, at = 0, 0
        while at < len(level):
            context = min(merged[min(made, len(merged)) - 1].tokens, int(0.2 * room)) if made else 0
            size, first = context, at
            while at < len(level) and (at == first or size + level[at] + paper.label + paper.margin <= room):
                size += level[at] + paper.label
                at += 1
            tokens += size + (paper.onward if made else paper.merge)
            made += 1
        calls += made
        level = [piece.tokens for piece in merged]
    return calls, tokens


def _within(inner: Piece, outer: Piece) -> bool:
    return outer.first_chunk <= inner.first_chunk and inner.last_chunk <= outer.last_chunk


if __name__ == "__main__":
    main()
