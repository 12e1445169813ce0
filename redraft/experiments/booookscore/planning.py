"""What judging coherence comes to, before anything is asked."""

from __future__ import annotations

from math import ceil

from redraft.agents.judge import batch_size, reply_tokens
from redraft.agents.proofreader import CONFUSION
from redraft.evaluators.forecast import A_NUMBER
from redraft.experiments.booookscore.scoring import CoherenceOutcome, Seat, Summary, seats_of
from redraft.experiments.planning import Step, Told, step_of, table_of
from redraft.experiments.stages import JUDGING
from redraft.models.prices import PriceTable
from redraft.prompts.coherence import FIND_CONFUSION
from redraft.reports.tables import Table
from redraft.runs.job import wording

_ABOUT = (
    "Each time is one summary before one judge. The first figures are what it comes to at most. The expected ones are a"
    " rule of thumb: replies of 60 % of their room."
)


def plan_table(outcome: CoherenceOutcome, prices: PriceTable) -> Table:
    """What there is to do, what it may cost, and what it will cost as a rule."""
    seats = seats_of(outcome) if outcome.design.judges else []
    return table_of([_step(seat, outcome) for seat in seats], _ABOUT, prices)


def _step(seat: Seat, outcome: CoherenceOutcome) -> Step:
    judged = [summary for summary in outcome.summaries if summary.sentences]
    told = [_told(seat, summary, outcome.design.batch) for summary in judged]
    return step_of(seat.prepared.document, JUDGING, seat.prepared.settings, len(judged), told)


def _told(seat: Seat, summary: Summary, batch: int) -> Told:
    """Each call has the summary before it, as far as there is room for it, and so many of its sentences."""
    prepared, sentences = seat.prepared, len(summary.sentences)
    window, each = prepared.settings.context_tokens, CONFUSION.tokens(wording(prepared))
    calls = ceil(sentences / min(batch, batch_size(reply_tokens(window), each)))
    overhead = prepared.tokenizer.count(prepared.book.template(FIND_CONFUSION)) + A_NUMBER
    text = prepared.tokenizer.count(summary.text)
    prompt = calls * (overhead + min(text, window)) + text + sentences * A_NUMBER
    return calls, prompt, sentences * each
