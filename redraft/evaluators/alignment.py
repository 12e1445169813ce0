"""Which key facts a summary states, and in which of its sentences: what recall counts and faithfulness goes by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.agents.factfinder import Factfinder
from redraft.agents.judge import Judge
from redraft.agents.together import together
from redraft.evaluators.base import Case, Sitting
from redraft.evaluators.consensus import majority
from redraft.packs.keyfacts import Item, share

STATED, MISSING = "stated", "missing"


@dataclass(frozen=True, slots=True)
class Aligned:
    """What a panel says of each fact, by its place among the items: whether it is stated, and where."""

    verdicts: dict[int, str]
    sentences: dict[int, frozenset[int]]
    """The numbers of the sentences that state it, by those judges with whom the verdict lies."""
    sittings: tuple[Sitting, ...]

    def where(self, fact: int) -> list[int]:
        """The numbers of the sentences that state a fact, in order."""
        return sorted(self.sentences.get(fact, ()))


async def align(case: Case, items: Sequence[Item]) -> Aligned:
    """Hold all facts against the summary, once for each judge."""
    texts = [item.fact.text for item in items]
    panel = await together(_sit(judge, case, texts) for judge in case.panel)
    verdicts = majority([sitting.ballot for sitting, _ in panel], range(len(items)))
    sentences = {
        n: frozenset().union(*(found.get(n, frozenset()) for _, found in panel))
        for n, verdict in verdicts.items()
        if verdict == STATED
    }
    return Aligned(verdicts, sentences, tuple(sitting for sitting, _ in panel))


async def _sit(judge: Judge, case: Case, texts: Sequence[str]) -> tuple[Sitting, dict[int, frozenset[int]]]:
    if not case.statements:
        # Nobody need be asked what an empty summary states.
        ballot = dict.fromkeys(range(len(texts)), MISSING)
        return Sitting(judge.name, share(0, len(texts)), ballot), {}
    # A fact that several trees have is asked about once.
    place = {text: n for n, text in enumerate(dict.fromkeys(texts))}
    found = await Factfinder(judge).align(case.statements, list(place), case.desk)
    known = {n: found.verdicts[place[text]] for n, text in enumerate(texts) if place[text] in found.verdicts}
    ballot = {n: STATED if where else MISSING for n, where in known.items()}
    stated = sum(verdict == STATED for verdict in ballot.values())
    return Sitting(judge.name, share(stated, len(ballot)), ballot, found.trouble), known
