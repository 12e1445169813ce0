"""The factfinder: finds key facts in a text, validates them, and holds a summary against them and the document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pydantic import BaseModel

from redraft.agents.accounting import Account, Entries, account
from redraft.agents.evidence import EvidenceDesk
from redraft.agents.judge import Judge, batch_size, labelled, window_of
from redraft.agents.looking import Looks
from redraft.agents.searching import Reading, Search
from redraft.agents.together import together
from redraft.domain import KeyFact, Perspective, Span
from redraft.prompts import factual
from redraft.prompts.contract import Prompt
from redraft.prompts.judging import Statement
from redraft.text.cleaning import one_line

# What a fact may need in a prompt, and what one entry of a reply may.
FACT_TOKENS = 40
OPINION_TOKENS = 45
SUPPORT_TOKENS = 90
ALIGNMENT_TOKENS = 40
VERIFICATION_TOKENS = 130
QUERY_TOKENS = 150
MARKS_TOKENS = 150
# Whoever has more facts than this before them at once begins to pass some over.
FACTS_AT_ONCE = 60
# Sentences are held against shared passages: the fewer at once, the less there is to read past.
SENTENCES_NEAR = 12
_LONGEST_REASON = 400
_SHARE_OF_WINDOW = 0.5
_PROMPT_TOKENS = 450

SUPPORTED = "none"
"""The category of a sentence with which nothing is wrong."""


class Vetted(BaseModel):
    """Whether a fact passes in one dimension, why, and the words that bear on it where there are any."""

    passed: bool
    reason: str
    quote: str = ""


class Verified(BaseModel):
    """What is wrong with a sentence, as it is remembered: with the place that comes closest to it."""

    category: factual.Category
    reason: str
    evidence: str = ""
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Factfinder:
    """Asks a judge about key facts."""

    judge: Judge

    async def grow(self, excerpt: str, perspective: Perspective, label: str) -> factual.FactTree:
        """The key facts of an excerpt as a tree."""
        given = factual.GrowGiven(excerpt=excerpt)
        return (await self.judge.ask(factual.GROWING[perspective], given, self.judge.reply_tokens, label)).value

    async def vet(self, excerpt: str, facts: Sequence[str], label: str) -> Mapping[str, Account[Vetted]]:
        """What is to be said for and against each fact, by dimension."""
        accounts = await together(
            [
                self._supported(excerpt, facts, f"faithfulness of {label}"),
                self._opinions(factual.FACTS_OBJECTIVE, excerpt, facts, f"objectivity of {label}"),
                self._opinions(factual.FACTS_SIGNIFICANT, excerpt, facts, f"significance of {label}"),
            ]
        )
        return dict(zip(("faithfulness", "objectivity", "significance"), accounts, strict=True))

    async def _supported(self, excerpt: str, facts: Sequence[str], label: str) -> Account[Vetted]:
        async def ask(numbers: Sequence[int], again: bool) -> Entries[Vetted]:
            given = factual.VetGiven(excerpt=excerpt, facts=_numbered(facts, numbers))
            room = len(numbers) * SUPPORT_TOKENS
            reply = await self.judge.ask(factual.FACTS_FAITHFUL, given, room, labelled(label, numbers), again)
            vetted = (
                (one.id - 1, Vetted(passed=one.verdict == "pass", reason=_reason(one.reason), quote=one.quote))
                for one in reply.value.facts
            )
            return Entries(list(vetted), reply.repaired)

        return await account(self._batches(len(facts), SUPPORT_TOKENS), ask)

    async def _opinions(
        self, prompt: Prompt[factual.VetGiven, factual.Opinions], excerpt: str, facts: Sequence[str], label: str
    ) -> Account[Vetted]:
        async def ask(numbers: Sequence[int], again: bool) -> Entries[Vetted]:
            given = factual.VetGiven(excerpt=excerpt, facts=_numbered(facts, numbers))
            room = len(numbers) * OPINION_TOKENS
            reply = await self.judge.ask(prompt, given, room, labelled(label, numbers), again)
            vetted = (
                (one.id - 1, Vetted(passed=one.verdict == "pass", reason=_reason(one.reason)))
                for one in reply.value.facts
            )
            return Entries(list(vetted), reply.repaired)

        return await account(self._batches(len(facts), OPINION_TOKENS), ask)

    async def query(self, facts: Sequence[KeyFact], perspective: Perspective, label: str) -> str:
        """The question that these facts answer."""
        listed = [factual.LevelledFact(id=n, level=fact.level, fact=fact.text) for n, fact in enumerate(facts, 1)]
        given = factual.QueryGiven(facts=listed)
        reply = await self.judge.ask(factual.QUERYING[perspective], given, QUERY_TOKENS, label)
        return one_line(reply.value.query)

    async def align(
        self, statements: Sequence[Statement], facts: Sequence[str], desk: EvidenceDesk
    ) -> Account[frozenset[int]]:
        """The numbers of the sentences that state each fact; none where the summary does not.

        A summary too long for one prompt is read in parts, and only all of them together can be silent.
        """
        parts = await together(self._align_with(part, facts) for part in desk.parts(statements))
        verdicts: dict[int, frozenset[int]] = {}
        for n in range(len(facts)):
            said = [part.verdicts[n] for part in parts if n in part.verdicts]
            stating = reduce(frozenset.union, said, frozenset[int]())
            if stating or len(said) == len(parts):
                verdicts[n] = stating
        return Account(verdicts, next((part.trouble for part in parts if part.trouble), ""))

    async def _align_with(self, statements: Sequence[Statement], facts: Sequence[str]) -> Account[frozenset[int]]:
        known = {statement.id for statement in statements}

        def stating(one: factual.Alignment) -> frozenset[int] | None:
            """A fact that is said to be stated by no sentence there is has no verdict."""
            there = known.intersection(one.sentences) if one.stated == "yes" else frozenset[int]()
            return frozenset(there) if there or one.stated == "no" else None

        async def ask(numbers: Sequence[int], again: bool) -> Entries[frozenset[int]]:
            given = factual.AlignGiven(sentences=list(statements), facts=_numbered(facts, numbers))
            room = len(numbers) * ALIGNMENT_TOKENS
            reply = await self.judge.ask(factual.ALIGN_FACTS, given, room, labelled("aligned", numbers), again)
            return Entries([(one.id - 1, stating(one)) for one in reply.value.facts], reply.repaired)

        return await account(self._batches(len(facts), ALIGNMENT_TOKENS), ask)

    async def verify(
        self, statements: Sequence[Statement], desk: EvidenceDesk, within: Span | None
    ) -> Account[Verified]:
        """What is wrong with each sentence, going by the document, or by the part of it that the summary is about."""

        async def ask(reading: Reading) -> Entries[Verified]:
            some, spans = reading.numbers, reading.spans
            asked = [statements[n].model_copy(update={"id": n + 1}) for n in some]
            given = factual.VerifyGiven(passages=[desk.text(span) for span in spans], sentences=asked)
            label = labelled("read more for" if reading.wide else "verified", some)
            room = len(some) * VERIFICATION_TOKENS
            reply = await self.judge.ask(factual.VERIFY_SENTENCES, given, room, label, reading.again)
            return Entries([(one.id - 1, _verified(one, desk, spans)) for one in reply.value.sentences], reply.repaired)

        fitting = batch_size(self.judge.reply_tokens, VERIFICATION_TOKENS)
        sought = [f"{one.before} “{one.sentence}”" for one in statements]
        looks = Looks(desk, sought, VERIFICATION_TOKENS, min(fitting, SENTENCES_NEAR), fitting)
        search = Search(looks, ask, _is_faulty, within)
        return await self.judge.remembered(
            factual.VERIFY_SENTENCES,
            Verified,
            [[desk.name, within, one.before, one.sentence] for one in statements],
            search.verdicts,
        )

    async def mark(self, excerpt: str, label: str) -> factual.ChunkMarks:
        """How well a chunk lends itself to drawing key facts from it."""
        given = factual.ChunkGiven(excerpt=excerpt)
        return (await self.judge.ask(factual.JUDGE_CHUNK, given, MARKS_TOKENS, label)).value

    def _batches(self, count: int, tokens: int) -> list[Sequence[int]]:
        size = facts_at_once(self.judge.reply_tokens, tokens)
        return [range(at, min(at + size, count)) for at in range(0, count, size)]


def facts_at_once(room: int, tokens: int) -> int:
    """How many facts to ask about at once, when each takes so many tokens of the reply, for which there is this room.

    What they are held against takes half of the window; they, the reply and what is said around them, the rest.
    """
    left = int(window_of(room) * _SHARE_OF_WINDOW) - _PROMPT_TOKENS
    return max(1, min(FACTS_AT_ONCE, batch_size(room, tokens), left // (tokens + FACT_TOKENS)))


def _numbered(facts: Sequence[str], numbers: Sequence[int]) -> list[factual.Fact]:
    return [factual.Fact(id=n + 1, fact=facts[n]) for n in numbers]


def _reason(text: str) -> str:
    return one_line(text, _LONGEST_REASON)


def _is_faulty(verified: Verified) -> bool:
    return verified.category != SUPPORTED


def _verified(one: factual.Verification, desk: EvidenceDesk, spans: Sequence[Span]) -> Verified:
    evidence = desk.quoted(one.quote, spans)
    span = evidence.span
    return Verified(
        category=one.category,
        reason=_reason(one.reason),
        evidence=evidence.text,
        start=span.start if span else None,
        end=span.end if span else None,
    )
