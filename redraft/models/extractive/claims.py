"""Questions about what the sentences of a summary claim."""

from __future__ import annotations

import re

from redraft.models.extractive.details import Detail, DetailKind, details
from redraft.models.extractive.forms import ask_for_marked, ask_for_part
from redraft.models.extractive.registry import answers
from redraft.models.extractive.wording import DAYS, MONTHS, carries, words
from redraft.prompts.judging import (
    ASK_SUMMARY,
    AskSummaryGiven,
    Kind,
    SentenceQuestions,
    SummaryQuestion,
    SummaryQuestions,
)
from redraft.text.sentences import ends_sentence

_HEADING_WORDS = 12
_FEWEST_WORDS = 2
_HEADING_MARK = re.compile(r"\s*(?:#{1,6}\s|\*\*[^*]+\*\*\s*$|[-=*_]{3,}\s*$)")
_ITEM_MARK = re.compile(r"\s*(?:[-+*•]|\d{1,3}[.)])\s")
_ASKS = re.compile(r"\?[\"'”’»)\]*_]*\s*$")
_OF_STATEMENT, _OF_NAMES, _OF_NUMBERS = 5, 4, 3


@answers(ASK_SUMMARY)
def ask_summary(given: AskSummaryGiven) -> SummaryQuestions:
    """For each sentence whether it is so, and whether its names and its numbers are the right ones."""
    return SummaryQuestions(
        sentences=[
            SentenceQuestions(id=statement.id, questions=_questions(statement.sentence)[: max(0, given.at_most)])
            for statement in given.sentences
        ]
    )


def _questions(sentence: str) -> list[SummaryQuestion]:
    text = " ".join(sentence.split())
    found = words(text)
    if not _claims(text, [word.key for word in found]):
        return []
    asked = [SummaryQuestion(question=ask_for_part(text), kind="what", answer=text, importance=_OF_STATEMENT)]
    of_kind: dict[DetailKind, list[Detail]] = {"name": [], "number": []}
    for detail in details(text, found):
        of_kind[detail.kind].append(detail)
    for marked in filter(None, of_kind.values()):
        answer = ", ".join(text[detail.start : detail.end] for detail in marked)
        kind, importance = _weigh(marked, answer)
        asked.append(
            SummaryQuestion(question=ask_for_marked(text, marked), kind=kind, answer=answer, importance=importance)
        )
    return asked


def _weigh(marked: list[Detail], answer: str) -> tuple[Kind, int]:
    if marked[0].kind == "name":
        return "who", _OF_NAMES
    dated = any(word.key in MONTHS | DAYS for word in words(answer))
    return ("when" if dated else "how"), _OF_NUMBERS


def _claims(text: str, keys: list[str]) -> bool:
    """Whether a sentence says that something is so; headings, questions and scraps do not."""
    if len(keys) < _FEWEST_WORDS or not any(map(carries, keys)) or _HEADING_MARK.match(text) or _ASKS.search(text):
        return False
    return ends_sentence(text) or len(keys) > _HEADING_WORDS or bool(_ITEM_MARK.match(text))
