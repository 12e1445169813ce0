"""The judge `nli:MODEL`: it answers the prompts of consistency and of faithfulness, and aligns facts; nothing else."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from redraft.domain import Usage
from redraft.errors import ProviderError
from redraft.llm.base import LateModel, Model, Reply, Request, Sampling
from redraft.llm.nli.entailment import WHAT, Entailment, load_entailment
from redraft.llm.nli.verdicts import EntailmentVerdict, hold, nearest_sentence
from redraft.prompts.contract import UNSURE, Given_, ReplyModel, Value_
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
from redraft.prompts.judging import (
    ANSWER_FROM_DOCUMENT,
    ASK_SUMMARY,
    COMPARE_ANSWERS,
    AnswerFromDocumentGiven,
    AskSummaryGiven,
    CompareGiven,
    Comparison,
    Comparisons,
    DocumentAnswer,
    DocumentAnswers,
    SentenceQuestions,
    SummaryQuestion,
    SummaryQuestions,
    Told,
)
from redraft.text.cleaning import one_line
from redraft.text.embeddings import check_name, folder_of

VERSION = 2
"""Part of what identifies a stored answer: raise it with every change after which an answer may differ."""
SERVES = ("consistency", "faithfulness", "keyfact_recall")
"""The metrics that it serves; the last only by key facts that somebody else has found."""

_BEFORE, _AFTER = "Is this so: “", "”?"
_NOT_SO = "No"
_NOT_SURE = "The entailment model is not sure of any of its classes."
_USUAL_IMPORTANCE = 3
_CATEGORIES: Mapping[str, Category] = {"entailed": "none", "contradicted": "sentence", "neither": "out_of_article"}


def opened(name_or_path: str) -> Model:
    """The judge of this name, which is loaded when it is first asked. What cannot be a name is refused at once."""
    check_name(name_or_path, WHAT)
    identity = _identity(name_or_path)
    return LateModel(identity, lambda: EntailmentModel(load_entailment(name_or_path), identity))


def _identity(name_or_path: str) -> str:
    """A public name stands for its weights. Those in a folder may be trained anew, so their files are looked at."""
    folder = folder_of(name_or_path)
    if folder is None:
        return f"nli:{name_or_path}:{VERSION}"
    files = sorted(one for one in Path(folder).rglob("*") if one.is_file())
    seen = [(str(one.relative_to(folder)), one.stat().st_size, one.stat().st_mtime_ns) for one in files]
    digest = hashlib.sha256(repr(seen).encode()).hexdigest()[:8]
    return f"nli:{os.path.abspath(folder)}:{VERSION}:{digest}"


class EntailmentModel:
    """Holds claims against passages. Of what it is not sure of it says so, and nobody asks again."""

    def __init__(self, model: Entailment, identity: str) -> None:
        self.identity = identity
        self._model = model
        self._alone = asyncio.Lock()
        self._answers: dict[str, Callable[[Any], ReplyModel]] = {
            ASK_SUMMARY.name: _asked,
            ANSWER_FROM_DOCUMENT.name: self._answered,
            COMPARE_ANSWERS.name: _compared,
            VERIFY_SENTENCES.name: self._verified,
            ALIGN_FACTS.name: self._aligned,
        }

    def most_tokens(self, sampling: Sampling) -> int:  # noqa: ARG002  (it writes nothing)
        """It writes nothing that anybody would bill for."""
        return 0

    async def ask(self, request: Request[Given_, Value_]) -> Reply[Value_]:
        """Answer a prompt; one request after the other, as each uses the whole machine."""
        answer = self._answers.get(request.prompt.name)
        if answer is None:
            raise ProviderError(
                f"an entailment model cannot do what the prompt {request.prompt.name} asks",
                hint=f"it judges by {', '.join(SERVES[:-1])} and {SERVES[-1]}",
            )
        async with self._alone:
            value = await asyncio.to_thread(answer, request.given)
        return Reply(cast(Value_, value), value.model_dump_json(), Usage(reported=False))

    def _answered(self, given: AnswerFromDocumentGiven) -> DocumentAnswers:
        """Whether claims are so; it can tell nothing of a question of any other kind."""
        claims = {one.id: claim for one in given.questions if (claim := _claim(one.question))}
        held = self._held(claims, given.texts)
        answers = {"contradicted": _NOT_SO, "neither": ""}
        return DocumentAnswers(
            answers=[
                DocumentAnswer(
                    id=n,
                    quote=nearest_sentence(claims[n], one.premise),
                    answered=one.verdict != "neither",
                    answer=answers.get(one.verdict, claims[n]),
                )
                if (one := held.get(n))
                else DocumentAnswer(id=n, quote="", answered=UNSURE, answer="")
                for n in (asked.id for asked in given.questions)
            ]
        )

    def _verified(self, given: VerifyGiven) -> Verifications:
        claims = {one.id: one.sentence for one in given.sentences}
        return Verifications(
            sentences=[
                Verification(
                    id=n,
                    reason=f"The entailment model has it {one.verdict}, at {one.odds:.2f}.",
                    quote=nearest_sentence(claims[n], one.premise),
                    category=_CATEGORIES[one.verdict],
                )
                if one
                else Verification(id=n, reason=_NOT_SURE, quote="", category=UNSURE)
                for n, one in self._held(claims, given.texts).items()
            ]
        )

    def _aligned(self, given: AlignGiven) -> Alignments:
        """The sentences of the summary are the passages, each with what it points back to."""
        passages = [f"{one.before} {one.sentence}".strip() for one in given.sentences]
        held = self._held({one.id: one.fact for one in given.facts}, passages)
        return Alignments(
            facts=[
                Alignment(
                    id=n,
                    stated="yes" if one.verdict == "entailed" else "no",
                    sentences=[given.sentences[at].id for at in sorted(one.passages) if one.verdict == "entailed"],
                )
                if one
                else Alignment(id=n, stated=UNSURE, sentences=[])
                for n, one in held.items()
            ]
        )

    def _held(self, claims: Mapping[int, str], passages: list[str]) -> dict[int, EntailmentVerdict | None]:
        """What is said of each claim; None where nothing is sure."""
        return dict(zip(claims, hold(self._model, list(claims.values()), passages), strict=True))


def _asked(given: AskSummaryGiven) -> SummaryQuestions:
    """One question about each sentence: whether it is so."""
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
            if isinstance(one, Told) and (not given.only or one.id in given.only)
        ]
    )


def _claim(question: str) -> str:
    """What a question asks to confirm; nothing where it asks for something else."""
    if not (question.startswith(_BEFORE) and question.endswith(_AFTER)):
        return ""
    return question.removeprefix(_BEFORE).removesuffix(_AFTER)


def _compared(given: CompareGiven) -> Comparisons:
    """What the document says is not so contradicts the summary. Other answers cannot be compared."""
    return Comparisons(
        comparisons=[
            Comparison(id=one.id, reason="by entailment", verdict="contradicts" if contradicted else "agrees")
            for one in given.pairs
            for contradicted in [one.document == _NOT_SO]
            # A long answer is remembered by its beginning.
            if contradicted or one.summary.startswith(one.document.removesuffix("…"))
        ]
    )
