"""The traceability thesis: its steps and averages recomputed, and its way to place sentences beside the lineage map.

`checks()` needs no data, since the thesis has released none. The averages of 6.3 are made from table 6.2, which is
rounded, so they may differ by 0.01. Those of 6.1 are left out: they are not the means of table 6.1 (the last third of
Command-R7B is 6.8% in the text, 7.6% from the table).

    python -m benchmarks.papers_thesis [--set embeddings=FOLDER]

places sentences of known origin (see `benchmarks.lineage`) in six stories in REDRAFT_DATA, and people's sentences about
them. A place is right if it is in the paragraph that a sentence comes from, of a fused one in either of its two.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from benchmarks.common import stories, table
from benchmarks.lineage_texts import Told, marked, sayings, stretches, summarized
from benchmarks.papers import Check
from redraft.domain import Span
from redraft.lab.experiments.context import place_sentences
from redraft.lab.experiments.context_frames import LOWER, PHASES, ContextItem, SummarySentencePlaces, parts_of
from redraft.lab.experiments.orders import USUAL_STEPS, ReadingOrder
from redraft.lab.experiments.qa import QaItem, similarity_frame
from redraft.lab.experiments.questioner import (
    COSINE_THRESHOLD,
    THIRDS,
    TYPES,
    ReadingStep,
    Response,
    SentenceSimilarity,
    TypedQuestion,
)
from redraft.text.origins import OriginTracer
from redraft.text.sentences import sentences
from redraft.text.vectors import Encoder, load_encoder

_THESIS = "Traceability thesis"
# Table 6.2: abstractive, binary, extractive and unanswerable, each by third; for InfiniteBench, BookSum and XSum.
_TABLE = {
    "CommandR7B": (
        "67 59 49  29 17 19  48 32 28  58 57 51",
        "74 66 58  30 23 26  58 32 26  60 62 55",
        "68 56 61  40 27 29  56 41 43  52 40 41",
    ),
    "LLaMA 3.1": (
        "72 71 69  56 54 54  49 46 47  65 66 65",
        "73 72 70  60 57 57  54 50 49  68 68 69",
        "73 70 69  55 51 53  60 61 62  58 59 63",
    ),
    "Qwen2.5": (
        "70 71 73  72 71 71  49 45 51  63 64 61",
        "76 75 76  71 75 74  56 51 54  70 68 67",
        "72 72 73  73 75 77  56 58 60  62 65 63",
    ),
    "Phi-3": (
        "70 71 67  56 45 55  50 44 45  70 70 71",
        "72 71 72  48 56 62  58 48 50  57 69 67",
        "76 73 76  66 66 65  69 66 65  65 60 63",
    ),
}
_ORDER = ("abstractive", "binary", "extractive", "unanswerable")
_OVERALL = {"Qwen2.5": 0.66, "Phi-3": 0.63, "LLaMA 3.1": 0.61, "CommandR7B": 0.46}
_BY_THIRD = {("CommandR7B", 0): (0.51, 0.42, 0.37), ("LLaMA 3.1", 1): (0.64, 0.62, 0.61)}
_SETS = ("InfiniteBench", "BookSum", "XSum")
_ROUNDED = 0.01


def checks() -> list[Check]:
    """The figures that follow from the thesis's own."""
    return [*_of_steps(), *_of_answers()]


def _of_steps() -> Iterator[Check]:
    steps = ReadingOrder(steps=USUAL_STEPS).steps or ()
    items = [
        ContextItem("d", "", steps[-1], "m", "direct", ReadingStep(n, one, one), one) for n, one in enumerate(steps, 1)
    ]
    lower = [one.end for one in items if LOWER in parts_of(one, items)]
    ends = [max(one.end for one in items if phase in parts_of(one, items)) for phase in PHASES]
    yield Check(_THESIS, "5.3: steps", 13, len(steps))
    yield Check(_THESIS, "6.1: end of the lower half, tokens", 60_000, lower[-1])
    for published, ours in zip((40_000, 80_000, 128_000), ends, strict=True):
        yield Check(_THESIS, "figure 6.4b: end of a phase, tokens", published, ours)
    *_, (before, last) = pairwise(steps)
    yield Check(_THESIS, "6.2: added by the last step, %", 6, round(100 * (1 - before / last), 2), 0.5)
    yield Check(_THESIS, "5.7.2: threshold of matching facts", 0.7, COSINE_THRESHOLD)


