"""Any LangChain chat model as a redraft model: one attempt per call, everything stored, typed failures."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import BaseModel, SecretStr, ValidationError

from redraft.domain import Usage
from redraft.errors import (
    CapabilityError,
    EmptyReply,
    ModelError,
    ProviderError,
    RefusedReply,
    RejectedRequest,
    ReplyError,
    TimedOut,
    TruncatedReply,
    UnreadableReply,
    UsageError,
)
from redraft.llm import structured_output
from redraft.llm.addresses import MIN_SECRET, check_key, header_secrets, is_openais, message_without, plain_address
from redraft.llm.base import TRUNCATED, Model, Reply, Request, Sampling
from redraft.llm.envelope import answered_by, as_reply, finish_of, irregularities, text_of, usage_of
from redraft.llm.failures import status_of, translate
from redraft.llm.reasoning_budget import ReasoningBudget, reasoning_tokens, refuses_sampling, usual_room
from redraft.llm.replies import NoValueError, is_exact_text, read_value, whole_entries
from redraft.llm.structured_output import Mode, OutputModes, modes_for
from redraft.prompts.contract import InputT, ValueT
from redraft.text.reasoning import strip_reasoning
from redraft.text.refusals import declines
from redraft.text.reply_cleanup import ends_in_loop
from redraft.text.sanitizer import clean, one_line

# The names of the token limit in the various integrations.
_LIMITS = ("max_tokens", "max_output_tokens", "num_predict", "max_completion_tokens", "max_new_tokens")
_ADDRESSES = re.compile(r"(?:base_url|api_base|api_url|endpoint|endpoint_url|host)$")
_LONGEST_NAME = 100
_OPENAI_PACKAGE = "langchain_openai"
_HEADERS = ("default_headers", "additional_headers", "headers")


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """The capabilities that a chat model's class declares; nothing else is ever passed to it."""

    provider: str
    name: str
    address: str | None
    temperature: str | None
    """The name of the field for the temperature."""
    top_p: str | None
    """The name of the field for `top_p`."""
    limit: str | None
    """The name of the field for the most tokens of a reply."""
    window: int | None
    """The context window in tokens, as far as LangChain knows it."""
    speaks_openai: bool
    """Whether requests and replies have OpenAI's format, with `extra_body`."""
    thinking: int | None
    """The reasoning tokens configured in the chat model."""
    secrets: tuple[str, ...]
    """Strings that no message may show."""

    @property
    def identity(self) -> str:
        """Return the identity `provider:name@address`, as far as these are known."""
        named = f"{self.provider}:{self.name}" if self.name else self.provider
        return f"{named}@{self.address}" if self.address else named


def traits_of(chat: BaseChatModel) -> ModelTraits:
    """Return what a chat model's fields declare."""
    told, fields = chat._get_ls_params(), type(chat).model_fields
    values = {field: getattr(chat, field, None) for field in fields}
    hidden = {field: value.get_secret_value() for field, value in values.items() if isinstance(value, SecretStr)}
    for field, value in hidden.items():
        if field.endswith("key"):
            check_key(value, f"the {field} of {type(chat).__name__}")
    secrets = [*hidden.values(), *(secret for field in _HEADERS for secret in header_secrets(values.get(field)))]
    return ModelTraits(
        provider=told.get("ls_provider") or type(chat).__name__,
        name=str(told.get("ls_model_name") or ""),
        address=_address(chat),
        temperature="temperature" if "temperature" in fields else None,
        top_p="top_p" if "top_p" in fields else None,
        limit=next((field for field in _LIMITS if field in fields), None),
        window=_window(chat),
        speaks_openai=any(kind.__module__.partition(".")[0] == _OPENAI_PACKAGE for kind in type(chat).__mro__),
        thinking=_thinking(values),
        secrets=tuple(secret for secret in secrets if len(secret) >= MIN_SECRET),
    )


def _window(chat: BaseChatModel) -> int | None:
    found = (getattr(chat, "profile", None) or {}).get("max_input_tokens")
    return found if isinstance(found, int) and found > 0 else None


def _thinking(values: dict[str, Any]) -> int | None:
    """Return the reasoning tokens of a field such as Anthropic's `thinking` or Google's `thinking_budget`."""
    told = values.get("thinking")
    said = told.get("budget_tokens") if isinstance(told, dict) else values.get("thinking_budget")
    return said if isinstance(said, int) and said >= 0 else None


