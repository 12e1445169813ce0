"""Decision models as judges: they answer typed questions about a text with probabilities, and write no text."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any

import httpx2
from langchain_core.decisions import (
    Answer,
    BaseDecisionModel,
    Choice,
    ChoiceAnswer,
    ClassifierResponse,
    Noul,
    NoulAnswer,
)
from pydantic import SecretStr

from redraft.domain import Usage
from redraft.errors import TimedOut, TransientError
from redraft.llm.base import Request
from redraft.llm.claim_judge import (
    ABSENT,
    CONTRADICTED,
    DECIDED,
    QUESTIONS_VERSION,
    SUPPORTED,
    Claim,
    ClaimAnswer,
    ClaimJudge,
    ClaimSet,
    Kind,
)
from redraft.llm.failures import translate
from redraft.llm.http_client import limit_response, time_limit
from redraft.prompts.coherence import Mark
from redraft.prompts.contract import GAP
from redraft.settings import DECISIONS

Typed = Choice | Noul
Distribution = Mapping[str, float]

_SUPPORT = {
    SUPPORTED: "The text says this, in these or other words, or it follows from the text.",
    CONTRADICTED: "The text says something else about this, so that both cannot be true.",
    ABSENT: "The text neither says this nor anything that contradicts it.",
}
_STATED = {"true": "A reader learns this from the summary.", "false": "The summary does not say this."}
_CONFUSIONS: Mapping[Mark, str] = {
    "entity omission": "It mentions a person, place or thing that was not introduced.",
    "event omission": "It refers to an event that was not described.",
    "causal omission": "It leaves out why something happened.",
    "salience": "It tells of something that does not matter to the rest.",
    "discontinuity": "It does not follow from what comes before, or changes the scene without saying so.",
    "duplication": "It repeats what was said before.",
    "inconsistency": "It contradicts another part of the summary.",
    "language": "It is ungrammatical or ambiguous.",
    "no confusion": "A reader who knows only the summary understands it.",
}
_TOLERANCE = 0.05


Decide = Callable[[str, Mapping[str, Typed]], Awaitable[ClassifierResponse]]
"""Sends typed questions about one text to a model, and returns the answers by the questions' ids."""


class DecisionModel(ClaimJudge):
    """Judges by a decision model: all claims of a prompt are typed questions of one request."""

    name = "decision model"
    serves = DECIDED
    kinds = ("support", "statement", "confusion")

    def __init__(
        self, decide: Decide, identity: str, *, seconds: float | None, address: str = "", secret: str = ""
    ) -> None:
        """`seconds` is the time limit of a request, `secret` a key that no message may show."""
        super().__init__(identity)
        self._decide = decide
        self._seconds = seconds
        self._address = address
        self._secrets = (secret,) if secret else ()

    def sent(self, request: Request[Any, Any]) -> str:
        """Return what is sent in place of the prompt's text; empty where nothing is."""
        claims = self.claims_of(request)
        asked = {name: one.model_dump(mode="json", exclude_none=True) for name, one in _questions(claims).items()}
        questions = json.dumps(asked, ensure_ascii=False, indent=1)
        return f"<state>\n{_state(claims)}\n</state>\n\n{questions}" if asked else ""

    async def answers(self, asked: ClaimSet) -> tuple[Mapping[int, ClaimAnswer], Usage, str]:
        """Return the answers, without those that are not probabilities."""
        questions = _questions(asked)
        try:
            async with asyncio.timeout(self._seconds):
                response = await self._decide(_state(asked), questions)
        except TimeoutError:
            raise TimedOut(f"the model did not answer within {self._seconds or 0:g} s") from None
        except Exception as error:  # noqa: BLE001  (a client may raise anything, and may quote its key)
            raise translate(error, frozenset(), self._secrets, speaks_openai=True, address=self._address) from None
        known = {
            int(name): ClaimAnswer(found)
            for name, question in questions.items()
            if (found := distribution(question, response.answers.get(name)))
        }
        return known, _usage(response), response.model


