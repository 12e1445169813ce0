"""How far the estimate is from the true count, without its margin, in stretches of 3,000 characters.

    python -m benchmarks.tokens [--vocabulary o200k_base]

English is the stories of the datasets, code the standard library of Python, the rest the chapter of
`benchmarks.languages`. A median under 1 is an undercount; the margin that is added in use must cover it. Needs the
vocabulary: set TIKTOKEN_CACHE_DIR to a folder that holds it, or be online.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.common import options_of, prose, table, use_vocabulary
from benchmarks.languages import LANGUAGES, chapter
from redraft.text.tokens import ESTIMATE, MARGIN, EstimatingTokenizer, tokenizer_named

STRETCH = 3_000


def samples() -> dict[str, str]:
    """A text of each kind."""
    modules = sorted(Path(sysconfig.get_path("stdlib")).glob("[a-e]*.py"))
    texts = {language: chapter(asked) * 60 for language, asked in LANGUAGES.items()}
    return texts | {"English": prose(), "code": "\n".join(path.read_text("utf-8") for path in modules)}


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--vocabulary", default="o200k_base")
    use_vocabulary()
    true, bare = tokenizer_named(parser.parse_args().vocabulary), EstimatingTokenizer(margin=1)
    if true.name == ESTIMATE:
        raise SystemExit("the vocabulary is not available: set TIKTOKEN_CACHE_DIR to a folder that holds it")
    print(f"estimate / {true.name}, before the margin of {MARGIN - 1:.0%}")
    rows: list[Sequence[object]] = [("", "stretches", "p5", "median", "p95")]
    for name, text in samples().items():
        parts = [text[at : at + STRETCH] for at in range(0, len(text), STRETCH)]
        ratios = [bare.count(part) / true.count(part) for part in parts if len(part) > STRETCH // 3]
        rows.append((name, len(ratios), *(f"{share:.2f}" for share in np.percentile(ratios, [5, 50, 95]))))
    table(rows)


if __name__ == "__main__":
    main()
