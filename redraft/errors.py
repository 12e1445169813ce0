"""All errors of redraft: a code, a sentence that is the same for all, and the next step, which each door words."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from traceback import walk_tb
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Set:
    """A setting by the name of its field, with the value that it should have; without one, the setting itself."""

    name: str
    value: Any = None


@dataclass(frozen=True, slots=True)
class Raise:
    """A higher limit: what it should be at least, and by how much the next call may exceed it."""

    name: str
    value: float | None = None
    step: float = 0


@dataclass(frozen=True, slots=True)
class RunCommand:
    """What the command line does by a command, such as `RunCommand("resume", run)`; `more` are further words of it."""

    command: str
    run: str = ""
    more: tuple[str, ...] = ()


Fix = Set | Raise | RunCommand
Advice = str | Fix | Sequence[str | Fix]
"""The next step: words, with values for what each door calls differently."""
_KINDS: Mapping[str, Callable[..., Fix]] = {kind.__name__.lower(): kind for kind in (Set, Raise, RunCommand)}
LIMITS = frozenset(("concurrency", "deadline", "longest_wait", "max_calls", "max_cost", "timeout", "tries"))
LIMITS |= {"requests_per_minute", "tokens_per_minute"}
_NAMES_IN_PYTHON = {"judge_base_url": "JudgeConfig.base_url", "max_source": "max_bytes", "db": "store"}
_LISTS = frozenset({"judges", "metrics", "goals"})
_CALLS = {
    "resume": "await session.resume({})",
    "show": "await session.result({})",
    "trace": "redraft.read_trace(session.store, {})",
    "lineage": "await session.lineage({})",
    "fork": "await session.fork({})",
    "runs": "await session.runs()",
    "keyfacts": 'await session.build(source, "keyfacts")',
    "pack build": "await session.build(source)",
    "compare": "await session.compare(source, first, second)",
    "ask": "await session.ask(source, question)",
    "batch resume": "await redraft.resume_batch(session, name)",
    "pack list": "session.store.packs.all()",
    "models": "redraft.llm.addresses.local_servers()",
}
"""The call that does in Python what a command does."""


class Door:
    """How the next step is worded for whoever came in by this door: here for programs, in Python."""

    awaits = True
    """Whether the program awaits its calls."""

    def render(self, advice: Iterable[str | Fix]) -> str:
        """Return the words of a next step."""
        phrases = []
        for part in advice:
            match part:
                case str():
                    phrases.append(part)
                case Set(name, value):
                    phrases.append(self.setting(name, value))
                case Raise(name, value):
                    phrases.append(self.limit(name, value))
                case RunCommand(command, run, more):
                    phrases.append(self.command(command, run, more))
        return "".join(phrases)

    def limit(self, name: str, value: float | None) -> str:
        """Return a limit that has to be raised."""
        return f"a higher {self.setting(name, None)}" if value is None else self.setting(name, value)

    def setting(self, name: str, value: object) -> str:
        """Return a setting with its value; without one, its name."""
        if value is None:
            return f"`{f'Limits.{name}' if name in LIMITS else _NAMES_IN_PYTHON.get(name, name)}`"
        if name in LIMITS:
            return f"limits=Limits({name}={value:g})" if isinstance(value, float) else f"limits=Limits({name}={value})"
        if name == "db":
            return f"Session({value!r})"
        if name in ("base_url", "key_env"):
            return f"settings=DraftConfig({name}={value!r})"
        return f"{name}=[{value!r}]" if name in _LISTS else f"{name}={value!r}"

    def command(self, command: str, run: str, more: Sequence[str]) -> str:
        """Return the call that does what a command does; the command itself where there is none."""
        if command not in _CALLS:
            return f"`{' '.join(filter(None, ('redraft', command, run, *more)))}`"
        numbers = [word for word in more if word.isdecimal()]
        call = _CALLS[command] if self.awaits else _CALLS[command].removeprefix("await ")
        return f"`{call.format(', '.join([repr(run) if run else 'run', *numbers]))}`"


PYTHON, BLOCKING = Door(), Door()
BLOCKING.awaits = False


def choose(options: Sequence[str], wrong: str) -> str:
    """Return the next step where something that is none of the options was named: the nearest, or all of them."""
    near = get_close_matches(wrong, options, 1)
    return f"did you mean {near[0]}?" if near else f"choose from: {', '.join(options)}"


def parts_of(advice: Advice) -> tuple[str | Fix, ...]:
    """Return a next step as a sequence of words and values."""
    parts = (advice,) if isinstance(advice, str | Fix) else tuple(advice)
    return tuple(part for part in parts if part != "")


def stored_advice(error: Mapping[str, Any]) -> tuple[str | Fix, ...]:
    """Return the next step of a stored error: its hint where a part is of a kind that this version does not know."""
    advice: list[str | Fix] = []
    for part in error.get("fix", ()):
        if isinstance(part, str):
            advice.append(part)
        elif kind := _KINDS.get(part["kind"]):
            fields = {name: value for name, value in part.items() if name != "kind"}
            advice.append(kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}))
        else:
            advice.clear()
            break
    return tuple(advice) or parts_of(error.get("hint", ""))


def stored_error(error: BaseException) -> dict[str, Any]:
    """Return any error as it is stored and shown in JSON; one that is none of ours is a bug."""
    if isinstance(error, RedraftError):
        return error.stored
    return {"code": "bug", "message": f"{type(error).__name__}: {error}", "hint": "please report it"}


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call or run consumed."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_prompt_tokens: int = 0
    reasoning_tokens: int = 0
    reported: bool = True
    """False where the provider reported no usage and the figures are estimates."""


class RedraftError(RuntimeError):
    """The base class of all errors. `code` is stable, `place` names the document, chunk or prompt, `hint` is the next
    step in one sentence, in Python, and `retryable` says whether the same request may succeed later. `run` is the id of
    the run that it ended, which `resume` continues; empty if there is none yet. `fix` is the next step as words and
    values, such as `Raise("max_cost")`, which the command line, the pages and the tools word in their own way.
    LangGraph's server shows its clients the message of a `RuntimeError`, and hides that of an unknown `Exception`."""

    code = "failed"
    retryable = False
    run = ""
    door = PYTHON
    """Words `hint`: in calls to await, or for a synchronous session in calls that block."""

    def __init_subclass__(cls, *, code: str = "", retryable: bool = False) -> None:
        """Give a kind of errors its code: `class Busy(RedraftError, code="busy", retryable=True)`."""
        super().__init_subclass__()
        cls.code, cls.retryable = code or cls.code, retryable or cls.retryable

    def __init__(self, message: str, *, place: str = "", hint: str = "", fix: Advice = ()) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.fix = parts_of(fix) or parts_of(hint)
        if self.fix:
            # For whoever reads a traceback.
            self.add_note(self.hint)

    @property
    def hint(self) -> str:
        """The next step, for programs; empty if there is none."""
        return self.door.render(self.fix)

    @property
    def codes(self) -> tuple[str, ...]:
        """Its code, and those of the kinds of errors that it is one of, the most special first."""
        kinds = [kind.code for kind in type(self).__mro__ if issubclass(kind, RedraftError)]
        return tuple(dict.fromkeys([self.code, *kinds]))

    @property
    def stored(self) -> dict[str, Any]:
        """The error as it is stored and shown in JSON: `hint` words the next step in Python; `fix` is there
        if it has values that others word in another way."""
        words = {"code": self.code, "message": str(self), "hint": self.hint}
        if all(isinstance(part, str) for part in self.fix):
            return words
        fix = [
            part if isinstance(part, str) else {"kind": type(part).__name__.lower(), **asdict(part)}
            for part in self.fix
        ]
        return {**words, "fix": fix}

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message

    def advised(self, *fix: str | Fix) -> Self:
        """Return this error with another next step."""
        self.fix = parts_of(fix)
        self.__notes__ = [self.hint]
        return self

    def worded(self, door: Door) -> Self:
        """Return this error with its next step in the words of another door."""
        self.door = door
        return self.advised(*self.fix) if self.fix else self

    def __reduce__(self) -> tuple[Any, ...]:
        # Other processes get errors as well, whatever the arguments of their classes are.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]

    def trimmed(self) -> Self:
        """Return this error with a short traceback: the user's own frames, and of those within redraft and the packages
        that it runs on the last three."""
        frames = list(walk_tb(self.__traceback__))
        short: TracebackType | None = None
        for frame, line in reversed(frames):
            package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
            if package not in _INTERNAL or (frame, line) in frames[-3:]:
                short = TracebackType(short, frame, frame.f_lasti, line)
        return self.with_traceback(short)


