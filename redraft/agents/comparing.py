"""Comparing the answers of two texts in words: none is said to be contradicted before more of the document was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from redraft.agents.accounting import Account
from redraft.agents.evidence import EvidenceDesk, Scope, Wanted
from redraft.agents.examiner import Examiner, Remembered
from redraft.prompts.judging import Comparison, Pair, Verdict
from redraft.text.words import same_words


@dataclass(frozen=True, slots=True)
class Compared:
    """How the summary's answer stands to the document's, why, and the document's answer of the second look."""

    verdict: Verdict
    reason: str
    read: Remembered | None = None
    """None where the second look found no other answer than the first."""
    scope: Scope | None = None
    """What was read of the document for it, where more was."""


async def compared(
    examiner: Examiner, pairs: Sequence[Pair], wanted: Sequence[Wanted], desk: EvidenceDesk, *, confirm: bool = True
) -> Account[Compared]:
    """What there is to say of each pair, whose question is looked for as `wanted`.

    A pair that contradicts is not believed at once: where `confirm` is set its question is answered from the document
    once more, with more of it in view, and the summary's answer is compared with that answer. What the second look has
    no verdict on has none.
    """
    first = await examiner.compare_answers(pairs)
    doubted = [n for n, one in sorted(first.verdicts.items()) if one.verdict == "contradicts"] if confirm else []
    found = {n: Compared(one.verdict, one.reason) for n, one in first.verdicts.items()}
    if not doubted:
        return Account(found, first.trouble)
    wider = await examiner.answers_from_document([wanted[n] for n in doubted], desk, wide=True)
    read = {n: wider.verdicts[at] for at, n in enumerate(doubted) if at in wider.verdicts}
    second = await _again(examiner, pairs, read)
    for n in doubted:
        if n not in read or (n in second and second[n] is None):
            del found[n]
        elif (other := second.get(n)) is not None:
            found[n] = Compared(other.verdict, other.reason, read[n], read[n].scope)
        else:
            found[n] = replace(found[n], scope=read[n].scope)
    return Account(found, first.trouble or wider.trouble)


async def _again(
    examiner: Examiner, pairs: Sequence[Pair], read: Mapping[int, Remembered]
) -> dict[int, Comparison | None]:
    """The verdicts on those pairs to which the second look gave another answer; None where there is none."""
    other = [n for n, answer in read.items() if answer.answered and not same_words(answer.answer, pairs[n].document)]
    account = await examiner.compare_answers([pairs[n].model_copy(update={"document": read[n].answer}) for n in other])
    return {n: account.verdicts.get(at) for at, n in enumerate(other)}
