"""Whether what the built-in model asks, drafts and revises would please people, by stories that people summed up.

    python -m benchmarks.trust_story [--stories 12:25] [--words 250] [--rounds 4] [--insertions FILE]

Reads squality/dev.jsonl under $REDRAFT_DATA (by default ../shared/data): 25 stories, each with four people's answers to
"What is the plot?". Rules were chosen on stories 0 to 11, so the default is the others. Three things are printed:

- how much of its questions people's references hold: the share of the telling words of a question and its answer that
  stand together in one sentence of a reference, each word (its stem) weighing the logarithm of how few sentences of the
  story have it. Beside it the same for all questions that it could have asked;
- what refining a draft for coverage and consistency does to its likeness to the references (ROUGE F1, mean of four);
- how many sentences refining brought in. With --insertions they are written out, each behind the sentence that it
  follows in the summary, with the place of the story that it is from, to be read by people.
"""

from __future__ import annotations

import argparse
import asyncio
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from nltk.stem.porter import PorterStemmer
from redraft.builtin.questions import ask_document
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenize import tokenize
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from benchmarks.common import fresh, table
from benchmarks.extractive import KINDS, Story, read
from redraft import Document, Result, Session
from redraft.prompts.qa import AskDocumentInput
from redraft.readers.documents import parse
from redraft.text.sentences import sentences_in

QUESTIONS = 12
_ANSWERED = 1 / 3
_ALL = 1000
_CONTEXT = 500
_ROUGE = RougeScorer(KINDS, use_stemmer=True)
_STEMMER = PorterStemmer()


def telling(text: str) -> set[str]:
    """The stems of the words that are on no list of stop words."""
    return {_STEMMER.stem(word) for word in tokenize(text, None) if word not in ENGLISH_STOP_WORDS}


def shares(told: Sequence[str], story: Story) -> list[float]:
    """How much of each of some texts (questions with their answers) one sentence of a reference has, by weight."""
    document, references = story
    lines = [telling(line) for line in sentences_in(document)]
    holding = Counter(word for line in lines for word in line)
    answers = [telling(line) for reference in references for line in sentences_in(reference)]

    def share(words: set[str], answer: set[str]) -> float:
        weights = {word: math.log(len(lines) / (1 + holding[word])) for word in words}
        return sum(weights[word] for word in words & answer) / (sum(weights.values()) or 1.0)

    return [max(share(telling(text), answer) for answer in answers) for text in told]


def print_questions(stories: Sequence[Story]) -> None:
    """How much of the questions people's references hold, beside the questions that could have been asked as well."""
    found: dict[str, list[float]] = {"its questions": [], "any it could ask": []}
    for story in stories:
        asked = ask_document(AskDocumentInput(excerpt=story[0], count=QUESTIONS)).questions
        found["its questions"] += shares([f"{one.question} {one.answer}" for one in asked], story)
        possible = ask_document(AskDocumentInput(excerpt=story[0], count=_ALL)).questions
        found["any it could ask"] += shares([f"{one.question} {one.answer}" for one in possible], story)
    print(f"what people's references hold of {QUESTIONS} questions for each of {len(stories)} stories")
    rows = [(name, len(said), fmean(said), fmean(one >= _ANSWERED for one in said)) for name, said in found.items()]
    table([("", "asked", "mean share", "a third and more"), *rows])
    print()


class Insertion(NamedTuple):
    """A sentence that refining brought in, the one before it, and the place of the document that it is from."""

    before: str
    inserted: str
    context: str
    begins: bool
    """Whether a paragraph begins with it."""


class Refined(NamedTuple):
    """A story drafted and refined."""

    draft: str
    result: Result
    insertions: list[Insertion]


async def refined(document: Document, words: int, rounds: int, session: Session) -> Refined:
    """Draft, then refine for coverage and consistency."""
    draft = (await session.summarize(document, words=words)).summary or ""
    goals = {"coverage": 1.0, "consistency": 1.0}
    result = await session.refine(document, draft, words=words, goals=goals, rounds=rounds)
    return Refined(draft, result, list(_insertions(draft, result.summary or "", document.text)))


def _insertions(draft: str, final: str, document: str) -> Iterator[Insertion]:
    known, before = set(sentences_in(draft)), ""
    for paragraph in final.split("\n\n"):
        for at, line in enumerate(sentences_in(paragraph)):
            if line not in known:
                yield Insertion(before, line, _context(line, document), begins=at == 0 and bool(before))
            before = line


def _context(line: str, document: str) -> str:
    """What stands in the document before a sentence, and the sentence; a name in brackets is not there."""
    own = line[line.index("]") + 1 :] if line.startswith("[") else line
    flat = " ".join(document.replace("_", "").split())
    at = flat.find(own.strip(" ."))
    return flat[max(0, at - _CONTEXT) : at + len(own)] if at >= 0 else "(not found word for word)"


async def refinements(stories: Sequence[Story], words: int, rounds: int) -> list[Refined]:
    """All stories, in one database."""
    async with fresh() as session:
        return [
            await refined(parse(text.encode(), name=f"story {n}.txt"), words, rounds, session)
            for n, (text, _) in enumerate(stories)
        ]


def likeness(text: str, references: Sequence[str]) -> list[float]:
    """ROUGE-1, -2 and -L with people's summaries."""
    return [fmean(_ROUGE.score(one, text)[kind].fmeasure for one in references) for kind in KINDS]


def print_refinements(stories: Sequence[Story], done: Sequence[Refined]) -> None:
    """Likeness to people's summaries and coverage, before and after."""
    rows: list[tuple[object, ...]] = [("", *KINDS, "coverage")]
    for name, texts, scores in (
        ("drafted", [one.draft for one in done], [one.result.initial_scores for one in done]),
        ("refined", [one.result.summary or "" for one in done], [one.result.scores for one in done]),
    ):
        alike = [likeness(text, references) for text, (_, references) in zip(texts, stories, strict=True)]
        covered = [score["coverage"] or 0.0 for score in scores]
        rows.append((name, *(fmean(one) for one in zip(*alike, strict=True)), fmean(covered)))
    table(rows)
    print(f"\nsentences brought in: {sum(len(one.insertions) for one in done)}")


def write_insertions(done: Sequence[Refined], path: Path) -> None:
    """The insertions, to be read."""
    told = [one for story in done for one in story.insertions]
    parts = [
        f"{n}\n  before:   {one.before or '(nothing)'}\n  inserted: {'(new paragraph) ' * one.begins}{one.inserted}\n"
        f"  document: {one.context}\n"
        for n, one in enumerate(told, 1)
    ]
    path.write_text("\n".join(parts), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stories", default="12:25", help="which of the 25, as START:END")
    parser.add_argument("--words", type=int, default=250)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--insertions", type=Path, help="where to write the sentences that refining brought in")
    options = parser.parse_args()
    stories = read(*map(int, options.stories.split(":")))
    print_questions(stories)
    done = asyncio.run(refinements(stories, options.words, options.rounds))
    print_refinements(stories, done)
    if options.insertions:
        write_insertions(done, options.insertions)


if __name__ == "__main__":
    main()
