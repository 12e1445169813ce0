"""`openai:NAME` and `decisions:NAME`: models behind the OpenAI protocols, OpenAI's own and others."""

from __future__ import annotations

import re
import ssl
import warnings
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import cache
from typing import Any

import httpx2
import openai
from langchain_core.decisions import Choice, ClassifierResponse, Noul
from langchain_core.outputs import ChatResult
from langchain_openai import ChatOpenAI, decisions
from pydantic import SecretStr
from typing_extensions import override

from redraft.llm.chat import ChatModel
from redraft.llm.decisions import DecisionModel, Typed
from redraft.llm.envelope import IRREGULARITIES, normalized_completion
from redraft.llm.failures import web_page_error
from redraft.llm.http_client import limit_response, time_limit
from redraft.llm.reasoning_budget import THOUGHTS
from redraft.llm.structured_output import modes_for
from redraft.settings import ReplyForm

_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body)\b", re.IGNORECASE)
_VERSION = re.compile(r"/v\d")


class _ChatOpenAI(ChatOpenAI):
    """LangChain's model; tolerates a server's irregular responses, and keeps separate reasoning."""

    @override
    def _create_chat_result(
        self, response: dict[str, Any] | openai.BaseModel, generation_info: dict[str, Any] | None = None
    ) -> ChatResult:
        told: Any = response
        address = str(self.openai_api_base or "")
        # At a right address a page is what a gateway says for a moment.
        if isinstance(told, str) and _PAGE.match(told) and not _VERSION.search(address):
            raise web_page_error(address)
        sent = told.model_dump(warnings=False) if isinstance(told, openai.BaseModel) else told
        if not isinstance(sent, dict):
            return super()._create_chat_result(response, generation_info)
        kept, odd = normalized_completion(sent)
        result = super()._create_chat_result(kept, generation_info)
        for made, choice in zip(result.generations, kept["choices"], strict=True):
            message = choice["message"]
            thoughts = {name: message[name] for name in THOUGHTS if isinstance(message.get(name), str)}
            made.message.additional_kwargs.update(thoughts)
            made.message.response_metadata[IRREGULARITIES] = odd
        return result


@cache
def _tls() -> ssl.SSLContext:
    """Return the TLS context, cached because reading the certificates is slow."""
    return httpx2.create_ssl_context()


def _client(seconds: float) -> httpx2.AsyncClient:
    return openai.DefaultAsyncHttpx2Client(timeout=time_limit(seconds), follow_redirects=False, verify=_tls())


def open_openai(
    name: str,
    url: str,
    *,
    key: str,
    seconds: float,
    closing: AsyncExitStack,
    replies: ReplyForm | None = None,
    reasoning: int | None = None,
) -> ChatModel:
    """Return a model at `url`; its HTTP client belongs to the running event loop and is closed with `closing`."""
    # LangChain's advice on refused schemas does not apply, as we fall back by ourselves.
    warnings.filterwarnings("ignore", message="This model does not support OpenAI's|Invalid schema for OpenAI's")
    client = _client(seconds)
    limit_response(client)
    closing.push_async_callback(client.aclose)
    chat = _ChatOpenAI(
        model=name,
        base_url=url,
        api_key=SecretStr(key),
        http_async_client=client,
        # Otherwise LangChain warns that a proxy of the environment is not used, which our client does use.
        http_socket_options=(),
        timeout=time_limit(seconds),
        max_retries=0,
        use_responses_api=False,
    )
    modes = modes_for(replies, speaks_openai=True)
    identity = f"openai:{name}@{url}"
    return ChatModel(chat, identity=identity, modes=modes, reasoning_reserve=reasoning, seconds=seconds)


def _for_openai(question: Typed) -> Any:
    if isinstance(question, Choice):
        return decisions.Choice(
            instructions=str(question.instructions),
            choices={name: str(said) for name, said in question.criteria.items()},
        )
    return decisions.Predicate(instructions=_predicate(question))


def _predicate(question: Noul) -> str:
    """Return a yes/no question with what each answer means."""
    if question.criteria is None:
        return str(question.instructions)
    return f"{question.instructions}\nYes: {question.criteria.true}\nNo: {question.criteria.false}"


def _from_openai(answer: Any) -> Any:
    if answer.type == "predicate":
        return {"type": "noul", "noul": answer.probability}
    probabilities = {str(name): one for name, one in answer.probabilities.items()}
    return {
        "type": "choice",
        "choice": str(answer.choice),
        "probabilities": probabilities,
        "confidence": answer.confidence,
    }


def open_decisions(
    name: str, address: str, *, key: str, seconds: float, closing: AsyncExitStack, identity: str
) -> DecisionModel:
    """Return the model behind OpenAI's Decisions API. Its HTTP client is closed with `closing`."""
    warnings.filterwarnings("ignore", message="The class `OpenAIDecisions` is in beta")
    client = _client(seconds)
    limit_response(client)
    closing.push_async_callback(client.aclose)
    model = decisions.OpenAIDecisions(
        model=name, base_url=address, api_key=SecretStr(key), max_retries=0, http_async_client=client
    )

    async def decide(state: str, questions: Mapping[str, Typed]) -> ClassifierResponse:
        response = await model.ainvoke({"input": state, "questions": {n: _for_openai(q) for n, q in questions.items()}})
        # Questions that the model refuses have no answer.
        answers = {name: one for name, one in response.answers.items() if one.type in ("predicate", "choice")}
        return ClassifierResponse(
            model=response.model,
            answers={name: _from_openai(one) for name, one in answers.items()},
            usage=None if response.usage.input_tokens is None else response.usage.model_dump(),
            request_id=response.request_id,
        )

    return DecisionModel(decide, identity, seconds=seconds, address=address, secret=key)
