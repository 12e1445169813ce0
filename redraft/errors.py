"""All errors of redraft: a code for programs, a sentence for people, and the next step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redraft.wording import in_python, worded

if TYPE_CHECKING:
    from redraft.domain import Usage


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
            self.add_note(in_python(hint))

    @property
    def message(self) -> str:
        """What went wrong, in one sentence."""
        return worded(self._message)

    @message.setter
    def message(self, message: str) -> None:
        self._message = message

    @property
    def hint(self) -> str:
        """The next step; empty if there is none."""
        return worded(self._hint)

    @hint.setter
    def hint(self, hint: str) -> None:
        self._hint = hint

    @property
    def as_written(self) -> tuple[str, str]:
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


class NothingSaidError(IncompleteError):
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
    def fills_any_room(self) -> bool:
        """Return whether more room would not help, but asking for less may."""
        return self.late or self.loops

    @property
    def wants_room(self) -> bool:
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


class CutReply(ReplyError):
    """The reply was cut off at its token limit."""

    code = "cut"

    def __init__(self, message: str, *, text: str, usage: Usage, place: str = "", hint: str = "") -> None:
        super().__init__(message, text=text, usage=usage, finish_reason="length", place=place, hint=hint)


class LateReply(CutReply):
    """The reply did not finish within the time limit; a shorter one may."""

    code = "late"
    late = True


class CutThought(CutReply):
    """The model used up its tokens for reasoning. `retryable` where the next request gets more room for it."""

    code = "cut_thought"

    def __init__(
        self, message: str, *, text: str, usage: Usage, place: str = "", hint: str = "", retryable: bool = False
    ) -> None:
        super().__init__(message, text=text, usage=usage, place=place, hint=hint)
        self.retryable = retryable

    @property
    def wants_room(self) -> bool:
        """Return False: the reply itself is not too long."""
        return False


class EmptyReply(ReplyError):
    """The model returned an empty text."""

    code = "empty"


class RefusedReply(ReplyError):
    """The model declined to answer, or the provider's filter stopped it."""

    code = "refused"
