"""The one seam between redraft and whatever answers: a request goes in, a typed reply comes out."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, Protocol, runtime_checkable

from redraft.domain import Usage
from redraft.prompts.contract import Given_, Prompt, Value_

# The characters of a reply that is complained of that are sent back.
_HEAD, _TAIL = 6_000, 2_000
ATTEMPT: ContextVar[str] = ContextVar("attempt", default="")
"""The key of the request in the ledger, and the number of the attempt: `KEY-1`."""
BROKEN_OFF = "broken_off"
"""The finish reason of a reply that was cut off at its limit, and of whose list the entries before that are whole."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a reply is drawn. All of it is part of what identifies a reply in the cache."""

    temperature: float = 0.5
    max_tokens: int | None = None
    """The most tokens of visible reply; room to reason is added by the model that needs it."""
    sample: int = 0
    """Draws with different numbers are different replies to the same question."""
    top_p: float | None = None
    """The share of the likeliest words that are drawn from; None leaves that to the model."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """An earlier reply that could not be used, and why: sent along when asking once more."""

    reply: str
    reason: str

    @classmethod
    def about(cls, reply: str, reason: str) -> Complaint:
        """A complaint about a reply of any length: of a long one, how it begins and ends."""
        left_out = len(reply) - _HEAD - _TAIL
        if left_out > 0:
            reply = f"{reply[:_HEAD]}\n[{left_out:,} characters left out]\n{reply[-_TAIL:]}"
        return cls(reply, reason)


@dataclass(frozen=True, slots=True)
class Request(Generic[Given_, Value_]):
    """One question to a model. `label` names the place in the run, for the ledger and for errors."""

    prompt: Prompt[Given_, Value_]
    given: Given_
    sampling: Sampling = Sampling()
    label: str = ""
    complaint: Complaint | None = None
    text: str = ""
    """The prompt filled in. Whoever records the request renders it, once: what is sent is what was recorded."""
    most_tokens: int | None = None
    """The most completion tokens that are booked for the reply: no higher limit is sent, whatever is learned since."""
    mode: str | None = None
    """The way of asking for a structured reply that has worked with this model before."""


@dataclass(frozen=True, slots=True)
class Reply(Generic[Value_]):
    """A model's answer: the typed value, and the text it was read from."""

    value: Value_
    text: str
    usage: Usage
    finish_reason: str = "stop"
    cached: bool = False
    repaired: bool = False
    """Whether it took a second request, because the first reply could not be read."""
    mode: str | None = None
    """The way of asking for a structured reply with which the next run is to begin."""
    odd: tuple[str, ...] = ()
    """What was odd in what it came in, such as that another model has answered."""

    @property
    def broken_off(self) -> bool:
        """Whether the value has no more than the first entries of what would have been the reply."""
        return self.finish_reason == BROKEN_OFF


class Model(Protocol):
    """Who answers. Implementations raise `ModelError`s, and nothing else, when they cannot."""

    @property
    def identity(self) -> str:
        """What tells this model's replies from another's: provider, name, address, version."""
        ...

    def most_tokens(self, sampling: Sampling) -> int:
        """The most completion tokens that a reply may be billed for, room to reason included."""
        ...

    async def ask(self, request: Request[Given_, Value_]) -> Reply[Value_]: ...


@runtime_checkable
class Withdrawable(Protocol):
    """A model that remembers its replies, and can be told that one was no answer."""

    async def withdraw(self, request: Request[Any, Any], reason: str) -> None:
        """Keep the reply to a request on record as refused: who asks the same again asks the model."""
        ...


@runtime_checkable
class ReasoningModel(Protocol):
    """A model of which it is learned how much it thinks."""

    @property
    def thought(self) -> int:
        """The tokens of the longest thought that is known of."""
        ...

    def expect(self, thought: int) -> None:
        """Take note of how long it has thought before."""
        ...


class LateModel:
    """A `Model` of which no more than the identity is known until somebody asks it."""

    def __init__(self, identity: str, opening: Callable[[], Model]) -> None:
        self.identity = identity
        self._opening = opening
        self._opened: Model | None = None
        self._expected = 0

    @property
    def thought(self) -> int:
        """As the model itself has it, once it is open."""
        return self._opened.thought if isinstance(self._opened, ReasoningModel) else self._expected

    def expect(self, thought: int) -> None:
        """Take note of it for when the model is opened."""
        self._expected = thought

    def most_tokens(self, sampling: Sampling) -> int:
        """As the model itself has it."""
        return self._model().most_tokens(sampling)

    async def ask(self, request: Request[Given_, Value_]) -> Reply[Value_]:
        return await self._model().ask(request)

    def _model(self) -> Model:
        if self._opened is None:
            self._opened = self._opening()
            if isinstance(self._opened, ReasoningModel):
                self._opened.expect(self._expected)
        return self._opened
