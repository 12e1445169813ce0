"""What it costs to judge an answer to a query against the chunk that the query is from, beside the whole book.

    python -m benchmarks.anchoring [--characters 400000] [--words 150]

The extractive model judges, in a real run; its ledger counts a token for every four bytes that are sent. Judging
against the whole book is what HAMLET compares with: the same prompts with all of the book in place of the chunk, and
with the key facts of all of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from benchmarks.common import fresh, options_of, prose, table, tokens_by_prompt
from redraft import Document
from redraft.evaluators.base import statements_of
from redraft.evaluators.reference.keyfacts import FACTS_PER_REQUEST
from redraft.prompts.book import PromptBook
from redraft.prompts.factual import ALIGN_FACTS, VERIFY_SENTENCES, AlignInput, Fact, VerifyInput
from redraft.readers.documents import parse
from redraft.records import built_keyfacts

_BYTES_A_TOKEN = 4


def against_the_book(document: Document, summary: str) -> int:
    """The prompt tokens of verifying all sentences of the summary at once beside the whole book."""
    given = VerifyInput(passages=[document.text], sentences=list(statements_of(summary)))
    return len(PromptBook().render(VERIFY_SENTENCES, given).encode()) // _BYTES_A_TOKEN


def against_all_facts(facts: Sequence[str], summary: str) -> int:
    """The prompt tokens of looking for the key facts of the whole book in the summary."""
    sentences = list(statements_of(summary))
    numbered = [Fact(id=number, fact=fact) for number, fact in enumerate(facts, 1)]
    batches = [numbered[at : at + FACTS_PER_REQUEST] for at in range(0, len(numbered), FACTS_PER_REQUEST)]
    book = PromptBook()
    texts = [book.render(ALIGN_FACTS, AlignInput(sentences=sentences, facts=batch)) for batch in batches]
    return sum(len(text.encode()) for text in texts) // _BYTES_A_TOKEN


async def costs(characters: int, words: int) -> None:
    document = parse(prose(characters).encode(), name="book.txt")
    async with fresh() as session:
        trees = built_keyfacts(session.store, await session.build(document, "keyfacts")).trees
        asked = [tree for tree in trees if tree.query]
        tree = asked[len(asked) // 2]
        query = tree.query or ""
        summary = (await session.summarize(document, query=query, words=words)).summary or ""
        metrics = ["keyfact_recall", "faithfulness"]
        judged = await session.evaluate(document, summary, metrics=metrics, query=query, words=words)
        spent = tokens_by_prompt(session.store.path, judged.run.id)
    here = [spent[prompt.name][1] for prompt in (VERIFY_SENTENCES, ALIGN_FACTS)]
    every = [fact.text for one in trees for fact in one.kept]
    there = [against_the_book(document, summary), against_all_facts(every, summary)]
    print(f"{characters:,} characters, a summary of {len(summary.split())} words")
    print(f"{len(tree.kept)} key facts answer its query, and the book has {len(every):,}\n")
    rows = [("faithfulness", here[0], there[0]), ("keyfact_recall", here[1], there[1]), ("both", sum(here), sum(there))]
    table([("prompt tokens", "chunk", "whole book", "times"), *((*row, f"{row[2] / row[1]:.1f}") for row in rows)])


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--characters", type=int, default=400_000)
    parser.add_argument("--words", type=int, default=150)
    options = parser.parse_args()
    asyncio.run(costs(options.characters, options.words))


if __name__ == "__main__":
    main()
