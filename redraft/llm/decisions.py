"""Decision models as judges: they answer typed questions about a text with probabilities, and write no text."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, cast

from langchain_core.decisions import Answer, Choice, ChoiceAnswer, ClassifierResponse, Noul, NoulAnswer

from redraft.domain import Usage
from redraft.errors import ProviderError, TimedOut
from redraft.llm.base import Reply, Request, Sampling
from redraft.llm.claim_questions import DECIDED, NOT_SO, SUPPORTED, claim_in, claims_asked, compared, nearest_sentence
from redraft.llm.failures import translate
from redraft.prompts.coherence import FIND_CONFUSION, NO_CONFUSION, Confusion, ConfusionGiven, Confusions, Mark
from redraft.prompts.contract import GAP, UNSURE, Given_, ReplyModel, Value_
from redraft.prompts.factual import (
    ALIGN_FACTS,
    VERIFY_SENTENCES,
    AlignGiven,
    Alignment,
    Alignments,
    Category,
    Verification,
    Verifications,
    VerifyGiven,
)
from redraft.prompts.qa import (
    ANSWER_FROM_DOCUMENT,
    ASK_SUMMARY,
    COMPARE_ANSWERS,
    AnswerFromDocumentGiven,
    AskSummaryGiven,
    CompareGiven,
    Comparisons,
    DocumentAnswer,
    DocumentAnswers,
)

Typed = Choice | Noul
Distribution = Mapping[str, float]

CONTRADICTED, ABSENT = "contradicted", "absent"
_SUPPORT = {
    SUPPORTED: "The text says this, in these or other words, or it follows from the text.",
    CONTRADICTED: "The text says something else about this, so that both cannot be true.",
    ABSENT: "The text neither says this nor anything that contradicts it.",
}
_CATEGORIES: Mapping[str, Category] = {SUPPORTED: "none", CONTRADICTED: "sentence", ABSENT: "out_of_article"}
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
_YES, _NO = "yes", "no"
_TOLERANCE = 0.05


class DecisionClient(Protocol):
    """Sends typed questions about one text to a model."""

    async def decide(self, state: str, questions: Mapping[str, Typed]) -> ClassifierResponse:
        """Return the answers by the questions' ids."""
        ...


class TypedRequest(NamedTuple):
    """The text and questions of a request, and how its answers are read; without questions nothing is sent."""

    state: str
    questions: Mapping[str, Typed]
    read: Callable[[Mapping[str, Distribution]], ReplyModel]


class DecisionModel:
    """Judges by a decision model. Every answer keeps its probabilities; the agents decide which count as verdicts."""

    def __init__(
        self, client: DecisionClient, identity: str, *, seconds: float | None, address: str = "", secret: str = ""
    ) -> None:
        """`seconds` is the time limit of a request, `secret` a key that no message may show."""
        self.identity = identity
        self._client = client
        self._seconds = seconds
        self._address = address
        self._secrets = (secret,) if secret else ()

    def most_tokens(self, sampling: Sampling) -> int:  # noqa: ARG002  (it writes no text)
        """Return 0: the reply is not text."""
        return 0

    def sent(self, request: Request[Any, Any]) -> str:
        """Return what is sent in place of the prompt's text; empty where nothing is."""
        typed = self._typed(request)
        asked = {name: one.model_dump(mode="json", exclude_none=True) for name, one in typed.questions.items()}
        questions = json.dumps(asked, ensure_ascii=False, indent=1)
        return f"<state>\n{typed.state}\n</state>\n\n{questions}" if asked else ""

    async def ask(self, request: Request[Given_, Value_]) -> Reply[Value_]:
        """Ask all questions of a prompt about its text in one request."""
        typed = self._typed(request)
        if not typed.questions:
            value = typed.read({})
            return Reply(cast(Value_, value), value.model_dump_json(), Usage())
        try:
            async with asyncio.timeout(self._seconds):
                response = await self._client.decide(typed.state, typed.questions)
        except TimeoutError:
            raise TimedOut(f"the model did not answer within {self._seconds or 0:g} s") from None
        except Exception as error:  # noqa: BLE001  (a client may raise anything, and may quote its key)
            raise translate(error, frozenset(), self._secrets, speaks_openai=True, address=self._address) from None
        known = {
            name: found
            for name, question in typed.questions.items()
            if (found := distribution(question, response.answers.get(name)))
        }
        value = typed.read(known)
        return Reply(cast(Value_, value), value.model_dump_json(), _usage(response), answered_by=response.model)

    def _typed(self, request: Request[Any, Any]) -> TypedRequest:
        form = _FORMS.get(request.prompt.name)
        if form is None:
            raise ProviderError(
                f"a decision model cannot do what the prompt {request.prompt.name} asks",
                hint=f"it judges by {', '.join(DECIDED[:-1])} and {DECIDED[-1]}",
            )
        return form(request.given)


def distribution(question: Typed, answer: Answer | None) -> Distribution | None:
    """Return the probability of each answer to a question; None for an answer of another type, or one whose numbers
    are no probabilities."""
    if isinstance(question, Noul):
        if not isinstance(answer, NoulAnswer) or not math.isfinite(answer.noul):
            return None
        return {_YES: answer.noul, _NO: 1 - answer.noul}
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


