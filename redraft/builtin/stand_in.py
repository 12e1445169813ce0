"""A stand-in for a language model: it answers by handlers, and every other prompt by the reply that its schema gives.

It abstains: "unsure" where the schema allows that, else an empty text or list, or the first choice. With typical
lengths it writes instead as much as a language model usually does, in words of the prompt: dry runs count that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice, pairwise
from math import ceil
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from zlib import crc32

from pydantic import BaseModel, ValidationError

from redraft.domain import Usage
from redraft.errors import UnreadableReply
from redraft.llm.base import Reply, Request, Sampling
from redraft.prompts.contract import UNSURE, InputT, MaxItems, Prompt, ValueT
from redraft.prompts.tags import ItemRef, asked_about
from redraft.text.words import WORD, is_unspaced

Handler = Callable[[Any], Any]
"""Returns the reply to the input of a prompt."""
_CHARACTERS_PER_TOKEN = 4

TYPICAL: Mapping[str, int] = {
    # Words of a text.
    "question": 14, "answer": 6, "quote": 16, "reason": 17, "explanation": 17, "why": 17, "fact": 14, "facts": 8,
    "query": 18, "search": 5, "words": 5, "name": 2, "phrase": 6, "line": 30, "turning_points": 12, "sentence": 20,
    "instruction": 5,
    # Entries of a list; a list with a limit has as many as the limit allows, where that is less.
    "DocumentQuestions.questions": 999, "SentenceQuestions.questions": 3, "SentenceFacts.facts": 3, "Stops.stops": 6,
    "Outline.turning_points": 8, "Outline.cast": 10, "Outline.important": 999, "Ranking.important": 999,
    "FactTree.roots": 999, "Root.branches": 2, "Branch.leaves": 2, "WrittenAnswer.sentences": 4, "Decision.fix": 999,
    "SummaryAnswer.sentences": 1, "Alignment.sentences": 1, "Confusion.types": 1,
}  # fmt: skip
"""How long the parts of a language model's reply are, by field, or by model and field."""
_FAVOURABLE = ("no confusion", "tie", "contradicted", "other")
"""The typical choices that are not the first of their schema: nothing is wrong, and a finding is confirmed."""
_ABSTAINING = (UNSURE, "unclear", "other")
_PROMPTS = 1_000
_CHARACTERS_A_ROOT = 5_000
"""A tree has another root for about this many characters of the excerpt."""
_SHOWN = ("document", "excerpt", "passages", "places")
_WRITTEN_FROM = ("document", "summaries", "summary", "excerpt")
_QUOTED = 90  # characters, about
# Summaries by capable models have about twenty words a sentence: see benchmarks/texts/readings.
_WORDS_A_SENTENCE, _LEFT_OUT_OF = 20, 6