def _address(chat: Any) -> str | None:
    # LangChain's OpenAI models leave the default address to the client.
    client = getattr(chat, "root_async_client", None)
    named = [field for field in type(chat).model_fields if _ADDRESSES.search(field)]
    for value in (getattr(client, "base_url", None), *(getattr(chat, field, None) for field in named)):
        if value is not None and "://" in str(value):
            try:
                return plain_address(str(value))
            except UsageError:
                continue
    return None


# What a reply without a limit is taken to cost at most.
_UNLIMITED = 131_072
# Parameters that a provider may refuse, and that can be left out.
_OF_OPENAI = ("max_completion_tokens",)
_FEATURES = ("temperature", "top_p", structured_output.LIMITS, structured_output.NAMES, *_OF_OPENAI)
# Statuses of a server that rejects a request, or fails over it.
_REFUSALS, _FAULTS = frozenset({400, 422}), frozenset({500, 501})
_NO_WAY = "the provider rejects every form of structured reply (--set replies); see its message"


def as_model(given: Model | BaseChatModel) -> Model:
    """Return a model as it is, or a LangChain chat model wrapped."""
    if isinstance(given, BaseChatModel):
        return ChatModel(given)
    if not isinstance(given, type) and all(hasattr(given, name) for name in ("identity", "most_tokens", "ask")):
        return given
    raise _no_model(given)


def _no_model(given: object) -> UsageError:
    what = f"the class {given.__name__}" if isinstance(given, type) else f"an object of the type {type(given).__name__}"
    return UsageError(
        f"{what} is neither a LangChain chat model nor a redraft.Model",
        hint="pass the chat model itself, with nothing bound to it or piped into it; or decisions:NAME for OpenAI's"
        " Decisions API",
    )


