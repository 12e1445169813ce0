"""What a reader would ask about a confusing sentence, and what kind of confusion that is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from redraft.builtin.coherence.analysis import Analysed
from redraft.builtin.coherence.faults import Fault
from redraft.builtin.coherence.introductions import acts
from redraft.builtin.coherence.reading import Line
from redraft.builtin.coherence.signs import Sign
from redraft.builtin.coherence.tables import AIMS, BLOWS, HAPPENING, PERSON
from redraft.builtin.coherence.weighing import BASES, Part, pulls
from redraft.builtin.grammar import first_clause
from redraft.builtin.pointing import OPENER
from redraft.prompts.coherence import ErrorType

_MOST_QUESTIONS = 3
_LONGEST_QUOTE = 80
_OPENING = re.compile(
    r"(?:As|Despite|During|After|Before|When|While|With|Once|Upon|Meanwhile|However|In|On|At|Unable|Although|Though"
    r"|Throughout|Later|Eventually|Finally|Suddenly|Together|Through|By|Since|Because|Determined)\b[^,]*, "
)


class Doubt(NamedTuple):
    """A kind of confusion, and what it makes a reader ask."""

    type: ErrorType
    question: str


def doubts(of: Sequence[Analysed], at: int) -> list[Doubt]:
    """What there is to ask about a sentence, what is certain first; where nothing is, what weighs most."""
    one = of[at]
    found = [*_certain(of, at), *_unknown(one)]
    if not found:
        found.append(_likely(of, at))
    return list(dict.fromkeys(found))[:_MOST_QUESTIONS]


def _certain(of: Sequence[Analysed], at: int) -> Iterator[Doubt]:
    one = of[at]
    if one.repeat.twin is not None:
        yield Doubt("duplication", "Why is this said twice?")
    if one.contradicts is not None:
        yield Doubt(
            "inconsistency", f"Which is true, this or what was said before: {_quoted(of[one.contradicts].line)}?"
        )
    for fault in one.faults:
        yield _wrong(fault, one.line)


def _wrong(fault: Fault, line: Line) -> Doubt:
    if fault == "no antecedent":
        pronoun = OPENER.match(line.text) or PERSON.search(line.text)
        return Doubt("entity omission", f'Who is meant by "{pronoun.group().lower() if pronoun else "this"}"?')
    if fault == "no tie":
        return Doubt("discontinuity", "How does this follow from what stands before it?")
    if fault == "cut short":
        return Doubt("language", "How does this sentence go on?")
    return Doubt("language", "What is this sentence meant to say?")


def _unknown(one: Analysed) -> Iterator[Doubt]:
    """Who is named without a word, or with hardly one, on who it is."""
    for met in one.signed.met:
        if met.how == "hardly" or (met.how == "bare" and one.signed.signs["bare"]):
            detail = met.mention.detail
            who = "Who" if met.how == "hardly" or acts(one.line, detail) else "Who or what"
            yield Doubt("entity omission", f"{who} is {one.line.text[detail.start : detail.end]}?")


def _likely(of: Sequence[Analysed], at: int) -> Doubt:
    """What the strongest sign makes a reader ask."""
    one = of[at]
    weighed: dict[Part, float] = {part: one.chances[part] / BASES[part] for part in one.chances}
    if one.repeat.is_first:
        del weighed["repetition"]
    part = max(weighed, key=lambda part: weighed[part])
    if part == "repetition":
        other = "" if one.repeat.nearest is None else f", when there is also {_quoted(of[one.repeat.nearest].line)}"
        return Doubt("duplication", f"What does this say that is new{other}?")
    asked = (_asked(sign, one.line) for sign in pulls(part, one.signed.signs))
    return next((doubt for doubt in asked if doubt), Doubt("causal omission", _why(one.line)))


def _asked(sign: Sign, line: Line) -> Doubt | None:
    """The question that one sign leads to, where the sentence has the words for it."""
    if sign == "stakes" and BLOWS.search(line.text) and not AIMS.search(line.text):
        return Doubt("event omission", f"How does it come about that {_clause(line)}?")
    if sign in ("stakes", "strain", "verbs"):
        return Doubt("causal omission", _why(line))
    if sign == "happening" and (found := HAPPENING.search(line.text)):
        return Doubt("event omission", f"What is {found.group()[0].lower()}{found.group()[1:]}?")
    if sign == "relative":
        return Doubt("salience", f"Why does it matter that {_clause(line)}?")
    if sign in ("portrait", "summing up", "absent", "taken up", "elsewhere"):
        return Doubt("discontinuity", f"How does it come about, after what stands before, that {_clause(line)}?")
    return None


def _why(line: Line) -> str:
    return f"Why is it that {_clause(line)}?"


def _clause(line: Line) -> str:
    """The main clause of a sentence, as it goes on behind "that"."""
    opened = _OPENING.match(line.text)
    start = opened.end() if opened and len(line.text) - opened.end() > len(line.text) // 4 else 0
    return _small(first_clause(line.text[start:]).rstrip(" .!?…;:,\"”'’"), line, start)


def _small(text: str, line: Line, start: int = 0) -> str:
    """A text without the capital that it has only from standing at the beginning."""
    named = any(mention.detail.start == start for mention in line.mentions) and line.text.startswith(text, start)
    kept = named or (text[:1] == "I" and not text[1:2].isalpha()) or text[1:2].isupper()
    owner = text.partition(" ")[0].endswith(("'s", "’s"))
    return text if kept or owner else text[:1].lower() + text[1:]


def _quoted(line: Line) -> str:
    text = line.text.rstrip(" .!?")
    return f'"{text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE].rpartition(" ")[0] + " …"}"'