_INTERNAL = frozenset({"redraft", "langgraph", "langchain_core", "asyncio", "concurrent", "contextlib"})


class UsageError(RedraftError, code="usage"):
    """Invalid input: a bad option or an impossible combination. `field` names the setting that is wrong, if it is one,
    with a dot before what is in it, such as `goals.coverage`, and `problem` says what is wrong with it."""

    def __init__(self, message: str, *, place: str = "", hint: str = "", fix: Advice = (), field: str = "") -> None:
        super().__init__(f"{field}: {message}" if field else message, place=place, hint=hint, fix=fix)
        self.field = field
        self.problem = message


class DocumentError(RedraftError, code="document"):
    """The source cannot be read as text."""


class PromptError(RedraftError, code="prompt"):
    """A template does not fit its prompt."""


class PlanError(RedraftError, code="plan"):
    """The document, the limits and the context window do not fit together."""


class NotShrinkingError(RedraftError, code="not_shrinking"):
    """A level of the summary tree is not shorter than the one below it."""


class IncompleteError(RedraftError, code="incomplete"):
    """No part of the document could be summarized."""


class NoAnswerError(IncompleteError, code="nothing_said"):
    """The document says nothing about the question, although all of it was read."""


class BudgetError(RedraftError, code="budget"):
    """The next call could exceed the limit of cost or of calls."""


