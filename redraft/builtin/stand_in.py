"""A stand-in for a language model: it answers by handlers, and every other prompt by the reply that its schema gives.

It abstains: "unsure" where the schema allows that, else an empty text or list, or the first choice. With typical
lengths it writes instead as much as a language model usually does, in words of the prompt: dry runs count that, with
the handlers of `USUAL` for prompts whose usual reply takes more than their schema.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import count, islice, pairwise
from math import ceil
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from zlib import crc32

from pydantic import BaseModel, ValidationError

from redraft.domain import Usage
from redraft.errors import UnreadableReply
from redraft.llm.base import Reply, Request, Sampling
from redraft.llm.replies import ReplyField, reply_fields
from redraft.prompts import qa, revision
from redraft.prompts.coherence import Choice
from redraft.prompts.contract import UNSURE, InputT, Prompt, ValueT, texts_in
from redraft.prompts.tags import Tags, asked_about
from redraft.text.sentences import sentences_in
from redraft.text.words import WORD, count_words, is_unspaced

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
_EDITED = "Edited once, it says the same.", "Edited again, it says the same."
"""How a text begins that was written anew, by which the next comparison recognizes it."""


class StandIn:
    """A deterministic `Model` with handlers by prompt name. Replies are free and counted at four characters a token."""

    def __init__(
        self, identity: str, handlers: Mapping[str, Handler], typical: Mapping[str, int] | None = None
    ) -> None:
        self.identity = identity
        self.handlers = handlers
        self.typical = typical or {}

    def most_tokens(self, sampling: Sampling) -> int:  # noqa: ARG002  (as the protocol has it)
        """Return 0: its replies are free."""
        return 0

    async def ask(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        """Answer a request."""
        value = await asyncio.to_thread(self.answer, request.prompt, request.given)
        text = value.model_dump_json() if isinstance(value, BaseModel) else str(value)
        prompt, reply = (ceil(len(part) / _CHARACTERS_PER_TOKEN) for part in (request.given.model_dump_json(), text))
        return Reply(value, text, Usage(prompt, reply, reported=False))

    def answer(self, prompt: Prompt[InputT, ValueT], inputs: InputT) -> ValueT:
        """Return the reply to a prompt. Raises `UnreadableReply` if the schema alone does not tell how to abstain."""
        shape: Any = prompt.returns
        if handler := self.handlers.get(prompt.name):
            value: Any = handler(inputs)
        elif issubclass(shape, BaseModel):
            reply = _SchemaReply(inputs, self.typical, crc32(prompt.name.encode()) % _PROMPTS)
            try:
                value = shape.model_validate(reply.fields_of(shape, None, ""))
            except ValidationError as error:
                message = f"the schema of {prompt.name} gives no reply"
                raise UnreadableReply(message, text="", usage=Usage(0, 0)) from error
        else:
            sources = [text for name in _WRITTEN_FROM for text in texts_in(getattr(inputs, name, None))]
            value = shape(prose(sources, getattr(inputs, "words", None) or 100) if self.typical else "")
        return value  # type: ignore[no-any-return]


class _SchemaReply:
    """Builds a reply from its schema and the prompt's input. An entry is about an item of the prompt, or about a
    stretch of its texts, from which its words are taken."""

    def __init__(self, inputs: BaseModel, typical: Mapping[str, int], first: int) -> None:
        """Number the texts from `first` on, so that no two texts of the same words are equal."""
        self._inputs, self._typical = inputs, typical
        visible = [value for name in _SHOWN if (value := getattr(inputs, name, None))]
        self._texts = list(texts_in(visible or inputs))
        self._numbers = count(first)

    def fields_of(self, shape: type[BaseModel], item: BaseModel | None, stretch: str) -> dict[str, Any]:
        """Return the fields of a model; those with a default are left out unless their length is known."""
        values: dict[str, Any] = {}
        for name, info in shape.model_fields.items():
            key = f"{shape.__name__}.{name}"
            if name == UNSURE:
                values[name] = not self._typical
            elif info.is_required() or name in self._typical or key in self._typical:
                field = reply_fields(shape)[name]
                if field.is_list:
                    values[name] = self._entries(key, get_args(info.annotation)[0], field, item, stretch)
                elif field.items:
                    values[name] = getattr(item, "id", 0)
                else:
                    values[name] = self._value(key, info.annotation, item, stretch)
        return values

    def _value(self, key: str, kind: Any, item: BaseModel | None, stretch: str) -> Any:
        origin, inner = get_origin(kind), get_args(kind)
        if origin in (Annotated, Union, UnionType):
            abstains = not self._typical and any(UNSURE in get_args(choice) for choice in inner)
            return UNSURE if abstains else self._value(key, inner[0], item, stretch)
        if origin is Literal:
            preferred = _FAVOURABLE if self._typical else _ABSTAINING
            return next((choice for choice in preferred if choice in inner), inner[0])
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return self.fields_of(kind, item, stretch)
        if kind is str:
            return self._text(key.rpartition(".")[2], stretch) if self._typical else ""
        return bool(self._typical) if kind is bool else 1 if kind in (int, float) else {}

    def _entries(self, key: str, kind: Any, field: ReplyField, item: BaseModel | None, stretch: str) -> list[Any]:
        """Return the entries of a list: one for each item that the reply is about, or as many as are typical."""
        size = self._typical.get(key, 0)
        if field.limit:
            size = min(size, field.most(self._inputs))
        if key == "FactTree.roots":
            size = min(size, 8, round(1.3 + len(getattr(self._inputs, "excerpt", "")) / _CHARACTERS_A_ROOT))
        if field.items:
            numbers, first = [entry.id for entry in getattr(self._inputs, field.items.field)], next(self._numbers)
            return [numbers[(first + at) % len(numbers)] for at in range(min(size, len(numbers)))]
        if field.model is BaseModel:
            abstains = not self._typical and self._value(key, kind, None, "") == UNSURE
            return [self._value(key, kind, item, stretch) for _ in range(1 if abstains else size)]
        if field.entry_items is None:
            return [self.fields_of(field.model, item, stretch or self._stretch(at, size)) for at in range(size)]
        items = {entry.id: entry for entry in getattr(self._inputs, field.entry_items.field)}
        numbers = asked_about(self._inputs, field.entry_items.field)
        return [
            self.fields_of(field.model, entry, getattr(entry, "sentence", "") or self._stretch(at, len(numbers)))
            for at, entry in enumerate(map(items.__getitem__, numbers))
        ]

    def _stretch(self, at: int, of: int) -> str:
        """Return whole words from one of several places that are evenly spread over the texts."""
        place = at * sum(map(len, self._texts)) // max(1, of)
        for text in self._texts if self._typical else ():
            if place < len(text):
                first = min(place, max(0, len(text) - _QUOTED))
                part = text[first : first + _QUOTED]
                spans = [match.span() for match in WORD.finditer(part)]
                return part[spans[first > 0][0] : spans[-2][1]] if len(spans) > 3 else part.strip() or "this"
            place -= len(text)
        return "this" if self._typical else ""

    def _text(self, name: str, stretch: str) -> str:
        number = next(self._numbers)
        stretch = stretch or self._stretch(0, 1)
        if name == "quote":
            return stretch
        words = first_words(stretch, 99) or ["this"]
        chosen = [words[(at + number) % len(words)] for at in range(self._typical.get(name, 6) - 1)]
        return " ".join([*chosen, str(number)])


def first_words(text: str, limit: int) -> list[str]:
    """Return at most so many words from the beginning of a text."""
    return [match.group() for match in islice(WORD.finditer(text), limit)]


def prose(sources: Sequence[str], words: int) -> str:
    """Return a text of `words` words, or fewer if there are no more, from all over its sources. Some words are left
    out, because a summary is no quote."""
    share = ceil(words / max(1, len(sources)))
    stretch = _WORDS_A_SENTENCE * _LEFT_OUT_OF // (_LEFT_OUT_OF - 1)
    chosen: list[str] = []
    for source in sources:
        all_words = WORD.findall(source)
        stretches = ceil(share / _WORDS_A_SENTENCE)
        # Where there are not more words than are needed, the stretches join.
        step = max(stretch, len(all_words) // stretches)
        spread = [word for at in range(stretches) for word in all_words[at * step :][:stretch]]
        chosen += [word for at, word in enumerate(spread, 1) if at % _LEFT_OUT_OF][:share]
    between = "" if is_unspaced("".join(chosen[:100])) else " "
    sentences: dict[str, None] = {}
    for at in range(0, min(words, len(chosen)), _WORDS_A_SENTENCE):
        part = chosen[at : min(words, at + _WORDS_A_SENTENCE)]
        sentence = sentence_of(part, between)
        # A repeated sentence looks like a loop, so it gets another first word.
        sentences[sentence_of([str(at), *part[1:]], between) if sentence in sentences else sentence] = None
    return between.join(sentences)


def sentence_of(words: Sequence[str], between: str = " ") -> str:
    """Return words as a sentence without immediate repetitions."""
    text = between.join(word for before, word in pairwise(["", *words]) if word.casefold() != before.casefold())
    return f"{text[:1].upper()}{text[1:]}." if between else f"{text}。"


def revise(inputs: revision.ReviseInput) -> str:
    """Return the summary with each point fixed: sentences are reworded or removed, missing content is added."""
    text = inputs.summary
    for point in inputs.points:
        words = first_words(point.sentence or f"{point.answer} {point.question}", _WORDS_A_SENTENCE)
        if not point.sentence or point.sentence not in text:
            # The same point gets another sentence in the next round.
            text = f"{text} {sentence_of([*words, str(count_words(text))])}"
        elif point.task not in ("remove", "drop"):
            text = text.replace(point.sentence, sentence_of([*words[1:], *words[:1]]), 1)
        elif len(rest := text.replace(point.sentence, "", 1).strip()) > len(text) // 2:
            text = rest
    if inputs.words and (surplus := count_words(text) - inputs.words) > 0:
        text = text[list(WORD.finditer(text))[surplus].start() :]
    return _with_points(inputs, text)


def edit(inputs: revision.EditInput) -> str:
    """Return the summary with two of three sentences written anew: the others are as good as they were."""
    unchanged = sentences_in(inputs.summary)[2::3]
    opening = f"{_EDITED[inputs.summary.startswith(_EDITED)]} {unchanged[0] if unchanged else ''}".strip()
    words = max(20, (inputs.words or inputs.length) - count_words(" ".join([opening, *unchanged[1:]])) - 2)
    # Sorted, as the order of the notes says what the draft lacks, and the second edit would else write all anew.
    texts = sorted(f"{item.answer} {item.question}" for item in inputs.must_know) or [inputs.summary]
    return _with_points(inputs, " ".join([opening, *unchanged[1:], prose(texts, words)]))


def _with_points(inputs: revision.ReviseInput | revision.EditInput, text: str) -> str:
    tags = Tags(inputs)
    lines = "".join(f"{tags.tag('points', point.id)}: fixed\n" for point in inputs.points)
    return f"<points>\n{lines}</points>\n<revision>\n{text}\n</revision>"


def choose(inputs: revision.ChooseInput) -> revision.DraftChoice:
    """Prefer a text that was edited once to one that never was; a second edit brings nothing."""
    edits = [text.startswith(_EDITED) for text in (inputs.first, inputs.second)]
    choice: Choice = "tie" if edits[0] == edits[1] else "first" if edits[0] else "second"
    reason = "One of them says more of what a reader must know, and says it where the reader needs it. " * 2
    return revision.DraftChoice(reason=reason, clear=choice, content=choice, overall=choice)


def ask_typed(inputs: qa.AskTypedInput) -> qa.TypedReply:
    """Return a question that fits its type, with an answer from the paragraph unless there must be none."""
    question = sentence_of([inputs.type, *first_words(inputs.excerpt, TYPICAL["question"])])
    reason = sentence_of(first_words(inputs.excerpt, TYPICAL["reason"])) if inputs.type == "binary" else ""
    words = {"binary": ["yes"], "unanswerable": []}.get(inputs.type, first_words(inputs.excerpt, TYPICAL["answer"]))
    return qa.TypedReply(question=question, answer=" ".join(words), reason=reason)


USUAL: Mapping[str, Handler] = {
    qa.ASK_TYPED.name: ask_typed,
    revision.REVISE.name: revise,
    revision.EDIT.name: edit,
    revision.CHOOSE_DRAFT.name: choose,
}
"""How prompts are usually answered whose replies take more than their schema."""