def distribution(question: Typed, answer: Answer | None) -> Distribution | None:
    """Return the probability of each answer to a question; None for an answer of another type, or one whose numbers
    are not probabilities."""
    if isinstance(question, Noul):
        if not isinstance(answer, NoulAnswer) or not math.isfinite(answer.noul):
            return None
        return {SUPPORTED: answer.noul, ABSENT: 1 - answer.noul}
    if not isinstance(answer, ChoiceAnswer):
        return None
    found = {name: answer.probabilities.get(name, 0.0) for name in question.criteria}
    total = sum(found.values())
    if any(not 0 <= one <= 1 for one in found.values()) or not abs(total - 1) <= _TOLERANCE:
        return None
    return {name: one / total for name, one in found.items()}


def _usage(response: ClassifierResponse) -> Usage:
    if response.usage is None:
        return Usage(reported=False)
    return Usage(response.usage["input_tokens"], response.usage["output_tokens"])


def _state(asked: ClaimSet) -> str:
    return (f"\n\n{GAP}\n\n" if asked.kind == "support" else "\n").join(asked.texts)


def _questions(asked: ClaimSet) -> dict[str, Typed]:
    return {str(number): _question(asked.kind, claim) for number, claim in asked.claims.items()}


def _question(kind: Kind, claim: Claim) -> Typed:
    quoted = f"“{claim.text}”"
    if kind == "statement":
        instructions = f"Does the summary state this, in whatever words: {quoted}?"
        return Noul.model_validate({"instructions": instructions, "criteria": _STATED})
    if kind == "confusion":
        place = f" It is {claim.context}." if claim.context else ""
        return Choice(
            instructions="The text is a summary. What would confuse a reader about this sentence of it:"
            f" {quoted}?{place}",
            criteria={**_CONFUSIONS},
        )
    after = f" It follows this one, to which it may refer: “{claim.context}”" if claim.context else ""
    return Choice(
        instructions=f"Does the text support this sentence of a summary: {quoted}?{after}", criteria=dict(_SUPPORT)
    )


_VERSIONED = re.compile(r"/v\d+$")


def open_systemone(
    name: str, address: str, *, key: str, seconds: float, closing: AsyncExitStack, identity: str
) -> DecisionModel:
    """Return the model at a server with `/v1/systemone`, such as llama.cpp's. Its HTTP client is closed with
    `closing`."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    client = httpx2.AsyncClient(headers=headers, timeout=time_limit(seconds), follow_redirects=False)
    limit_response(client)
    closing.push_async_callback(client.aclose)
    url = f"{address}/systemone" if _VERSIONED.search(address) else f"{address}/v1/systemone"

    async def decide(state: str, questions: Mapping[str, Typed]) -> ClassifierResponse:
        asked = {name: one.model_dump(mode="json", exclude_none=True) for name, one in questions.items()}
        response = await client.post(url, json={"model": name, "state": state, "questions": asked})
        response.raise_for_status()
        try:
            return ClassifierResponse.model_validate({"model": name, **response.json()})
        except ValueError as error:
            raise TransientError("the server's answer is not that of a decision model") from error

    return DecisionModel(decide, identity, seconds=seconds, address=address, secret=key)


def as_decision_model(given: BaseDecisionModel) -> DecisionModel:
    """Return a decision model of LangChain as a judge."""
    address = str(getattr(given, "base_url", None) or "")
    where = f"@{address}" if "://" in address else ""
    identity = f"{DECISIONS}:{given._provider}:{given.model}:{QUESTIONS_VERSION}{where}"
    key = getattr(given, "api_key", None)
    secret = key.get_secret_value() if isinstance(key, SecretStr) else ""

    async def decide(state: str, questions: Mapping[str, Typed]) -> ClassifierResponse:
        return await given.ainvoke({"state": state, "questions": dict(questions)})

    return DecisionModel(decide, identity, seconds=None, address=address, secret=secret)
