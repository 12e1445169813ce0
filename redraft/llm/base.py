"""The interface between redraft and language models: a request goes in, a typed reply comes out; fakes for tests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from inspect import isawaitable
from pkgutil import resolve_name
from typing import Any, Generic, Protocol, cast

from pydantic import BaseModel

from redraft.domain import Usage
from redraft.errors import ModelError
from redraft.llm.replies import NoValueError, read_value
from redraft.prompts.contract import InputT, Prompt, ValueT

# How much of a rejected reply is sent back.
_HEAD, _TAIL = 6_000, 2_000
TRUNCATED = "broken_off"
"""The finish reason of a reply that was cut off, but whose earlier list entries are complete."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a reply is sampled; all of it but `max_tokens` is part of the reply's cache key."""

    temperature: float = 0.5
    max_tokens: int | None = None
    """The most tokens of visible reply; the model adds room for its reasoning."""
    sample: int = 0
    """Different numbers produce different replies to the same question."""
    top_p: float | None = None
    """The nucleus sampling mass; None leaves that to the model."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """An earlier reply that could not be used, and why; sent along with the repeated request."""

    reply: str
    reason: str

    @classmethod
    def about(cls, reply: str, reason: str) -> Complaint:
        """Return a complaint about a reply; a long one is shortened to its beginning and end."""
        if (left_out := len(reply) - _HEAD - _TAIL) > 0:
            reply = f"{reply[:_HEAD]}\n[{left_out:,} characters left out]\n{reply[-_TAIL:]}"
        return cls(reply, reason)


@dataclass(frozen=True, slots=True)
class Request(Generic[InputT, ValueT]):
    """One question to a model; `label` names the place in the run, for the ledger and for errors."""

    prompt: Prompt[InputT, ValueT]
    given: InputT
    sampling: Sampling = Sampling()
    label: str = ""
    complaint: Complaint | None = None
    text: str = ""
    """The rendered prompt, so that the same text is sent and recorded."""
    most_tokens: int | None = None
    """The most completion tokens reserved for the reply: no higher limit is sent."""
    mode: str | None = None
    """The structured-output mode that worked with this model before."""


@dataclass(frozen=True, slots=True)
class Reply(Generic[ValueT]):
    """A model's answer: the typed value, and the text it was read from."""

    value: ValueT
    text: str
    usage: Usage
    finish_reason: str = "stop"
    cached: bool = False
    repaired: bool = False
    """Whether a second request was needed because the first reply could not be read."""
    mode: str | None = None
    """The structured-output mode with which the next run should begin."""
    odd: tuple[str, ...] = ()
    """Irregularities of the response, such as an answer by another model."""
    answered_by: str = ""
    """The model that the provider says has answered."""

    @property
    def is_truncated(self) -> bool:
        """Return whether the value has only the first entries of a reply that was cut off."""
        return self.finish_reason == TRUNCATED


class Model(Protocol):
    """A language model. Implementations raise only `ModelError`s when they cannot answer.

    One that learns how long its reasoning is has the `reasoning_tokens` of the longest, and `expect_reasoning(tokens)`,
    which sets that of earlier runs; one with a cache has `withdraw(request, reason)`, which removes a reply from it."""

    @property
    def identity(self) -> str:
        """Return the provider, name, address and version, which identify this model's replies."""
        ...

    def most_tokens(self, sampling: Sampling) -> int:
        """Return the most completion tokens that a reply may be billed for, reasoning included."""
        ...

    async def ask(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        """Answer a request."""
        ...


class LazyModel:
    """A `Model` that is opened by the function of this name when more than its identity is asked for."""

    def __init__(self, identity: str, opening: str, *arguments: object, **named: object) -> None:
        self.identity = identity
        self._opening = opening, arguments, named

    def __getattr__(self, name: str) -> Any:
        """Return what the model itself has."""
        return getattr(self.model, name)

    @cached_property
    def model(self) -> Model:
        """Open the model."""
        opening, arguments, named = self._opening
        return cast("Model", resolve_name(opening)(*arguments, **named))


Line = str | BaseModel | ModelError


class ScriptError(AssertionError):
    """A script that does not match the requests; the test is wrong, so no run may handle it."""


class FunctionModel:
    """Answers with what a function, async or not, returns for each request: a value of the type that its prompt
    returns, a text, which is read as a model's reply is, or an error to raise."""

    def __init__(
        self, function: Callable[[Request[Any, Any]], Line | Awaitable[Line]], identity: str = "function"
    ) -> None:
        self.identity = identity
        self.asked: list[Request[Any, Any]] = []
        self._function = function

    def most_tokens(self, sampling: Sampling) -> int:
        """Return the limit of a reply."""
        return sampling.max_tokens or 0

    async def ask(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        """Record the request, and answer it."""
        self.asked.append(request)
        line = self._function(request)
        if isawaitable(line):
            line = await line
        if isinstance(line, ModelError):
            raise line
        shape, reason, value = request.prompt.returns, "", line
        if isinstance(line, str) and issubclass(shape, BaseModel):
            try:
                value = read_value(line, shape, request.given)
            except NoValueError as error:
                reason = f": {error}"
        if not isinstance(value, shape):
            asked = f"the prompt {request.prompt.name} is answered with a {shape.__name__}"
            raise ScriptError(f"{asked}, not with {line!r:.80}{reason}")
        text = line.model_dump_json() if isinstance(line, BaseModel) else str(line)
        return Reply(cast("ValueT", value), text, Usage(0, len(text.split())))


class ScriptedModel(FunctionModel):
    """Returns the lines of a script, one per request; an exhausted script fails the test."""

    def __init__(self, script: Iterable[Line], identity: str = "scripted") -> None:
        lines = iter(script)

        def next_line(request: Request[Any, Any]) -> Line:
            for line in lines:
                return line
            raise ScriptError(f"the script is exhausted; asked for {request.prompt.name} ({request.label})")

        super().__init__(next_line, identity)
