"""The verdicts of a metric on single sentences, matched to the sentences that people judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redraft.domain import Evaluation
from redraft.evaluators.base import statements_of
from redraft.evaluators.booookscore import CLEAR, Booookscore
from redraft.evaluators.consistency import CONSISTENT, Consistency
from redraft.evaluators.faithfulness import SUPPORTED, Faithfulness
from redraft.evaluators.reference.keyfacts import UNJUDGED

LISTED: Mapping[str, tuple[str, str, str]] = {
    Consistency.name: ("claims", "sentence", CONSISTENT),
    Faithfulness.name: ("sentences", "id", SUPPORTED),
    Booookscore.name: ("sentences", "id", CLEAR),
}
"""By metric: the detail that lists its verdicts, the field with the number of the sentence, the verdict for right."""


def verdicts_by_sentence(evaluation: Evaluation) -> dict[int, bool]:
    """Return whether each sentence with a verdict is right, by number: it is wrong if anything in it is."""
    detail, number, right = LISTED[evaluation.metric]
    listed: object = evaluation.details.get(detail)
    verdicts: dict[int, bool] = {}
    for entry in listed if isinstance(listed, list) else ():
        if entry["verdict"] != UNJUDGED:
            is_right = entry["verdict"] == right
            verdicts[entry[number]] = min(is_right, verdicts.get(entry[number], is_right))
    return verdicts


def verdicts_on(evaluation: Evaluation, sentences: Sequence[str]) -> tuple[bool | None, ...]:
    """Return a verdict for each of these sentences, which are the paragraphs of the judged summary.

    It is empty if the metric does not judge single sentences, or if the sentence boundaries differ so much that they
    cannot be matched. One of their sentences may be several of ours: it is wrong if one of these is.
    """
    parts = [len(statements_of(sentence)) for sentence in sentences]
    if evaluation.metric not in LISTED or sum(parts) != len(statements_of("\n\n".join(sentences))):
        return ()
    verdicts = verdicts_by_sentence(evaluation)
    ends = [sum(parts[: at + 1]) for at in range(len(parts))]
    return tuple(
        min((verdicts[n] for n in range(end - size + 1, end + 1) if n in verdicts), default=None)
        for end, size in zip(ends, parts, strict=True)
    )
