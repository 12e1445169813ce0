"""Decision models as judges: they answer typed questions about a text with probabilities, and write no text."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from typing import Any, Protocol

from langchain_core.decisions import Answer, Choice, ChoiceAnswer, ClassifierResponse, Noul, NoulAnswer

from redraft.domain import Usage
from redraft.errors import TimedOut
from redraft.llm.base import Request
from redraft.llm.claim_judge import (
    ABSENT,
    CONTRADICTED,
    DECIDED,
    SUPPORTED,
    Claim,
    ClaimAnswer,
    ClaimJudge,
    ClaimSet,
    Kind,
)
from redraft.llm.failures import translate
from redraft.prompts.coherence import Mark
from redraft.prompts.contract import GAP

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


class DecisionClient(Protocol):
    """Sends typed questions about one text to a model."""

    async def decide(self, state: str, questions: Mapping[str, Typed]) -> ClassifierResponse:
        """Return the answers by the questions' ids."""
        ...


class DecisionModel(ClaimJudge):
    """Judges by a decision model: all claims of a prompt are typed questions of one request."""

    name = "decision model"
    serves = DECIDED
    kinds = ("support", "statement", "confusion")

    def __init__(
        self, client: DecisionClient, identity: str, *, seconds: float | None, address: str = "", secret: str = ""
    ) -> None:
        """`seconds` is the time limit of a request, `secret` a key that no message may show."""
        super().__init__(identity)
        self._client = client
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
        """Return the answers, without those that are no probabilities."""
        questions = _questions(asked)
        try:
            async with asyncio.timeout(self._seconds):
                response = await self._client.decide(_state(asked), questions)
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
    are no probabilities."""
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
