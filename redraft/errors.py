"""All errors of redraft: a code, a sentence, and the next step in the words of Python or of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_LIMITS = frozenset({"concurrency", "requests_per_minute", "tokens_per_minute", "max_cost", "max_calls", "timeout"})
_VALUED = {
    "db": "Session({})",
    "judge": "judges=[{}]",
    "judge_base_url": "JudgeConfig(base_url={})",
    "max_source": "max_bytes={}",
    "metric": "metrics=[{}]",
    "prices": "prices=redraft.price_table(path)",
    "replies": "ModelSettings(replies={})",
}
_BARE = {
    "db": "store",
    "goal": "goals",
    "judge": "judges",
    "judge_base_url": "JudgeConfig.base_url",
    "max_source": "max_bytes",
    "metric": "metrics",
    "no_token": "guarded=False",
    "replies": "ModelSettings.replies",
}
"""How Python names a setting whose option has another name, with a value and without."""
_FLAGS = frozenset({"by_chapter", "review", "partial", "second_look"})
_COMMANDS = {
    "resume": "await session.resume({})",
    "show": "await session.result({})",
    "trace": "redraft.read_trace(session.store, {})",
    "lineage": "await session.lineage({})",
    "runs": "session.store.runs.latest(20)",
    "keyfacts": 'await session.build(source, "keyfacts")',
    "pack build": "await session.build(source)",
    "compare-runs": "redraft.read_comparison(session.store, runs)",
    "compare": "await session.compare(source, first, second)",
    "ask": "await session.ask(source, question)",
    "batch resume": "await redraft.resume_batch(session, name)",
    "pack list": "session.store.packs.all()",
}
_RUN = r"[0-9a-f]{8}\b|RUN\b"
_COMMAND = re.compile(
    rf"`redraft (?P<verb>{'|'.join(_COMMANDS)})(?: (?P<run>{_RUN}))?[^`]*`(?: the run\b)?"
    rf"|\bredraft (?P<bare>resume|show|trace) (?P<of>{_RUN})"
)
# A value is a number, an address, a placeholder, or the name of a metric, a model, prompts or a form of replies.
_VALUE = (
    r"\d[\d.,]*(?<![.,])|[a-z]+://\S+\b|[A-Z][A-Z|]*\b|[a-z]+:[\w.-]+|(?:extractive|local|simple|tools|plain|true|false)\b"
    r"|(?<=metric )\w+"
)
# Options of pip and of pytest stay as they are, and so do those of commands that have no counterpart.
_OPTION = re.compile(
    rf"`redraft [^`]*`|(?<![\w-])--(?!upgrade\b|redraft-)(?:set (?=[a-z]))?(?P<name>[a-z][a-z_-]*[a-z])"
    rf"(?:[ =](?P<value>{_VALUE}))?"
)
_OF_THE_SHELL = ", or use - for stdin"
_on_command_line = False


@contextmanager
def for_command_line() -> Iterator[None]:
    """Word errors for the command line in this process."""
    global _on_command_line
    before, _on_command_line = _on_command_line, True
    try:
        yield
    finally:
        _on_command_line = before


def for_reader(text: str) -> str:
    """Return the message or hint of an error for whoever reads it in this process."""
    return text if _on_command_line else for_python(text)


def for_python(text: str) -> str:
    """Return a message or hint with settings and next steps as Python has them."""
    text = text.replace(_OF_THE_SHELL, "")
    return _OPTION.sub(_setting, _COMMAND.sub(_call, text)) if "--" in text or "redraft " in text else text


def _call(found: re.Match[str]) -> str:
    verb, run = found["verb"] or found["bare"], found["run"] or found["of"]
    return f"`{_COMMANDS[verb].format('run' if run in (None, 'RUN') else repr(run))}`"


def _setting(found: re.Match[str]) -> str:
    if not found["name"]:
        return found[0]
    name, value = found["name"].replace("-", "_"), found["value"] or ""
    flag = name.removeprefix("no_")
    if flag in _FLAGS:
        it = f"{flag}={value != 'false' and not name.startswith('no_')}"
        after = f" {value}" if value not in ("", "true", "false") else ""
        return (f"limits=Limits({it})" if name in _LIMITS else it) + after
    if not value:
        return f"`{f'Limits.{name}' if name in _LIMITS else _BARE.get(name, name)}`"
    if value.isupper():
        value = "..."
    elif not value[0].isdigit():
        value = repr(value)
    else:
        value = value.replace(",", "")
    if name in _LIMITS:
        return f"limits=Limits({name}={value})"
    return _VALUED.get(name, name + "={}").format(value)


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
    step in one sentence, and `retryable` says whether the same request may succeed later. Message and hint name
    settings as Python does, and within the `redraft` command as the command line does. LangGraph's server shows its
    clients the message of a `RuntimeError`, and hides that of an unknown `Exception`."""

    code = "failed"
    retryable = False

    def __init__(self, message: str, *, place: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.hint = hint
        if hint:
            # For whoever reads a traceback.
            self.add_note(for_python(hint))

    @property
    def message(self) -> str:
        """What went wrong, in one sentence."""
        return for_reader(self._message)

    @message.setter
    def message(self, message: str) -> None:
        self._message = message

    @property
    def hint(self) -> str:
        """The next step; empty if there is none."""
        return for_reader(self._hint)

    @hint.setter
    def hint(self, hint: str) -> None:
        self._hint = hint

    @property
    def cli_text(self) -> tuple[str, str]:
        """The place with the message, and the hint, with settings as the command line names them."""
        return f"{self.place}: {self._message}" if self.place else self._message, self._hint

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class UsageError(RedraftError):
    """Invalid input: a bad option or an impossible combination."""

    code = "usage"


class DocumentError(RedraftError):
    """The source cannot be read as text."""

    code = "document"


class PromptError(RedraftError):
    """A template does not fit its prompt."""

    code = "prompt"


class PlanError(RedraftError):
    """The document, the limits and the context window do not fit together."""

    code = "plan"


class NotShrinkingError(RedraftError):
    """A level of the summary tree is not shorter than the one below it."""

    code = "not_shrinking"


class IncompleteError(RedraftError):
    """No part of the document could be summarized."""

    code = "incomplete"


class NoAnswerError(IncompleteError):
    """The document says nothing about the question, although all of it was read."""

    code = "nothing_said"


class BudgetError(RedraftError):
    """The next call could exceed --max-cost or --max-calls."""

    code = "budget"


class JudgingError(RedraftError):
    """Drafts cannot be judged, since no questions or key facts could be built."""

    code = "judging"


class PackError(RedraftError):
    """A pack is missing, invalid, or about another document."""

    code = "pack"


class StoreError(RedraftError):
    """The database cannot be read or written."""

    code = "store"


class StoreLost(StoreError):
    """The connection to the database server was lost. A retry may succeed."""

    code = "store_lost"


class CheckpointError(StoreError):
    """The checkpoint of a run is damaged, or was not written by redraft. Nothing else is lost."""

    code = "checkpoint"


class RunError(RedraftError):
    """There is no such run, or it is in the wrong state."""

    code = "run"


class ModelError(RedraftError):
    """A call to a model failed."""

    code = "model"


class ProviderError(ModelError):
    """The provider rejects all requests or cannot be reached: key, address, model name, quota."""

    code = "provider"


class RateLimited(ModelError):
    """The provider's rate limit was exceeded."""

    code = "rate_limited"
    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None, place: str = "") -> None:
        super().__init__(message, place=place)
        self.retry_after = retry_after


