"""Key facts of a document: trees of facts and their levels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import NamedTuple, get_args

from redraft.agents.judge import REPLY_SHARE
from redraft.domain import Dimension, Evidence, KeyFact, KeyFacts, Level, Objection, Perspective, Span, Tree, content_id
from redraft.prompts.factual import FactTree
from redraft.text.sanitizer import one_line
from redraft.text.words import words_key

LEVELS: tuple[Level, ...] = get_args(Level)
ALL = "all"
ORPHANED: Dimension = "orphaned"
UNJUDGED: Dimension = "unjudged"
"""What is neither right nor wrong, for lack of a verdict: a key fact, or any item of an evaluation."""
_LONGEST_FACT = 400
FACT_TOKENS = 40
"""Tokens of a fact in a prompt."""
FACTS_PER_REQUEST = 60
"""With more facts at once a judge begins to skip some."""
PROMPT_TOKENS = 450
"""Tokens of a prompt about facts without them."""
_SHARE_OF_WINDOW = 0.5


def flatten(trees: Sequence[FactTree]) -> list[KeyFact]:
    """Return the facts of some trees as one depth-first list without evidence. Duplicates below one parent are merged;
    a leaf that repeats any other fact is dropped."""
    # By the keys of a fact and of those above it.
    texts: dict[tuple[str, ...], str] = {}

    def put(*path: str) -> None:
        """Add the last of some facts below the one before it."""
        lines = [one_line(fact, _LONGEST_FACT) for fact in path]
        keys = tuple(map(words_key, lines))
        for depth, line in enumerate(lines, 1):
            texts.setdefault(keys[:depth], line)

    branches = [(root.fact, branch) for tree in trees for root in tree.roots for branch in root.branches]
    for root_fact, branch in branches:
        put(root_fact, branch.fact)
    listed = {keys[-1] for keys in texts}
    for root_fact, branch in branches:
        for leaf in branch.leaves:
            if (key := words_key(one_line(leaf, _LONGEST_FACT))) not in listed:
                listed.add(key)
                put(root_fact, branch.fact, leaf)
    added = {keys: at for at, keys in enumerate(texts)}
    depth_first = sorted(texts, key=lambda keys: [added[keys[:depth]] for depth in range(1, len(keys) + 1)])
    ids = {keys: number for number, keys in enumerate(depth_first, 1)}
    return [
        KeyFact(id_, LEVELS[len(keys) - 1], ids.get(keys[:-1]), texts[keys], Evidence("")) for keys, id_ in ids.items()
    ]


def pruned(facts: Sequence[KeyFact]) -> tuple[KeyFact, ...]:
    """Return the facts with the descendants of failed ones marked as pruned."""
    by_id: dict[int | None, KeyFact] = {}
    for fact in facts:  # depth first: ancestors precede a fact
        above = by_id.get(fact.parent)
        if fact.kept and above is not None and not above.kept:
            fact = replace(fact, objections=(Objection(ORPHANED, f"the {above.level} above it was pruned"),))
        by_id[fact.id] = fact
    return tuple(by_id.values())


def share(part: float, total: int) -> float | None:
    """Equations 1 and 2: the share of the total; None for a total of zero."""
    return part / total if total else None


class ListedFact(NamedTuple):
    """A fact and its place."""

    fact: KeyFact
    tree: Tree


def items_of(trees: Sequence[Tree]) -> list[ListedFact]:
    """Return all facts that a summary is judged by, tree by tree, depth first."""
    return [ListedFact(fact, tree) for tree in trees for fact in tree.kept]


def trees_for(keyfacts: KeyFacts, query: str | None, perspectives: Sequence[Perspective]) -> tuple[Tree, ...]:
    """Return the trees for a summary: all of them, or the one whose query it answers."""
    trees = tuple(tree for tree in keyfacts.trees if tree.perspective in perspectives)
    if query is None:
        return trees
    return tuple(tree for tree in trees if tree.query and words_key(tree.query) == words_key(query))[:1]


def keyfacts_id(document: str, trees: Sequence[Tree]) -> str:
    """Return the id of some trees of a document, derived from their content."""
    material = [document, *(asdict(tree) for tree in trees)]  # the whole content: any change gives another id
    return content_id(json.dumps(material, ensure_ascii=False))[:16]


def middle_of(span: Span, length: int) -> float:
    """Return the middle of a place in a text of this length, from 0 to 1."""
    return (span.start + span.end) / 2 / max(1, length)


def pruning(trees: Sequence[Tree]) -> dict[str, dict[str, float | int | None]]:
    """Return by level and overall the number of facts found and pruned, and the share pruned."""
    facts = [fact for tree in trees for fact in tree.facts]
    rates: dict[str, dict[str, float | int | None]] = {}
    for level in (*LEVELS, ALL):
        of_level = [fact for fact in facts if level in (fact.level, ALL)]
        count = sum(not fact.kept for fact in of_level)
        rates[level] = {"found": len(of_level), "pruned": count, "share": share(count, len(of_level))}
    return rates


def fact_batches(count: int, room: int, tokens: int) -> list[Sequence[int]]:
    """Return the numbers of facts in the batches that a judge is asked about at once, given the room of a reply and the
    tokens of an entry."""
    tokens_left = int(int(room / REPLY_SHARE) * _SHARE_OF_WINDOW) - PROMPT_TOKENS
    size = max(1, min(FACTS_PER_REQUEST, room // tokens, tokens_left // (tokens + FACT_TOKENS)))
    return [range(at, min(at + size, count)) for at in range(0, count, size)]
