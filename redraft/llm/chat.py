"""Any LangChain chat model as a redraft model: one attempt per call, everything stored, typed failures."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from copy import copy
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable
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
    Set,
    TimedOut,
    TruncatedReply,
    UnreadableReply,
    UsageError,
)
from redraft.llm.addresses import MIN_SECRET, check_key, plain_address, redacted
from redraft.llm.base import TRUNCATED, Model, Reply, Request, Sampling
from redraft.llm.reasoning_budget import ReasoningBudget, reasoning_tokens, refuses_sampling, usual_room
from redraft.llm.replies import NoValueError, read_value
from redraft.llm.responses import (
    answered_by,
    finish_of,
    other_model,
    safe_cause,
    status_of,
    text_of,
    translate,
    usage_of,
)
from redraft.llm.structured_output import LIMITS, NAMES, Mode, OutputModes, messages_of, modes_for, named_schema
from redraft.prompts.contract import InputT, ValueT
from redraft.settings import DraftConfig
from redraft.text.reply_cleanup import declines, prose_in, strip_reasoning, turn_at_end
from redraft.text.sanitizer import clean, one_line

# The names of the token limit in the various integrations.
_LIMITS = ("max_tokens", "max_output_tokens", "num_predict", "max_completion_tokens", "max_new_tokens")
_ADDRESSES = re.compile(r"(?:base_url|api_base|api_url|endpoint|endpoint_url|host)$")
_LONGEST_NAME = 100
_OPENAI_PACKAGE = "langchain_openai"
_HEADERS = ("default_headers", "additional_headers", "headers")
_SECRET_HEADER = re.compile(r"authorization|key|token|secret|cookie", re.IGNORECASE)
_IN_THE_MESSAGE = ("content", "additional_kwargs", "response_metadata", "tool_calls", "invalid_tool_calls")
_OPENAIS = re.compile(r"https?://[^/]*\.openai(?:\.azure)?\.com(?:[:/]|$)")


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """The capabilities that a chat model's class declares; nothing else is ever passed to it."""

    name: str
    address: str | None
    identity: str
    """The identity `provider:name@address`, as far as these are known."""
    sampling: frozenset[str]
    """Which of `temperature` and `top_p` it has a field for."""
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


def traits_of(chat: BaseChatModel) -> ModelTraits:
    """Return what a chat model's fields declare."""
    params, fields = chat._get_ls_params(), type(chat).model_fields
    values = {field: getattr(chat, field, None) for field in fields}
    hidden = {field: value.get_secret_value() for field, value in values.items() if isinstance(value, SecretStr)}
    for field, value in hidden.items():
        if field.endswith("key"):
            check_key(value, f"the {field} of {type(chat).__name__}")
    headers = [part for part in map(values.get, _HEADERS) if isinstance(part, Mapping)]
    secret = [value for part in headers for field, value in part.items() if value and _SECRET_HEADER.search(str(field))]
    # The last word of `Bearer KEY` and the like.
    in_headers = [str(value).split()[-1] for value in secret]
    address = None
    # LangChain's OpenAI models leave the default address to the client.
    client = getattr(chat, "root_async_client", None)
    named = [value for field, value in values.items() if _ADDRESSES.search(field)]
    for place in (getattr(client, "base_url", None), *named):
        if address is None and place is not None and "://" in str(place):
            with suppress(UsageError):
                address = plain_address(str(place))
    window = (getattr(chat, "profile", None) or {}).get("max_input_tokens")
    # Anthropic's and Google's.
    thinking = values.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else values.get("thinking_budget")
    provider, name = params.get("ls_provider") or type(chat).__name__, str(params.get("ls_model_name") or "")
    identity = f"{provider}:{name}" if name else provider
    return ModelTraits(
        name=name,
        address=address,
        identity=f"{identity}@{address}" if address else identity,
        sampling=frozenset({"temperature", "top_p"} & fields.keys()),
        limit=next((field for field in _LIMITS if field in fields), None),
        window=window if isinstance(window, int) and window > 0 else None,
        speaks_openai=any(kind.__module__.partition(".")[0] == _OPENAI_PACKAGE for kind in type(chat).__mro__),
        thinking=budget if isinstance(budget, int) and budget >= 0 else None,
        secrets=tuple(secret for secret in (*hidden.values(), *in_headers) if len(secret) >= MIN_SECRET),
    )