def _of_answers() -> Iterator[Check]:
    for model, published in _OVERALL.items():
        items = [one for of in range(3) for one in _answers(model, of)]
        *_, mean, _ = _row(items)
        yield Check(_THESIS, f"6.3.5: {model}, all answers", published, mean, _ROUNDED)
    for (model, of), figures in _BY_THIRD.items():
        thirds = _row(list(_answers(model, of)))
        for third, one, ours in zip(THIRDS, figures, thirds, strict=False):
            yield Check(_THESIS, f"6.3: {model}, {_SETS[of]}, {third}", one, ours, _ROUNDED)


def _answers(model: str, of: int) -> Iterator[QaItem]:
    """An answer for each cell of a row of table 6.2, as like its reference as the table says."""
    cells = [int(one) / 100 for one in _TABLE[model][of].split()]
    for at, of_type in enumerate(_ORDER):
        assert of_type in TYPES
        for third, name in enumerate(THIRDS):
            asked = TypedQuestion(at * 3 + third + 1, of_type, "Why?", "", "", Span(300 * third, 300 * third + 100))
            alike = cells[3 * at + third]
            yield QaItem(_SETS[of], "", model, 1, 900, asked, name, 900, response=Response(answer="So."), alike=alike)


def _row(items: Sequence[QaItem]) -> list[float]:
    """The similarities of all types: of the thirds, of all, and the number of answers."""
    frame = similarity_frame(items)
    (cells,) = frame[frame["type"] == "all"].iloc[:, 3:].to_numpy()
    return [round(float(cell or 0), 4) for cell in cells]


_STORIES = 6
_MARK = re.compile(r"\[(\d{4})\] ")


def _spans(
    document: str, told: Sequence[str], encoder: Encoder | None, likeness: SentenceSimilarity | None
) -> Iterator[Span | None]:
    """The best place of each sentence, each by itself."""
    if likeness is None:
        origins = OriginTracer([document], encoder)
        for text in told:
            links = [link for one in origins.trace(text) for link in one.links]
            yield links[0].span if links else None
    else:
        for one in place_sentences(tuple(SummarySentencePlaces(1, text, "", ()) for text in told), document, likeness):
            yield one.places[0][0] if one.places else None


def _is_right(document: str, told: Told, span: Span) -> bool:
    starts = [(found[1], found.start()) for found in _MARK.finditer(document)]
    after = [*(start for _, start in starts[1:]), len(document)]
    within = {mark for (mark, start), end in zip(starts, after, strict=True) if start < span.end and end > span.start}
    return not within.isdisjoint(told.marks)


def main() -> None:
    """Print how often each way finds the place of a sentence."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--embeddings", metavar="FOLDER")
    folder = options.parse_args().embeddings
    encoder = load_encoder(folder) if folder else None
    found: Counter[tuple[str, str]] = Counter()
    own = stories()[1::2][:_STORIES]
    texts = [marked(story["document"]) for story in own]
    for number, (document, story) in enumerate(zip(texts, own, strict=True)):
        strangers = [one.text for one in sayings(stretches(texts[number - 1], 1)[0])]
        told = summarized(document, 1, random.Random(f"1 {number}"), strangers).told
        people = [one["response_text"] for one in story["questions"][0]["responses"]]
        written = [text[span.start : span.end] for text in people for span in sentences(text)]
        ways = {"lineage": (None, None), "TF-IDF": (None, SentenceSimilarity.by_terms(document))}
        if encoder:
            likeness = SentenceSimilarity.by_embeddings(encoder)
            ways |= {"lineage, embeddings": (encoder, None), "embeddings": (None, likeness)}
        for way, measures in ways.items():
            for one, span in zip(told, _spans(document, [one.text for one in told], *measures), strict=True):
                found[way, "of known origin" if one.marks else "invented"] += 1
                found[way, "right"] += bool(one.marks) and span is not None and _is_right(document, one, span)
                found[way, "invented, with a place"] += not one.marks and span is not None
            found[way, "people's"] += len(written)
            found[way, "people's, with a place"] += sum(
                span is not None for span in _spans(document, written, *measures)
            )
    heads = ("right", "of known origin", "invented, with a place", "invented", "people's, with a place", "people's")
    table(
        [
            ("", *heads),
            *((way, *(found[way, head] for head in heads)) for way in dict.fromkeys(way for way, _ in found)),
        ]
    )


if __name__ == "__main__":
    main()
