"""What four rounds of refinement do to the first 250 words of a text, and what judging a second draft costs.

    python -m benchmarks.refine [--words 250] [--rounds 4] [--stories 25]

Without any language model: the extractive model judges and revises. It reads the sample book, and the stories of
squality/dev.jsonl under $REDRAFT_DATA (by default ../shared/data) where they are there. Token counts are those of the
ledger, where a request of the extractive model counts a token for every four characters that it is given.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from statistics import fmean

from benchmarks.common import SAMPLE, fresh, options_of, prose, stories, table, tokens_by_prompt
from redraft import Document, Result, Session, Store, load
from redraft.readers.documents import parse
from redraft.text.sentences import sentences
from redraft.text.words import count_words

METRICS = ("coverage", "consistency")
_BOOK = 400_000
_LONG = 2000
"""The words, at most, of the draft of which two sentences are changed."""


def documents(most: int) -> list[Document]:
    """The sample book, then the stories."""
    found = [parse(story["document"].encode(), name=f"story {n}.txt") for n, story in enumerate(stories()[:most])]
    return [load(str(SAMPLE)), *found]


def lead(text: str, words: int) -> str:
    """The beginning of a text as it stands, up to the last whole sentence within so many words."""
    end = 0
    for span in sentences(text):
        if count_words(text[: span.end]) > words:
            break
        end = span.end
    return text[:end]


async def refined(document: Document, words: int, rounds: int, session: Session) -> Result:
    goals = dict.fromkeys(METRICS, 1.0)
    draft, asked = lead(document.text, words), {"words": words, "goals": goals, "rounds": rounds}
    return await session.refine(document, draft, **asked)


async def gains(words: int, rounds: int, most: int) -> None:
    print(f"{rounds} rounds from the first {words} words, goals of 1.0 for both metrics, policy editor\n")
    rows: list[tuple[object, ...]] = [("", "words", "coverage", "after", "consistency", "after", "taken", "stop")]
    results: list[Result] = []
    async with fresh() as session:
        for document in documents(most):
            results.append(await refined(document, words, rounds, session))
            rows.append(_row(results[-1]))
    table(rows)
    print()
    before = {metric: fmean(result.initial_scores[metric] or 0.0 for result in results) for metric in METRICS}
    after = {metric: fmean(result.scores[metric] or 0.0 for result in results) for metric in METRICS}
    for metric in METRICS:
        print(f"mean {metric}: {before[metric]:.3f} -> {after[metric]:.3f} ({after[metric] - before[metric]:+.3f})")


def _row(result: Result) -> tuple[object, ...]:
    assert result.draft is not None
    scores = [one[metric] for metric in METRICS for one in (result.initial_scores, result.scores)]
    taken = sum(bool(made.accepted) for made in result.rounds[1:])
    made = f"{taken} of {len(result.rounds) - 1}"
    return (result.title[:28], result.draft.words, *scores, made, result.run.stop_reason)


async def costs(words: int) -> None:
    """Every figure is from a database of its own, so that nothing is known beforehand."""
    document = load(str(SAMPLE))
    pairs = [(name, document, first, second) for name, first, second in await _pairs(document, words)]
    book = parse(prose(_BOOK).encode(), name="book.txt")
    leads = (lead(book.text, words), lead(book.text[_BOOK // 2 :], words))
    pairs.append((f"the same of a text of {_BOOK:,} characters", book, *leads))
    print("prompt tokens of judging a draft, by the ledger (of the sample book, where nothing else is said)\n")
    rows: list[tuple[object, ...]] = [("", "first draft", "with the pack", "second draft", "share")]
    for name, source, first, second in pairs:
        async with fresh() as session:
            results = [await session.evaluate(source, text) for text in (first, second)]
            sent = tokens_by_prompt(session.store.path, results[0].run.id)
        pack = sum(sent[prompt][1] for prompt in ("ask_document", "rank_questions") if prompt in sent)
        before, after = (result.usage.prompt_tokens for result in results)
        rows.append((name, before - pack, before, after, f"{100 * after / before:.1f}%"))
    table(rows)
    print()


async def _pairs(document: Document, words: int) -> list[tuple[str, str, str]]:
    """A draft and the one that is judged after it."""
    async with fresh() as session:
        result = await refined(document, words, 1, session)
        drafts = [session.store.runs.draft(made.draft).text for made in result.rounds]
        long = (await session.summarize(document, words=_LONG)).summary or ""
        other = (await session.summarize(document, words=words)).summary or ""
    told = [long[span.start : span.end] for span in sentences(long)]
    # Two sentences of the document that are not in the summary take the places of two that are.
    others = [document.text[span.start : span.end] for span in sentences(document.text)]
    spare = [text for text in others if text not in told and 12 <= len(text.split()) <= 30]
    changed = [*told]
    for part in (1, 2):
        changed[part * len(told) // 3] = spare[part * len(spare) // 3]
    await _judged_again(document, told, changed)
    return [
        (f"the first {words} words, then their first revision", drafts[0], drafts[1]),
        (f"two of {len(told)} sentences changed", " ".join(told), " ".join(changed)),
        ("another summary altogether", drafts[0], other),
    ]


async def _judged_again(document: Document, told: list[str], changed: list[str]) -> None:
    async with fresh() as session:
        results = [
            await session.evaluate(document, " ".join(text), metrics=["consistency"]) for text in (told, changed)
        ]
        asked = [_sentences_asked(session.store, result.run.id) for result in results]
    print(f"sentences asked about: {asked[0]} of {len(told)} for the first draft, {asked[1]} after two were changed\n")


def _sentences_asked(store: Store, run: str) -> int:
    with closing(sqlite3.connect(store.path)) as database:
        query = "SELECT t.text FROM calls c JOIN texts t ON t.id = c.reply WHERE c.run = ? AND c.prompt = 'ask_summary'"
        return sum(len(json.loads(reply)["sentences"]) for (reply,) in database.execute(query, (run,)))


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--words", type=int, default=250)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--stories", type=int, default=25)
    options = parser.parse_args()
    asyncio.run(gains(options.words, options.rounds, options.stories))
    asyncio.run(costs(options.words))


if __name__ == "__main__":
    main()