# What a reply without a limit is taken to cost at most.
_UNLIMITED = 131_072
# OpenAI's present name of the limit; other servers may know only `max_tokens`.
_NEW_LIMIT = "max_completion_tokens"
# Features that a provider may refuse, and that can be left out.
_FEATURES = ("temperature", "top_p", LIMITS, NAMES, _NEW_LIMIT)
# How often each mode may be refused, without any structured reply, before giving up.
_ROUNDS = 2
# Statuses of a server that rejects a request, or fails over it.
_REFUSALS, _FAULTS = frozenset({400, 422}), frozenset({500, 501})
_NO_WAY = ("the provider rejects every form of structured reply (", Set("replies"), "); see its message")


def opened_chat(
    chat: BaseChatModel, settings: DraftConfig, *, seconds: float, roles: str = "", variable: str = ""
) -> ChatModel:
    """Return the chat model that was made for the settings and is used in these roles; its key comes from the variable,
    or from that of its provider."""
    traits = traits_of(chat)
    variable = variable or next(iter(chat.lc_secrets.values()), "the variable of its provider")
    return ChatModel(
        chat,
        identity=f"{settings.model}@{traits.address}" if traits.address else settings.model,
        modes=modes_for(settings.replies, speaks_openai=traits.speaks_openai),
        reasoning_reserve=settings.reasoning_tokens,
        seconds=seconds,
        key_place=f"{variable}, which has the key of {settings.model}{f' ({roles})' if roles else ''}",
    )


def as_model(model: Model | BaseChatModel) -> Model:
    """Return a model as it is, or a LangChain chat model wrapped."""
    if isinstance(model, BaseChatModel):
        return ChatModel(model)
    if not isinstance(model, type) and all(hasattr(model, name) for name in ("identity", "most_tokens", "ask")):
        return model
    raise _no_model(model)


def _no_model(model: object) -> UsageError:
    what = f"the class {model.__name__}" if isinstance(model, type) else f"an object of the type {type(model).__name__}"
    return UsageError(
        f"{what} is neither a LangChain chat model nor a redraft.Model",
        hint="pass the chat model itself, with nothing bound to it or piped into it",
    )


