"""Whether the passages that judges and revisers are shown are the right ones.

Sentences of a marked document are looked for among its passages as evidence is: as they stand, reworded, fused from two
that were reworded, and as questions about a reworded one. Right is a passage that holds the sentence itself, for a
fused one if there is such a passage for both. Beside it stands the search that there was before: the passages as
vectors of terms (tf-idf), or by their embeddings.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.common import table
from benchmarks.lineage_texts import fused, reworded, sayings, stretches
from redraft.domain import Document, Span
from redraft.text.retrieval import Passages
from redraft.text.tokens import EstimatingTokenizer
from redraft.text.vectors import Encoder, SentenceVectors

FIRST = (1, 2, 4, 6, 12)
"""Among how many passages the right one is looked for. Judges read two for a question at first, and up to twelve."""
OF_A_DOCUMENT = 60
"""So many sentences of each are looked for."""

Search = Callable[[str, int], list[Span]]


class Wanted(NamedTuple):
    """What is looked for, in which form, and the sentences of the document that it is about."""

    kind: str
    sought: str
    places: tuple[Span, ...]


def wanted(document: str, chance: random.Random) -> Iterator[Wanted]:
    """Some sentences of a document in all forms."""
    pool: list[tuple[str, Span]] = []
    for one in sayings(stretches(document, 1)[0]):
        at = document.find(one.text, document.find(f"[{one.marks[0]}]"))
        # One with a quotation mark within it does not stand there as it is told.
        if at >= 0:
            pool.append((one.text, Span(at, at + len(one.text))))
    some = chance.sample(pool, min(len(pool), OF_A_DOCUMENT))
    for text, place in some:
        yield Wanted("copied", text, (place,))
        yield Wanted("reworded", reworded(text, chance), (place,))
        yield Wanted("asked", question(reworded(text, chance)), (place,))
    for (text, place), (other, there) in zip(some[::2], some[1::2], strict=False):
        yield Wanted("fused", fused(text, other, chance), (place, there))


def question(sentence: str) -> str:
    """A question about a part of a sentence, with some of its words."""
    said = sentence.rstrip(".").split()
    part = said[len(said) // 3 : 2 * len(said) // 3] or said
    return f"What does the narrator tell of {' '.join(part[:4])} in the part about {' '.join(said[:3])}?"


def _before(document: str, passages: Passages, encoder: Encoder | None) -> Search:
    """The search that there was before."""
    found = passages.holding(Span(0, len(document)))
    texts = [passages.text(one) for one in found]
    vectors = None if encoder else SentenceVectors(texts)
    rows = encoder.encode(texts) if encoder else None

    def search(sought: str, most: int) -> list[Span]:
        if vectors is not None:
            like = np.round(vectors.similarity_to(sought), 6)
        else:
            assert encoder is not None
            assert rows is not None
            like = np.asarray(rows @ encoder.encode([sought])[0], dtype=np.float64)
        order = np.argsort(-like, kind="stable")[:most]
        return [found[at].span for at in order if like[at] > 0]

    return search


def _now(passages: Passages) -> Search:
    return lambda sought, most: [one.span for one in passages.nearest(sought, most)]


def figures(documents: Sequence[str], encoder: Encoder | None) -> None:
    """The share that is found among the first passages."""
    right: dict[tuple[str, str], list[list[bool]]] = defaultdict(list)
    for number, text in enumerate(documents):
        document = Document("id", "", text, ())
        passages = Passages(document, EstimatingTokenizer(), encoder)
        searches = {"before": _before(text, passages, encoder), "by the map": _now(passages)}
        for one in wanted(text, random.Random(number)):
            for name, search in searches.items():
                found = search(one.sought, max(FIRST))
                right[one.kind, name].append([_held(one.places, found[:first]) for first in FIRST])
    rows: list[Sequence[object]] = [("sought", "search", *(f"first {first}" for first in FIRST), "sentences")]
    for (kind, name), answers in sorted(right.items()):
        shares = 100 * np.mean(answers, axis=0)
        rows.append((kind, name, *(f"{share:.1f}" for share in shares), len(answers)))
    print("\nthe passage that holds the sentence among the first that are shown, per cent\n")
    table(rows)


def _held(places: Sequence[Span], found: Sequence[Span]) -> bool:
    return all(any(one.start <= place.start and place.end <= one.end for one in found) for place in places)
