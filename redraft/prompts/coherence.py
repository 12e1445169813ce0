"""The prompts that judge a summary by itself: what confuses a reader (BooookScore), where a newcomer stops, and which
of two summaries is better."""

from __future__ import annotations

import re
from typing import Annotated, Literal, get_args

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from redraft.prompts.contract import (
    INTERNAL,
    OMITTABLE,
    SKIP_INVALID,
    UNSURE,
    WORDED,
    AliasNames,
    Context,
    Fence,
    Label,
    MaxItems,
    Prompt,
    PromptInput,
    Question,
    ReplyModel,
    Sentences,
    SummaryText,
    Text,
    Texts,
    Unsure,
    WholeText,
    is_denied,
)
from redraft.prompts.qa import IDS, Reason
from redraft.prompts.tags import ItemRef, TaggedItem

ErrorType = Literal[
    "entity omission",
    "event omission",
    "causal omission",
    "salience",
    "discontinuity",
    "duplication",
    "inconsistency",
    "language",
]
"""What can confuse a reader (the paper's table 1)."""
ERROR_TYPES: tuple[ErrorType, ...] = get_args(ErrorType)
NO_CONFUSION: Literal["no confusion"] = "no confusion"
Mark = Literal[ErrorType, "no confusion"]
"""A judge's statement on a sentence: what confuses, or that nothing does. An empty reply is not a verdict."""
_Said = Annotated[Mark | Unsure, WithJsonSchema({"enum": list(get_args(Mark)), "type": "string"})]

Choice = Literal["first", "second", "tie"]
Aspect = Literal["overall", "detail", "structure", "logic"]
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)
"""The aspects in which summaries are compared (the paper's table 4)."""

_MARKS: dict[str, Mark] = {mark.split()[0]: mark for mark in get_args(Mark)} | {"none": NO_CONFUSION}
_LETTERS = re.compile(r"[^\W\d_]+")
_DENIAL = re.compile(r"\W*no confusion\b[^?]*$", re.IGNORECASE)
_NO_QUESTION = re.compile(r"\W*(?:none|n/a|no questions?)\W*$", re.IGNORECASE)
# The most questions about one sentence.
_MAX_QUESTIONS = 5
_BETWEEN_TYPES = re.compile(r"[,;/\n&]|\band\b", re.IGNORECASE)


def mark_of(word: str) -> Mark | None:
    """Return the type that a word names, ignoring capitals and marks; None where it names none."""
    letters = _LETTERS.findall(word.casefold())
    mark = _MARKS.get(letters[0]) if letters else None
    if mark == NO_CONFUSION and is_denied(word, "none"):
        return None
    return mark if mark and letters in (mark.split(), letters[:1]) else None


def _marks(value: object) -> object:
    """Return the known types, each once; a text may name several."""
    words = value if isinstance(value, list) else [value]
    if words == [UNSURE]:
        return words
    if any(isinstance(word, dict | bool) for word in words):
        return value
    parts = [part for word in words if isinstance(word, str) for part in _BETWEEN_TYPES.split(word)]
    return list(dict.fromkeys(mark for part in parts if (mark := mark_of(part))))


class SummarySentence(TaggedItem):
    """A sentence of a summary; `place` distinguishes it from identical ones."""

    place: str = ""
    sentence: str


class ConfusionInput(PromptInput):
    """A whole summary, and those of its sentences that are to be judged."""

    summary: SummaryText
    sentences: Annotated[list[SummarySentence], Fence("sentence", "the sentences to judge")]


class Confusion(ReplyModel):
    """What a reader would have to ask about a sentence, and what is confusing; or that nothing is."""

    id: Annotated[int, ItemRef("sentences"), IDS]
    questions: Annotated[Texts, AliasNames("question"), MaxItems(_MAX_QUESTIONS)]
    types: Annotated[
        list[_Said],
        BeforeValidator(_marks),
        OMITTABLE,
        AliasNames("type", "error types", "categories"),
        MaxItems(len(ERROR_TYPES)),
    ]

    @property
    def asked(self) -> list[str]:
        """Return the questions, without placeholders such as "no confusion", "none" or a dash."""
        texts = [question.strip() for question in self.questions if any(map(str.isalnum, question))]
        return [text for text in texts if not _DENIAL.match(text) and not _NO_QUESTION.match(text)]

    @property
    def errors(self) -> list[ErrorType]:
        """Return what is confusing; empty where that is not said in known words."""
        return [mark for mark in self.types if mark not in (NO_CONFUSION, UNSURE)]

    @property
    def is_confusing(self) -> bool | None:
        """Return the verdict; None where there is none, or a contradictory one."""
        clear = [question for question in self.questions if not is_denied(question, "none")]
        denied = NO_CONFUSION in self.types or any(map(_DENIAL.match, clear))
        if self.asked or self.errors:
            return None if denied else True
        return False if denied or any(map(_NO_QUESTION.match, clear)) else None


Confusions = Sentences[Confusion]


StopType = Literal[ErrorType, "overload", "ending"]
"""Why a newcomer stops: one of the paper's error types, a sentence that carries too much, or a missing ending."""
MAX_STOPS = 12
"""The most stops of one reply."""
_FIRST_WORDS = {mark.split()[0]: mark for mark in ERROR_TYPES}


class FindStopsInput(PromptInput):
    """A summary, or a part of it with the text before it, and the question that the summary answers, if any."""

    context: Context = ""
    summary: SummaryText
    goes_on: bool = False
    """Whether this is a part, and not the last one."""
    query: Question = None


class Stop(ReplyModel):
    """A place where a newcomer stops: the words of the summary, what the newcomer would ask, and the type."""

    words: Annotated[Text, AliasNames("quote", "phrase", "text")]
    question: Annotated[Text, WORDED, AliasNames("problem", "what is wrong")]
    type: Annotated[StopType, Label(StopType, "stop", words=_FIRST_WORDS, names=("error type", "category", "kind"))]


class Stops(ReplyModel):
    """The stops in the order of the text; an empty list where the newcomer never stops."""

    stops: Annotated[list[Stop], SKIP_INVALID, MaxItems(MAX_STOPS)]
    unsure: Annotated[bool, INTERNAL, SkipJsonSchema(), Field(exclude_if=lambda unsure: not unsure)] = False
    """Whether the judge cannot read as a newcomer does."""


ChoiceRead = Annotated[Choice | Unsure, Label(Choice)]
"""Which of two texts is better, as read from a reply."""


class PreferInput(PromptInput):
    """Two summaries of one document, which is included where it fits."""

    document: WholeText = None
    first: Annotated[str, Fence("first", "the first summary")]
    second: Annotated[str, Fence("second", "the second summary")]


class PreferenceReply(ReplyModel):
    """Which summary is better in each respect, and why."""

    reason: Reason
    detail: ChoiceRead
    structure: ChoiceRead
    logic: ChoiceRead
    overall: ChoiceRead


FIND_CONFUSION = Prompt(
    "find_confusion", ConfusionInput, Confusions, "booookscore: what confuses a reader of the summary"
)
FIND_STOPS = Prompt(
    "find_stops", FindStopsInput, Stops, "newcomer: where a reader who has never seen the document stops"
)
PREFER_SUMMARY = Prompt("prefer_summary", PreferInput, PreferenceReply, "compare: which of two summaries is better")
