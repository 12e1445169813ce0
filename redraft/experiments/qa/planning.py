"""What the experiment on questions comes to, before anything is asked: as a rule, and at most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from redraft.agents.judge import batch_size, reply_tokens
from redraft.agents.questioner import ANSWER, QUESTION, VERDICT
from redraft.agents.token_budget import USUAL
from redraft.domain import Document, Usage
from redraft.errors import PlanError
from redraft.experiments.planning import USUAL_REPLY, cost_of
from redraft.experiments.qa.design import DIRECT, Design
from redraft.experiments.qa.records import ANSWERS, QUESTIONS, VERDICTS
from redraft.experiments.stages import DRAFTING
from redraft.models.prices import PriceTable
from redraft.packs.typed import MOST_TRIES
from redraft.prompts.contract import Prompt
from redraft.prompts.judging import ANSWER_FROM_DOCUMENT
from redraft.prompts.typed import ANSWER_QUESTIONS, ASK_TYPED, JUDGE_ANSWERS
from redraft.questions import THIRDS, TYPES
from redraft.reports.tables import Cell, Table
from redraft.runs.prepare import Prepared, prepare
from redraft.settings import Settings

# As a rule: the tokens of a question with its answer, of an answer, of a verdict, and of a paragraph with what stands
# before it. Looking for the answer to a question that shall have none takes a second look.
_QUESTION, _ANSWER, _VERDICT, _PARAGRAPH, _LOOKS = 80, 40, 35, 400, 2
# The share of a window that passages take.
_EVIDENCE = 0.4


@dataclass(frozen=True, slots=True)
class _Work:
    """One stage of one model: what it comes to as a rule, and at most."""

    stage: str
    settings: Settings
    calls: tuple[int, int]
    usual: Usage
    most: Usage

    def row(self, title: str, prices: PriceTable) -> tuple[Cell, ...]:
        """The cells of its line."""
        (calls, most), usual, bound = self.calls, self.usual, self.most
        costs = (
            cost_of(self.settings, calls, usual, prices, USUAL_REPLY),
            cost_of(self.settings, most, bound, prices),
        )
        tokens = (usual.prompt_tokens, bound.prompt_tokens, usual.completion_tokens, bound.completion_tokens)
        return (title, self.stage, self.settings.model, calls, most, *tokens, *costs)


def plan_table(documents: Sequence[Document], design: Design, prices: PriceTable) -> Table:
    """What there is to do, and what it costs as a rule and at most."""
    rows: list[tuple[Cell, ...]] = []
    unfit: list[str] = []
    for document in documents:
        rows += [work.row(document.title, prices) for work in _works(document, design, unfit)]
    numbers = list(zip(*(row[3:] for row in rows), strict=True))
    sums: list[Cell] = [_sum(column) for column in numbers]
    return Table(
        "plan",
        "What it comes to",
        "As a rule, and at most: when every question is tried on three paragraphs, every reply fills its room, every"
        " answer has to be judged, and everything is asked twice because of replies that cannot be read. Prices are in"
        " USD.",
        "Nothing was asked and nothing stored; what is known already costs nothing."
        + (f" Without room, and left out: {'; '.join(unfit)}." if unfit else ""),
        (
            *("document", "stage", "model", "calls", "calls at most", "prompt tokens", "prompt tokens at most"),
            *("reply tokens", "reply tokens at most", "USD", "USD at most"),
        ),
        (*rows, ("total", "", "", *sums)),
    )


def _sum(column: Sequence[Cell]) -> Cell:
    known = [one for one in column if isinstance(one, int | float)]
    return sum(known) if len(known) == len(column) else None


def _works(document: Document, design: Design, unfit: list[str]) -> Iterator[_Work]:
    judging = prepare(document, design.judging())
    questions = design.per_third * len(THIRDS) * len(TYPES)
    yield _asking(judging, questions)
    _, steps, _ = design.course(document)
    put = 0
    for one in design.contestants:
        cells: list[Prepared] = []
        for step in steps:
            try:
                cells.append(design.prepared(document, one.name, step))
            except PlanError:
                unfit.append(f"{one.name} at {step.tokens:,} tokens of {document.title}")
        if cells:
            put += questions * len(cells)
            before = [design.before(one.name, cell) for cell in cells]
            answering = _answering(cells, before, questions, design.at_once)
            if one.strategy == DIRECT:
                yield answering
            else:
                yield replace(_drafting(cells), stage=f"{DRAFTING}, {one.strategy}")
                yield replace(answering, stage=f"{ANSWERS}, {one.strategy}")
    yield _judging(judging, put)


def _asking(judging: Prepared, questions: int) -> _Work:
    """A question from each of its paragraphs, and of each type one that shall have no answer looked for."""
    checked = questions // len(TYPES)
    looked = int(judging.settings.context_tokens * _EVIDENCE) + _overhead(judging, ANSWER_FROM_DOCUMENT)
    ask, check = _overhead(judging, ASK_TYPED) + _PARAGRAPH, min(looked, judging.plan.document_tokens + looked // 2)
    calls = questions + checked * _LOOKS
    usual = Usage(questions * ask + checked * _LOOKS * check, questions * _QUESTION + checked * _LOOKS * _ANSWER)
    room = questions * QUESTION.tokens(USUAL) + checked * _LOOKS * ANSWER.tokens(USUAL)
    most = Usage(2 * MOST_TRIES * usual.prompt_tokens, 2 * MOST_TRIES * room)
    return _Work(QUESTIONS, judging.settings, (calls, 2 * MOST_TRIES * calls), usual, most)


def _drafting(cells: Sequence[Prepared]) -> _Work:
    """A summary at every step, from which questions are answered."""
    calls, prompt = sum(one.plan.calls for one in cells), sum(one.plan.prompt_tokens for one in cells)
    replies = sum(one.plan.completion_tokens for one in cells)
    usual = Usage(prompt, ceil(USUAL_REPLY * replies))
    return _Work(DRAFTING, cells[0].settings, (calls, calls), usual, Usage(prompt, replies))


def _answering(cells: Sequence[Prepared], before: Sequence[int], questions: int, at_once: int) -> _Work:
    """Every question at every step, so many at once, with so many tokens before whoever answers."""
    calls = ceil(questions / at_once)
    read = sum(before) + sum(_overhead(one, ANSWER_QUESTIONS) for one in cells)
    prompt, replies = calls * read + len(cells) * questions * _ANSWER, len(cells) * questions
    usual = Usage(prompt, replies * _ANSWER)
    most = Usage(2 * prompt, 2 * replies * ANSWER.tokens(USUAL))
    return _Work(ANSWERS, cells[0].settings, (len(cells) * calls, 2 * len(cells) * calls), usual, most)


def _judging(judging: Prepared, put: int) -> _Work:
    """As a rule half of all that was put is answered by something that was not judged before."""
    batch = batch_size(reply_tokens(judging.settings.context_tokens), VERDICT.tokens(USUAL))
    half, overhead = ceil(put / 2), _overhead(judging, JUDGE_ANSWERS)
    calls, most = ceil(half / batch), 2 * ceil(put / batch)
    usual = Usage(calls * overhead + half * 3 * _ANSWER, half * _VERDICT)
    return _Work(
        VERDICTS,
        judging.settings,
        (calls, most),
        usual,
        Usage(most * overhead + 2 * put * 3 * ANSWER.tokens(USUAL), 2 * put * VERDICT.tokens(USUAL)),
    )


def _overhead(prepared: Prepared, prompt: Prompt[Any, Any]) -> int:
    """The tokens of a prompt's own words."""
    return prepared.tokenizer.count(prepared.book.template(prompt))