class ChatModel:
    """Asks a LangChain chat model. A structured reply is asked for in the first of `modes` that the provider accepts.
    Replies are parsed here, because LangChain's parsers lose the usage and finish reason of an invalid reply."""

    def __init__(
        self,
        chat: BaseChatModel,
        *,
        identity: str | None = None,
        modes: Sequence[Mode] | None = None,
        reasoning_reserve: int | None = None,
        takes_temperature: bool | None = None,
        seconds: float | None = None,
        key_place: str = "",
    ) -> None:
        """Missing parameters follow from the class of `chat`. `identity` distinguishes its replies in the cache: models
        that differ in more than provider, name and address need one each. `reasoning_reserve` is the room for reasoning
        per call; without it that is learned. `seconds` is the time limit of a reply. `key_place` says where its key is,
        for the advice when that is refused."""
        if not isinstance(chat, BaseChatModel):
            raise _no_model(chat)
        self._traits = traits = traits_of(chat)
        self.identity = identity or traits.identity
        self.window = traits.window
        """The context window in tokens, if known."""
        self._chat = chat
        self._modes = OutputModes(modes or modes_for(None, speaks_openai=traits.speaks_openai))
        self._probing = asyncio.Lock()
        self._no_way: ProviderError | None = None
        """The refusal of every structured-output mode."""
        fixed_room = traits.thinking if reasoning_reserve is None else reasoning_reserve
        self._reasoning = ReasoningBudget(usual_room(traits.name), fixed_room)
        self.expect_reasoning = self._reasoning.learn
        """Leaves as much room for reasoning as was needed before."""
        draws = not refuses_sampling(traits.name) if takes_temperature is None else takes_temperature
        # OpenAI compiles a grammar for each new schema, and lets the request wait for it.
        limits = traits.speaks_openai and not _OPENAIS.match(traits.address or "")
        self._takes = set(traits.sampling) if draws else set[str]()
        self._takes |= {LIMITS, NAMES} if limits else set()
        self._takes |= {_NEW_LIMIT} if traits.speaks_openai else set()
        self._seconds = seconds
        self._key_place = key_place or f"the chat model {self.identity}"

    @property
    def reasoning_tokens(self) -> int:
        """Return the tokens of the longest known reasoning."""
        return self._reasoning.thought

    def most_tokens(self, sampling: Sampling) -> int:
        """Return the limit that is sent with the request, or a higher one."""
        limit = sampling.max_tokens if self._traits.limit else None
        return (limit or _UNLIMITED) + self._reasoning.tokens

    async def ask(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        """Make one attempt."""
        if not request.text:
            raise ModelError(
                f"the prompt {request.prompt.name} was not filled in",
                hint="ask through a RecordedModel, which renders the prompt and keeps the reply",
            )
        modes, is_structured = self._modes, request.prompt.returns is not str
        if not modes.has_answered and not modes.begin and request.mode in modes.modes:
            modes.begin = modes.modes.index(request.mode)
        async with AsyncExitStack() as probing:
            if is_structured and not modes.is_settled:
                # Only one call at a time finds out what the provider accepts; the others wait for what it learns.
                before = self._no_way
                await probing.enter_async_context(self._probing)
                if self._no_way is not None and self._no_way is not before:
                    raise copy(self._no_way) from self._no_way.__cause__
                if self._modes.is_settled:
                    await probing.aclose()
            which = request.text, request.sampling
            mode = modes.mode(which) if is_structured else None
            room = self._reasoning.room_for(request)
            # What is learned meanwhile does not apply to this request.
            features = frozenset({*self._takes, *([mode] if mode and not modes.is_last(mode) else ())})
            kinds = {"assistant": AIMessage, "user": HumanMessage}
            messages = [kinds[message.role](message.text) for message in messages_of(request, mode)]
            try:
                async with asyncio.timeout(self._seconds):
                    message = await self._bound(request, mode, room).ainvoke(messages)
            except TimeoutError:
                raise TimedOut(f"the model did not answer within {self._seconds or 0:g} s") from None
            except Exception as error:  # noqa: BLE001
                failure = self._failure(error, request, mode, features, room)
                raise failure from safe_cause(error, self._traits.secrets)
            if mode:
                modes.record_answer(which)
                self._no_way = None
            return self._accepted(request, message, mode, room)

    def _accepted(
        self, request: Request[InputT, ValueT], answer: BaseMessage, mode: Mode | None, room: int
    ) -> Reply[ValueT]:
        """Return the reply in a message, and learn from it whether the mode works, and how long its reasoning is; raise
        if reasoning left no room for the reply."""
        # Some packages answer with a message of another role.
        message = answer if isinstance(answer, AIMessage) else AIMessage("")
        stated = {name: getattr(answer, name) for name in _IN_THE_MESSAGE if hasattr(answer, name)}
        message = message.model_copy(update=redacted(stated, self._traits.secrets))
        text, usage = clean(text_of(message)), usage_of(message)
        try:
            answering = one_line(answered_by(message), _LONGEST_NAME)
            odd = [other_model(message, self._traits.name)]
            if mode == "plain" and mode != self._modes.modes[0]:
                odd.append("no schema is enforced: the form of replies is only asked for in the prompt")
            finish, thought = finish_of(message), reasoning_tokens(message, text, usage)
            used_up = 0 < (request.sampling.max_tokens or 0) + room <= usage.completion_tokens
            if not strip_reasoning(text) and (finish == "length" or used_up):
                # All of it was reasoning.
                thought, finish = max(thought, room + 1, usage.completion_tokens), "length"
            self._reasoning.learn(thought)
            is_cut_reasoning = finish == "length" and thought > room
            try:
                reply = _read(request, message, text, usage, finish)
            except ReplyError:
                if is_cut_reasoning:
                    raise self._reasoning.truncation_message(request, room, text, usage) from None
                raise
            if is_cut_reasoning and not isinstance(reply.value, BaseModel):
                raise self._reasoning.truncation_message(request, room, text, usage)
        except UnreadableReply as error:
            error.moved = mode is not None and error.formless and self._modes.record_broken(mode)
            raise
        except ModelError:
            raise
        except Exception as error:
            # The reply was paid for: an internal error in reading it is recorded, and it is asked for again.
            reason = f"{type(error).__name__}: {error}"
            raise UnreadableReply(f"the reply cannot be read ({reason})", text=text, usage=usage) from error
        new_mode = self._modes.modes[self._modes.begin] if mode else None
        return replace(reply, odd=tuple(filter(None, odd)), answered_by=answering, mode=new_mode)

    def _failure(
        self, error: Exception, request: Request[Any, Any], mode: Mode | None, features: frozenset[str], room: int
    ) -> ModelError:
        """Return the error for an exception of the provider's package, and stop using the feature or the mode that the
        provider refused. The request relies on those of the `features` that it has a use for."""
        traits = self._traits
        unused = {
            LIMITS: mode not in ("json_schema", "tools"),
            NAMES: mode != "json_schema",
            "top_p": request.sampling.top_p is None,
        }
        failure = translate(
            *(error, features - {feature for feature in unused if unused[feature]}, traits.secrets),
            speaks_openai=traits.speaks_openai,
            address=traits.address or "",
            key_place=self._key_place,
        )
        if mode == "tools" and isinstance(error, ValidationError) and not self._modes.is_last(mode):
            # LangChain ignores a function call whose arguments are a list.
            failure = CapabilityError("tools: the arguments of the call are not an object")
        if isinstance(failure, CapabilityError):
            feature = failure.message.partition(":")[0]
            if feature in _FEATURES:
                self._takes.discard(feature)
            elif mode and self._modes.is_last(mode):
                return ProviderError(failure.message, fix=_NO_WAY)
            else:
                self._modes.record_broken(cast("Mode", feature))
            return failure
        is_too_long = isinstance(failure, RejectedRequest) and failure.too_long
        if is_too_long and self._reasoning.refused(room):
            # It may fit with less room for reasoning.
            return CapabilityError(f"reasoning tokens: {failure.message}")

        # The failure may be due to the structured-output mode.
        status = status_of(error)
        refused = status in _REFUSALS and isinstance(failure, RejectedRequest)
        if mode is None or is_too_long or not (refused or status in _FAULTS):
            return failure
        if self._modes.record_refusal((request.text, request.sampling), is_fault=not refused):
            return CapabilityError(f"{mode}: {failure.message}")
        if len(self._modes.refusals) >= _ROUNDS * len(self._modes.modes) and not self._modes.has_answered:
            self._no_way = ProviderError(failure.message, fix=_NO_WAY)
            self._no_way.status = status
            return self._no_way
        return failure.advised(*_NO_WAY) if refused else failure

    def _bound(self, request: Request[Any, Any], mode: Mode | None, room: int) -> Runnable[Any, BaseMessage]:
        """Return the chat model with the parameters of a request set in its own fields."""
        fields: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        traits, sampling = self._traits, request.sampling
        if "temperature" in self._takes:
            fields["temperature"] = sampling.temperature
        if "top_p" in self._takes and sampling.top_p is not None:
            fields["top_p"] = sampling.top_p
        if traits.limit and sampling.max_tokens is not None:
            limit = sampling.max_tokens + room
            old_name = traits.speaks_openai and _NEW_LIMIT not in self._takes
            fields[traits.limit] = None if old_name else limit
            extra |= {"max_tokens": limit} if old_name else {}
        if mode == "json_schema":
            # By LangChain's own method a cut reply raises an error in place of its text.
            schema = named_schema(request, mode, self._takes)
            response_schema = {"name": schema.pop("title"), "schema": schema, "strict": True}
            extra["response_format"] = {"type": "json_schema", "json_schema": response_schema}
        if extra:
            fields["extra_body"] = (getattr(self._chat, "extra_body", None) or {}) | extra
        chat = self._chat.model_copy(update=fields) if fields else self._chat
        if mode != "tools":
            return cast("Runnable[Any, BaseMessage]", chat)
        method = {"method": "function_calling"} if traits.speaks_openai else {}
        schema = named_schema(request, mode, self._takes)
        try:
            structured = chat.with_structured_output(schema, include_raw=True, **method)
        except NotImplementedError:
            raise CapabilityError("tools: this chat model takes none") from None
        return cast("Runnable[Any, BaseMessage]", cast("Any", structured) | itemgetter("raw"))


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
        if declines(prose_in(words)):
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
        with suppress(NoValueError):
            entries = read_value(text, shape, request.given, is_cut=True)
            return Reply(cast("ValueT", entries), text, usage, TRUNCATED)
        cut = TruncatedReply("the reply was cut off at the token limit", text=text, usage=usage, place=request.label)
        cut.loops = turn_at_end(text) > 0
        raise cut
    failure = UnreadableReply(str(unread), **received)
    failure.formless, failure.nameless = unread.formless, unread.nameless
    raise failure
