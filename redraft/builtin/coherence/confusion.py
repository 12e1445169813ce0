"""Saying which sentences of a summary confuse their readers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from redraft.builtin.coherence.analysis import Analysed, analyse
from redraft.builtin.coherence.questions import doubts
from redraft.builtin.coherence.reading import Line, read
from redraft.builtin.registry import answers
from redraft.prompts.coherence import (
    FIND_CONFUSION,
    NO_CONFUSION,
    Confusion,
    ConfusionGiven,
    Confusions,
    SummarySentence,
)
from redraft.text.cleaning import one_line
from redraft.text.words import count_words


@answers(FIND_CONFUSION)
def find_confusion(given: ConfusionGiven) -> Confusions:
    """A verdict on each sentence asked about, in their order."""
    shift, places = _places(read(given.summary), given.sentences)
    summary = given.summary
    strange = [one for one in given.sentences if one.id not in places and count_words(one.sentence)]
    if strange:  # what is not to be found in the summary is read as if it stood at its end
        summary = "\n\n".join([summary, *(one_line(one.sentence) for one in strange)])
        places = _places(read(summary), strange)[1] | places
    of = analyse(summary, is_part=shift > 0)
    judged: dict[int, Confusion] = {}
    for one in given.sentences:
        if one.id not in judged:
            judged[one.id] = _verdict(one.id, of, places.get(one.id))
    return Confusions(sentences=list(judged.values()))


def _verdict(number: int, of: Sequence[Analysed], at: int | None) -> Confusion:
    if at is None or not of[at].confuses:
        return Confusion(id=number, questions=[], types=[NO_CONFUSION])
    found = doubts(of, at)
    return Confusion(
        id=number,
        questions=[doubt.question for doubt in found],
        types=list(dict.fromkeys(doubt.type for doubt in found)),
    )


def _places(lines: Sequence[Line], asked: Sequence[SummarySentence]) -> tuple[int, dict[int, int]]:
    """By how much the numbers of the sentences are too high, and where each sentence stands.

    Of several that are the same, the one meant is that nearest to its number. A part of a long summary is numbered as
    the whole: then all numbers are too high by the same, and those of the sentences that stand there once say by how
    much.
    """
    there: dict[str, list[int]] = defaultdict(list)
    for at, line in enumerate(lines):
        there[line.text].append(at)
    texts = {one.id: one_line(one.sentence) for one in asked}
    known = [number - 1 - there[text][0] for number, text in texts.items() if len(there.get(text, ())) == 1]
    shift = max(set(known), key=known.count) if known else max(0, max(texts, default=0) - len(lines))
    return shift, {
        number: min(there[text], key=lambda at: abs(at - (number - 1 - shift)))
        for number, text in texts.items()
        if text in there
    }
