"""Whether the sentences of a summary are traced to where they come from, and what that costs.

    python -m benchmarks.lineage [--embeddings FOLDER] [--seeds 3] [--calibrating]

The documents are the stories in squality/ under $REDRAFT_DATA (by default ../shared/data) and the sample, each
paragraph with a mark of its own. Their summaries are made of known sentences: copied; reworded, with synonyms of a kept
dictionary, words left out, and the parts of the sentence in another order; and fused from two that were reworded. They
come through one, two and three levels, and are reworded anew at each. A copied or reworded sentence is traced right if
its best place is in the right paragraph, a fused one if the paragraphs of both its parts are among its first three. The
planted inventions are sentences of another story, with the names of this one in the place of their own; right are those
that are traced to nothing.

The floors were set on every other story, on which `--calibrating` gives the same figures; those of the others are
stated. With `--embeddings` meanings are compared as well, by the model of sentence-transformers in that folder.
"""

from __future__ import annotations

import random
import resource
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.common import SAMPLE, options_of, seconds, stories, table
from benchmarks.lineage_texts import (
    KINDS,
    Made,
    Stretch,
    Told,
    invented,
    mark_at,
    marked,
    reworded,
    sayings,
    stretches,
    summarized,
)
from benchmarks.tokens import source_of
from redraft.text import origins
from redraft.text.languages import language_spans_in
from redraft.text.origins import ComposedOrigin, DerivedText, OriginTracer, SentenceOrigin, compose, indexed
from redraft.text.sentences import sentences_in
from redraft.text.vectors import Encoder, load_encoder

LEVELS = (1, 2, 3)
CHARACTERS = (300_000, 600_000, 1_200_000)
WORDS = 900
# About so many characters are in a chunk of 2,048 tokens.
CHUNK = 8_000
LOST = "true, but traced to nothing"

Share = dict[tuple[str, str], list[bool]]


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
            return set(self.told.marks) <= set(self.marks[:3])
        return self.marks[:1] == self.told.marks


def followed(made: Made, encoder: Encoder | None, known: dict[int, DerivedText]) -> DerivedText:
    """What is known of a text and of those that it was made from."""
    if id(made) not in known:
        tracer = OriginTracer([one.text for one in made.parents], encoder)
        parents = tuple(
            one.start if isinstance(one, Stretch) else followed(one, encoder, known) for one in made.parents
        )
        known[id(made)] = DerivedText(tracer.trace(made.text), parents)
    return known[id(made)]


def at_once(traced: Sequence[SentenceOrigin]) -> list[ComposedOrigin]:
    """The map to the document itself, without the texts in between."""
    return [
        ComposedOrigin(one.span, tuple(origins.OriginPlace(link.span, link.weight, (link,)) for link in one.links))
        for one in traced
    ]


def answers(document: str, made: Made, found: Sequence[ComposedOrigin]) -> Iterator[Answer]:
    for told, span in zip(made.told, made.spans(), strict=True):
        # A sentence that was fused may be two to the splitter.
        parts = [one for one in found if one.span.start < span.end and span.start < one.span.end]
        places = [place for turn in range(3) for part in parts for place in part.places[turn : turn + 1]]
        yield Answer(told, tuple(dict.fromkeys(mark_at(document, place.span) for place in places)))


def documents(calibrating: bool) -> list[str]:
    """Half of the stories; those that are stated on have the sample with them."""
    found = [story["document"] for story in stories()[0 if calibrating else 1 :: 2]]
    return [marked(text) for text in (found if calibrating else [*found, SAMPLE.read_text("utf-8")])]


def known_sentences(texts: Sequence[str], encoder: Encoder | None, seeds: int) -> None:
    """The shares that are right, by way of the texts in between and at once."""
    told: Share = defaultdict(list)
    for seed in range(1, seeds + 1):
        for number, document in enumerate(texts):
            chance = random.Random(f"{seed} {number}")
            strangers = [one.text for one in sayings(stretches(texts[number - 1], 1)[0])]
            for levels in LEVELS:
                made = summarized(document, levels, chance, strangers)
                ways = {
                    f"{levels} level{'s' * (levels > 1)}": compose(followed(made, encoder, {})),
                    f"{levels}, at once": at_once(OriginTracer([document], encoder).trace(made.text)),
                }
                for way, found in ways.items():
                    _count(told, way, answers(document, made, found))
    ways = list(dict.fromkeys(way for _, way in told))
    rows: list[Sequence[object]] = [("per cent", *ways, "sentences each")]
    rows += [
        (kind, *(f"{_percent(told[kind, way]):.1f}" for way in ways), len(told[kind, ways[0]]))
        for kind in (*KINDS, "invented", LOST)
    ]
    table(rows)


def _count(told: Share, way: str, found: Iterator[Answer]) -> None:
    for answer in found:
        told[answer.told.kind, way].append(answer.right)
        if answer.told.kind != "invented":
            told[LOST, way].append(not answer.marks)


def _percent(right: Sequence[bool]) -> float:
    return 100 * sum(right) / len(right)


def peoples_sentences(calibrating: bool, encoder: Encoder | None) -> None:
    """How many of the sentences that people wrote are traced at all, beside those that they wrote of other stories."""
    chosen = stories()[0 if calibrating else 1 :: 2]
    own: list[bool] = []
    others: list[bool] = []
    for number, story in enumerate(chosen):
        tracer, chance = OriginTracer([story["document"]], encoder), random.Random(number)
        strangers = _written(chosen[number - 1])
        of_others = [invented(strangers, story["document"], chance) for _ in _written(story)]
        own += [bool(one.links) for text in _written(story) for one in tracer.trace(text)]
        others += [bool(one.links) for text in of_others for one in tracer.trace(text)]
    print("\nsentences that people wrote about the plot, traced to some place in the story, per cent\n")
    table([("of", "traced", "sentences"), ("this story", f"{_percent(own):.1f}", len(own)),
           ("another story, names exchanged", f"{_percent(others):.1f}", len(others))])  # fmt: skip


def _written(story: dict[str, object]) -> list[str]:
    """The sentences of the four references on the plot."""
    questions = story["questions"]
    assert isinstance(questions, list)
    return [sentence for one in questions[0]["responses"] for sentence in sentences_in(one["response_text"])]


def costs() -> None:
    print(f"\na summary of {WORDS} words; seconds of processor time, and the most memory so far in MB\n")
    rows: list[Sequence[object]] = [("document", "index", "traced at once", "with all pieces", "memory")]
    for characters in CHARACTERS:
        document, chance = marked(source_of(characters)), random.Random(1)
        parts = len(document) // CHUNK
        made = summarized(document, 3, chance, ["Nobody knew."], parts)
        pool = [one.text for part in stretches(document, parts) for one in sayings(part)]
        summary = ""
        while len(summary.split()) < WORDS:
            summary += f"{reworded(chance.choice(pool), chance)} "
        times = [
            seconds(action, time.process_time)
            for action in (
                partial(indexed.__wrapped__, document, language_spans_in(document, "en")),
                partial(OriginTracer([document]).trace, summary),
                lambda: compose(followed(made, None, {})),  # noqa: B023
            )
        ]
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        rows.append((f"{len(document):,}", *times, memory))
    table(rows)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--embeddings", metavar="FOLDER")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--calibrating", action="store_true")
    options = parser.parse_args()
    encoder = load_encoder(options.embeddings) if options.embeddings else None
    known_sentences(documents(options.calibrating), encoder, options.seeds)
    if stories():
        peoples_sentences(options.calibrating, encoder)
    costs()


if __name__ == "__main__":
    main()
