"""What any judge that only checks claims is asked by the prompts about them, and the replies that its answers make."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

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

NOT_SO = "No"
"""The document's answer to a claim that it contradicts."""
_BEFORE, _AFTER = "Is this so: “", "”?"
_USUAL_IMPORTANCE = 3


Verdict = Literal["supported", "contradicted", "absent", "unsure"]


class ClaimAnswer(NamedTuple):
    """What some texts say about a claim, and why."""

    verdict: Verdict
    category: Category | Unsure
    """What is wrong with a sentence that makes the claim."""
    reason: str
    quote: str = ""
    """The sentence of the texts that it rests on."""
    correction: str = NOT_SO
    """What the texts say instead of a claim that they contradict."""
    share: float | None = None
    """The share of the claim's word pairs that the texts have, where that is its support."""
    places: Collection[int] = ()
    """The numbers of the texts that it rests on."""


Check = Callable[[Sequence[str], Sequence[str]], Sequence[ClaimAnswer]]
"""Answers each of some claims from some texts."""


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


def answer_from_document(inputs: AnswerFromDocumentInput, check: Check) -> DocumentAnswers:
    """Return what the texts say about each claim; other questions are left open."""
    claims = {item.id: claim for item in inputs.questions if (claim := claim_in(item.question))}
    checked = dict(zip(claims, check(list(claims.values()), inputs.texts), strict=True))
    answers: list[DocumentAnswer] = []
    for item in inputs.questions:
        answer = checked.get(item.id)
        if answer is None or answer.verdict == UNSURE:
            answers.append(DocumentAnswer(id=item.id, quote="", answered=UNSURE, answer=""))
            continue
        text = {"supported": claims[item.id], "absent": ""}.get(answer.verdict, answer.correction)
        quote = answer.quote if text else ""
        answers.append(DocumentAnswer(id=item.id, quote=quote, answered=bool(text), answer=text, share=answer.share))
    return DocumentAnswers(answers=answers)


def verify_sentences(inputs: VerifyInput, check: Check) -> Verifications:
    """Return what is wrong with each sentence."""
    checked = check([statement.sentence for statement in inputs.sentences], inputs.texts)
    return Verifications(
        sentences=[
            Verification(id=statement.id, quote=answer.quote, reason=answer.reason, category=answer.category)
            for statement, answer in zip(inputs.sentences, checked, strict=True)
        ]
    )


def _compare(inputs: CompareInput, _: Check) -> Comparisons:
    """Compare answers about claims: what the document denies contradicts the summary. Other pairs are left out."""
    comparisons = [
        Comparison(id=pair.id, reason="by the entailment model", verdict="contradicts" if contradicted else "full")
        for pair in inputs.pairs
        for contradicted in [pair.document == NOT_SO]
        # A long answer is stored by its beginning.
        if contradicted or pair.summary.startswith(pair.document.removesuffix("…"))
    ]
    return Comparisons(comparisons=comparisons)


def _align(inputs: AlignInput, check: Check) -> Alignments:
    texts = [f"{statement.before} {statement.sentence}".strip() for statement in inputs.sentences]
    alignments: list[Alignment] = []
    for fact, answer in zip(inputs.facts, check([fact.fact for fact in inputs.facts], texts), strict=True):
        places = sorted(answer.places) if answer.verdict == "supported" else []
        stated = "yes" if answer.verdict == "supported" else UNSURE if answer.verdict == UNSURE else "no"
        nearest = [inputs.sentences[at].id for at in places]
        alignments.append(Alignment(id=fact.id, stated=stated, sentences=nearest))
    return Alignments(facts=alignments)


REPLIES: Mapping[str, Callable[[Any, Check], ReplyModel]] = {
    ASK_SUMMARY.name: lambda inputs, _: claims_asked(inputs),
    ANSWER_FROM_DOCUMENT.name: answer_from_document,
    COMPARE_ANSWERS.name: _compare,
    VERIFY_SENTENCES.name: verify_sentences,
    ALIGN_FACTS.name: _align,
}
"""The replies of a judge that checks claims, by prompt. It cannot do what other prompts ask."""
