"""How well the extractive model judges key facts where the truth is known, and what trees it makes of the sample.

    python -m benchmarks.keyfacts [--worlds 20] [--half "developed on"]

The documents, facts and summaries are made by benchmarks/keyfact_world.py: which facts a summary states, and what is
wrong with which of its sentences, is known by construction. The judge was developed on one half of the vocabulary,
with the seeds from 0 to 59; the other half, with the seeds from 100 on, is held out.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import get_args

from redraft.builtin.facts import (
    align_facts,
    ask_query,
    facts_faithful,
    facts_objective,
    facts_significant,
    grow,
    verify_sentences,
)

from benchmarks.anchoring import print_costs
from benchmarks.common import SAMPLE, table
from benchmarks.keyfact_world import ERRORS, Half, World, make
from redraft import load
from redraft.domain import Level
from redraft.prompts.contract import UNSURE
from redraft.prompts.factual import (
    AlignInput,
    Category,
    ExtractFactsInput,
    Fact,
    FactTree,
    FactWithLevel,
    QueryInput,
    TreeFact,
    ValidateFactsInput,
    VerifyInput,
)
from redraft.prompts.qa import Statement
from redraft.text.chunks import chunk
from redraft.text.tokens import EstimatingTokenizer

FIRST_SEED: dict[Half, int] = {"developed on": 0, "held out": 100}
CATEGORIES: tuple[Category, ...] = get_args(Category)
LEVELS: tuple[Level, ...] = get_args(Level)
CHUNK_TOKENS = 4_096


@dataclass
class Confusion:
    """What is so, and what the judge says: of facts whether they are stated, of sentences what is wrong with them."""

    alignment: Counter[tuple[str, str]] = field(default_factory=Counter)
    verification: Counter[tuple[str, str]] = field(default_factory=Counter)
    errors: Counter[tuple[str, str]] = field(default_factory=Counter)

    def aligned(self, said: str) -> float:
        """Of the facts that are said to be stated, or not to be, the share of which that is so."""
        return _right(self.alignment, lambda verdict: verdict == said)

    @property
    def cleared(self) -> float:
        """Of the sentences with which nothing is said to be wrong, the share of which that is so."""
        return _right(self.verification, lambda verdict: verdict == "none")

    @property
    def accused(self) -> float:
        """Of the sentences that are said to be wrong, the share that is, in whatever way."""
        accused = {pair: count for pair, count in self.verification.items() if pair[1] not in ("none", UNSURE)}
        return sum(count for (true, _), count in accused.items() if true != "none") / max(1, sum(accused.values()))

    @property
    def unsure(self) -> tuple[float, float]:
        """The shares of facts and of sentences on which there is no verdict."""
        return _share(self.alignment), _share(self.verification)


def _right(found: Counter[tuple[str, str]], chosen: Callable[[str], bool]) -> float:
    said = {pair: count for pair, count in found.items() if chosen(pair[1])}
    return sum(count for (true, verdict), count in said.items() if true == verdict) / max(1, sum(said.values()))


def _share(found: Counter[tuple[str, str]]) -> float:
    return sum(count for (_, verdict), count in found.items() if verdict == UNSURE) / max(1, found.total())


def worlds(half: Half, count: int) -> list[World]:
    """The worlds of one half of the vocabulary."""
    return [make(seed, half) for seed in range(FIRST_SEED[half], FIRST_SEED[half] + count)]


def judged(some: Iterable[World]) -> Confusion:
    """What the extractive judge makes of worlds."""
    found = Confusion()
    for world in some:
        statements = [
            Statement(id=number, before=one.before, sentence=one.sentence) for number, one in enumerate(world.summary)
        ]
        facts = [Fact(id=number, fact=fact) for number, fact in enumerate(world.facts)]
        aligned = align_facts(AlignInput(sentences=statements, facts=facts)).facts
        for stated, one in zip(world.stated, aligned, strict=True):
            found.alignment["yes" if stated else "no", one.stated] += 1
        passages = world.document.split("\n\n")
        verified = verify_sentences(VerifyInput(passages=passages, sentences=statements)).sentences
        for sentence, verdict in zip(world.summary, verified, strict=True):
            found.verification[sentence.category, verdict.category] += 1
            found.errors[sentence.error, verdict.category] += 1
    return found


def print_confusion(half: Half, count: int) -> None:
    """Both confusions of one half."""
    first = FIRST_SEED[half]
    found = judged(worlds(half, count))
    print(f"\n{half}: {count} worlds, seeds {first} to {first + count - 1}")
    print("\nalignment: facts that the summary states or not, in rows; as judged, in columns")
    answers = ("yes", "no", UNSURE)
    table([["", *answers], *([so, *(found.alignment[so, say] for say in answers)] for so in ("yes", "no"))])
    print(f"right where it says yes {found.aligned('yes'):.3f}, no {found.aligned('no'):.3f}")
    print("\nverification: what is wrong with a sentence, in rows; as judged, in columns")
    said = (*CATEGORIES, UNSURE)
    table([["", *said], *([true, *(found.verification[true, one] for one in said)] for true in CATEGORIES)])
    print(f"right where it finds nothing wrong {found.cleared:.3f}, something {found.accused:.3f}")
    print("\nthe same by what was made wrong")
    table([["", *said], *([error, *(found.errors[error, one] for one in said)] for error in ERRORS)])


def levelled(tree: FactTree) -> list[tuple[Level, str]]:
    """The facts of a tree, depth first."""
    found: list[tuple[Level, str]] = []
    for root in tree.roots:
        found.append(("root", root.fact))
        for branch in root.branches:
            found += [("branch", branch.fact), *(("leaf", leaf) for leaf in branch.leaves)]
    return found


def failed(excerpt: str, facts: Sequence[tuple[Level, str]]) -> list[bool]:
    """Which facts fail in one of the three dimensions."""
    listed = [TreeFact(id=number, level=level, fact=fact) for number, (level, fact) in enumerate(facts)]
    given = ValidateFactsInput(excerpt=excerpt, facts=listed)
    dimensions = (facts_faithful(given).facts, facts_objective(given).facts, facts_significant(given).facts)
    return [any(one.verdict == "fail" for one in verdicts) for verdicts in zip(*dimensions, strict=True)]


def print_sample() -> None:
    """The trees of the sample document: their sizes, what is pruned of them, five facts and a query."""
    document = load(str(SAMPLE))
    chunks = chunk(document, EstimatingTokenizer(), CHUNK_TOKENS)
    print(f"\n{SAMPLE.name}: {len(chunks)} chunks of at most {CHUNK_TOKENS:,} tokens")
    sizes: Counter[Level] = Counter()
    pruned: Counter[Level] = Counter()
    examples: list[str] = []
    for piece in chunks:
        excerpt = document.text[piece.span.start : piece.span.end]
        facts = levelled(grow(ExtractFactsInput(excerpt=excerpt)))
        for (level, _), fails in zip(facts, failed(excerpt, facts), strict=True):
            sizes[level] += 1
            pruned[level] += fails
        if piece.index == 0:
            asked = [FactWithLevel(id=n, level=level, fact=fact) for n, (level, fact) in enumerate(facts, 1)]
            examples += [f"  {level}: {fact}" for level, fact in facts[:5]]
            examples.append(f"  query: {ask_query(QueryInput(excerpt=excerpt, facts=asked)).query}")
    rows: list[list[object]] = [["facts", *LEVELS], ["found", *(sizes[level] for level in LEVELS)]]
    rows.append(["pruned", *(pruned[level] / max(1, sizes[level]) for level in LEVELS)])
    table(rows)
    print("\nof the first chunk:", *examples, sep="\n")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--worlds", type=int, default=20, help="how many worlds of each half")
    arguments.add_argument("--half", choices=FIRST_SEED, help="only this half of the vocabulary")
    options = arguments.parse_args()
    for half in FIRST_SEED if options.half is None else [options.half]:
        print_confusion(half, options.worlds)
    print_sample()
    print("\njudging an answer to one query, by the ledger:", end=" ")
    print_costs()


if __name__ == "__main__":
    main()
