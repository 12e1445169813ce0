"""What the statistics of a summary cost beside one tokenizer pass over its source, and how that grows.

    python -m benchmarks.statistics [--runs 5]

The source is prose, its paragraphs shuffled and its words now and then exchanged; the summary has 900 words, a third of
them copied. Times are medians, the source seen for the first time. The vocabulary is that beside the datasets, or else
the estimate.
"""

from __future__ import annotations

import asyncio
import random
from functools import partial
from statistics import median
from typing import Any

from benchmarks.common import options_of, prose, seconds, table, use_vocabulary
from redraft.agents.evidence import EvidenceReader
from redraft.domain import Document, content_id
from redraft.evaluators import statistics
from redraft.evaluators.base import Case, statements_of
from redraft.evaluators.statistics import Statistics
from redraft.text.retrieval import Passages
from redraft.text.tokens import Tokenizer, tokenizer_named

CHARACTERS = (250_000, 1_000_000, 4_000_000)
WORDS = 900
VOCABULARIES = ("o200k_base", "estimate")


def source_of(characters: int) -> str:
    """Prose of this length that never says the same at length."""
    chance, text = random.Random(characters), prose()
    paragraphs, vocabulary = text.split("\n\n"), text.split()
    made: list[str] = []
    length = 0
    while length < characters:
        words = chance.choice(paragraphs).split(" ")
        words = [chance.choice(vocabulary) if chance.random() < 0.1 else word for word in words]
        made.append(" ".join(words))
        length += len(made[-1]) + 2
    return "\n\n".join(made)[:characters]


def summary_of(source: str) -> str:
    """900 words, a third of them copied in runs of 15, the rest picked here and there."""
    chance, words = random.Random(1), source.split()
    made: list[str] = []
    while len(made) < WORDS:
        at = chance.randrange(len(words) - 15)
        made += [*words[at : at + 15], *(chance.choice(words) for _ in range(30))]
    return " ".join(made[:WORDS])


def case_of(source: str, summary: str, tokenizer: Tokenizer, tokens: int) -> Case:
    document = Document(content_id(source), "source", source)
    reader = EvidenceReader(document, Passages(document, tokenizer), tokenizer, 8192, tokens)
    return Case(statements_of(summary), (), reader, text=summary)


def measure(case: Case, *, anew: bool) -> dict[str, Any]:
    if anew:
        statistics._source.cache_clear()
    return dict(asyncio.run(Statistics().evaluate(case)).details)


def costs(runs: int) -> None:
    print(f"a summary of {WORDS} words; seconds, and how many tokenizer passes that is\n")
    rows: list[tuple[object, ...]] = [("source", "tokenizer", "one pass", "statistics", "passes", "next draft")]
    for characters in CHARACTERS:
        source = source_of(characters)
        summary = summary_of(source)
        for name in VOCABULARIES:
            tokenizer = tokenizer_named(name)
            case = case_of(source, summary, tokenizer, tokenizer.count(source))
            timed = [
                (
                    seconds(partial(tokenizer.count, source)),
                    seconds(partial(measure, case, anew=True)),
                    seconds(partial(measure, case, anew=False)),
                )
                for _ in range(runs)
            ]
            one, first, following = (median(column) for column in zip(*timed, strict=True))
            rows.append((f"{characters:,}", tokenizer.name, one, first, first / one, following))
    table(rows)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    use_vocabulary()
    costs(runs)


if __name__ == "__main__":
    main()
