"""What a judge that only checks claims is asked by each prompt, and the reply that its answers make."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from redraft.prompts.contract import UNSURE, ReplyModel, Unsure
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

SUPPORTED, CONTRADICTED, ABSENT = "supported", "contradicted", "absent"
"""The answers about a claim, besides `UNSURE`."""
NOT_SO = "No"
"""The document's answer to a claim that it contradicts."""
_BEFORE, _AFTER = "Is this so: “", "”?"
_USUAL_IMPORTANCE = 3
_CATEGORIES: Mapping[str, Category | Unsure] = {
    SUPPORTED: "none",
    CONTRADICTED: "sentence",
    ABSENT: "out_of_article",
    UNSURE: UNSURE,
}


class ClaimAnswer(NamedTuple):
    """The answer about a claim and how likely it is, and the words it rests on with the numbers of their texts."""

    verdict: str
    likelihood: float
    premise: str
    places: Collection[int]

    def quote(self, claim: str) -> str:
        """Return the sentence nearest to a claim, from the words that the answer rests on; empty if there is none."""
        if self.verdict not in (SUPPORTED, CONTRADICTED):
            return ""
        claimed = set(words(claim))
        candidates = [self.premise[start:end] for start, end in sentences(self.premise)] or [self.premise]
        return max(candidates, key=lambda sentence: len(claimed & set(words(sentence))))


class ClaimSet(NamedTuple):
    """The claims of one request by number, the texts to judge them by, and how the answers make a reply."""

    texts: Sequence[str]
    claims: Mapping[int, str]
    read: Callable[[Mapping[int, ClaimAnswer]], ReplyModel]


def claim_in(question: str) -> str:
    """Return the claim that a question of `claims_asked` is about; empty for any other question."""
    is_claim = question.startswith(_BEFORE) and question.endswith(_AFTER)
    return question.removeprefix(_BEFORE).removesuffix(_AFTER) if is_claim else ""


def claim_question(claim: str) -> str:
    """Return the question that asks to confirm a claim."""
    return f"{_BEFORE}{one_line(claim)}{_AFTER}"


def claims_asked(inputs: AskSummaryInput) -> SummaryQuestions:
    """Return one question per sentence: whether it is true."""
    lists = []
    for line in inputs.sentences:
        if not inputs.only or line.id in inputs.only:
            claim = one_line(line.sentence)
            asked = SummaryQuestion(
                question=claim_question(claim), answer=claim, search="", importance=_USUAL_IMPORTANCE
            )
            lists.append(SentenceQuestions(id=line.id, questions=[asked]))
    return SummaryQuestions(sentences=lists)


def _compare(inputs: CompareInput) -> ClaimSet:
    """Compare answers about claims: what the document denies contradicts the summary. Other pairs are left out."""
    comparisons = [
        Comparison(id=pair.id, reason="by the entailment model", verdict="contradicts" if contradicted else "full")
        for pair in inputs.pairs
        for contradicted in [pair.document == NOT_SO]
        # A long answer is stored by its beginning.
        if contradicted or pair.summary.startswith(pair.document.removesuffix("…"))
    ]
    return ClaimSet((), {}, lambda _: Comparisons(comparisons=comparisons))


def _answer(inputs: AnswerFromDocumentInput) -> ClaimSet:
    """Ask whether claims hold; other questions are left open."""
    questions = inputs.questions
    claims = {item.id: claim for item in questions if (claim := claim_in(item.question))}

    def answer_to(number: int, answer: ClaimAnswer | None) -> DocumentAnswer:
        if answer is None or answer.verdict == UNSURE:
            return DocumentAnswer(id=number, quote="", answered=UNSURE, answer="")
        words_of = {SUPPORTED: claims[number], CONTRADICTED: NOT_SO, ABSENT: ""}
        return DocumentAnswer(
            id=number,
            quote=answer.quote(claims[number]),
            answered=answer.verdict != ABSENT,
            answer=words_of[answer.verdict],
        )

    return ClaimSet(
        inputs.texts,
        claims,
        lambda answers: DocumentAnswers(answers=[answer_to(item.id, answers.get(item.id)) for item in questions]),
    )


def _verify(inputs: VerifyInput) -> ClaimSet:
    def verification(number: int, sentence: str, answer: ClaimAnswer | None) -> Verification:
        if answer is None:
            return Verification(id=number, quote="", reason="The entailment model gave no answer.", category=UNSURE)
        return Verification(
            id=number,
            quote=answer.quote(sentence),
            reason=f"The entailment model: {answer.verdict} ({answer.likelihood:.2f}).",
            category=_CATEGORIES[answer.verdict],
        )

    return ClaimSet(
        inputs.texts,
        {statement.id: statement.sentence for statement in inputs.sentences},
        lambda answers: Verifications(
            sentences=[
                verification(statement.id, statement.sentence, answers.get(statement.id))
                for statement in inputs.sentences
            ]
        ),
    )


def _align(inputs: AlignInput) -> ClaimSet:
    ids = [statement.id for statement in inputs.sentences]

    def alignment(number: int, answer: ClaimAnswer | None) -> Alignment:
        if answer is None or answer.verdict == UNSURE:
            return Alignment(id=number, stated=UNSURE, sentences=[])
        stated = answer.verdict == SUPPORTED
        nearest = [ids[at] for at in sorted(answer.places)] if stated else []
        return Alignment(id=number, stated="yes" if stated else "no", sentences=nearest)

    return ClaimSet(
        [f"{statement.before} {statement.sentence}".strip() for statement in inputs.sentences],
        {fact.id: fact.fact for fact in inputs.facts},
        lambda answers: Alignments(facts=[alignment(fact.id, answers.get(fact.id)) for fact in inputs.facts]),
    )


CLAIMS_OF: Mapping[str, Callable[[Any], ClaimSet]] = {
    ASK_SUMMARY.name: lambda inputs: ClaimSet((), {}, lambda _: claims_asked(inputs)),
    ANSWER_FROM_DOCUMENT.name: _answer,
    COMPARE_ANSWERS.name: _compare,
    VERIFY_SENTENCES.name: _verify,
    ALIGN_FACTS.name: _align,
}
"""Returns the claims that the inputs of a prompt are about, by its name. Other prompts ask something else."""
