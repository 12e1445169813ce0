"""Looking for lost facts with a model's help, where words alone do not tell whether a text says them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from redraft.agents.tracer import Untraced
from redraft.history.lost import Doubt, FactSearch, Losses
from redraft.runs.floor import Floor
from redraft.runs.lineages import CANDIDATES, Tracing, ask_about, tracing_of
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.store.threads import off_loop


@dataclass(frozen=True, slots=True)
class OpenFact:
    """A fact to be asked about, and the text that seems to lack it."""

    doubt: Doubt

    @property
    def item(self) -> Untraced:
        """As it is put to a model: a sentence, and the places that may say so."""
        return Untraced(self.doubt.fact, "", self.doubt.places)


@dataclass(slots=True)
class Aligning:
    """The search for the facts that one draft lacks: what may still be asked."""

    search: FactSearch
    room: int
    """How many tokens may be used."""
    left: int = 0
    """How many facts there was no room for."""
    what: str = "facts"
    asked: set[tuple[str, str]] = field(default_factory=set)

    def open(self) -> list[OpenFact]:
        """The facts that seem lost, with the draft and with the text in which they got lost by what is known now."""
        found = self.search.doubts(CANDIDATES)
        return [OpenFact(one) for one in found if (one.text, one.fact) not in self.asked]

    def take(self, found: Sequence[OpenFact], named: Mapping[int, Sequence[int]]) -> None:
        """A text says what comes from one of its places."""
        for number, places in named.items():
            doubt = found[number].doubt
            self.asked.add((doubt.text, doubt.fact))
            self.search.settle(doubt, holds=bool(places))


def aligning_of(store: Store, traced: Run, tracing: Tracing) -> Aligning:
    """The search for what the draft of a run lacks, once its sentences have been traced; what is left is its room."""
    search = FactSearch(store, traced, tracing.tracer, tracing.draft, tracing.said)
    return Aligning(search, tracing.room)


async def trace_losses(floor: Floor, run: Run) -> Losses:
    """Ask about the sentences that words alone do not trace, and about the facts that they do not find; and bring the
    run to its end."""
    assert run.parent is not None
    traced = await off_loop(floor.store.runs.get, run.parent)
    async with floor.working(run.id) as foreman:
        tracing = await off_loop(tracing_of, floor.store, run, foreman.prepared.plan.document_tokens)
        await ask_about(floor, foreman, tracing)
        aligning = await off_loop(aligning_of, floor.store, traced, tracing)
        await ask_about(floor, foreman, aligning)
        losses = await off_loop(aligning.search.losses)
    assert run.draft is not None
    await floor.finish(run.id, run.draft, "complete")
    return losses
