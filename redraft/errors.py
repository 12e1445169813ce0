"""Every failure redraft can name: a code for programs, a sentence for people, and the next step."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redraft.domain import Usage


class RedraftError(Exception):
    """One base for all failures.

    `code` is stable and machine readable, `place` names the document, chunk or prompt, `hint` is the next step
    in one sentence, and `retryable` says whether the same request may succeed later.
    """

    code = "failed"
    retryable = False

    def __init__(self, message: str, *, place: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.hint = hint
        if hint:
            # For whoever reads a traceback.
            self.add_note(hint)

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class UsageError(RedraftError):
    """What was asked for cannot be meant: a bad option, an impossible combination."""

    code = "usage"


class DocumentError(RedraftError):
    """The source cannot be read as text."""

    code = "document"


class PromptError(RedraftError):
    """A template does not fit its prompt's contract."""

    code = "prompt"


class PlanError(RedraftError):
    """The document, the limits and the context window do not fit together."""

    code = "plan"


class NotShrinkingError(RedraftError):
    """A level of the summary tree came out no shorter than the one below it."""

    code = "not_shrinking"


class IncompleteError(RedraftError):
    """Nothing of the document could be summarized."""

    code = "incomplete"


class NothingSaidError(IncompleteError):
    """Nothing of the document helps to answer the question, though all of it was read."""

    code = "nothing_said"


class BudgetError(RedraftError):
    """The next call could pass --max-cost or --max-calls."""

    code = "budget"


class JudgingError(RedraftError):
    """Nothing came of what a draft was to be judged by: no questions, or no key facts."""

    code = "judging"


class PackError(RedraftError):
    """A pack that is not there, or a file that holds none, or one of another document."""

    code = "pack"


class StoreError(RedraftError):
    """The database cannot be read or written."""

    code = "store"


class StoreLost(StoreError):
    """The server of the database was gone in the midst of something. The same may succeed a moment later."""

    code = "store_lost"


class RunError(RedraftError):
    """No such run, or it is in no state for what was asked."""

    code = "run"


class ModelError(RedraftError):
    """A call to a model failed."""

    code = "model"


class ProviderError(ModelError):
    """The provider refuses or cannot be reached, whatever is asked: key, address, model name, quota."""

    code = "provider"


class RateLimited(ModelError):
    """The provider asks us to slow down."""

    code = "rate_limited"
    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None, place: str = "") -> None:
        super().__init__(message, place=place)
        self.retry_after = retry_after


class TransientError(ModelError):
    """A time-out, a dropped connection, a server fault: the same call may succeed in a moment."""

    code = "transient"
    retryable = True


class TimedOut(TransientError):
    """The model did not answer within the time that a request may take."""

    code = "timed_out"


class Unreached(TransientError):
    """Nobody listens at the provider's address: nothing was sent."""

    code = "unreached"


class OversizeReply(TransientError):
    """The provider sent more than any answer can be, or what no end was to be seen of."""

    code = "oversize"


class CapabilityError(ModelError):
    """The provider refuses a feature of the request. The model has taken note: the next request goes without it."""

    code = "unsupported"
    retryable = True


class RejectedRequest(ModelError):
    """The provider refuses this one request, for what is in it or for its length."""

    code = "rejected"

    def __init__(self, message: str, *, place: str = "", hint: str = "", too_long: bool = False) -> None:
        super().__init__(message, place=place, hint=hint)
        self.too_long = too_long


class ReplyError(ModelError):
    """The model answered, and the answer is of no use. Carries the answer and what it cost."""

    code = "reply"
    late = False
    """Whether it was time that ran out, of which there is no more for a larger reply."""
    loops = False
    """Whether it says the same over and over, as a model does that would never come to an end."""

    def __init__(
        self, message: str, *, text: str, usage: Usage, finish_reason: str = "", place: str = "", hint: str = ""
    ) -> None:
        super().__init__(message, place=place, hint=hint)
        self.text = text
        self.usage = usage
        self.finish_reason = finish_reason

    @property
    def cut(self) -> bool:
        """Whether the reply did not end within its room."""
        return self.finish_reason == "length"

    @property
    def fills_any_room(self) -> bool:
        """Whether more room would be of no use, and only less to say may be."""
        return self.late or self.loops

    @property
    def wants_room(self) -> bool:
        """Whether more room for the reply, or less to say in it, may help; the same room would cut it again."""
        return self.cut


class UnreadableReply(ReplyError):
    """The reply does not fit the schema it was asked for."""

    code = "unreadable"
    formless = False
    """Whether it is no reply of that form at all, as if the server had not been told of it."""
    nameless = False
    """Whether it is lost for nothing but the items, of which it names none."""
    moved = False
    """Whether the next request asks for the form in another way: what was wrong may have been the way."""


class CutReply(ReplyError):
    """The reply did not end within its room."""

    code = "cut"

    def __init__(self, message: str, *, text: str, usage: Usage, place: str = "", hint: str = "") -> None:
        super().__init__(message, text=text, usage=usage, finish_reason="length", place=place, hint=hint)


class LateReply(CutReply):
    """The reply did not end within the time that a request may take; a smaller one may."""

    code = "late"
    late = True


class CutThought(CutReply):
    """The model did not come to its reply: the room for that was used up by its thoughts.

    `retryable` where the model has taken note: the next request has more room to think.
    """

    code = "cut_thought"

    def __init__(
        self, message: str, *, text: str, usage: Usage, place: str = "", hint: str = "", retryable: bool = False
    ) -> None:
        super().__init__(message, text=text, usage=usage, place=place, hint=hint)
        self.retryable = retryable

    @property
    def wants_room(self) -> bool:
        """It is not the reply that is too long."""
        return False


class EmptyReply(ReplyError):
    """The model was asked for prose and wrote nothing."""

    code = "empty"


class RefusedReply(ReplyError):
    """The model declined to answer, or the provider's filter cut the answer."""

    code = "refused"
