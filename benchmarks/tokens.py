"""How far the estimate of tokens is off, and what chunking costs beside one pass of a tokenizer.

    python -m benchmarks.tokens [--part estimate|chunking] [--vocabulary o200k_base] [--runs 5]

The estimate is compared without its margin, in stretches of 3,000 characters: English is the stories of the datasets,
code the standard library of Python, the rest the chapter of `benchmarks.languages`. A median under 1 is an undercount;
the margin that is added in use must cover it. Times are medians. Needs the vocabulary: set
TIKTOKEN_CACHE_DIR to a folder that holds it, or be online.
"""

from __future__ import annotations

import random
import sysconfig
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.common import options_of, prose, seconds, table, use_vocabulary
from benchmarks.languages import LANGUAGES, chapter
from redraft.domain import Document
from redraft.text.chunks import chunk
from redraft.text.tokens import ESTIMATE, MARGIN, Tokenizer, tokenizer_named

STRETCH = 3_000
MEGABYTES = (0.1, 0.3, 1, 3, 10)
CHUNK_TOKENS = 2_048
Rows = list[Sequence[object]]


def estimate(tokenizer: Tokenizer, _: int) -> None:
    modules = sorted(Path(sysconfig.get_path("stdlib")).glob("[a-e]*.py"))
    texts = {language: chapter(asked) * 60 for language, asked in LANGUAGES.items()}
    texts |= {"English": prose(), "code": "\n".join(path.read_text("utf-8") for path in modules)}
    bare = Tokenizer(margin=1)
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


PARTS = {"estimate": estimate, "chunking": chunking}


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
