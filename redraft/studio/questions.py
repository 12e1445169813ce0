"""Questions about the document of a run, answered by the run's model, and the list of answers."""

from __future__ import annotations

from redraft.domain import Document
from redraft.report.history.answers import read_answer
from redraft.report.history.results import document_read
from redraft.report.pages.formatting import score
from redraft.runs.prepare import RunSpec
from redraft.runs.request import asking
from redraft.settings import DraftConfig, JudgeConfig
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.studio.contracts import AnswerList, AskedQuestion
from redraft.studio.form import on_page
from redraft.text.sanitizer import scrubbed

_MOST = 20


def order_of(store: Store, run: Run, question: str) -> tuple[Document, DraftConfig, RunSpec]:
    """Return the order for a run that answers a question about a run's document, with the same model and judges."""
    settings = run.settings.model_copy(update={"words": None, "chosen": "", "query": None})
    judging = (run.judging or JudgeConfig()).model_copy(update={"pack": None, "keyfacts": None, "reference": None})
    return document_read(store, run), *asking(settings, judging, question)


def answers_of(store: Store, run: str) -> AnswerList:
    """Return the latest questions about the document of a run."""
    document = store.runs.get(run).document
    found = store.runs.latest(_MOST, documents=[document], wanted=lambda one: one.kind == "ask")
    return AnswerList(answers=tuple(_asked(store, one) for one in found))


def _asked(store: Store, run: Run) -> AskedQuestion:
    answer = read_answer(store, run.id) if run.draft else None
    judged = answer.consistency if answer else None
    by = ", ".join(run.judging.judges or (run.settings.model,)) if run.judging else ""
    return AskedQuestion(
        run=run.id,
        question=run.settings.query or "",
        status=store.status(run),
        trouble=on_page(scrubbed((run.error or {}).get("message", ""))),
        answered=answer.answered if answer else None,
        answer=answer.answer if answer else "",
        sentences=answer.sentences if answer else (),
        citations=answer.citations if answer else (),
        judged=f"consistency {score(judged.score)}, judged by {by}" if judged and judged.score is not None else "",
        findings=tuple(f"{one.explanation} {one.expected}".strip() for one in judged.findings) if judged else (),
        notes=tuple(map(on_page, answer.notes)) if answer else (),
    )