class DeadlineError(BudgetError, code="deadline"):
    """The run, or a call that waits for it, took longer than allowed."""


class JudgingError(RedraftError, code="judging"):
    """Drafts cannot be judged, since no questions or key facts could be built."""


class PackError(RedraftError, code="pack"):
    """A pack is missing, invalid, or about another document."""


class StoreError(RedraftError, code="store"):
    """The database cannot be read or written."""


class StoreLost(StoreError, code="store_lost"):
    """The connection to the database server was lost. A retry may succeed."""


class CheckpointError(StoreError, code="checkpoint"):
    """The checkpoint of a run is damaged, or was not written by redraft. Nothing else is lost."""


class RunError(RedraftError, code="run"):
    """There is no such run, or it is in the wrong state."""


class ModelError(RedraftError, code="model"):
    """A call to a model failed. `status` is the HTTP status, if there was a response; `__cause__` is the provider's own
    exception, without keys."""

    status: int | None = None


class ProviderError(ModelError, code="provider"):
    """The provider rejects all requests: a wrong key, model, address, or nothing left to spend."""


class KeyRejected(ProviderError, code="key"):
    """The provider does not accept the key, or the key may not use this model."""


class UnknownModel(ProviderError, code="unknown_model"):
    """The provider has no model of this name."""


class QuotaExhausted(ProviderError, code="quota"):
    """The account has nothing left to spend."""


class RateLimited(ModelError, code="rate_limited", retryable=True):
    """The provider's rate limit was exceeded. `retry_after` are the seconds that it asks to wait, if it names any."""

    def __init__(self, message: str, *, retry_after: float | None = None, place: str = "") -> None:
        super().__init__(message, place=place)
        self.retry_after = retry_after


class TransientError(ModelError, code="transient", retryable=True):
    """A timeout, dropped connection or server error: a retry may succeed."""


class TimedOut(TransientError, code="timed_out"):
    """The model did not answer within the time limit of a request."""


class ServerUnreachable(TransientError, code="unreached"):
    """No server listens at the provider's address; nothing was sent."""


class OversizeReply(TransientError, code="oversize"):
    """The response exceeds the size limit."""


class CapabilityError(ModelError, code="unsupported", retryable=True):
    """The provider does not support a feature of the request. The next request does without it."""


class RejectedRequest(ModelError, code="rejected"):
    """The provider rejects this request for its content or length."""

    too_long = False
    """Whether it is for its length."""


class ReplyError(ModelError, code="reply"):
    """The model's reply cannot be used. Carries the reply and its usage."""

    finish_reason = ""
    late = False
    """Whether time ran out, so that a longer reply would not fit either."""
    loops = False
    """Whether it repeats itself endlessly."""

    def __init__(
        self, message: str, *, text: str, usage: Usage, finish_reason: str = "", place: str = "", fix: Advice = ()
    ) -> None:
        super().__init__(message, place=place, fix=fix)
        self.text = text
        self.usage = usage
        self.finish_reason = finish_reason or self.finish_reason

    @property
    def cut(self) -> bool:
        """Return whether the reply was cut off."""
        return self.finish_reason == "length"

    @property
    def needs_more_tokens(self) -> bool:
        """Return whether more room, or asking for less, may help; it does not where it was reasoning that ended."""
        return self.cut and not isinstance(self, TruncatedReasoning)


class UnreadableReply(ReplyError, code="unreadable"):
    """The reply does not fit its schema."""

    formless = False
    """Whether it ignores the schema altogether, as if the server had not applied it."""
    nameless = False
    """Whether its only fault is that it names none of the items."""
    moved = False
    """Whether the next request uses another structured-output mode."""


class TruncatedReply(ReplyError, code="cut"):
    """The reply was cut off at its token limit."""

    finish_reason = "length"


class LateReply(TruncatedReply, code="late"):
    """The reply did not finish within the time limit; a shorter one may."""

    late = True


class TruncatedReasoning(TruncatedReply, code="cut_thought"):
    """The model used up its tokens for reasoning. `retryable` where the next request gets more room for it."""


class EmptyReply(ReplyError, code="empty"):
    """The model returned an empty text."""


class RefusedReply(ReplyError, code="refused"):
    """The model declined to answer, or the provider's filter stopped it."""
