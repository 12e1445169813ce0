"""What tracing with a model would ask, before anything is asked."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from redraft.agents.judge import Judge
from redraft.agents.tracer import SentenceTracer
from redraft.builtin.door import opened
from redraft.history.lineage import Tracer
from redraft.runs.lineages import Tracing, fitting, room_for
from redraft.runs.losses import aligning_of
from redraft.runs.preparing import Prepared
from redraft.store.store import Store


@dataclass(frozen=True, slots=True)
class TracingPlan:
    """What tracing would ask first, before anything is asked: what that leads to is within the same bound."""

    sentences: int
    calls: int
    tokens: int
    """About as many, both ways."""
    most: int
    """All that tracing may use."""
    facts: int = 0
    """How many facts among those that are asked about; one may be looked for in two texts."""

    def to_json(self) -> dict[str, object]:
        """The contract of `lineage --trace MODEL --dry-run --json`."""
        return {"plan": asdict(self)}


def foreseen(store: Store, key: str, prepared: Prepared, *, lost: bool = False) -> TracingPlan:
    """What tracing a run's result would ask, by a model with the window and the prompts of these settings; with `lost`
    about the facts that are not found as well."""
    run = store.runs.get(key)
    assert run.draft is not None, "who asks has looked"
    window = prepared.settings.context_tokens
    # Nobody is asked: a judge is needed for its prompts and for the room of its replies.
    judge = Judge(opened(), prepared.book, store.judgments)
    asking = SentenceTracer(judge, prepared.tokenizer, window)
    most = room_for(store, run.id, prepared.plan.document_tokens)
    tracing = Tracing(Tracer(store, prepared.document), run.draft, most)
    batches = fitting(tracing, asking, tracing.open())
    facts, left = list[list[int]](), tracing.room
    if lost:
        aligning = aligning_of(store, run, tracing)
        facts = fitting(aligning, asking, aligning.open())
        left = aligning.room
    calls = len(batches) + len(facts)
    return TracingPlan(sum(map(len, batches)), calls, most - left, most, sum(map(len, facts)))