class ChatModel:
    """Asks a LangChain chat model. A structured reply is asked for in the first of `modes` that the provider accepts.
    Replies are parsed here, because LangChain's parsers lose the text, usage and finish reason of an invalid reply."""

    def __init__(
        self,
        chat: BaseChatModel,
        *,
        identity: str | None = None,
        modes: Sequence[Mode] | None = None,
        reasoning_reserve: int | None = None,
        takes_temperature: bool | None = None,
        seconds: float | None = None,
    ) -> None:
        """Missing parameters follow from the class of `chat`. `identity` distinguishes its replies in the cache: models
        that differ in more than provider, name and address need one each. `reasoning_reserve` is the room for reasoning
        per call; without it that is learned. `seconds` is the time limit of a reply."""
        if not isinstance(chat, BaseChatModel):
            raise _no_model(chat)
        self._traits = traits = traits_of(chat)
        self.identity = identity or traits.identity
        self._chat = chat
        self._modes = OutputModes(modes or modes_for(None, speaks_openai=traits.speaks_openai))
        self._probing = asyncio.Lock()
        self._no_way: str | None = None
        """Why every structured-output mode was refused."""
        told = traits.thinking if reasoning_reserve is None else reasoning_reserve
        self._thinking = ReasoningBudget(usual_room(traits.name), told)
        draws = not refuses_sampling(traits.name) if takes_temperature is None else takes_temperature
        # OpenAI compiles a grammar for each new schema, and lets the request wait for it.
        limits, speaks = traits.speaks_openai and not is_openais(traits.address or ""), traits.speaks_openai
        has = (draws and traits.temperature, draws and traits.top_p, limits, limits, speaks)
        self._takes = {feature for feature, there in zip(_FEATURES, has, strict=True) if there}
        self._seconds = seconds

    @property
    def window(self) -> int | None:
        """Return the context window in tokens, if known."""
        return self._traits.window

    @property
    def reasoning_tokens(self) -> int:
        """Return the tokens of the longest known reasoning."""
        return self._thinking.thought

    def expect_reasoning(self, thought: int) -> None:
        """Leave as much room for reasoning as was needed before."""
        self._thinking.learn(thought)

    def most_tokens(self, sampling: Sampling) -> int:
        """Return the limit that is sent with the request, or a higher one."""
        limit = sampling.max_tokens if self._traits.limit else None
        return (limit or _UNLIMITED) + self._thinking.tokens

    async def ask(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        """Make one attempt."""
        self._modes.begin_with(request.mode)
        if not self._modes.settled and request.prompt.returns is not str:
            # Only one call at a time finds out what the provider accepts; the others wait for what it learns.
            known = self._no_way
            async with self._probing:
                if self._no_way is not None and self._no_way is not known:
                    raise ProviderError(self._no_way, hint=_NO_WAY)
                if not self._modes.settled:
                    return await self._attempt(request)
        return await self._attempt(request)

    async def _attempt(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        structured = request.prompt.returns is not str
        which = request.prompt.returns.__name__, (request.text, request.sampling)
        mode = self._modes.mode(*which) if structured else None
        room = self._thinking.room_for(request)
        # What is learned meanwhile does not apply to this request.
        used = self._used(mode, request.sampling)
        messages = self._messages(request, mode)
        try:
            async with asyncio.timeout(self._seconds):
                message = await self._bound(request, mode, room).ainvoke(messages)
        except TimeoutError:
            raise TimedOut(f"the model did not answer within {self._seconds or 0:g} s") from None
        except Exception as error:  # noqa: BLE001
            # The provider's own exception may quote the request with its key, and a traceback would show it.
            failure = self._translate(error, mode, used)
            if isinstance(failure, CapabilityError):
                failure = self._without_feature(failure, mode)
            elif isinstance(failure, RejectedRequest) and failure.too_long:
                if self._thinking.refused(request, room):
                    # It may fit with less room for reasoning.
                    failure = CapabilityError(f"reasoning tokens: {failure.message}")
            elif mode:
                failure = self._mode_failure(failure, mode, which, status_of(error))
            raise failure from None
        if structured:
            self._modes.answered(*which)
            self._no_way = None
        self._thinking.accepted(request)
        return self._accepted(request, message_without(as_reply(message), self._traits.secrets), mode, room)

    def _accepted(
        self, request: Request[InputT, ValueT], message: AIMessage, mode: Mode | None, room: int
    ) -> Reply[ValueT]:
        """Return the reply in a message, and learn from it whether the mode works."""
        try:
            odd, answering = irregularities(message, self._traits.name), one_line(answered_by(message), _LONGEST_NAME)
            reply = replace(self._reply_in(request, message, room), odd=odd, answered_by=answering)
        except UnreadableReply as error:
            error.moved = mode is not None and error.formless and self._modes.record_broken(mode)
            raise
        except ModelError:
            raise
        except Exception as error:
            # The reply was paid for: an internal error in reading it is recorded, and it is asked for again.
            said, text, usage = f"{type(error).__name__}: {error}", clean(text_of(message)), usage_of(message)
            raise UnreadableReply(f"the reply cannot be read ({said})", text=text, usage=usage) from error
        if mode is None:
            return reply
        # A server with OpenAI's protocol that answers a function call in words has ignored it.
        ignored = mode == "tools" and self._traits.speaks_openai
        if message.tool_calls or (not ignored and is_exact_text(reply.text, request.prompt.returns)):
            self._modes.record_exact(mode)
        return replace(reply, mode=self._modes.first_mode)

    def _translate(self, error: Exception, mode: Mode | None, used: frozenset[str]) -> ModelError:
        """Translate an exception of the provider's package."""
        if mode == "tools" and isinstance(error, ValidationError) and not self._modes.is_last(mode):
            # LangChain ignores a function call whose arguments are a list.
            return CapabilityError("tools: the arguments of the call are not an object")
        it = self._traits
        return translate(error, used, it.secrets, speaks_openai=it.speaks_openai, address=it.address or "")

    def _reply_in(self, request: Request[InputT, ValueT], message: AIMessage, room: int) -> Reply[ValueT]:
        """Return the reply in a message; raise if reasoning left no room for it."""
        text, usage, finish = clean(text_of(message)), usage_of(message), finish_of(message)
        thought = reasoning_tokens(message, text, usage)
        used_up = 0 < (request.sampling.max_tokens or 0) + room <= usage.completion_tokens
        if not strip_reasoning(text) and (finish == "length" or used_up):
            # All of it was reasoning.
            thought, finish = max(thought, room + 1, usage.completion_tokens), "length"
        self._thinking.learn(thought)
        failure = None
        try:
            reply = _read(request, message, text, usage, finish)
            if finish != "length" or isinstance(reply.value, BaseModel):
                return reply
        except ReplyError as error:
            failure = error
        if finish == "length" and thought > room:
            raise self._thinking.truncation_message(request, room, text, usage) from None
        if failure is not None:
            raise failure
        return reply

    def _used(self, mode: Mode | None, sampling: Sampling) -> frozenset[str]:
        used: set[str] = self._takes | ({mode} if mode and not self._modes.is_last(mode) else set())
        if mode not in ("json_schema", "tools"):
            used.discard(structured_output.LIMITS)
        if mode != "json_schema":
            used.discard(structured_output.NAMES)
        if sampling.top_p is None:
            used.discard("top_p")
        return frozenset(used)

    def _without_feature(self, error: CapabilityError, mode: Mode | None) -> ModelError:
        """Stop using the feature that the provider refused; return another error if that is impossible."""
        feature = error.message.partition(":")[0]
        if feature in _FEATURES:
            self._takes.discard(feature)
        elif mode and self._modes.is_last(mode):
            return ProviderError(error.message, hint=_NO_WAY)
        else:
            self._modes.record_broken(cast("Mode", feature))
        return error

    def _mode_failure(
        self, failure: ModelError, mode: Mode, which: tuple[str, Hashable], status: int | None
    ) -> ModelError:
        """Interpret a failure that may be due to the structured-output mode."""
        refused = status in _REFUSALS and isinstance(failure, RejectedRequest) and not failure.too_long
        if not refused and status not in _FAULTS:
            return failure
        if self._modes.refused(*which, fault=not refused):
            return CapabilityError(f"{mode}: {failure.message}")
        if self._modes.all_refused:
            self._no_way = failure.message
            return ProviderError(failure.message, hint=_NO_WAY)
        if refused:
            failure.hint = _NO_WAY
        return failure

    def _messages(self, request: Request[InputT, ValueT], mode: Mode | None) -> list[BaseMessage]:
        if not request.text:
            raise ModelError(
                f"the prompt {request.prompt.name} was not filled in",
                hint="ask through a RecordedModel, which renders the prompt and keeps the reply",
            )
        stated = mode is not None and not self._modes.is_proven(mode)
        messages = structured_output.messages_of(request, stated=stated)
        return [AIMessage(text) if role == "assistant" else HumanMessage(text) for role, text in messages]

    def _bound(self, request: Request[Any, Any], mode: Mode | None, room: int) -> Runnable[Any, BaseMessage]:
        """Return the chat model with the parameters of a request set in its own fields."""
        fields: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        traits, sampling = self._traits, request.sampling
        if traits.temperature and "temperature" in self._takes:
            fields[traits.temperature] = sampling.temperature
        if traits.top_p and "top_p" in self._takes and sampling.top_p is not None:
            fields[traits.top_p] = sampling.top_p
        if traits.limit and sampling.max_tokens is not None:
            limit = sampling.max_tokens + room
            old_name = traits.speaks_openai and "max_completion_tokens" not in self._takes
            fields[traits.limit] = None if old_name else limit
            extra |= {"max_tokens": limit} if old_name else {}
        if mode == "json_schema":
            # By LangChain's own method a cut reply raises an error in place of its text.
            schema = structured_output.named_schema(request, mode, self._takes)
            named = {"name": schema.pop("title"), "schema": schema, "strict": True}
            extra["response_format"] = {"type": "json_schema", "json_schema": named}
        if extra:
            fields["extra_body"] = (getattr(self._chat, "extra_body", None) or {}) | extra
        chat = self._chat.model_copy(update=fields) if fields else self._chat
        if mode != "tools":
            return cast("Runnable[Any, BaseMessage]", chat)
        method = {"method": "function_calling"} if traits.speaks_openai else {}
        schema = structured_output.named_schema(request, mode, self._takes)
        try:
            structured = chat.with_structured_output(schema, include_raw=True, **method)
        except NotImplementedError:
            raise CapabilityError("tools: this chat model takes none") from None
        return structured | RunnableLambda(itemgetter("raw"))


def _read(request: Request[InputT, ValueT], message: AIMessage, text: str, usage: Usage, finish: str) -> Reply[ValueT]:
    """Return the typed reply in a message."""
    refusal = message.additional_kwargs.get("refusal")
    received: dict[str, Any] = {"text": text, "usage": usage, "finish_reason": finish, "place": request.label}
    if refusal or finish == "content_filter":
        why = f"the model declined: {refusal}" if refusal else "the provider's content filter cut the reply"
        raise RefusedReply(why, **received)
    shape = request.prompt.returns
    if not issubclass(shape, BaseModel):
        words = strip_reasoning(text)
        if declines(words):
            raise RefusedReply(f"the model declined: {words}", **received)
        if words:
            return Reply(cast("ValueT", words), words, usage, finish)
        # A refusal is not a reply: it must neither be cached nor become a summary.
        raise EmptyReply("the reply is empty", **received)
    try:
        value = read_value(text, shape, request.given)
        return Reply(cast("ValueT", value), text, usage, finish)
    except NoValueError as error:
        unread = error
    if finish == "length":
        if (begun := whole_entries(text, shape, request.given)) is not None:
            return Reply(cast("ValueT", begun), text, usage, TRUNCATED)
        cut = TruncatedReply("the reply was cut off at the token limit", text=text, usage=usage, place=request.label)
        cut.loops = ends_in_loop(text)
        raise cut
    failure = UnreadableReply(str(unread), **received)
    failure.formless, failure.nameless = unread.formless, unread.nameless
    raise failure
