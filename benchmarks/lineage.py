"""Whether the sentences of a summary are traced to where they come from, and what it costs.

    python -m benchmarks.lineage [--embeddings FOLDER] [--links 100] [--costs]

WIP
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.common import stories, table
from benchmarks.lineage_texts import KINDS, Made, Stretch, Told, mark_at, marked, sayings, stretches, summarized
from redraft.text.embeddings import Encoder, load_encoder
from redraft.text.origins.composing import Composed, Excerpt, Place, Text, compose
from redraft.text.origins.links import Traced
from redraft.text.origins.tracing import Origins

LEVELS = (1, 2, 3)
SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Answer:
    """What is said of a sentence: the marks of the places that it is traced to, the best first."""

    told: Told
    marks: tuple[str, ...]

    @property
    def right(self) -> bool:
        if self.told.kind == "invented":
            return not self.marks
        if self.told.kind == "fused":
            return set(self.told.marks) <= set(self.marks)
        return self.marks[:1] == self.told.marks


def traced(made: Made, encoder: Encoder | None, known: dict[int, Text]) -> Text:
    """What is known of a text and those under it."""
    if id(made) not in known:
        origins = Origins([one.text for one in made.parents], encoder)
        parents = tuple(
            Excerpt(one.start) if isinstance(one, Stretch) else traced(one, encoder, known) for one in made.parents
        )
        known[id(made)] = Text(origins.trace(made.text), parents)
    return known[id(made)]


def answers(document: str, made: Made, found: Sequence[Composed]) -> Iterator[Answer]:
    for told, span in zip(made.told, made.spans(), strict=True):
        # A sentence may be two to the splitter.
        parts = [one for one in found if one.span.start < span.end and span.start < one.span.end]
        places = [place for turn in range(3) for part in parts for place in part.places[turn : turn + 1]]
        yield Answer(told, tuple(dict.fromkeys(mark_at(document, place.span) for place in places)))


def direct(traced: Sequence[Traced]) -> list[Composed]:
    return [Composed(one.span, tuple(Place(link.span, link.weight, (link,)) for link in one.links)) for one in traced]


def half(which: int) -> list[str]:
    return [marked(story["document"]) for story in stories()[which::2]]


def figures(which: int, encoder: Encoder | None) -> None:
    documents = half(which)
    told: dict[tuple[str, int | str], list[bool]] = defaultdict(list)
    for seed in SEEDS:
        for number, document in enumerate(documents):
            chance = random.Random(f"{seed} {number}")
            others = [one.text for part in stretches(documents[number - 1], 1) for one in sayings(part)]
            for levels in LEVELS:
                made = summarized(document, levels, chance, others)
                for answer in answers(document, made, compose(traced(made, encoder, {}))):
                    told[answer.told.kind, levels].append(answer.right)
                    if answer.told.kind != "invented":
                        told["called invented", levels].append(not answer.marks)
                for answer in answers(document, made, direct(Origins([document], encoder).trace(made.text))):
                    told[answer.told.kind, f"{levels}, direct"].append(answer.right)
                    if answer.told.kind != "invented":
                        told["called invented", f"{levels}, direct"].append(not answer.marks)
    columns = [level for one in LEVELS for level in (one, f"{one}, direct")]
    rows: list[Sequence[object]] = [("per cent", *(f"{one} levels" for one in columns), "sentences")]
    for kind in (*KINDS, "invented", "called invented"):
        row = [100 * sum(told[kind, one]) / len(told[kind, one]) for one in columns]
        rows.append((kind, *(f"{one:.1f}" for one in row), len(told[kind, 1])))
    table(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embeddings", metavar="FOLDER")
    parser.add_argument("--half", type=int, default=0)
    options = parser.parse_args()
    encoder = load_encoder(options.embeddings) if options.embeddings else None
    figures(options.half, encoder)


if __name__ == "__main__":
    main()