def _likeliest(found: Distribution, fine: str) -> str:
    """Return the answer to store: `fine` if it is at least as likely as not, else the likeliest other one."""
    others = {name: one for name, one in found.items() if name != fine}
    return fine if found[fine] >= 1 / 2 else max(others, key=lambda name: others[name])


def _supported(sentence: str, before: str = "") -> Choice:
    after = f" It follows this one, to which it may refer: “{before}”" if before else ""
    return Choice(
        instructions=f"Does the text support this sentence of a summary: “{sentence}”?{after}", criteria=dict(_SUPPORT)
    )


def _joined(texts: list[str]) -> str:
    return f"\n\n{GAP}\n\n".join(texts)


def _ask(given: AskSummaryGiven) -> TypedRequest:
    return TypedRequest("", {}, lambda _: claims_asked(given))


def _compare(given: CompareGiven) -> TypedRequest:
    return TypedRequest("", {}, lambda _: Comparisons(comparisons=compared(given.pairs, "by the decision model")))


def _answer(given: AnswerFromDocumentGiven) -> TypedRequest:
    """Ask whether claims hold; other questions are left open."""
    claims = {one.id: claim for one in given.questions if (claim := claim_in(one.question))}

    def read(found: Mapping[str, Distribution]) -> DocumentAnswers:
        return DocumentAnswers(answers=[answered(one.id, found.get(str(one.id))) for one in given.questions])

    def answered(number: int, odds: Distribution | None) -> DocumentAnswer:
        if odds is None:
            return DocumentAnswer(id=number, quote="", answered=UNSURE, answer="")
        claim, verdict = claims[number], _likeliest(odds, SUPPORTED)
        return DocumentAnswer(
            id=number,
            quote="" if verdict == ABSENT else nearest_sentence(claim, given.texts),
            answered=verdict != ABSENT,
            answer={SUPPORTED: claim, CONTRADICTED: NOT_SO, ABSENT: ""}[verdict],
            odds=dict(odds),
        )

    return TypedRequest(_joined(given.texts), {str(n): _supported(claim) for n, claim in claims.items()}, read)


def _verify(given: VerifyGiven) -> TypedRequest:
    questions = {str(one.id): _supported(one.sentence, one.before) for one in given.sentences}

    def verified(number: int, sentence: str, odds: Distribution | None) -> Verification:
        if odds is None:
            return Verification(id=number, quote="", reason="The model gave no answer.", category=UNSURE)
        verdict = _likeliest(odds, SUPPORTED)
        return Verification(
            id=number,
            quote="" if verdict == ABSENT else nearest_sentence(sentence, given.texts),
            reason=f"The decision model: {verdict} ({odds[verdict]:.2f}).",
            category=_CATEGORIES[verdict],
            odds={_CATEGORIES[name]: one for name, one in odds.items()},
        )

    def read(found: Mapping[str, Distribution]) -> Verifications:
        return Verifications(
            sentences=[verified(one.id, one.sentence, found.get(str(one.id))) for one in given.sentences]
        )

    return TypedRequest(_joined(given.texts), questions, read)


def _align(given: AlignGiven) -> TypedRequest:
    questions = {
        str(one.id): Noul.model_validate(
            {"instructions": f"Does the summary state this, in whatever words: “{one.fact}”?", "criteria": _STATED}
        )
        for one in given.facts
    }
    of_sentence = {one.sentence: one.id for one in given.sentences}

    def aligned(number: int, fact: str, odds: Distribution | None) -> Alignment:
        if odds is None:
            return Alignment(id=number, stated=UNSURE, sentences=[])
        stated = _likeliest(odds, _YES) == _YES
        nearest = nearest_sentence(fact, list(of_sentence)) if stated else ""
        sentences = [of_sentence[nearest]] if nearest in of_sentence else []
        return Alignment(id=number, stated="yes" if stated else "no", sentences=sentences, odds=dict(odds))

    def read(found: Mapping[str, Distribution]) -> Alignments:
        return Alignments(facts=[aligned(one.id, one.fact, found.get(str(one.id))) for one in given.facts])

    return TypedRequest("\n".join(f"{one.before} {one.sentence}".strip() for one in given.sentences), questions, read)


def _confusion(given: ConfusionGiven) -> TypedRequest:
    questions: dict[str, Typed] = {
        str(one.id): Choice(
            instructions=f"The text is a summary. What would confuse a reader about this sentence of it:"
            f" “{one.sentence}”?{f' It is {one.place}.' if one.place else ''}",
            criteria={**_CONFUSIONS},
        )
        for one in given.sentences
    }

    def confusion(number: int, odds: Distribution | None) -> Confusion:
        if odds is None:
            return Confusion(id=number, questions=[], types=[UNSURE])
        mark = cast(Mark, _likeliest(odds, NO_CONFUSION))
        return Confusion(id=number, questions=[], types=[mark], odds=dict(odds))

    def read(found: Mapping[str, Distribution]) -> Confusions:
        return Confusions(sentences=[confusion(one.id, found.get(str(one.id))) for one in given.sentences])

    return TypedRequest(given.summary, questions, read)


_FORMS: Mapping[str, Callable[[Any], TypedRequest]] = {
    ASK_SUMMARY.name: _ask,
    ANSWER_FROM_DOCUMENT.name: _answer,
    COMPARE_ANSWERS.name: _compare,
    VERIFY_SENTENCES.name: _verify,
    ALIGN_FACTS.name: _align,
    FIND_CONFUSION.name: _confusion,
}
