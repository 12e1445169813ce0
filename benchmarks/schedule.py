"""How close a hierarchical run comes to the fastest schedule there is, and what it costs beside the paper's procedure.

    python -m benchmarks.schedule
    python -m benchmarks.schedule --at-once 32 --chunk-tokens 256 --seconds 0.2

A 600 KB text, chunks of 2,048 tokens, a window of 8,192, 16 requests at once, against a local server that takes
0.25 s plus 0.06 ms a prompt token plus 4.5 ms a reply token, give or take a fifth, or so many `--seconds` for each
request. Two bounds, neither of which a schedule can pass: the larger of all latencies divided by the requests at once
and the longest chain of calls that need each other's replies, with those that tidy the top; and the same chain where
each merge waits, too, until so many at once can have answered all that it rests on. The processor time of a call is
that of the process beyond one that summarizes a few pages.
"""

from __future__ import annotations

import heapq
import math
import resource
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import Served, Server, options_of, prose, redraft, server, table, use_vocabulary
from redraft.domain import Piece
from redraft.store.store import Store
from redraft.text.tokens import tokenizer_for

WINDOW, WORDS = 8_192, 600
TEXT, PAGE = 600_000, 12_000
"""The characters of the text, and of a few pages."""
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
    parser = options_of(__doc__)
    parser.add_argument("--at-once", type=int, default=16, help="requests at once (%(default)s)")
    parser.add_argument("--chunk-tokens", type=int, default=2_048, help="tokens of a chunk (%(default)s)")
    parser.add_argument("--seconds", type=float, help="seconds for each answer, instead of seconds by tokens")
    options = parser.parse_args()
    use_vocabulary()
    latency = LATENCY
    if options.seconds is not None:
        latency = ("--latency-base", str(options.seconds), "--latency-prompt", "0", "--latency-completion", "0")

    def summarize(characters: int, folder: Path, chat: Server) -> tuple[Any, float, float]:
        """Return the result for a text of this length, and the seconds and processor seconds of the process."""
        book, before = folder / f"{characters}.txt", children_seconds()
        book.write_text(prose(characters), "utf-8")
        result, process_seconds = redraft(
            *("summarize", str(book), "--model", "openai:gpt-4o-mini", "--words", str(WORDS)),
            *("--chunk-tokens", str(options.chunk_tokens), "--context-tokens", str(WINDOW)),
            *("--concurrency", str(options.at_once)),
            url=chat.url,
            database=folder / f"{characters}.db",
        )
        return result, process_seconds, children_seconds() - before

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with server(folder, *latency) as chat:
            result, process_seconds, processor_seconds = summarize(TEXT, folder, chat)
            served = [one for one in chat.served() if one.answered]
            _, _, start_seconds = summarize(PAGE, folder, chat)
            page_calls = sum(one.answered for one in chat.served()) - len(served)
        with Store(folder / f"{TEXT}.db") as store:
            pieces = store.runs.pieces(result["run"])
    report(served, pieces, result, process_seconds, options.at_once)
    a_call = (processor_seconds - start_seconds) / (len(served) - page_calls)
    print(f"processor time: {start_seconds:.2f} s for a few pages, and {1000 * a_call:.1f} ms for each further call")


def children_seconds() -> float:
    """Return the processor time of the processes that have ended, of which the server is none."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def report(served: list[Served], pieces: list[Piece], result: Any, process_seconds: float, at_once: int) -> None:
    seconds = {piece: next(one.seconds for one in served if one.reply == piece.text) for piece in pieces}
    tidying = sum(one.seconds for one in served if one.reply not in {piece.text for piece in pieces})
    total, chain = sum(seconds.values()) + tidying, longest_chain(pieces, seconds, math.inf) + tidying
    bound, nearer = max(total / at_once, chain), longest_chain(pieces, seconds, at_once) + tidying
    calls, tokens = paper_procedure(pieces, result["source"]["tokens"])
    # The server takes four bytes for a token; the comparison is in tokens of the model's vocabulary.
    tokenizer, _ = tokenizer_for("gpt-4o-mini")
    ours = sum(tokenizer.count(one.prompt) for one in served)
    table(
        [
            ("", "calls", "prompt tokens", "seconds", "of the bound", "of the nearer one"),
            *(
                (*row, seconds_taken, seconds_taken / bound, seconds_taken / nearer)
                for *row, seconds_taken in (
                    ("redraft", len(served), ours, result["usage"]["seconds"]),
                    ("redraft, the whole process", "", "", process_seconds),
                    ("a barrier after every level", "", "", with_barriers(pieces, seconds, at_once) + tidying),
                    ("the paper's procedure", calls, tokens, total),
                )
            ),
        ]
    )
    print(f"\nbound {bound:.2f} s: all latencies / {at_once} {total / at_once:.2f} s, longest chain {chain:.2f} s")
    print(f"the nearer one, with {at_once} at once: {nearer:.2f} s")
    print(f"no merge waited longer for nothing than {max(waits(served, pieces)):.2f} s")


def longest_chain(pieces: list[Piece], seconds: dict[Piece, float], at_once: float) -> float:
    """A merge needs the pieces under it, and the merge before it on its level; and what all of them rest on takes its
    time, with so many `at_once`."""
    done: dict[Piece, float] = {}
    needs: dict[Piece, frozenset[Piece]] = {}
    for piece in sorted(pieces, key=lambda one: (one.level, one.index)):
        needed = [other for other in done if other.level == piece.level - 1 and _within(other, piece)]
        needed += [other for other in done if other.level == piece.level and piece.level > 0]
        needs[piece] = frozenset(needed).union(*(needs[other] for other in needed))
        work = sum(seconds[other] for other in needs[piece])
        done[piece] = max([work / at_once, *(done[other] for other in needed)]) + seconds[piece]
    return max(done.values())


def waits(served: list[Served], pieces: list[Piece]) -> Iterator[float]:
    """How long each merge was not begun although all that it needs was there: the pieces under it, the merge before it,
    and the piece after the last of them, whose length shows that no more has room."""
    calls = {piece: next(one for one in served if one.reply == piece.text) for piece in pieces}
    for piece in pieces:
        below = [one for one in pieces if one.level == piece.level - 1]
        needed = [one for one in below if _within(one, piece) or one.first_chunk == piece.last_chunk + 1]
        needed += [one for one in pieces if one.level == piece.level and one.index == piece.index - 1]
        if piece.level > 0:
            yield calls[piece].start - max(calls[one].end for one in needed)


def with_barriers(pieces: list[Piece], seconds: dict[Piece, float], at_once: int) -> float:
    """The best that a map-reduce can do which begins a level when the one below is done."""
    free = [0.0] * at_once
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
