"""Saying which of two summaries is better, where one contradicts the document and the other does not."""

from __future__ import annotations

from redraft.builtin.consistency.holding import Held, ground_of
from redraft.builtin.facts.verifying import reason
from redraft.builtin.registry import answers
from redraft.prompts.coherence import PREFER_SUMMARY, Choice, PreferGiven, Preferred
from redraft.prompts.contract import UNSURE, Unsure
from redraft.text.sentences import worded
from redraft.text.words import same_words

_NOT_READ = "The built-in judge cannot tell without the document; a language model can (--judge)."
_CANNOT_TELL = (
    "The built-in judge cannot tell: there is not one of the two alone that contradicts the document, as far as it"
    " sees; a language model can tell (--judge)."
)


@answers(PREFER_SUMMARY)
def prefer_summary(given: PreferGiven) -> Preferred:
    """The one with which nothing is wrong, beside one with which something is. Of all else counting tells nothing."""
    if same_words(given.first, given.second):
        return _preferred("Both say the same.", "tie", "tie")
    if not given.document:
        return _preferred(_NOT_READ)
    first, second = (_wrong(summary, given.document) for summary in (given.first, given.second))
    if bool(first) == bool(second):
        return _preferred(_CANNOT_TELL)
    better: Choice = "second" if first else "first"
    return _preferred(f"Of the other summary: {reason((first or second)[0])}", better)


def _preferred(why: str, overall: Choice | Unsure = UNSURE, else_: Choice | Unsure = UNSURE) -> Preferred:
    return Preferred(reason=why, detail=else_, structure=else_, logic=else_, overall=overall)


def _wrong(summary: str, document: str) -> list[Held]:
    """What of a summary the document contradicts, or does not have anywhere."""
    ground = ground_of((document,))
    held = (ground.hold(sentence) for sentence in worded(summary))
    return [one for one in held if one.verdict in ("contradicted", "absent")]