class StandIn:
    """A deterministic `Model` with handlers by prompt name. Replies are free and counted at four characters a token."""

    def __init__(
        self, identity: str, handlers: Mapping[str, Handler], typical: Mapping[str, int] | None = None
    ) -> None:
        self.identity = identity
        self.handlers = handlers
        self.typical = typical

    def most_tokens(self, sampling: Sampling) -> int:  # noqa: ARG002  (as the protocol has it)
        """Return 0: its replies are free."""
        return 0

    async def ask(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        """Answer a request."""
        return await asyncio.to_thread(self._reply, request)

    def _reply(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        value = self.answer(request.prompt, request.given)
        text = value.model_dump_json() if isinstance(value, BaseModel) else str(value)
        prompt, reply = (ceil(len(part) / _CHARACTERS_PER_TOKEN) for part in (request.given.model_dump_json(), text))
        return Reply(value, text, Usage(prompt, reply, reported=False))

    def answer(self, prompt: Prompt[InputT, ValueT], inputs: InputT) -> ValueT:
        """Return the reply to a prompt. Raises `UnreadableReply` if the schema alone does not tell how to abstain."""
        if handler := self.handlers.get(prompt.name):
            value: ValueT = handler(inputs)
            return value
        return derived_reply(prompt, inputs, self.typical or {})


def derived_reply(prompt: Prompt[InputT, ValueT], inputs: InputT, typical: Mapping[str, int]) -> ValueT:
    """Return the reply that the schema of a prompt gives; without typical lengths it abstains."""
    shape: Any = prompt.returns
    if not issubclass(shape, BaseModel):
        sources = [text for name in _WRITTEN_FROM for text in texts_in(getattr(inputs, name, None))]
        value: Any = prose(sources, getattr(inputs, "words", None) or 100) if typical else ""
        return shape(value)  # type: ignore[no-any-return]
    try:
        reply = _SchemaReply(inputs, typical, crc32(prompt.name.encode()) % _PROMPTS)
        value = shape.model_validate(reply.entry(shape, None, ""))
    except ValidationError as error:
        raise UnreadableReply(f"the schema of {prompt.name} gives no reply", text="", usage=Usage(0, 0)) from error
    return value  # type: ignore[no-any-return]


class _SchemaReply:
    """Builds a reply from its schema and the prompt's input. An entry is about an item of the prompt, or about a
    stretch of its texts, from which its words are taken."""

    def __init__(self, inputs: BaseModel, typical: Mapping[str, int], first: int) -> None:
        """Number the texts from `first` on, so that no two texts of the same words are equal."""
        self._given, self._typical = inputs, typical
        visible = [value for name in _SHOWN if (value := getattr(inputs, name, None))]
        self._texts = list(texts_in(visible or inputs))
        self._numbers = count(first)

    def entry(self, shape: type[BaseModel], item: BaseModel | None, stretch: str) -> dict[str, Any]:
        """Return the fields of a model; those with a default are left out unless their length is known."""
        return {
            name: not self._typical
            if name == UNSURE
            else self._value(f"{shape.__name__}.{name}", field.annotation, field.metadata, item, stretch)
            for name, field in shape.model_fields.items()
            if field.is_required() or name in (UNSURE, *self._typical) or f"{shape.__name__}.{name}" in self._typical
        }

    def _value(self, key: str, kind: Any, marks: Sequence[Any], item: BaseModel | None, stretch: str) -> Any:
        origin, inner = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self._value(key, inner[0], inner[1:], item, stretch)
        if _reference(marks):
            return getattr(item, "id", 0)
        if origin is list:
            return self._entries(key, inner[0], marks, item, stretch)
        if origin in (Union, UnionType):
            abstains = not self._typical and any(UNSURE in get_args(choice) for choice in inner)
            return UNSURE if abstains else self._value(key, inner[0], (), item, stretch)
        if origin is Literal:
            preferred = _FAVOURABLE if self._typical else _ABSTAINING
            return next((choice for choice in preferred if choice in inner), inner[0])
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return self.entry(kind, item, stretch)
        if kind is str:
            return self._text(key.rpartition(".")[2], stretch) if self._typical else ""
        return bool(self._typical) if kind is bool else 1 if kind in (int, float) else {}

    def _entries(self, key: str, kind: Any, marks: Sequence[Any], item: BaseModel | None, stretch: str) -> list[Any]:
        """Return the entries of a list: one for each item that the reply is about, or as many as are typical."""
        bounds = [mark.number for mark in marks if isinstance(mark, MaxItems)]
        limits = [bound if isinstance(bound, int) else int(getattr(self._given, bound)) for bound in bounds]
        if key == "FactTree.roots":
            limits.append(min(8, round(1.3 + len(getattr(self._given, "excerpt", "")) / _CHARACTERS_A_ROOT)))
        count = min([self._typical.get(key, 0), *limits])
        field = _reference(get_args(kind)[1:])
        if field:
            numbers = [entry.id for entry in getattr(self._given, field)]
            first = next(self._numbers)
            return [numbers[(first + at) % len(numbers)] for at in range(min(count, len(numbers)))]
        if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
            abstains = not self._typical and self._value(key, kind, (), None, "") == UNSURE
            return [self._value(key, kind, (), item, stretch) for _ in range(1 if abstains else count)]
        about = _reference(kind.model_fields["id"].metadata) if "id" in kind.model_fields else ""
        if not about:
            return [self.entry(kind, item, stretch or self._stretch(at, count)) for at in range(count)]
        items = {entry.id: entry for entry in getattr(self._given, about)}
        numbers = asked_about(self._given, about)
        return [
            self.entry(kind, items[number], getattr(items[number], "sentence", "") or self._stretch(at, len(numbers)))
            for at, number in enumerate(numbers)
        ]

    def _stretch(self, at: int, of: int) -> str:
        return stretch_of(self._texts, at, of) if self._typical else ""

    def _text(self, name: str, stretch: str) -> str:
        number = next(self._numbers)
        stretch = stretch or stretch_of(self._texts, 0, 1)
        if name == "quote":
            return stretch
        words = first_words(stretch, 99) or ["this"]
        chosen = [words[(at + number) % len(words)] for at in range(self._typical.get(name, 6) - 1)]
        return " ".join([*chosen, str(number)])


def _reference(marks: Sequence[Any]) -> str:
    """Return the field of the prompt whose items a number names; empty for other values."""
    return next((mark.field for mark in marks if isinstance(mark, ItemRef)), "")


def texts_in(value: object) -> Iterator[str]:
    """Yield all texts in a prompt's input."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from texts_in(getattr(value, name))
    elif isinstance(value, list):
        for entry in value:
            yield from texts_in(entry)


def stretch_of(texts: Sequence[str], at: int, of: int) -> str:
    """Return whole words from one of several places that are evenly spread over some texts."""
    place = at * sum(map(len, texts)) // max(1, of)
    for text in texts:
        if place < len(text):
            first = min(place, max(0, len(text) - _QUOTED))
            part = text[first : first + _QUOTED]
            words = [match.span() for match in WORD.finditer(part)]
            return part[words[first > 0][0] : words[-2][1]] if len(words) > 3 else part.strip() or "this"
        place -= len(text)
    return "this"


def first_words(text: str, limit: int) -> list[str]:
    """Return at most so many words from the beginning of a text."""
    return [match.group() for match in islice(WORD.finditer(text), limit)]


def prose(sources: Sequence[str], words: int) -> str:
    """Return a text of `words` words, or fewer if there are no more, from the beginnings of its sources. Some words are
    left out, because a summary is no quote."""
    share = ceil(words / max(1, len(sources)))
    chosen_words: list[str] = []
    for source in sources:
        beginning = first_words(source, share * _LEFT_OUT_OF // (_LEFT_OUT_OF - 1) + 1)
        chosen_words += [word for at, word in enumerate(beginning, 1) if at % _LEFT_OUT_OF][:share]
    chosen_words = chosen_words[:words]
    between = "" if is_unspaced("".join(chosen_words[:100])) else " "
    sentences: dict[str, None] = {}
    for at in range(0, len(chosen_words), _WORDS_A_SENTENCE):
        part = chosen_words[at : at + _WORDS_A_SENTENCE]
        sentence = sentence_of(part, between)
        # A repeated sentence looks like a loop, so it gets another first word.
        sentences[sentence_of([str(at), *part[1:]], between) if sentence in sentences else sentence] = None
    return between.join(sentences)


def sentence_of(words: Sequence[str], between: str = " ") -> str:
    """Return words as a sentence without immediate repetitions."""
    text = between.join(word for before, word in pairwise(["", *words]) if word.casefold() != before.casefold())
    return f"{text[:1].upper()}{text[1:]}." if between else f"{text}。"
