"""The stand-in of a dry run: it answers in place of a model, as much as one usually writes, and counts the tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from redraft.builtin.stand_in import TYPICAL, Handler, StandIn, first_words, prose, sentence_of
from redraft.domain import Usage
from redraft.errors import UnreadableReply
from redraft.evaluators.base import METRIC
from redraft.llm import structured_output
from redraft.llm.base import Reply, Request, Sampling
from redraft.prompts import factual, qa, revision
from redraft.prompts.book import PromptBook
from redraft.prompts.coherence import Choice
from redraft.prompts.contract import InputT, ValueT
from redraft.prompts.tags import TagContext, Tags
from redraft.store.connection import off_loop
from redraft.text.sentences import sentences_in
from redraft.text.tokens import Tokenizer
from redraft.text.words import WORD, count_words

_LONG = 2_000
"""Texts of at least this many characters are counted apart from their prompts, once for all of them."""
_FIRST_WORD = re.compile(r"(?:^|(?<=[.。] ))\w+")
_SIX_WORDS = re.compile(r"(\w+)((?:\W+\w+){0,5})")
_WORDS_A_SENTENCE, _QUESTIONS_A_SENTENCE = 20, 3
# How a text begins that was written anew, by which the next comparison knows it.
_EDITED = "Edited once, it says the same.", "Edited again, it says the same."

Entry = TypeVar("Entry", bound=BaseModel)
Count = Callable[[Request[Any, Any], Usage], None]
"""Called with each counted request."""
Recall = Callable[[Request[Any, Any]], "Reply[Any] | None"]
"""Returns the stored reply to a request."""


def recall_nothing(_: Request[Any, Any]) -> None:
    """Return that no reply is stored."""


class TokenCounts:
    """Counts tokens and caches the counts of long texts."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, int] = {}

    def of(self, text: str) -> int:
        """Return the number of tokens of a text."""
        if len(text) < _LONG:
            return self._tokenizer.count(text)
        if text not in self._known:
            self._known[text] = self._tokenizer.count(text)
        return self._known[text]

    def learn(self, text: str, tokens: int) -> None:
        """Store the token count of a text that was counted elsewhere."""
        self._known[text] = tokens


