"""Which key facts a summary states, and in which of its sentences: what recall counts and faithfulness goes by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.agents.factfinder import Factfinder, Told
from redraft.agents.judge import Judge
from redraft.agents.together import together
from redraft.evaluators.base import Case
from redraft.evaluators.consensus import Polled, Sitting, polled
from redraft.packs.keyfacts import Item

STATED, MISSING = "stated", "missing"


@dataclass(frozen=True, slots=True)
class Aligned:
    """What a panel says of each fact, by its place among the items: whether it is stated, and where."""

    items: dict[int, Polled]
    sentences: dict[int, frozenset[int]]
    """The numbers of the sentences that state it, where most judges say so, as those of them have it."""
    sittings: tuple[Sitting, ...]

    def where(self, fact: int) -> list[int]:
        """The numbers of the sentences that state a fact, in order."""
        return sorted(self.sentences.get(fact, ()))


async def align(case: Case, items: Sequence[Item]) -> Aligned:
    """Hold all facts against the summary, once for each judge."""
    texts = [item.fact.text for item in items]
    panel = await together(_sit(judge, case, texts) for judge in case.panel)
    sittings = tuple(sitting for sitting, _ in panel)
    found = polled(sittings, range(len(items)))
    sentences = {
        n: frozenset().union(*(told[n].sentences for _, told in panel if n in told))
        for n, item in found.items()
        if item.verdict == STATED
    }
    return Aligned(found, sentences, sittings)


async def _sit(judge: Judge, case: Case, texts: Sequence[str]) -> tuple[Sitting, dict[int, Told]]:
    # A fact that several trees have is asked about once.
    place = {text: n for n, text in enumerate(dict.fromkeys(texts))}
    found = await Factfinder(judge).align(case.statements, list(place), case.desk)
    known = {n: found.verdicts[place[text]] for n, text in enumerate(texts) if place[text] in found.verdicts}
    ballot = {n: STATED if told.stated else MISSING for n, told in known.items()}
    return _sitting(judge, ballot, found.trouble), known


def _sitting(judge: Judge, ballot: dict[int, str], trouble: str) -> Sitting:
    return Sitting(judge.name, ballot, {n: float(verdict == STATED) for n, verdict in ballot.items()}, trouble)
