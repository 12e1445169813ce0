"""The questions of judges that write no text: a sentence of the summary as a claim to confirm."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.prompts.qa import (
    AskSummaryGiven,
    Comparison,
    Pair,
    SentenceQuestions,
    SummaryLine,
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
SUPPORTED = "supported"
"""The answer that a claim holds, where a judge gives the probability of each."""
NOT_SO = "No"
"""The document's answer to a claim that it contradicts."""
_BEFORE, _AFTER = "Is this so: “", "”?"
_USUAL_IMPORTANCE = 3


def claims_asked(given: AskSummaryGiven) -> SummaryQuestions:
    """Return one question per sentence: whether it is true."""
    return SummaryQuestions(
        sentences=[
            SentenceQuestions(
                id=one.id,
                questions=[
                    SummaryQuestion(
                        question=f"{_BEFORE}{one_line(one.sentence)}{_AFTER}",
                        answer=one_line(one.sentence),
                        search="",
                        importance=_USUAL_IMPORTANCE,
                    )
                ],
            )
            for one in given.sentences
            if isinstance(one, SummaryLine) and (not given.only or one.id in given.only)
        ]
    )


def claim_in(question: str) -> str:
    """Return the claim that a question asks to confirm; empty for any other question."""
    if not (question.startswith(_BEFORE) and question.endswith(_AFTER)):
        return ""
    return question.removeprefix(_BEFORE).removesuffix(_AFTER)


def compared(pairs: Sequence[Pair], reason: str) -> list[Comparison]:
    """Return the comparisons of answers about claims: what the document denies contradicts the summary. Pairs of other
    answers are left out."""
    return [
        Comparison(id=one.id, reason=reason, verdict="contradicts" if contradicted else "agrees")
        for one in pairs
        for contradicted in [one.document == NOT_SO]
        # A long answer is stored by its beginning.
        if contradicted or one.summary.startswith(one.document.removesuffix("…"))
    ]


def nearest_sentence(claim: str, texts: Sequence[str]) -> str:
    """Return the sentence of some texts that shares the most words with a claim."""
    said = set(words(claim))
    found = [text[start:end] for text in texts for start, end in sentences(text)] or list(texts)
    return max(found, key=lambda one: len(said & set(words(one))), default="")
