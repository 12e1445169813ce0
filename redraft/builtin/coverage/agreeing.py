"""Comparing the answers that two texts give to one question."""

from __future__ import annotations

from redraft.builtin.details import details
from redraft.builtin.forms import read_question
from redraft.prompts.judging import Pair
from redraft.text.wording import carries, is_negation, words

_SAME_SUBJECT = 0.5
_LONGEST_NAME_ANSWER = 8
_YES, _NO = frozenset(["yes", "true"]), frozenset(["no", "not", "false"])


def differ(pair: Pair) -> str:
    """What two answers contradict each other in; nothing where they do not."""
    document, summary = words(pair.document), words(pair.summary)
    of_document, of_summary = {word.key for word in document}, {word.key for word in summary}
    if of_document <= of_summary or of_summary <= of_document:
        return ""
    # One who is a colonel may be an officer of another name: that is no contradiction.
    for kind in ("number", "name") if read_question(pair.question).form != "unread" else ():
        here, there = (_keys_of(text, kind) for text in (pair.document, pair.summary))
        short = max(len(document), len(summary)) <= _LONGEST_NAME_ANSWER
        # Two dates of one year are two dates; of two lists of names that share one, either may be the shorter.
        apart = here - there and there - here if kind == "number" else here and there and not here & there
        if apart and (short or (kind == "number" and _asks_number(pair.question))):
            return f"The document has {pair.document}, the summary {pair.summary}."
    if (of_document & _YES and of_summary & _NO) or (of_document & _NO and of_summary & _YES):
        return "One says yes, the other no."
    shared = {key for key in of_document & of_summary if carries(key)}
    smaller = min(sum(map(carries, of_document)), sum(map(carries, of_summary)))
    denied = any(map(is_negation, of_document)) != any(map(is_negation, of_summary))
    if denied and len(shared) >= _SAME_SUBJECT * smaller:
        return "One denies what the other says."
    return ""


def _asks_number(question: str) -> bool:
    """Whether a number is the answer, and not just part of it."""
    sought = read_question(question)
    return sought.wants == "number" or sought.asks == "when"


def _keys_of(text: str, kind: str) -> set[str]:
    found = words(text)
    return {
        word.key
        for detail in details(text, found)
        if detail.kind == kind
        for word in found[detail.first : detail.last + 1]
    }
