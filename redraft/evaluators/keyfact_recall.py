"""Key-fact recall: the share of the document's key facts that the summary states, level by level (HAMLET, eq. 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from redraft.domain import Evaluation, Finding
from redraft.evaluators.alignment import MISSING, STATED, Aligned, align
from redraft.evaluators.base import Case, concluded
from redraft.packs.keyfacts import ALL, LEVELS, Item, items_of, share
from redraft.settings import BuildName
from redraft.text.words import words_key

Shares = dict[str, dict[str, float | int | None]]


@dataclass(frozen=True, slots=True)
class KeyfactRecall:
    """Holds the key facts of the whole document against a summary, or those of the tree whose query it answers."""

    name: ClassVar[str] = "keyfact_recall"
    version: ClassVar[int] = 1
    needs: ClassVar[BuildName | None] = "keyfacts"
    uses: ClassVar[BuildName | None] = "keyfacts"

    async def evaluate(self, case: Case) -> Evaluation:
        """Score, and find the facts that are missing: roots first, then branches, then leaves."""
        items = items_of(case.trees)
        if not items:
            return Evaluation(self.name, self.version, "not_applicable", reason=_nothing(case))
        aligned = await align(case, items)
        evaluation = Evaluation(
            self.name,
            self.version,
            "scored",
            judged=len(aligned.verdicts),
            unjudged=len(items) - len(aligned.verdicts),
            findings=tuple(_findings(items, aligned)),
            held=_held(case, aligned),
            details=_details(case, items, aligned),
        )
        return concluded(evaluation, aligned.sittings)


def recalls(items: Sequence[Item], verdicts: Mapping[int, str], chosen: Iterable[int]) -> Shares:
    """Equation 1 at every level and over all, for the chosen ones of the facts; what has no verdict does not count."""
    judged = [n for n in chosen if n in verdicts]
    levels = {ALL: judged} | {level: [n for n in judged if items[n].fact.level == level] for level in LEVELS}
    return {
        level: {
            "recall": share(sum(verdicts[n] == STATED for n in of_level), len(of_level)),
            "stated": sum(verdicts[n] == STATED for n in of_level),
            "judged": len(of_level),
        }
        for level, of_level in levels.items()
    }


def gaps(by_position: Mapping[str, Shares]) -> dict[str, float | None]:
    """By level how far the recalls of the best and of the worst fifth of the document are apart.

    Fifths without facts of a level do not count; None where fewer than two have any.
    """
    found: dict[str, float | None] = {}
    for level in (ALL, *LEVELS):
        known = [value for bin_ in by_position.values() if (value := bin_[level]["recall"]) is not None]
        found[level] = max(known) - min(known) if len(known) > 1 else None
    return found


def _details(case: Case, items: Sequence[Item], aligned: Aligned) -> dict[str, object]:
    def by(groups: Sequence[str]) -> dict[str, Shares]:
        return {
            group: recalls(items, aligned.verdicts, [n for n, own in enumerate(groups) if own == group])
            for group in sorted(set(groups))
        }

    by_position = by([item.bin for item in items])
    known = case.yardstick.keyfacts
    return {
        "keyfacts": known.id if known else None,
        "missing": list(known.missing) if known else [],
        "query": case.query,
        "by_level": recalls(items, aligned.verdicts, range(len(items))),
        "by_perspective": by([item.tree.perspective for item in items]),
        "by_position": by_position,
        "gap": gaps(by_position),
        "facts": [_shown(n, item, aligned) for n, item in enumerate(items)],
    }


def _shown(n: int, item: Item, aligned: Aligned) -> dict[str, object]:
    return {
        "chunk": item.tree.chunk,
        "perspective": item.tree.perspective,
        "id": item.fact.id,
        "level": item.fact.level,
        "fact": item.fact.text,
        "verdict": aligned.verdicts.get(n, "unjudged"),
        "sentences": aligned.where(n),
    }


def _findings(items: Sequence[Item], aligned: Aligned) -> list[Finding]:
    missing = [n for n, verdict in aligned.verdicts.items() if verdict == MISSING]
    missing.sort(key=lambda n: (LEVELS.index(items[n].fact.level), n))
    # What several trees have is to be added once.
    once = set({words_key(items[n].fact.text): n for n in reversed(missing)}.values())
    return [
        Finding(
            KeyfactRecall.name,
            f"missing {items[n].fact.level}",
            "add",
            "The summary does not state this key fact.",
            expected=items[n].fact.text,
            evidence=items[n].fact.evidence,
        )
        for n in missing
        if n in once
    ]


def _held(case: Case, aligned: Aligned) -> tuple[str, ...]:
    """The sentences that state facts, in their order."""
    numbers = {number for where in aligned.sentences.values() for number in where}
    return tuple(statement.sentence for statement in case.statements if statement.id in numbers)


def _nothing(case: Case) -> str:
    if case.query is not None:
        return "no key facts answer the run's query: only a query of `redraft keyfacts` has facts of its own"
    return "the document has no key facts from this perspective"
