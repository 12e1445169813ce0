"""Judges that write no text: what each prompt asks them, and the reply that their probabilities make."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, cast

from redraft.domain import Usage
from redraft.errors import ProviderError
from redraft.llm.base import Reply, Request, Sampling
from redraft.prompts.coherence import FIND_CONFUSION, NO_CONFUSION, Confusion, ConfusionInput, Confusions, Mark
from redraft.prompts.contract import UNSURE, InputT, ReplyModel, ValueT
from redraft.prompts.factual import (
    ALIGN_FACTS,
    VERIFY_SENTENCES,
    AlignInput,
    Alignment,
    Alignments,
    Category,
    Verification,
    Verifications,
    VerifyInput,
)
from redraft.prompts.qa import (
    ANSWER_FROM_DOCUMENT,
    ASK_SUMMARY,
    COMPARE_ANSWERS,
    AnswerFromDocumentInput,
    AskSummaryInput,
    CompareInput,
    Comparison,
    Comparisons,
    DocumentAnswer,
    DocumentAnswers,
    SentenceQuestions,
    SummaryQuestion,
    SummaryQuestions,
)
from redraft.text.sanitizer import one_line
from redraft.text.sentences import sentences
from redraft.text.units import words

QUESTIONS_VERSION = 1
"""Part of what identifies a decision model's stored answers: raise it with every change of a question."""
DECIDED = ("consistency", "faithfulness", "booookscore", "keyfact_recall")
"""The metrics that a decision model can judge; the last one only with existing key facts."""
SUPPORTED, CONTRADICTED, ABSENT = "supported", "contradicted", "absent"
"""The answers about a claim whose probabilities are given."""
NOT_SO = "No"
"""The document's answer to a claim that it contradicts."""
_BEFORE, _AFTER = "Is this so: “", "”?"
_USUAL_IMPORTANCE = 3
_CATEGORIES: Mapping[str, Category] = {SUPPORTED: "none", CONTRADICTED: "sentence", ABSENT: "out_of_article"}

Kind = Literal["support", "statement", "confusion"]
"""What is asked of each claim: whether the texts support it, whether they state it, or what is confusing about it."""


class Claim(NamedTuple):
    """A sentence to judge, and what precedes it or where it stands."""

    text: str
    context: str = ""


class ClaimAnswer(NamedTuple):
    """The probability of each answer, and the words it rests on with the numbers of their texts, if known."""

    odds: Mapping[str, float]
    premise: str = ""
    places: Collection[int] = ()

    @property
    def verdict(self) -> str:
        """Return whether a claim is supported, if that is at least as likely as not, else the likeliest fault."""
        return likeliest(self.odds, SUPPORTED)

    def quote(self, claim: str, texts: Sequence[str]) -> str:
        """Return the sentence nearest to a claim, from the words that the answer rests on; empty if it is absent."""
        return "" if self.verdict == ABSENT else nearest_sentence(claim, [self.premise] if self.premise else texts)


class ClaimSet(NamedTuple):
    """The claims of one request by number, the texts to judge them by, and how the answers make a reply; without claims
    no model is asked."""

    kind: Kind
    texts: Sequence[str]
    claims: Mapping[int, Claim]
    read: Callable[[Mapping[int, ClaimAnswer]], ReplyModel]


