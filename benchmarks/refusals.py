"""How many summaries are taken for refusals, and how many refusals for summaries.

    python -m benchmarks.refusals [--refusals 2000]

The summaries, of people and of systems, are those of the datasets under REDRAFT_DATA, each held against its document as
if it had been asked for in its own length, and in three times as many words. The refusals are those of
`tests.torture.refusals`, each held against a document of each set as if so many words had been asked for. The bounds of
`redraft.text.reply_cleanup` were chosen by SQuALITY alone.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.common import DATA
from redraft.text.refusals import is_no_summary
from redraft.text.words import count_words
from tests.torture.refusals import refusals

ASKED = (40, 100, 300)
Pairs = Iterator[tuple[str, list[str]]]


def _lines(name: str) -> Iterator[dict[str, Any]]:
    path = DATA / name
    return map(json.loads, path.read_text("utf-8").splitlines()) if path.is_file() else iter(())


def _squality() -> Pairs:
    for one in _lines("squality/dev.jsonl"):
        yield one["document"], [said["response_text"] for asked in one["questions"] for said in asked["responses"]]


def _summeval() -> Pairs:
    by_document: dict[str, list[str]] = {}
    for one in _lines("summeval/summaries.jsonl"):
        by_document.setdefault(one["id"], []).append(one["summary"])
    for one in _lines("summeval/documents.jsonl"):
        yield one["source"], [*by_document.get(one["id"], []), *one["references"]]


def _realsumm() -> Pairs:
    for one in _lines("realsumm/documents.jsonl"):
        yield one["document"], [one["reference"], *(said["summary"] for said in one["summaries"])]


def _qags() -> Pairs:
    for one in _lines("qags/mturk_cnndm.jsonl"):
        yield one["article"], [" ".join(said["sentence"] for said in one["summary_sentences"])]


def _summedits(domain: str) -> Pairs:
    by_document: dict[str, dict[str, None]] = {}
    for one in _lines(f"summedits/{domain}.jsonl"):
        by_document.setdefault(one["document"], {})[one["summary"]] = None
    for one in _lines(f"summedits/{domain}.documents.jsonl"):
        yield one["text"], list(by_document.get(one["id"], {}))


SETS: dict[str, Callable[[], Pairs]] = {"SQuALITY": _squality, "SummEval": _summeval, "REALSumm": _realsumm,
                                        "QAGS": _qags} | {
    f"SummEdits {domain}": partial(_summedits, domain)
    for domain in ("news", "podcast", "qmsumm", "samsum", "sales_email")
}  # fmt: skip


def main() -> None:
    """Print a line for each set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="python -m benchmarks.refusals"
    )
    parser.add_argument("--refusals", type=int, default=2000, help="so many for each set")
    options = parser.parse_args()
    rng = random.Random(1)
    print("set; summaries; taken for refusals, and that with three times as many words asked; refusals; taken for")
    print(f"summaries where {', '.join(map(str, ASKED))} words were asked")
    for name, pairs in SETS.items():
        held = list(pairs())
        if not held:
            print(f"{name}: absent")
            continue
        taken = [
            [is_no_summary(text, source, int(times * count_words(text)) + 1) for times in (1, 3)]
            for source, texts in held
            for text in texts
        ]
        said = [(text, rng.choice(held)[0]) for text, _ in refusals(options.refusals, seed=2)]
        missed = [sum(not is_no_summary(text, source, asked) for text, source in said) for asked in ASKED]
        one, three = (sum(column) for column in zip(*taken, strict=True))
        print(f"{name:22} {len(taken):5} {one:3} {three:4}   {len(said):5}  {'  '.join(map(str, missed))}")


if __name__ == "__main__":
    main()
