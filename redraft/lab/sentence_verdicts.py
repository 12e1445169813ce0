"""The verdicts of a metric on single sentences, matched to the sentences that people judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from redraft.domain import Evaluation
from redraft.evaluators.base import OPEN, statements_of
from redraft.evaluators.booookscore import CLEAR, Booookscore
from redraft.evaluators.consistency import CONSISTENT, Consistency
from redraft.evaluators.faithfulness import SUPPORTED, Faithfulness

LISTED: Mapping[str, tuple[str, str, str]] = {
    Consistency.name: ("claims", "sentence", CONSISTENT),
    Faithfulness.name: ("sentences", "id", SUPPORTED),
    Booookscore.name: ("sentences", "id", CLEAR),
}
"""By metric: the detail that lists its verdicts, the field with the number of the sentence, the verdict for right."""


def _entries(evaluation: Evaluation) -> Iterator[Mapping[str, Any]]:
    """Yield the entries of the detail that lists a metric's verdicts."""
    listed: object = evaluation.details.get(LISTED[evaluation.metric][0]) if evaluation.metric in LISTED else None
    yield from listed if isinstance(listed, list) else ()


def verdicts_by_sentence(evaluation: Evaluation) -> dict[int, bool]:
    """Return whether each sentence with a verdict is right, by number: it is wrong if anything in it is."""
    _, number, right = LISTED[evaluation.metric]
    decided = (entry for entry in _entries(evaluation) if entry["verdict"] not in OPEN)
    return _least((entry[number], entry["verdict"] == right) for entry in decided)


def verdicts_on(evaluation: Evaluation, sentences: Sequence[str]) -> tuple[bool | None, ...]:
    """Return a verdict for each of these sentences, which are the paragraphs of the judged summary.

    It is empty if the metric does not judge single sentences, or if the sentence boundaries differ so much that they
    cannot be matched. One of their sentences may be several of ours: it is wrong if one of these is.
    """
    return _matched(verdicts_by_sentence(evaluation), sentences) if evaluation.metric in LISTED else ()


def _least(pairs: Iterable[tuple[int, bool]]) -> dict[int, bool]:
    """Return the least value of each sentence, by number."""
    least_values: dict[int, bool] = {}
    for number, value in pairs:
        least_values[number] = min(value, least_values.get(number, value))
    return least_values


def _matched(verdicts: Mapping[int, bool], sentences: Sequence[str]) -> tuple[bool | None, ...]:
    """Return the least value of our sentences in each of these; empty if the sentences cannot be matched."""
    parts = [len(statements_of(sentence)) for sentence in sentences]
    if sum(parts) != len(statements_of("\n\n".join(sentences))):
        return ()
    ends = [sum(parts[: at + 1]) for at in range(len(parts))]
    return tuple(
        min((verdicts[n] for n in range(end - size + 1, end + 1) if n in verdicts), default=None)
        for end, size in zip(ends, parts, strict=True)
    )
