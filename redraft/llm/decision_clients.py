"""Decision models behind `/v1/systemone`, and objects of LangChain."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AsyncExitStack

import httpx2
from langchain_core.decisions import BaseDecisionModel, ClassifierResponse
from pydantic import SecretStr

from redraft.errors import TransientError
from redraft.llm.claim_judge import QUESTIONS_VERSION
from redraft.llm.decisions import DecisionModel, Typed
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


def open_systemone(
    name: str, address: str, *, key: str, seconds: float, closing: AsyncExitStack, identity: str
) -> DecisionModel:
    """Return the model at a server with `/v1/systemone`. Its HTTP client is closed with `closing`."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    client = httpx2.AsyncClient(headers=headers, timeout=_timeout(seconds), follow_redirects=False)
    limit_response(client)
    closing.push_async_callback(client.aclose)
    return DecisionModel(SystemOneClient(name, address, client), identity, seconds=seconds, address=address, secret=key)


def _timeout(seconds: float) -> httpx2.Timeout:
    return httpx2.Timeout(seconds, connect=min(seconds, _CONNECTING))


def as_decision_model(given: BaseDecisionModel, seconds: float | None) -> DecisionModel:
    """Return a decision model of LangChain as a judge."""
    address = str(getattr(given, "base_url", None) or "")
    where = f"@{address}" if "://" in address else ""
    identity = f"{DECISIONS}:{given._provider}:{given.model}:{QUESTIONS_VERSION}{where}"
    key = getattr(given, "api_key", None)
    secret = key.get_secret_value() if isinstance(key, SecretStr) else ""
    return DecisionModel(LangChainClient(given), identity, seconds=seconds, address=address, secret=secret)
