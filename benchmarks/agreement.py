"""How far the extractive judge's consistency agrees with people's, as Kendall's tau-b.

    python -m benchmarks.agreement [--documents 20]

Reads qags/mturk_cnndm.jsonl and summeval/*.jsonl under $REDRAFT_DATA (by default ../shared/data). Each set is divided
by document into two halves, by a hash of the document's text: the judge was developed on one of them, and the other is
held out. Published for a language model as the judge (LongSumEval): 0.311 on QAGS CNN/DM per summary, 0.683 on SummEval
per system. The baseline is the share of a summary's bigrams that the document has.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from statistics import mean

from scipy.stats import kendalltau

from benchmarks.common import DATA, fresh, table
from redraft.text.documents import parse
from redraft.text.sentences import sentences

QAGS = DATA / "qags" / "mturk_cnndm.jsonl"
SUMMEVAL = DATA / "summeval"
HALVES = ("developed on", "held out")


@dataclass(frozen=True)
class Judged:
    """A summary of a document, and how consistent people found it."""

    document: str
    sentences: tuple[str, ...]
    people: float
    system: str = ""

    @property
    def held_out(self) -> bool:
        return bool(hashlib.sha256(self.document.encode()).digest()[-1] % 2)


Measure = Callable[[Sequence[Judged]], list[float]]


def consistency(items: Sequence[Judged]) -> list[float]:
    """The scores that `redraft evaluate --metric consistency` gives; nothing is known from one run to the next."""
    return asyncio.run(_evaluated(items))


async def _evaluated(items: Sequence[Judged]) -> list[float]:
    scores: list[float | None] = []
    async with fresh() as shop:
        for item in items:
            document = parse(item.document.encode(), name="article.txt")
            # What people judged as a sentence is one here too.
            result = await shop.evaluate(document, "\n\n".join(item.sentences), metrics=["consistency"])
            scores.append(result.scores["consistency"])
    # One that the judge cannot tell anything of is given the mean.
    known = mean(score for score in scores if score is not None)
    return [known if score is None else score for score in scores]


def bigram_precision(items: Sequence[Judged]) -> list[float]:
    """The baseline."""
    return [_bigram_precision(item) for item in items]


def _bigram_precision(item: Judged) -> float:
    known = _bigrams(item.document)
    own = [pair for sentence in item.sentences for pair in pairwise(_tokens(sentence))]
    return mean(pair in known for pair in own) if own else 0.0


@cache
def _bigrams(text: str) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(_tokens(text)))


def _tokens(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


MEASURES: tuple[Measure, ...] = (consistency, bigram_precision)


def qags() -> list[Judged]:
    """Each summary with the share of its sentences that most of three people found supported."""
    read = []
    for line in QAGS.read_text("utf-8").splitlines():
        item = json.loads(line)
        votes = [[vote["response"] == "yes" for vote in each["responses"]] for each in item["summary_sentences"]]
        people = mean(sum(vote) > len(vote) / 2 for vote in votes)
        read.append(Judged(item["article"], tuple(each["sentence"] for each in item["summary_sentences"]), people))
    return read


def summeval() -> list[Judged]:
    """Each system's summary of each document with the experts' mean."""
    documents = {}
    for line in (SUMMEVAL / "documents.jsonl").read_text("utf-8").splitlines():
        item = json.loads(line)
        documents[item["id"]] = item["source"]
    read = []
    for line in (SUMMEVAL / "summaries.jsonl").read_text("utf-8").splitlines():
        item = json.loads(line)
        text = item["summary"]
        parts = tuple(text[span.start : span.end] for span in sentences(text))
        read.append(Judged(documents[item["id"]], parts, item["human"]["consistency"], item["system"]))
    return read


def per_summary(items: Sequence[Judged], scores: Sequence[float]) -> float:
    return float(kendalltau(scores, [item.people for item in items]).statistic)


def per_system(items: Sequence[Judged], scores: Sequence[float]) -> float:
    """The correlation of the systems' means."""
    ours: dict[str, list[float]] = defaultdict(list)
    people: dict[str, list[float]] = defaultdict(list)
    for item, score in zip(items, scores, strict=True):
        ours[item.system].append(score)
        people[item.system].append(item.people)
    return float(kendalltau([mean(ours[name]) for name in ours], [mean(people[name]) for name in ours]).statistic)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--documents", type=int, help="only so many documents of each half")
    arguments.add_argument("--half", choices=HALVES, help="only this half")
    options = arguments.parse_args()
    if not QAGS.is_file() or not SUMMEVAL.is_dir():
        print(
            f"skipped: {DATA} holds no qags/mturk_cnndm.jsonl or no summeval; set REDRAFT_DATA to the folder that does"
        )
        sys.exit(0)
    rows: list[list[object]] = [["set", "half", "documents", "summaries", "agreement", "ours", "bigram precision"]]
    for name, items in (("QAGS CNN/DM", qags()), ("SummEval", summeval())):
        for half in HALVES if options.half is None else [options.half]:
            chosen = some([item for item in items if item.held_out == (half == "held out")], options.documents)
            of = len({item.document for item in chosen})
            scored = [measure(chosen) for measure in MEASURES]
            ways = [("per summary", per_summary)] + [("per system", per_system)] * (name == "SummEval")
            for way, agreement in ways:
                rows.append([name, half, of, len(chosen), way, *(agreement(chosen, scores) for scores in scored)])
    table(rows)


def some(items: Sequence[Judged], documents: int | None) -> list[Judged]:
    chosen = set(list(dict.fromkeys(item.document for item in items))[:documents])
    return [item for item in items if item.document in chosen]


if __name__ == "__main__":
    main()
