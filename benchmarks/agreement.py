"""How far the extractive judge's consistency agrees with people's, as Kendall's tau-b.

    python -m benchmarks.agreement [--documents 20]

Reads qags/mturk_cnndm.jsonl and summeval/*.jsonl under $REDRAFT_DATA (by default ../shared/data). Each set is divided
by document into two halves, by a hash of the document's text: the judge was developed on one of them, and the other is
held out. Published for a language model as the judge (LongSumEval): 0.311 on QAGS CNN/DM per summary, 0.683 on SummEval
per system. The baseline is the share of a summary's bigrams that the document has.
"""

from __future__ import annotations

import argparse
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

from rouge_score.rouge_scorer import RougeScorer
from scipy.stats import kendalltau

from benchmarks.common import DATA, table
from redraft.models.extractive.checking import answer_from_document
from redraft.models.extractive.claims import ask_summary
from redraft.prompts.judging import (
    UNANSWERABLE,
    AnswerFromDocumentGiven,
    Asked,
    AskSummaryGiven,
    Statement,
)
from redraft.text.sentences import sentences

QAGS = DATA / "qags" / "mturk_cnndm.jsonl"
SUMMEVAL = DATA / "summeval"
THRESHOLD = 0.6
MOST_QUESTIONS = 3
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


Measure = Callable[[Judged], float]


def consistency(judged: Judged) -> float:
    """The score of Algorithm 1: the mean over all questions of the similarity of the answers, where it is high enough.

    The whole article is the passage that the judge answers from, since it fits.
    """
    statements = [Statement(id=number, sentence=sentence) for number, sentence in enumerate(judged.sentences)]
    asked = ask_summary(AskSummaryGiven(sentences=statements, at_most=MOST_QUESTIONS)).sentences
    questions = [question for sentence in asked for question in sentence.questions]
    answered = answer_from_document(
        AnswerFromDocumentGiven(
            passages=[judged.document],
            questions=[Asked(id=number, question=question.question) for number, question in enumerate(questions)],
        )
    ).answers
    alike = [similarity(ours.answer, theirs.answer) for ours, theirs in zip(questions, answered, strict=True)]
    return mean(like if like > THRESHOLD else 0.0 for like in alike) if alike else 0.0


@cache
def similarity(summary: str, document: str) -> float:
    """ROUGE-1 F1 of two answers."""
    if document == UNANSWERABLE:
        return 0.0
    return float(_scorer().score(document, summary)["rouge1"].fmeasure)


@cache
def _scorer() -> RougeScorer:
    return RougeScorer(["rouge1"], use_stemmer=True)


def bigram_precision(judged: Judged) -> float:
    """The baseline."""
    known = _bigrams(judged.document)
    own = [pair for sentence in judged.sentences for pair in pairwise(_tokens(sentence))]
    return mean(pair in known for pair in own) if own else 0.0


@cache
def _bigrams(text: str) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(_tokens(text)))


def _tokens(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


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


def per_summary(items: Sequence[Judged], measure: Measure) -> float:
    return float(kendalltau([measure(item) for item in items], [item.people for item in items]).statistic)


def per_system(items: Sequence[Judged], measure: Measure) -> float:
    """The correlation of the systems' means."""
    scores: dict[str, list[float]] = defaultdict(list)
    people: dict[str, list[float]] = defaultdict(list)
    for item in items:
        scores[item.system].append(measure(item))
        people[item.system].append(item.people)
    systems = sorted(scores)
    return float(
        kendalltau([mean(scores[name]) for name in systems], [mean(people[name]) for name in systems]).statistic
    )


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
            chosen = _some([item for item in items if item.held_out == (half == "held out")], options.documents)
            of = len({item.document for item in chosen})
            ways = [("per summary", per_summary)] + [("per system", per_system)] * (name == "SummEval")
            for way, agreement in ways:
                scores = [round(agreement(chosen, cache(measure)), 3) for measure in (consistency, bigram_precision)]
                rows.append([name, half, of, len(chosen), way, *scores])
    table(rows)


def _some(items: Sequence[Judged], documents: int | None) -> list[Judged]:
    chosen = set(list(dict.fromkeys(item.document for item in items))[:documents])
    return [item for item in items if item.document in chosen]


if __name__ == "__main__":
    main()
