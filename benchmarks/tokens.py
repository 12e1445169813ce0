"""How far the estimate of tokens is off, and what chunking and statistics cost beside one pass of a tokenizer.

    python -m benchmarks.tokens [--part estimate|chunking|statistics] [--vocabulary o200k_base] [--runs 5]

The estimate is compared without its margin, in stretches of 3,000 characters: English is the stories of the datasets,
code the standard library of Python, the rest the chapter of `benchmarks.languages`. A median under 1 is an undercount;
the margin that is added in use must cover it. Times are medians. Statistics are made of prose whose paragraphs are
shuffled and whose words are exchanged now and then, seen for the first time, and a summary of 900 words, a third of
them copied. Needs the vocabulary: set TIKTOKEN_CACHE_DIR to a folder that holds it, or be online.
"""

from __future__ import annotations

import asyncio
import random
import sysconfig
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.common import options_of, prose, seconds, table, use_vocabulary
from benchmarks.languages import LANGUAGES, chapter
from redraft.agents.evidence import EvidenceReader
from redraft.domain import Document, content_id
from redraft.evaluators import statistics
from redraft.evaluators.base import Case, statements_of
from redraft.text.chunks import chunk
from redraft.text.retrieval import Passages
from redraft.text.tokens import ESTIMATE, MARGIN, EstimatingTokenizer, Tokenizer, tokenizer_named

STRETCH = 3_000
MEGABYTES = (0.1, 0.3, 1, 3, 10)
CHUNK_TOKENS = 2_048
CHARACTERS = (250_000, 1_000_000, 4_000_000)
WORDS = 900
Rows = list[Sequence[object]]


def estimate(tokenizer: Tokenizer, _: int) -> None:
    modules = sorted(Path(sysconfig.get_path("stdlib")).glob("[a-e]*.py"))
    texts = {language: chapter(asked) * 60 for language, asked in LANGUAGES.items()}
    texts |= {"English": prose(), "code": "\n".join(path.read_text("utf-8") for path in modules)}
    bare = EstimatingTokenizer(margin=1)
    print(f"estimate / {tokenizer.name}, before the margin of {MARGIN - 1:.0%}")
    rows: Rows = [("", "stretches", "p5", "median", "p95")]
    for name, text in texts.items():
        parts = [text[at : at + STRETCH] for at in range(0, len(text), STRETCH)]
        ratios = [bare.count(part) / tokenizer.count(part) for part in parts if len(part) > STRETCH // 3]
        rows.append((name, len(ratios), *(f"{share:.2f}" for share in np.percentile(ratios, [5, 50, 95]))))
    table(rows)


def chunking(tokenizer: Tokenizer, runs: int) -> None:
    import tiktoken

    encoding = tiktoken.get_encoding(tokenizer.name)
    rows: Rows = [("MB", "tiktoken s", "chunking s", "times", "chunks")]
    for megabytes in MEGABYTES:
        text = prose(int(megabytes * 1_000_000))
        document = Document("id", "title", text)
        passes, cuts = [], []
        for _ in range(runs):
            passes.append(seconds(partial(encoding.encode_ordinary, text)))
            cuts.append(seconds(partial(chunk, document, tokenizer, CHUNK_TOKENS)))
        once, cut = median(passes), median(cuts)
        rows.append((megabytes, once, cut, cut / once, len(chunk(document, tokenizer, CHUNK_TOKENS))))
    table(rows)


def source_of(characters: int) -> str:
    """Prose of this length that never says the same at length."""
    chance, text = random.Random(characters), prose()
    paragraphs, vocabulary = text.split("\n\n"), text.split()
    parts: list[str] = []
    length = 0
    while length < characters:
        words = chance.choice(paragraphs).split(" ")
        words = [chance.choice(vocabulary) if chance.random() < 0.1 else word for word in words]
        parts.append(" ".join(words))
        length += len(parts[-1]) + 2
    return "\n\n".join(parts)[:characters]


def summary_of(source: str) -> str:
    """900 words, a third of them copied in runs of 15, the rest picked here and there."""
    chance, words = random.Random(1), source.split()
    parts: list[str] = []
    while len(parts) < WORDS:
        at = chance.randrange(len(words) - 15)
        parts += [*words[at : at + 15], *(chance.choice(words) for _ in range(30))]
    return " ".join(parts[:WORDS])


def measure(case: Case, *, anew: bool) -> None:
    if anew:
        statistics._source.cache_clear()
    asyncio.run(statistics.Statistics().evaluate(case))


def of_summaries(named: Tokenizer, runs: int) -> None:
    rows: Rows = [("source", "tokenizer", "one pass", "statistics", "passes", "next draft")]
    for characters in CHARACTERS:
        source = source_of(characters)
        summary, document = summary_of(source), Document(content_id(source), "source", source)
        for tokenizer in (named, tokenizer_named(ESTIMATE)):
            passages = Passages(document, tokenizer)
            evidence = EvidenceReader(document, passages, tokenizer, 8192, tokenizer.count(source))
            case = Case(statements_of(summary), (), evidence, text=summary)
            actions = (
                partial(tokenizer.count, source),
                partial(measure, case, anew=True),
                partial(measure, case, anew=False),
            )
            times = [[seconds(action) for action in actions] for _ in range(runs)]
            once, first, following = (median(column) for column in zip(*times, strict=True))
            rows.append((f"{characters:,}", tokenizer.name, once, first, first / once, following))
    table(rows)


PARTS = {"estimate": estimate, "chunking": chunking, "statistics": of_summaries}


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--vocabulary", default="o200k_base")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    use_vocabulary()
    tokenizer = tokenizer_named(options.vocabulary)
    if tokenizer.name == ESTIMATE:
        raise SystemExit("the vocabulary is not available: set TIKTOKEN_CACHE_DIR to a folder that holds it")
    for name, part in PARTS.items():
        if options.part in (None, name):
            part(tokenizer, options.runs)
            print()


if __name__ == "__main__":
    main()