class TransientError(ModelError):
    """A timeout, dropped connection or server error: a retry may succeed."""

    code = "transient"
    retryable = True


class TimedOut(TransientError):
    """The model did not answer within the time limit of a request."""

    code = "timed_out"


class ServerUnreachable(TransientError):
    """No server listens at the provider's address; nothing was sent."""

    code = "unreached"


class OversizeReply(TransientError):
    """The response exceeds the size limit."""

    code = "oversize"


class CapabilityError(ModelError):
    """The provider does not support a feature of the request. The next request does without it."""

    code = "unsupported"
    retryable = True


class RejectedRequest(ModelError):
    """The provider rejects this request for its content or length."""

    code = "rejected"

    def __init__(self, message: str, *, place: str = "", hint: str = "", too_long: bool = False) -> None:
        super().__init__(message, place=place, hint=hint)
        self.too_long = too_long


class ReplyError(ModelError):
    """The model's reply cannot be used. Carries the reply and its usage."""

    code = "reply"
    late = False
    """Whether time ran out, so that a longer reply would not fit either."""
    loops = False
    """Whether it repeats itself endlessly."""

    def __init__(
        self, message: str, *, text: str, usage: Usage, finish_reason: str = "", place: str = "", hint: str = ""
    ) -> None:
        super().__init__(message, place=place, hint=hint)
        self.text = text
        self.usage = usage
        self.finish_reason = finish_reason

    @property
    def cut(self) -> bool:
        """Return whether the reply was cut off."""
        return self.finish_reason == "length"

    @property
    def needs_fewer_items(self) -> bool:
        """Return whether more room would not help, but asking for less may."""
        return self.late or self.loops

    @property
    def needs_more_tokens(self) -> bool:
        """Return whether more room, or asking for less, may help."""
        return self.cut


class UnreadableReply(ReplyError):
    """The reply does not fit its schema."""

    code = "unreadable"
    formless = False
    """Whether it ignores the schema altogether, as if the server had not applied it."""
    nameless = False
    """Whether its only fault is that it names none of the items."""
    moved = False
    """Whether the next request uses another structured-output mode."""


class TruncatedReply(ReplyError):
    """The reply was cut off at its token limit."""

    code = "cut"

    def __init__(self, message: str, *, text: str, usage: Usage, place: str = "", hint: str = "") -> None:
        super().__init__(message, text=text, usage=usage, finish_reason="length", place=place, hint=hint)


class LateReply(TruncatedReply):
    """The reply did not finish within the time limit; a shorter one may."""

    code = "late"
    late = True


class TruncatedReasoning(TruncatedReply):
    """The model used up its tokens for reasoning. `retryable` where the next request gets more room for it."""

    code = "cut_thought"

    def __init__(
        self, message: str, *, text: str, usage: Usage, place: str = "", hint: str = "", retryable: bool = False
    ) -> None:
        super().__init__(message, text=text, usage=usage, place=place, hint=hint)
        self.retryable = retryable

    @property
    def needs_more_tokens(self) -> bool:
        """Return False: the reply itself is not too long."""
        return False


class EmptyReply(ReplyError):
    """The model returned an empty text."""

    code = "empty"


class RefusedReply(ReplyError):
    """The model declined to answer, or the provider's filter stopped it."""

    code = "refused"
