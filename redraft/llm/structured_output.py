"""How a provider is asked for a structured reply, and the schema that goes out with a request."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel

from redraft.errors import UsageError
from redraft.llm.base import Request
from redraft.llm.reply_forms import ReplyShape
from redraft.prompts.contract import reply_schema
from redraft.prompts.tags import Tags
from redraft.settings import ReplyForm

Mode = Literal["json_schema", "tools", "plain"]

_BY_FORM: dict[ReplyForm, Mode] = {"schema": "json_schema", "tools": "tools", "plain": "plain"}
_MODES: tuple[Mode, ...] = ("tools", "plain")
_OPENAI_MODES: tuple[Mode, ...] = ("json_schema", *_MODES)
# A server that breaks down twice over one request may well break down over the way in which it is asked.
_FAULTS = 2
# How often each mode may be refused, with no structured reply in any, until nothing more is asked.
_ROUNDS = 2


def modes_for(form: ReplyForm | None, *, speaks_openai: bool) -> Sequence[Mode]:
    """The modes to try, in this order: the one that is asked for, or else all that the provider may know."""
    if form is None:
        return _OPENAI_MODES if speaks_openai else _MODES
    if form == "schema" and not speaks_openai:
        raise UsageError(
            "only models that speak OpenAI's protocol can be sent a schema", hint="use --replies tools or plain"
        )
    return (_BY_FORM[form],)


@dataclass(slots=True)
class _Trial:
    """A request on its way down: the mode that it began with, the one that it has come to, and the faults there."""

    began: int
    at: int
    faults: int = 0


class Modes:
    """The modes of one provider, of which the first that it takes is used.

    A request that is refused is tried in the next mode. As long as none was answered, all others begin there too; later
    only those of its shape do, if it is answered there and none of that shape was where it was refused.

    That a server answers is no proof that it does as it is asked: some take no notice of a schema. Until it has, the
    schema is said in words as well; and a mode in which a reply breaks the form is left for good.
    """

    def __init__(self, modes: Sequence[Mode]) -> None:
        self._modes = tuple(modes)
        self._begin = 0
        self._begin_of: dict[str, int] = {}
        self._answered: set[tuple[str, int]] = set()
        self._trials: dict[Hashable, _Trial] = {}
        self._refusals: set[tuple[Hashable, int]] = set()
        self._obeyed: set[Mode] = set()

    @property
    def begins(self) -> Mode:
        """The mode in which requests are made as a rule."""
        return self._modes[self._begin]

    def begin_with(self, mode: str | None) -> None:
        """Begin with the mode that has worked before, if it is one of these and nothing else is known yet."""
        if not self._answered and not self._begin and mode in self._modes:
            self._begin = self._modes.index(mode)

    def is_proven(self, mode: Mode) -> bool:
        """Whether a reply has come in this mode that was in its form to the letter."""
        return mode in self._obeyed

    def obeyed(self, mode: Mode) -> None:
        """Take note of such a reply. What is only said in words proves nothing of the server."""
        if mode != "plain":
            self._obeyed.add(mode)

    def broken(self, mode: Mode) -> bool:
        """Take note that a reply in this mode was not in the form; whether the next one is asked for in another."""
        if self.is_last(mode):
            return False
        self._begin = max(self._begin, self._modes.index(mode) + 1)
        return True

    @property
    def settled(self) -> bool:
        """Whether it is known what the provider takes."""
        return len(self._modes) == 1 or bool(self._answered)

    @property
    def hopeless(self) -> bool:
        """Whether every mode has been refused, more than once, and no structured reply has ever come."""
        return not self._answered and len(self._refusals) >= _ROUNDS * len(self._modes)

    def mode(self, shape: str, request: Hashable) -> Mode:
        """The mode in which a request for this shape is made."""
        return self._modes[self._at(shape, request)]

    def is_last(self, mode: Mode) -> bool:
        """Whether there is no other way left."""
        return mode == self._modes[-1]

    def _at(self, shape: str, request: Hashable) -> int:
        trial = self._trials.get(request)
        return max(self._begin, trial.at if trial else self._begin_of.get(shape, 0))

    def answered(self, shape: str, request: Hashable) -> None:
        """Take note that there was an answer."""
        at = self._at(shape, request)
        trial = self._trials.pop(request, None)
        if trial and (shape, trial.began) not in self._answered:
            self._begin_of[shape] = at
        self._answered.add((shape, at))

    def unknown(self, mode: Mode) -> None:
        """Never use a mode again: the provider has said in so many words that it does not know it."""
        self._begin = max(self._begin, self._modes.index(mode) + 1)

    def refused(self, shape: str, request: Hashable, *, fault: bool) -> bool:
        """Take note that there was none; whether another mode is now to be tried. One `fault` alone says nothing."""
        at = self._at(shape, request)
        trial = self._trials.setdefault(request, _Trial(at, at))
        trial.faults += fault
        if fault and trial.faults < _FAULTS:
            return False
        if not fault:
            # Another draw of the same text is refused for what is in that.
            self._refusals.add((request[0] if isinstance(request, tuple) else request, at))
        if at == len(self._modes) - 1:
            if not fault:
                del self._trials[request]
                # It may have been this one request, for which the others do not have to suffer.
                self._begin = self._begin if self._answered else 0
            return False
        trial.at, trial.faults = at + 1, 0
        if not self._answered:
            self._begin = max(self._begin, at + 1)
        return True


LIMITS, NAMES = "maxItems", "enum"
"""What a server may be told of one request alone: how long its lists are, and which items there are to be named."""


def whole(request: Request[Any, Any]) -> dict[str, Any]:
    """The schema with all that is in it; nothing for prose."""
    shape = request.prompt.returns
    return _whole(shape) if issubclass(shape, BaseModel) else {}


@cache
def _whole(shape: type[BaseModel]) -> dict[str, Any]:
    return shape.model_json_schema()


def said(request: Request[Any, Any]) -> str:
    """The schema as it stands in a prompt, the same for every request; nothing for prose."""
    shape = request.prompt.returns
    if not issubclass(shape, BaseModel):
        return ""
    return json.dumps(reply_schema(shape), ensure_ascii=False, separators=(",", ":"))


def called(request: Request[Any, Any], mode: Mode, takes: Collection[str]) -> dict[str, Any]:
    """The reply as the call of a function. Its lists are limited where the server `takes` that.

    Items are named where the schema is no part of the prompt: of a prompt servers keep what it begins with, as far as
    that stays the same, and functions stand before all of it.
    """
    form, to_the_letter = _form(request), mode == "json_schema"
    tool = convert_to_openai_tool(form.shape, strict=to_the_letter or None)
    function = tool["function"]
    if LIMITS in takes:
        function["parameters"] = form.limited(function["parameters"], request.given)
    if NAMES in takes and to_the_letter:
        function["parameters"] = form.named(function["parameters"])
    return tool


def longest(request: Request[Any, Any]) -> str:
    """The schema with all that it may hold; nothing for prose."""
    shape = request.prompt.returns
    if not issubclass(shape, BaseModel):
        return ""
    return json.dumps(_form(request).named(_form(request).limited(reply_schema(shape), request.given)))


def _form(request: Request[Any, Any]) -> ReplyShape:
    shape = request.prompt.returns
    assert issubclass(shape, BaseModel)
    return ReplyShape(shape, Tags(request.given))


# About as much is said around a complaint.
_COMPLAINT_BYTES = 200


def most_tokens_of(text: str) -> int:
    """The most tokens that a text can have by any vocabulary: one for each byte, also where it is normalized first."""
    return len(text) if text.isascii() else max(bytes_of(text), bytes_of(unicodedata.normalize("NFKC", text)))


def bytes_of(text: str) -> int:
    """The bytes that a text has when it is sent."""
    return len(text.encode("utf-8", "replace"))


def bytes_beside(request: Request[Any, Any]) -> int:
    """What goes out beside the prompt's text: the schema, which a repair repeats, and the reply to be repaired."""
    schema = whole(request)
    size = bytes_of(json.dumps(schema)) if schema else 0
    if request.complaint is None:
        return size
    return 2 * size + bytes_of(request.complaint.reply) + bytes_of(request.complaint.reason) + _COMPLAINT_BYTES