@dataclass(slots=True)
class CountedStandIn:
    """A `Model` that stands in for another under its identity. Equal requests are counted once."""

    identity: str
    book: PromptBook
    tokens: TokenCounts
    count: Count
    query: str | None = None
    """The question that its key-fact trees answer, if one is given."""
    objections: Callable[[str], int] = lambda _: 0
    """Returns to how many of each twelve items of a metric the model objects."""
    voice: str = ""
    """Letters that replace the ends of some words, so that no two runs have the same text."""
    replies: dict[tuple[object, ...], object] = field(default_factory=dict)
    """The replies to the counted requests."""
    recall: Recall = recall_nothing

    def most_tokens(self, sampling: Sampling) -> int:
        """Return the limit that the request sets."""
        return sampling.max_tokens or 0

    async def ask(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        """Answer a request. Raises `UnreadableReply` for a prompt whose reply has to satisfy more than its schema."""
        short, long = _apart(request.given)
        text = self.book.render(request.prompt, short)
        key = (request.prompt.name, text, tuple(map(hash, long)), request.sampling)
        value = self.replies.get(key)
        if value is None and (stored := await off_loop(self.recall, request)) is not None:
            return stored
        is_new = value is None
        value = self._value(request) if is_new else value
        sent = value if isinstance(value, str) else _as_sent(cast("BaseModel", value), request.given)
        prompt_tokens = self.tokens.of(text) + sum(map(self.tokens.of, long))
        usage = Usage(prompt_tokens + self.tokens.of(structured_output.prompt_schema(request)), self.tokens.of(sent))
        if is_new:
            self.replies[key] = value
            self.count(request, usage)
        if not isinstance(value, request.prompt.returns):
            raise UnreadableReply("no ordinary reply is known", text=sent, usage=usage)
        return Reply(value, sent, usage)

    def _value(self, request: Request[Any, Any]) -> object:
        if self.query and request.prompt.returns is factual.Query:
            return factual.Query(query=self.query)
        model = StandIn(self.identity, _HANDLERS, TYPICAL)
        try:
            reply = model.answer(request.prompt, request.given)
        except UnreadableReply as error:
            return str(error.__cause__)
        if not isinstance(reply, str):
            objections = self.objections(METRIC.get())
            return _objected(reply, METRIC.get(), objections or 12 * _is_later_part(request.given))
        if request.prompt in (revision.REVISE, revision.EDIT):
            return reply if not self.voice else reply.replace("<revision>\n", f"<revision>\n{self.voice} ", 1)
        # Other samples, and other runs, have other sentences.
        draw = request.sampling.sample
        reply = _FIRST_WORD.sub(rf"\g<0>{draw}", reply) if draw else reply
        return _SIX_WORDS.sub(self._voiced, reply) if self.voice else reply

    def _voiced(self, words: re.Match[str]) -> str:
        first, others = words.groups()
        return f"{first[: -len(self.voice)] or first}{self.voice}{others}"


def _objected(reply: object, metric: str, objections: int) -> object:
    """Return a reply with objections to so many of each twelve items, so that a metric has findings."""

    def changed(items: Sequence[Entry], update: dict[str, Any], together: int = 1) -> list[Entry]:
        return [
            item.model_copy(update=update) if at // together % 12 * objections % 12 < objections else item
            for at, item in enumerate(items)
        ]

    match reply:
        case qa.SummaryAnswers(answers=answers):
            silent = {"answered": False, "answer": "", "sentences": []}
            return qa.SummaryAnswers(answers=changed(answers, silent))
        case qa.Comparisons(comparisons=comparisons) if metric == "consistency":
            together = {"verdict": "contradicts"}, _QUESTIONS_A_SENTENCE
            return qa.Comparisons(comparisons=changed(comparisons, *together))
        case factual.Verifications(sentences=sentences):
            return factual.Verifications(sentences=changed(sentences, {"category": "entity"}))
        # Without a metric, only questions that should have no answer are asked of a document.
        case qa.DocumentAnswers(answers=answers) if not metric:
            silent = {"answered": False, "answer": "", "quote": ""}
            return qa.DocumentAnswers(answers=[answer.model_copy(update=silent) for answer in answers])
    return reply


def _as_sent(value: BaseModel, given: BaseModel) -> str:
    """Return a structured reply as JSON, as a model would send it."""
    return value.model_dump_json(by_alias=True, context=TagContext(Tags(given)))


def _apart(given: BaseModel) -> tuple[BaseModel, list[str]]:
    """Return a prompt's input without its long texts, and these texts."""
    long: list[str] = []

    def short(value: Any) -> Any:
        if isinstance(value, str) and len(value) >= _LONG:
            long.append(value)
            return "."
        return value

    shortened: dict[str, Any] = {}
    for name in type(given).model_fields:
        value = getattr(given, name)
        shortened[name] = [short(entry) for entry in value] if isinstance(value, list) else short(value)
    return (given.model_copy(update=shortened), long) if long else (given, long)


def _revise(given: revision.ReviseInput) -> str:
    """Return the summary with each point fixed: sentences are reworded or removed, missing content is added."""
    text = given.summary
    for point in given.points:
        words = first_words(point.sentence or f"{point.answer} {point.question}", _WORDS_A_SENTENCE)
        if not point.sentence or point.sentence not in text:
            # The same point gets another sentence in the next round.
            text = f"{text} {sentence_of([*words, str(count_words(text))])}"
        elif point.task not in ("remove", "drop"):
            text = text.replace(point.sentence, sentence_of([*words[1:], *words[:1]]), 1)
        elif len(rest := text.replace(point.sentence, "", 1).strip()) > len(text) // 2:
            text = rest
    if given.words and (surplus := count_words(text) - given.words) > 0:
        text = text[list(WORD.finditer(text))[surplus].start() :]
    return _with_points(given, text)


def _edit(given: revision.EditInput) -> str:
    """Return the summary with two of three sentences written anew: the others are as good as they were."""
    kept = sentences_in(given.summary)[2::3]
    begun = f"{_EDITED[given.summary.startswith(_EDITED)]} {kept[0] if kept else ''}".strip()
    words = max(20, (given.words or given.length) - count_words(" ".join([begun, *kept[1:]])) - 2)
    # Sorted, as the order of the notes says what the draft lacks, and the second edit would else write all anew.
    texts = sorted(f"{item.answer} {item.question}" for item in given.must_know) or [given.summary]
    return _with_points(given, " ".join([begun, *kept[1:], prose(texts, words)]))


def _with_points(given: revision.ReviseInput | revision.EditInput, text: str) -> str:
    tags = Tags(given)
    lines = "".join(f"{tags.tag('points', point.id)}: fixed\n" for point in given.points)
    return f"<points>\n{lines}</points>\n<revision>\n{text}\n</revision>"


def _choose(given: revision.ChooseInput) -> revision.DraftChoice:
    """Prefer a text that was edited once to one that never was; a second edit brings nothing."""
    edits = [text.startswith(_EDITED) for text in (given.first, given.second)]
    choice: Choice = "tie" if edits[0] == edits[1] else "first" if edits[0] else "second"
    reason = "One of them says more of what a reader must know, and says it where the reader needs it. " * 2
    return revision.DraftChoice(reason=reason, clear=choice, content=choice, overall=choice)


def _ask_typed(given: qa.AskTypedInput) -> qa.TypedReply:
    """Return a question that fits its type, with an answer from the paragraph unless there must be none."""
    question = sentence_of([given.type, *first_words(given.excerpt, TYPICAL["question"])])
    reason = sentence_of(first_words(given.excerpt, TYPICAL["reason"])) if given.type == "binary" else ""
    words = {"binary": ["yes"], "unanswerable": []}.get(given.type, first_words(given.excerpt, TYPICAL["answer"]))
    return qa.TypedReply(question=question, answer=" ".join(words), reason=reason)


def _is_later_part(given: BaseModel) -> bool:
    """Return whether questions are put to a later part of a long summary, which answers none: the first part does."""
    numbers = [line.id for line in given.sentences] if isinstance(given, qa.AnswerFromSummaryInput) else [1]
    return numbers[0] > 1 and numbers[-1] - numbers[0] == len(numbers) - 1


_HANDLERS: Mapping[str, Handler] = {
    qa.ASK_TYPED.name: _ask_typed,
    revision.REVISE.name: _revise,
    revision.EDIT.name: _edit,
    revision.CHOOSE_DRAFT.name: _choose,
}
