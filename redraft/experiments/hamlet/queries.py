"""Which queries of a document's trees are asked: all, or some that are spread evenly over document and perspectives."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from redraft.domain import KeyFacts, Perspective, Tree
from redraft.packs.keyfacts import trees_for

# So that of two that are equally near it is the first, whatever the last bits say.
_DECIMALS = 9


def asked_trees(
    found: KeyFacts, perspectives: Sequence[Perspective], count: int | None = None, seed: int | None = None
) -> list[Tree]:
    """The trees whose queries are asked, in the order of the document; the same for the same arguments.

    The document is cut into `count` equal stretches, and each stretch asks what is nearest to its middle, or with a
    `seed` to a random place in it, the perspectives taking turns.
    """
    # Of two trees with the same query only the first is ever judged by.
    trees = [tree for tree in found.trees if tree.query and trees_for(found, tree.query, perspectives) == (tree,)]
    if count is None or count >= len(trees):
        return trees
    random = Random(seed)
    left = list(range(len(trees)))
    for turn in range(count):
        place = (turn + (0.5 if seed is None else random.random())) / count
        wanted = perspectives[turn % len(perspectives)]
        distances = {n: round(abs(trees[n].position - place), _DECIMALS) for n in left}
        left.remove(min(left, key=lambda n: (trees[n].perspective != wanted, distances[n], n)))
    return [tree for n, tree in enumerate(trees) if n not in left]
