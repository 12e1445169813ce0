"""What the experiment on a growing span comes to, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from redraft.agents.fact_checker import ALIGNMENT, FACT_TOKENS, VERIFICATION, facts_at_once
from redraft.agents.judge import batch_size, reply_tokens
from redraft.agents.splitter import FACTS, FACTS_AT_ONCE, SENTENCES_AT_ONCE
from redraft.agents.token_budget import USUAL
from redraft.domain import Document
from redraft.lab.experiments.context.records import ContextDesign, Course
from redraft.lab.experiments.plan import DRAFTING, PlanStep, step_of, table_of
from redraft.llm.prices import PriceTable
from redraft.prompts.facts import SPLIT_FACTS
from redraft.prompts.factual import ALIGN_FACTS, VERIFY_SENTENCES
from redraft.report.reports.tables import Table
from redraft.runs.prepare import Prepared, prepare
from redraft.text.passages import WINDOW

_WORDS_A_SENTENCE = 20
# About as many as people and models find in a sentence of a summary.
_FACTS_A_SENTENCE = 3


def plan_table(documents: Sequence[Document], design: ContextDesign, prices: PriceTable) -> Table:
    """What there is to do, and what it may cost."""
    about = (
        "Drafting comes to so much at most. How many facts a summary has is not known before: judging them comes to"
        f" about so much, at {_FACTS_A_SENTENCE} facts a sentence, and to less where steps share sentences. Expected"
        " are replies of 60 % of their room."
    )
    return table_of([step for document in documents for step in _steps(document, design)], about, prices)


def _steps(document: Document, design: ContextDesign) -> Iterator[PlanStep]:
    course = design.course(document)
    for contestant in design.contestants:
        prepared = [prepare(document, design.drafting(contestant, course, step)) for step in course.steps]
        plans = [(one.plan.calls, one.plan.prompt_tokens, one.plan.completion_tokens) for one in prepared]
        name = f"{DRAFTING}, {contestant.strategy}"
        yield step_of(document, name, prepared[0].settings, len(course.steps), plans)
    if design.facts:
        judging = prepare(document, design.judging())
        yield from _facts(document, design, course, judging)


def _facts(document: Document, design: ContextDesign, course: Course, judging: Prepared) -> Iterator[PlanStep]:
    """Taking apart, verifying, and aligning with the step before in both directions, and with the reference."""
    room = reply_tokens(judging.settings.context_tokens)
    summaries = len(design.contestants) * len(course.steps)
    pairs = 2 * len(design.contestants) * (len(course.steps) - 1)
    pairs += summaries if design.reference else 0
    sentences = max(1, course.words // _WORDS_A_SENTENCE)
    facts, text = _FACTS_A_SENTENCE * sentences, ceil(course.words * judging.plan.tokens_per_word)
    aligned = facts_at_once(room, ALIGNMENT.tokens(USUAL))
    work = (
        ("taking summaries apart", SPLIT_FACTS, summaries, SENTENCES_AT_ONCE, sentences, FACTS, 2 * text),
        ("verifying facts", VERIFY_SENTENCES, summaries, FACTS_AT_ONCE, facts, VERIFICATION, 3 * sentences * WINDOW),
        ("aligning facts", ALIGN_FACTS, pairs, aligned, facts, ALIGNMENT, 2 * text * ceil(facts / aligned)),
    )
    for name, asked, times, most, items, entry, read in work:
        each = entry.tokens(USUAL)
        calls = ceil(items / min(most, batch_size(room, each)))
        overhead = judging.tokenizer.count(judging.book.template(asked))
        prompts = times * (calls * overhead + read + items * FACT_TOKENS)
        yield step_of(document, name, judging.settings, times, [(times * calls, prompts, times * items * each)])
