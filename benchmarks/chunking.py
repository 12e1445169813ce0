"""What chunking costs beside one pass of tiktoken over the same text, and how it grows.

    python -m benchmarks.chunking [--vocabulary o200k_base] [--budget 2048] [--runs 5]

Needs the vocabulary: set TIKTOKEN_CACHE_DIR to a folder that holds it, or be online. Times are medians,
the two measured in turn.
"""

from __future__ import annotations

from functools import partial
from statistics import median

import tiktoken

from benchmarks.common import options_of, prose, seconds, use_vocabulary
from redraft.domain import Document
from redraft.text.chunks import chunk
from redraft.text.tokens import ESTIMATE, tokenizer_named

MEGABYTES = (0.1, 0.3, 1, 3, 10)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--vocabulary", default="o200k_base")
    parser.add_argument("--budget", type=int, default=2_048)
    parser.add_argument("--runs", type=int, default=5)
    wanted = parser.parse_args()
    use_vocabulary()
    tokenizer = tokenizer_named(wanted.vocabulary)
    if tokenizer.name == ESTIMATE:
        raise SystemExit("the vocabulary is not available: set TIKTOKEN_CACHE_DIR to a folder that holds it")
    encoding = tiktoken.get_encoding(wanted.vocabulary)
    print(f"{'MB':>5}{'tiktoken s':>12}{'chunk s':>10}{'ratio':>8}{'chunk s/MB':>12}{'chunks':>8}")
    for megabytes in MEGABYTES:
        length = int(megabytes * 1_000_000)
        text = prose(length)
        document = Document("id", "title", text)
        passes, cuts = [], []
        for _ in range(wanted.runs):
            passes.append(seconds(partial(encoding.encode_ordinary, text)))
            cuts.append(seconds(partial(chunk, document, tokenizer, wanted.budget)))
        one, cut = median(passes), median(cuts)
        count = len(chunk(document, tokenizer, wanted.budget))
        print(f"{megabytes:5}{one:12.4f}{cut:10.4f}{cut / one:8.2f}{cut / megabytes:12.4f}{count:8}")


if __name__ == "__main__":
    main()
