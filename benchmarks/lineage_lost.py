"""Whether the step is named at which a fact was lost, on trees of which that is known.

    python -m benchmarks.lineage --lost

Every document is in eight chunks. Of each chunk's sentences twelve are facts: key facts in other words, of which some
are not in the summary of the chunk, some get lost in a merge of the first, the second or the third level, and some come
through to the end. What comes through is said again as it was or in other words from level to level.
"""

from __future__ import annotations

import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import stories, table
from benchmarks.lineage_texts import marked, reworded, sayings, stretches
from redraft.domain import Chunk, Document, Evidence, KeyFact, KeyFacts, Parent, Piece, Span, Tree
from redraft.order import Summarize
from redraft.report.history.lost import read_losses
from redraft.settings import DraftConfig
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.words import count_words

CHUNKS, LEVELS, FACTS, OTHERS = 8, 3, 12, 6
FATES = ("extraction", *(f"merge {level}" for level in range(1, LEVELS + 1)), "kept")
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Told:
    """A sentence of the document, what of it is said at the moment, and how far it is going to come."""

    source: str
    said: str
    copied: bool
    fate: int
    """The level that lacks it; one more than there are levels for what comes through."""

    def passed_on(self, chance: random.Random) -> Told:
        said = self.said if self.copied else reworded(self.said, chance)
        return Told(self.source, said, self.copied, self.fate)


def grown(store: Store, text: str, chance: random.Random) -> tuple[str, dict[str, int]]:
    """A run with a tree in the store: its id, and the fates of its facts by their statements."""
    document = Document.from_text(text, "a story")
    parts = stretches(text, CHUNKS)
    chunks = [Chunk(at, Span(part.start, part.start + len(part.text)), 1) for at, part in enumerate(parts)]
    order = Summarize(settings=DraftConfig(words=400))
    run = Run(f"run-{document.id[:20]}", "x", document.id, order, {}, "estimate", "1")
    store.documents.add(document)
    store.documents.add_chunks(document.id, run.tokenizer, run.settings.chunk_budget, chunks)
    store.runs.add(run)
    facts: dict[str, int] = {}
    kept: list[list[Told]] = []
    trees: list[Tree] = []
    for chunk, part in zip(chunks, parts, strict=True):
        pool = [one.text for one in sayings(part) if text.count(one.text) == 1]
        drawn = chance.sample(pool, min(len(pool), FACTS + OTHERS))
        told = [Told(one, one, chance.random() < 1 / 3, chance.randrange(LEVELS + 2)) for one in drawn]
        stated = {reworded(one.source, chance): one for one in told[:FACTS]}
        facts |= {statement: one.fate for statement, one in stated.items()}
        trees.append(_tree(chunk, text, stated))
        kept.append(told)
    store.keyfacts.add(KeyFacts(f"facts-{run.id}", document.id, "m", "v", {}, tuple(trees)), "x")
    pieces: list[Piece] = []
    for chunk, told in zip(chunks, kept, strict=True):
        said = [one if one.copied else one.passed_on(chance) for one in told if one.fate > 0]
        kept[chunk.index] = said
        pieces.append(_kept(store, run, 0, chunk.index, (chunk.index, chunk.index), said, [_part(document, chunk)]))
    _merged(store, run, kept, pieces, chance)
    return run.id, facts


def _merged(store: Store, run: Run, kept: list[list[Told]], pieces: list[Piece], chance: random.Random) -> None:
    for level in range(1, LEVELS + 1):
        groups = [slice(at, at + 2) for at in range(0, len(pieces), 2)]
        kept = [[one.passed_on(chance) for told in kept[at] for one in told if one.fate > level] for at in groups]
        made: list[Piece] = []
        for at, told in enumerate(kept):
            below = pieces[groups[at]]
            context = [Parent.of_piece(made[-1], "context")] if made else []
            parents = [*context, *map(Parent.of_piece, below)]
            made.append(_kept(store, run, level, at, (below[0].first_chunk, below[-1].last_chunk), told, parents))
        pieces = made
    top = pieces[0]
    store.runs.keep_draft(run.id, top.text, top.words, "hierarchical", parents=[Parent.of_piece(top)])


def _tree(chunk: Chunk, text: str, stated: dict[str, Told]) -> Tree:
    facts = [
        KeyFact(number, "root", None, statement, _evidence(text, one.source))
        for number, (statement, one) in enumerate(stated.items(), 1)
    ]
    return Tree(chunk.index, "narrative", chunk.span, 0.5, tuple(facts))


def _evidence(text: str, sentence: str) -> Evidence:
    at = text.index(sentence)
    return Evidence(sentence, Span(at, at + len(sentence)))


def _part(document: Document, chunk: Chunk) -> Parent:
    return Parent("excerpt", document.id, chunk.span)


def _kept(
    store: Store,
    run: Run,
    level: int,
    index: int,
    chunks: tuple[int, int],
    told: Sequence[Told],
    parents: Sequence[Parent],
) -> Piece:
    text = " ".join(one.said for one in told)
    piece = Piece(level, index, *chunks, text, count_words(text), 1, 1)
    store.runs.add_piece(run.id, piece, parents)
    return piece


def named(half: int) -> Iterator[tuple[str, str]]:
    """For each fact its fate, and the fate that was named."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "redraft.db") as store:
        for story in stories()[half::2]:
            for seed in SEEDS:
                # Another mark before it makes another document of the same story.
                text = f"{seed}\n\n{marked(story['document'])}"
                run, facts = grown(store, text, random.Random(f"{seed} {story['document'][:80]}"))
                found = read_losses(store, run)
                told = {loss.fact.text: f"{loss.step} {loss.level}" if loss.level else loss.step for loss in found.lost}
                for statement, fate in facts.items():
                    yield FATES[fate], told.get(statement, "kept")


def figures(half: int) -> None:
    """The share of facts whose fate is named, by fate, and what is named in its place."""
    told: dict[str, list[str]] = defaultdict(list)
    for fate, name in named(half):
        told[fate].append(name)
    rows: list[Sequence[object]] = [("per cent", *FATES, "other", "facts")]
    for fate in FATES:
        shares = [100 * told[fate].count(one) / len(told[fate]) for one in FATES]
        rows.append((fate, *(f"{one:.1f}" for one in shares), f"{max(0.0, 100 - sum(shares)):.1f}", len(told[fate])))
    table(rows)
    lost = [(fate, name) for fate in FATES[:-1] for name in told[fate]]
    right = sum(fate == name for fate, name in lost)
    print(f"of {len(lost)} lost facts the step is named for {100 * right / len(lost):.1f}%")