class ClaimJudge(ABC):
    """A judge that gives probabilities and writes no text. Every answer keeps its probabilities; the agents decide
    which count as verdicts."""

    name: ClassVar[str]
    """What it is called in reasons, such as "decision model"."""
    serves: ClassVar[tuple[str, ...]]
    """The metrics that it can judge; the last one only with existing key facts."""
    kinds: ClassVar[tuple[Kind, ...]] = ("support", "statement")

    def __init__(self, identity: str) -> None:
        self.identity = identity

    def most_tokens(self, sampling: Sampling) -> int:  # noqa: ARG002  (it writes no text)
        """Return 0: the reply is not text."""
        return 0

    async def ask(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        """Judge all claims of a request."""
        claim_set = self.claims_of(request)
        found, usage, by = await self.answers(claim_set) if claim_set.claims else ({}, Usage(), "")
        value = claim_set.read(found)
        return Reply(cast("ValueT", value), value.model_dump_json(), usage, answered_by=by)

    @abstractmethod
    async def answers(self, asked: ClaimSet) -> tuple[Mapping[int, ClaimAnswer], Usage, str]:
        """Return the answers about claims that it can judge, the usage, and the model that answered."""

    def claims_of(self, request: Request[Any, Any]) -> ClaimSet:
        """Return what a request asks. Raises `ProviderError` for what this judge cannot do."""
        form = _FORMS.get(request.prompt.name)
        claim_set = form(request.given, self.name) if form else None
        if claim_set is None or claim_set.kind not in self.kinds:
            raise ProviderError(
                f"{'an' if self.name[0] in 'aeiou' else 'a'} {self.name} cannot do what the prompt"
                f" {request.prompt.name} asks",
                hint=f"it judges by {', '.join(self.serves[:-1])} and {self.serves[-1]}",
            )
        return claim_set


def likeliest(odds: Mapping[str, float], fine: str) -> str:
    """Return `fine` if it is at least as likely as not, else the likeliest other answer."""
    others = {name: one for name, one in odds.items() if name != fine}
    return fine if odds[fine] >= 1 / 2 else max(others, key=lambda name: others[name])


def claims_asked(given: AskSummaryInput) -> SummaryQuestions:
    """Return one question per sentence: whether it is true."""
    return SummaryQuestions(
        sentences=[
            SentenceQuestions(
                id=line.id,
                questions=[
                    SummaryQuestion(
                        question=f"{_BEFORE}{one_line(line.sentence)}{_AFTER}",
                        answer=one_line(line.sentence),
                        search="",
                        importance=_USUAL_IMPORTANCE,
                    )
                ],
            )
            for line in given.sentences
            if not given.only or line.id in given.only
        ]
    )


def claim_in(question: str) -> str:
    """Return the claim that a question asks to confirm; empty for any other question."""
    if not (question.startswith(_BEFORE) and question.endswith(_AFTER)):
        return ""
    return question.removeprefix(_BEFORE).removesuffix(_AFTER)


def nearest_sentence(claim: str, texts: Sequence[str]) -> str:
    """Return the sentence of some texts that shares the most words with a claim."""
    said = set(words(claim))
    found = [text[start:end] for text in texts for start, end in sentences(text)] or list(texts)
    return max(found, key=lambda one: len(said & set(words(one))), default="")


def _ask(given: AskSummaryInput, _: str) -> ClaimSet:
    return ClaimSet("support", (), {}, lambda _: claims_asked(given))


def _compare(given: CompareInput, name: str) -> ClaimSet:
    """Compare answers about claims: what the document denies contradicts the summary. Other pairs are left out."""
    comparisons = [
        Comparison(id=pair.id, reason=f"by the {name}", verdict="contradicts" if contradicted else "full")
        for pair in given.pairs
        for contradicted in [pair.document == NOT_SO]
        # A long answer is stored by its beginning.
        if contradicted or pair.summary.startswith(pair.document.removesuffix("…"))
    ]
    return ClaimSet("support", (), {}, lambda _: Comparisons(comparisons=comparisons))


def _answer(given: AnswerFromDocumentInput, _: str) -> ClaimSet:
    """Ask whether claims hold; other questions are left open."""
    claims = {item.id: claim for item in given.questions if (claim := claim_in(item.question))}

    def answered(number: int, found: ClaimAnswer | None) -> DocumentAnswer:
        if found is None:
            return DocumentAnswer(id=number, quote="", answered=UNSURE, answer="")
        return DocumentAnswer(
            id=number,
            quote=found.quote(claims[number], given.texts),
            answered=found.verdict != ABSENT,
            answer={SUPPORTED: claims[number], CONTRADICTED: NOT_SO, ABSENT: ""}[found.verdict],
            odds=dict(found.odds),
        )

    return ClaimSet(
        "support",
        given.texts,
        {number: Claim(claim) for number, claim in claims.items()},
        lambda found: DocumentAnswers(answers=[answered(item.id, found.get(item.id)) for item in given.questions]),
    )


def _verify(given: VerifyInput, name: str) -> ClaimSet:
    def verified(number: int, sentence: str, found: ClaimAnswer | None) -> Verification:
        if found is None:
            return Verification(id=number, quote="", reason=f"The {name} gave no answer.", category=UNSURE)
        return Verification(
            id=number,
            quote=found.quote(sentence, given.texts),
            reason=f"The {name}: {found.verdict} ({found.odds[found.verdict]:.2f}).",
            category=_CATEGORIES[found.verdict],
            odds={_CATEGORIES[answer]: one for answer, one in found.odds.items()},
        )

    return ClaimSet(
        "support",
        given.texts,
        {statement.id: Claim(statement.sentence, statement.before) for statement in given.sentences},
        lambda found: Verifications(
            sentences=[
                verified(statement.id, statement.sentence, found.get(statement.id)) for statement in given.sentences
            ]
        ),
    )


def _align(given: AlignInput, _: str) -> ClaimSet:
    ids = [statement.id for statement in given.sentences]
    told = [statement.sentence for statement in given.sentences]

    def aligned(number: int, fact: str, found: ClaimAnswer | None) -> Alignment:
        if found is None:
            return Alignment(id=number, stated=UNSURE, sentences=[])
        fine = found.odds[SUPPORTED]
        stated = found.verdict == SUPPORTED
        # One without places says that the summary states it, and not where.
        nearest = found.places or [told.index(nearest_sentence(fact, told))] if stated and told else []
        return Alignment(
            id=number,
            stated="yes" if stated else "no",
            sentences=[ids[at] for at in sorted(nearest)],
            odds={"yes": fine, "no": 1 - fine},
        )

    return ClaimSet(
        "statement",
        [f"{statement.before} {statement.sentence}".strip() for statement in given.sentences],
        {one.id: Claim(one.fact) for one in given.facts},
        lambda found: Alignments(facts=[aligned(one.id, one.fact, found.get(one.id)) for one in given.facts]),
    )


def _confusion(given: ConfusionInput, _: str) -> ClaimSet:
    def confusion(number: int, found: ClaimAnswer | None) -> Confusion:
        if found is None:
            return Confusion(id=number, questions=[], types=[UNSURE])
        mark = cast("Mark", likeliest(found.odds, NO_CONFUSION))
        return Confusion(id=number, questions=[], types=[mark], odds=dict(found.odds))

    return ClaimSet(
        "confusion",
        [given.summary],
        {sentence.id: Claim(sentence.sentence, sentence.place) for sentence in given.sentences},
        lambda found: Confusions(
            sentences=[confusion(sentence.id, found.get(sentence.id)) for sentence in given.sentences]
        ),
    )


_FORMS: Mapping[str, Callable[[Any, str], ClaimSet]] = {
    ASK_SUMMARY.name: _ask,
    ANSWER_FROM_DOCUMENT.name: _answer,
    COMPARE_ANSWERS.name: _compare,
    VERIFY_SENTENCES.name: _verify,
    ALIGN_FACTS.name: _align,
    FIND_CONFUSION.name: _confusion,
}
