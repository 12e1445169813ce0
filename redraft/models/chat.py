"""Any LangChain chat model as a redraft model: one attempt a call, everything kept, typed failures."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Literal, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel

from redraft.domain import Usage
from redraft.errors import CapabilityError, EmptyReply, RefusedReply, TransientError, UnreadableReply
from redraft.models.base import Reply, Request, Sampling
from redraft.models.failures import translate
from redraft.models.reading import NoValueError, read_value, without_thoughts
from redraft.prompts.book import PromptBook
from redraft.prompts.contract import Given_, Value_
from redraft.text.cleaning import clean

Mode = Literal["json_schema", "tools", "plain"]

# What a reply without a limit is taken to cost at most.
_UNLIMITED = 16_384
# How other providers put what OpenAI calls a finish reason.
_FINISHES = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
    "safety": "content_filter",
}


class ChatModel:
    """Asks a LangChain chat model.

    A structured reply is asked for in the first of `modes` that the provider accepts. Responses are read here and not
    by LangChain, whose readers lose the text, the usage and the finish reason of a reply that does not fit.
    """

    def __init__(
        self,
        chat: BaseChatModel,
        book: PromptBook,
        *,
        identity: str,
        modes: Sequence[Mode] = ("tools", "plain"),
        reasoning_reserve: int = 0,
        takes_temperature: bool = True,
        seconds: float | None = None,
        secrets: Sequence[str] = (),
    ) -> None:
        """`seconds` is how long one answer may take from start to end; `secrets` are kept out of error messages."""
        self.identity = identity
        self._chat = chat
        self._book = book
        self._modes = list(modes)
        self._settled = len(self._modes) == 1
        self._probing = asyncio.Lock()
        self._reasoning_reserve = reasoning_reserve
        self._takes_temperature = takes_temperature
        self._old_limit_name = False
        self._seconds = seconds
        self._secrets = tuple(secrets)

    def most_tokens(self, sampling: Sampling) -> int:
        """The limit that goes out with the request."""
        return (sampling.max_tokens or _UNLIMITED) + self._reasoning_reserve

    async def ask(self, request: Request[Given_, Value_]) -> Reply[Value_]:
        """Make one attempt."""
        if not self._settled and request.prompt.returns is not str:
            # Only one call at a time finds out what the provider accepts; the others wait for what it learns.
            async with self._probing:
                if not self._settled:
                    return await self._attempt(request)
        return await self._attempt(request)

    async def _attempt(self, request: Request[Given_, Value_]) -> Reply[Value_]:
        structured = request.prompt.returns is not str
        mode: Mode | None = self._modes[0] if structured else None
        runnable, options = self._options(request, mode)
        # What is learned while this request is under way is not what it was made with.
        used = self._used(mode)
        try:
            async with asyncio.timeout(self._seconds):
                message = await runnable.ainvoke(self._messages(request, mode), **options)
        except TimeoutError:
            raise TransientError("the model did not answer in time") from None
        except Exception as error:  # noqa: BLE001
            # The provider's own exception may quote the request with its key, and a traceback would show it.
            raise self._learn(translate(error, used, self._secrets)) from None
        if structured:
            self._settled = True
        return _read(request, cast(AIMessage, message))

    def _used(self, mode: Mode | None) -> frozenset[str]:
        used: set[str] = {"max_completion_tokens"} if not self._old_limit_name else set()
        used |= {"temperature"} if self._takes_temperature else set()
        used |= {mode} if mode and len(self._modes) > 1 else set()
        return frozenset(used)

    def _learn(self, error: Exception) -> Exception:
        """Do without what the provider has just refused."""
        if isinstance(error, CapabilityError):
            feature = error.message.partition(":")[0]
            if feature == "temperature":
                self._takes_temperature = False
            elif feature == "max_completion_tokens":
                self._old_limit_name = True
            elif self._modes[0] == feature:
                del self._modes[0]
        return error

    def _messages(self, request: Request[Given_, Value_], mode: Mode | None) -> list[BaseMessage]:
        text = self._book.render(request.prompt, request.given)
        form = f"Reply with one JSON object that fits this JSON Schema, and with nothing else:\n{_schema(request)}"
        if mode == "plain":
            text += f"\n\n{form}"
        messages: list[BaseMessage] = [HumanMessage(text)]
        if request.complaint is not None:
            # Some providers refuse an empty message.
            messages.append(AIMessage(request.complaint.reply or "(nothing)"))
            again = form if mode else "Reply again, complete and in the form asked for, and with nothing else."
            messages.append(HumanMessage(f"That reply cannot be used: {request.complaint.reason}. {again}"))
        return messages

    def _options(
        self, request: Request[Given_, Value_], mode: Mode | None
    ) -> tuple[Runnable[Any, BaseMessage], dict[str, Any]]:
        sampling = request.sampling
        options: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        runnable: Runnable[Any, BaseMessage] = cast(Runnable[Any, BaseMessage], self._chat)
        if self._takes_temperature:
            options["temperature"] = sampling.temperature
        if sampling.max_tokens is not None:
            limit = sampling.max_tokens + self._reasoning_reserve
            if self._old_limit_name:
                extra["max_tokens"] = limit
            else:
                options["max_tokens"] = limit
        if mode == "json_schema":
            tool = convert_to_openai_tool(_shape(request), strict=True)["function"]
            schema = {"name": tool["name"], "schema": tool["parameters"], "strict": True}
            extra["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif mode == "tools":
            runnable = self._with_tool(_shape(request))
        if extra:
            options["extra_body"] = extra
        return runnable, options

    def _with_tool(self, shape: type[BaseModel]) -> Runnable[Any, BaseMessage]:
        tool = convert_to_openai_tool(shape)
        try:
            bound = self._chat.bind_tools([tool], tool_choice=tool["function"]["name"])
        except NotImplementedError:
            self._modes.remove("tools")
            raise CapabilityError("tools: this chat model takes none") from None
        return cast(Runnable[Any, BaseMessage], bound)


def _shape(request: Request[Any, Any]) -> type[BaseModel]:
    shape = request.prompt.returns
    assert issubclass(shape, BaseModel)
    return shape


def _schema(request: Request[Any, Any]) -> str:
    shape = request.prompt.returns
    return json.dumps(shape.model_json_schema(), ensure_ascii=False) if issubclass(shape, BaseModel) else ""


def _read(request: Request[Given_, Value_], message: AIMessage) -> Reply[Value_]:
    """The typed reply in a message."""
    usage = _usage(message)
    finish = _finish(message)
    refusal = message.additional_kwargs.get("refusal")
    text = clean(_text(message))
    if refusal or finish == "content_filter":
        raise RefusedReply(
            f"the model declined: {refusal}" if refusal else "the provider's content filter cut the reply",
            text=text,
            usage=usage,
            finish_reason=finish,
            place=request.label,
        )
    shape = request.prompt.returns
    if not issubclass(shape, BaseModel):
        if words := without_thoughts(text):
            return Reply(cast(Value_, words), words, usage, finish)
        # Not a reply: it must neither be cached nor become a summary.
        raise EmptyReply("the reply is empty", text=text, usage=usage, finish_reason=finish, place=request.label)
    try:
        return Reply(cast(Value_, read_value(text, shape)), text, usage, finish)
    except NoValueError as error:
        reason = "the reply was cut off at the token limit" if finish == "length" else str(error)
    raise UnreadableReply(reason, text=text, usage=usage, finish_reason=finish, place=request.label)


def _finish(message: AIMessage) -> str:
    """Why the reply ended, in OpenAI's words."""
    metadata = message.response_metadata
    reason = str(metadata.get("finish_reason") or metadata.get("stop_reason") or "").lower()
    return _FINISHES.get(reason, reason)


def _text(message: AIMessage) -> str:
    """The reply's text, or the arguments of the tool call that it is."""
    if message.tool_calls:
        return json.dumps(message.tool_calls[0]["args"], ensure_ascii=False)
    if message.invalid_tool_calls:
        return str(message.invalid_tool_calls[0]["args"] or "")
    return str(message.text)


def _usage(message: AIMessage) -> Usage:
    found = message.usage_metadata
    if not found:
        return Usage(reported=False)
    return Usage(
        prompt_tokens=found["input_tokens"],
        completion_tokens=found["output_tokens"],
        cached_prompt_tokens=found.get("input_token_details", {}).get("cache_read", 0) or 0,
        reasoning_tokens=found.get("output_token_details", {}).get("reasoning", 0) or 0,
    )
