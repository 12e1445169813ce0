"""What the answers of a reply come to: given, not there, or no verdict.

A reply says in a field whether there is an answer. Models that have no such field, or fill it in without care, write in
its place that nothing is said, in any language. Three signs tell that apart from an answer without knowing the words:
it is given word for word to several questions, it rests on no place of the text, and it shares no word with the text.
Those that are doubted are asked about once more, for the place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

from redraft.errors import RejectedRequest, ReplyError
from redraft.llm.reply_reader import declines
from redraft.prompts.contract import UNSURE, Unsure
from redraft.prompts.judging import DocumentAnswer, SummaryAnswer
from redraft.prompts.silence import is_answer
from redraft.prompts.typed import yes_or_no
from redraft.text.languages import language_of
from redraft.text.vectors import telling_terms
from redraft.text.words import has_words, words_key

# So many questions that are given the same words make these suspicious, or all where there are fewer.
_SEVERAL = 3
_WORD = re.compile(r"\w+")
# An answer, where it is said to be one and its place is named: who was hurt, and what was lost.
_NONE = "none"

Answer = TypeVar("Answer", SummaryAnswer, DocumentAnswer)


def is_answered(
    answered: bool | Unsure | None,
    answer: str,
    *,
    placed: bool,
) -> bool | Unsure | None:
    """Whether an answer is one, by what a reply says of it; None where that is no verdict.

    `placed` is whether it names a place of the text that there is: then it is one though it is said to be none.
    """
    if answered == UNSURE:
        return UNSURE
    if not answer.strip():
        return None if answered is not False else False
    if not is_answer(answer):
        if answered is True and placed and words_key(answer) == _NONE:
            return True
        return None if answered and not has_words(answer) else False
    if declines(answer):
        return None
    return True if answered is not False else placed


@dataclass(frozen=True, slots=True)
class ReplyAnswers(Generic[Answer]):
    """The answers of one reply to questions about a text, which is all of it that there was `read`."""

    read: Callable[[], str]
    placed: Callable[[Answer], bool]
    """Whether an answer names a place of the text that there is."""

    async def settled(
        self, answers: Sequence[Answer], again: Callable[[list[int]], Awaitable[Sequence[Answer]]]
    ) -> list[tuple[int, Answer | None]]:
        """What each of them comes to, by the number of its question: `answered` says it; None is no verdict.

        `again` asks once more about some, for the places that the answers rest on.
        """
        found, doubted = self._weighed(answers)
        if not doubted:
            return found
        try:
            replies = await again(sorted(doubted))
        except (ReplyError, RejectedRequest):
            replies = ()
        second, still = self._weighed(replies)
        # Whoever cannot say a second time where it stands has no answer; "yes" shows nothing, and is left open.
        closed = [
            (n, None if one is None or _is_yes_or_no(one.answer) else _silent(one)) if n in still else (n, one)
            for n, one in second
        ]
        return [(n, one) for n, one in found if n not in doubted] + [(n, one) for n, one in closed if n in doubted]

    def _weighed(self, answers: Sequence[Answer]) -> tuple[list[tuple[int, Answer | None]], set[int]]:
        """What they come to by themselves, and which of them are doubted."""
        repeated = _repeated(answers)
        found: list[tuple[int, Answer | None]] = []
        doubted: set[int] = set()
        for one in answers:
            placed = self.placed(one)
            answered = is_answered(one.answered, one.answer, placed=placed)
            settled = None if answered is None else one.model_copy(update={"answered": answered})
            if settled is not None and answered is True:
                if words_key(one.answer) in repeated and not self._is_borne_out(one.answer, placed=placed):
                    if _is_yes_or_no(one.answer):
                        doubted.add(one.id)
                    else:
                        settled = None if placed else _silent(one)
                elif not placed and not _is_yes_or_no(one.answer) and not self._shares(one.answer):
                    doubted.add(one.id)
            found.append((one.id, settled))
        return found, doubted

    def _is_borne_out(self, answer: str, *, placed: bool) -> bool:
        """Whether an answer that several questions are given may be one all the same, as a name is."""
        if placed and (_is_yes_or_no(answer) or self._shares(answer)):
            return True
        return f" {words_key(answer)} " in f" {_key(self.read())} "

    def _shares(self, answer: str) -> bool:
        """Whether it shares a word with the text that says something by itself."""
        read = self.read()
        language = language_of(read)
        return not telling_terms(read, language).isdisjoint(telling_terms(answer, language))


def _is_yes_or_no(answer: str) -> bool:
    return yes_or_no(answer) is not None and len(_WORD.findall(answer)) == 1


def _silent(answer: Answer) -> Answer:
    return answer.model_copy(update={"answered": False})


def _repeated(answers: Sequence[Answer]) -> set[str]:
    """The words that are given to several questions."""
    questions = {one.id for one in answers}
    given = Counter(key for _, key in {(one.id, words_key(one.answer)) for one in answers} if key)
    fewest = min(_SEVERAL, max(2, len(questions)))
    return {key for key, times in given.items() if times >= fewest}


@lru_cache(maxsize=4)
def _key(text: str) -> str:
    return words_key(text)
