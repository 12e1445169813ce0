"""Opens decision models: by OpenAI's Decisions API, by `/v1/systemone`, or as an object of LangChain."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import httpx2
from langchain_core.decisions import BaseDecisionModel, Choice, ClassifierResponse, Noul
from pydantic import SecretStr

from redraft.errors import TransientError
from redraft.llm.decisions import VERSION, DecisionModel, Typed
from redraft.llm.http_client import limit_response
from redraft.settings import DECISIONS

_VERSIONED = re.compile(r"/v\d+$")
# A server that does not accept a connection by then is considered down.
_CONNECTING = 5.0


class LangChainClient:
    """Asks a decision model of LangChain."""

    def __init__(self, model: BaseDecisionModel) -> None:
        self._model = model

    async def decide(self, state: str, questions: Mapping[str, Typed]) -> ClassifierResponse:
        """Return the answers by the questions' ids."""
        return await self._model.ainvoke({"state": state, "questions": dict(questions)})


class SystemOneClient:
    """Asks a server with the endpoint `/v1/systemone`, such as llama.cpp's."""

    def __init__(self, name: str, address: str, client: httpx2.AsyncClient) -> None:
        self._name = name
        self._url = f"{address}/systemone" if _VERSIONED.search(address) else f"{address}/v1/systemone"
        self._client = client

    async def decide(self, state: str, questions: Mapping[str, Typed]) -> ClassifierResponse:
        """Return the answers by the questions' ids."""
        asked = {name: one.model_dump(mode="json", exclude_none=True) for name, one in questions.items()}
        response = await self._client.post(self._url, json={"model": self._name, "state": state, "questions": asked})
        response.raise_for_status()
        try:
            return ClassifierResponse.model_validate({"model": self._name, **response.json()})
        except ValueError as error:
            raise TransientError("the server's answer is not that of a decision model") from error


class OpenAIClient:
    """Asks OpenAI's Decisions API through `OpenAIDecisions`."""

    def __init__(self, model: Any) -> None:
        self._model = model

    async def decide(self, state: str, questions: Mapping[str, Typed]) -> ClassifierResponse:
        """Return the answers by the questions' ids; questions that the model refuses have none."""
        asked = {name: _for_openai(one) for name, one in questions.items()}
        response = await self._model.ainvoke({"input": state, "questions": asked})
        answers = {name: one for name, one in response.answers.items() if one.type in ("predicate", "choice")}
        return ClassifierResponse(
            model=response.model,
            answers={name: _from_openai(one) for name, one in answers.items()},
            usage=None if response.usage.input_tokens is None else response.usage.model_dump(),
            request_id=response.request_id,
        )


def _for_openai(question: Typed) -> Any:
    from langchain_openai.decisions import Choice as OpenAIChoice
    from langchain_openai.decisions import Predicate

    if isinstance(question, Choice):
        return OpenAIChoice(
            instructions=str(question.instructions),
            choices={name: str(said) for name, said in question.criteria.items()},
        )
    return Predicate(instructions=_predicate(question))


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


def open_systemone(
    name: str, address: str, *, key: str, seconds: float, closing: AsyncExitStack, identity: str
) -> DecisionModel:
    """Return the model at a server with `/v1/systemone`. Its HTTP client is closed with `closing`."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    client = httpx2.AsyncClient(headers=headers, timeout=_timeout(seconds), follow_redirects=False)
    limit_response(client)
    closing.push_async_callback(client.aclose)
    return DecisionModel(SystemOneClient(name, address, client), identity, seconds=seconds, address=address, secret=key)


def open_decisions(
    name: str, address: str, *, key: str, seconds: float, closing: AsyncExitStack, identity: str
) -> DecisionModel:
    """Return the model behind OpenAI's Decisions API. Its HTTP client is closed with `closing`."""
    from langchain_openai.decisions import OpenAIDecisions

    warnings.filterwarnings("ignore", message="The class `OpenAIDecisions` is in beta")
    client = httpx2.AsyncClient(timeout=_timeout(seconds), follow_redirects=False)
    limit_response(client)
    closing.push_async_callback(client.aclose)
    model = OpenAIDecisions(
        model=name, base_url=address, api_key=SecretStr(key), max_retries=0, http_async_client=client
    )
    return DecisionModel(OpenAIClient(model), identity, seconds=seconds, address=address, secret=key)


def _timeout(seconds: float) -> httpx2.Timeout:
    return httpx2.Timeout(seconds, connect=min(seconds, _CONNECTING))


def as_decision_model(given: Any, seconds: float | None) -> DecisionModel:
    """Return a decision model of LangChain as a judge."""
    openais = not isinstance(given, BaseDecisionModel)
    provider = "openai" if openais else given._provider
    address = str(getattr(given, "base_url", None) or "")
    where = f"@{address}" if "://" in address else ""
    identity = f"{DECISIONS}:{provider}:{given.model}:{VERSION}{where}"
    client = OpenAIClient(given) if openais else LangChainClient(given)
    key = getattr(given, "api_key", None)
    secret = key.get_secret_value() if isinstance(key, SecretStr) else ""
    return DecisionModel(client, identity, seconds=seconds, address=address, secret=secret)
