"""The fact checker: finds and validates key facts, splits summaries into facts, and checks them against a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, get_args

from pydantic import BaseModel

from redraft.agents.accounts import Attempt, Entries, ItemResults, ask_all, first_error, gather_all
from redraft.agents.evidence import (
    CitedPlace,
    EvidenceQuery,
    EvidenceReader,
    EvidenceRequest,
    EvidenceSearch,
    ReadingPlan,
    document_fields,
)
from redraft.agents.judge import EntryBudget, Judge, batch_size, smallest_window
from redraft.domain import Dimension, KeyFact, Level, Perspective, Span
from redraft.prompts import factual
from redraft.prompts.contract import UNSURE, Prompt, Unsure
from redraft.prompts.qa import Statement
from redraft.text.sanitizer import one_line

# Tokens of a fact in a prompt, and of one entry of a reply.
FACT_TOKENS = 40
OPINION = EntryBudget(frame=30, words=20)
SUPPORT = EntryBudget(frame=36, words=20, sentences=1)
ALIGNMENT = EntryBudget(frame=48)
VERIFICATION = EntryBudget(frame=38, words=36, sentences=1)
# Tokens of a whole reply.
QUERY_TOKENS = 150
# With more facts at once a judge begins to skip some.
FACTS_PER_REQUEST = 60
# Sentences are checked against shared passages: fewer at once leave less to read past.
SENTENCES_NEAR = 12
_LONGEST_REASON = 400
_SHARE_OF_WINDOW = 0.5
_PROMPT_TOKENS = 450
# Tokens that name the level of a fact.
_LEVEL_TOKENS = 20

Vetted = TypeVar("Vetted", factual.FactSupports, factual.FactAssessments)

SUPPORTED = "none"
"""The category of a sentence without errors."""
NOT_SAID = "out_of_article"
"""The category of a sentence that the document does not mention."""


class FactVerdict(BaseModel):
    """Whether a fact passes in one dimension, why, and the words that prove it."""

    passed: bool | None
    """None if the judge cannot tell."""
    reason: str
    quote: str = ""


class SentenceVerdict(CitedPlace):
    """The error of a sentence, as stored, with the closest place in the document."""

    category: factual.Category | Unsure
    reason: str


@dataclass(frozen=True, slots=True)
class FactAlignment:
    """Whether a summary states a fact, and the numbers of the sentences that do."""

    stated: bool | None
    """None if the judge cannot tell."""
    sentences: frozenset[int]


@dataclass(frozen=True, slots=True)
class FactChecker:
    """Asks a judge about key facts."""

    judge: Judge

    async def extract_facts(
        self, excerpt: str, perspective: Perspective, label: str, attempt: Attempt | None = None
    ) -> factual.FactTree:
        """Return the key facts of an excerpt as a tree. With an `attempt`, a cut reply is the caller's to retry."""
        facts_input, room = factual.ExtractFactsInput(excerpt=excerpt), self.judge.reply_tokens
        return (await self.judge.ask(factual.KEYFACT_PROMPTS[perspective], facts_input, room, label, attempt)).value

    async def validate_facts(
        self, excerpt: str, facts: Sequence[KeyFact], label: str
    ) -> Mapping[Dimension, ItemResults[FactVerdict]]:
        """Return the verdicts on each fact, by dimension."""
        accounts = await gather_all(
            [
                self._vetted(factual.FACTS_FAITHFUL, SUPPORT, excerpt, facts, f"faithfulness of {label}"),
                self._vetted(factual.FACTS_OBJECTIVE, OPINION, excerpt, facts, f"objectivity of {label}"),
                self._vetted(factual.FACTS_SIGNIFICANT, OPINION, excerpt, facts, f"significance of {label}"),
            ]
        )
        dimensions: tuple[Dimension, ...] = ("faithfulness", "objectivity", "significance")
        return dict(zip(dimensions, accounts, strict=True))

    async def _vetted(
        self,
        prompt: Prompt[factual.ValidateFactsInput, Vetted],
        entry: EntryBudget,
        excerpt: str,
        facts: Sequence[KeyFact],
        label: str,
    ) -> ItemResults[FactVerdict]:
        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[FactVerdict]:
            listed = [factual.TreeFact(id=n + 1, level=facts[n].level, fact=facts[n].text) for n in numbers]
            facts_input = factual.ValidateFactsInput(excerpt=excerpt, facts=listed)
            reply = await self.judge.ask_items(prompt, facts_input, numbers, entry, label, attempt)
            return Entries.of(reply, ((fact.id - 1, _vetted(fact)) for fact in reply.value.facts))

        return (await ask_all(self._batches(len(facts), entry), ask)).decided(lambda fact: fact.passed is not None)

    async def query(
        self, excerpt: str, facts: Sequence[KeyFact], perspective: Perspective, label: str, reader: EvidenceReader
    ) -> str:
        """Return the question that these facts of an excerpt answer; the excerpt is omitted if it does not fit."""
        room = reader.window - _PROMPT_TOKENS - QUERY_TOKENS
        count = reader.tokenizer.count
        # The facts that fit; leaves are left out first, and the first fact never is.
        main: dict[int, KeyFact] = {}
        tokens_left = room
        for n in sorted(range(len(facts)), key=lambda n: get_args(Level).index(facts[n].level)):
            tokens_left -= count(facts[n].text) + _LEVEL_TOKENS
            if main and tokens_left < 0:
                break
            main[n] = facts[n]
        room -= sum(count(fact.text) + _LEVEL_TOKENS for fact in main.values())
        levels = [
            factual.FactWithLevel(id=n, level=fact.level, fact=fact.text)
            for n, (_, fact) in enumerate(sorted(main.items()), 1)
        ]
        shown_excerpt = excerpt if count(excerpt) <= room else None
        query_input = factual.QueryInput(excerpt=shown_excerpt, facts=levels)
        reply = await self.judge.ask(factual.QUERY_PROMPTS[perspective], query_input, QUERY_TOKENS, label)
        return one_line(reply.value.query)

    async def align(
        self, statements: Sequence[Statement], facts: Sequence[str], reader: EvidenceReader
    ) -> ItemResults[FactAlignment]:
        """Return whether the summary states each fact, and in which sentences; a long summary is read in parts."""
        parts = await gather_all(self._align_with(part, facts) for part in reader.parts(statements))
        verdicts: dict[int, FactAlignment] = {}
        undecided: dict[int, FactAlignment] = {}
        for n in range(len(facts)):
            alignments = [part.verdicts[n] for part in parts if n in part.verdicts]
            stated = any(fact_alignment.stated for fact_alignment in alignments)
            sentences = frozenset[int]().union(*(fact_alignment.sentences for fact_alignment in alignments))
            settled = stated or (
                len(alignments) == len(parts) and all(fact_alignment.stated is False for fact_alignment in alignments)
            )
            (verdicts if settled else undecided)[n] = FactAlignment(stated, sentences)
        return ItemResults(verdicts, first_error(parts), undecided)

    async def _align_with(self, statements: Sequence[Statement], facts: Sequence[str]) -> ItemResults[FactAlignment]:
        ids = {statement.id for statement in statements}

        def told(alignment: factual.Alignment) -> FactAlignment:
            """Return the alignment. Only the answer counts, as in the paper; the sentences are optional."""
            stated = None if alignment.stated == UNSURE else alignment.stated == "yes"
            sentences = frozenset(ids.intersection(alignment.sentences)) if stated else frozenset[int]()
            return FactAlignment(stated, sentences)

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[FactAlignment]:
            listed = [factual.Fact(id=n + 1, fact=facts[n]) for n in numbers]
            align_input = factual.AlignInput(sentences=list(statements), facts=listed)
            reply = await self.judge.ask_items(factual.ALIGN_FACTS, align_input, numbers, ALIGNMENT, "aligned", attempt)
            return Entries.of(reply, ((alignment.id - 1, told(alignment)) for alignment in reply.value.facts))

        return await ask_all(self._batches(len(facts), ALIGNMENT), ask)

    async def verify(
        self, statements: Sequence[Statement], reader: EvidenceReader, within: Span | None
    ) -> ItemResults[SentenceVerdict]:
        """Return the error of each sentence according to the document, or to the part `within` it."""

        async def ask(reading: EvidenceRequest) -> Entries[SentenceVerdict]:
            batch = [statements[n].model_copy(update={"id": n + 1}) for n in reading.numbers]
            label = "read more for" if reading.wide else "verified"
            return await verify_batch(self.judge, reader, reading.spans, batch, label, reading.attempt)

        fitting = batch_size(self.judge.reply_tokens, self.judge.entry_tokens(VERIFICATION))
        sought = [EvidenceQuery(f"{statement.before} “{statement.sentence}”") for statement in statements]
        looks = ReadingPlan(
            reader, sought, self.judge.entry_tokens(VERIFICATION), min(fitting, SENTENCES_NEAR), fitting, within
        )
        search = EvidenceSearch(
            looks,
            ask,
            lambda verdict: verdict.category != SUPPORTED,
            objects=lambda verdict: bool(verdict.evidence) and verdict.category not in (SUPPORTED, NOT_SAID, UNSURE),
            unsure=lambda verdict: verdict.category == UNSURE,
        )
        results = await self.judge.verdicts(
            factual.VERIFY_SENTENCES,
            SentenceVerdict,
            [[reader.name, within, statement.before, statement.sentence] for statement in statements],
            search.verdicts,
        )
        return results.decided(lambda verdict: verdict.category != UNSURE)

    def _batches(self, count: int, entry: EntryBudget) -> list[Sequence[int]]:
        size = facts_per_request(self.judge.reply_tokens, self.judge.entry_tokens(entry))
        return [range(at, min(at + size, count)) for at in range(0, count, size)]


def facts_per_request(room: int, tokens: int) -> int:
    """Return how many facts to ask about at once, given the tokens of an entry and the room of the reply."""
    tokens_left = int(smallest_window(room) * _SHARE_OF_WINDOW) - _PROMPT_TOKENS
    return max(1, min(FACTS_PER_REQUEST, batch_size(room, tokens), tokens_left // (tokens + FACT_TOKENS)))


def _vetted(entry: factual.FactSupport | factual.FactAssessment) -> FactVerdict:
    passed = None if entry.verdict == UNSURE else entry.verdict == "pass"
    quote = entry.quote if isinstance(entry, factual.FactSupport) else ""
    return FactVerdict(passed=passed, reason=one_line(entry.reason, _LONGEST_REASON), quote=quote)


async def verify_batch(
    judge: Judge,
    reader: EvidenceReader,
    spans: Sequence[Span],
    sentences: list[Statement],
    label: str,
    attempt: Attempt,
) -> Entries[SentenceVerdict]:
    """Ask for the errors of some sentences according to some places of the document."""
    verify_input = factual.VerifyInput(**document_fields(reader, spans), sentences=sentences)
    numbers = [statement.id - 1 for statement in sentences]
    reply = await judge.ask_items(factual.VERIFY_SENTENCES, verify_input, numbers, VERIFICATION, label, attempt)
    entries: list[tuple[int, SentenceVerdict]] = []
    for entry in reply.value.sentences:
        fields = CitedPlace.fields_of(reader.quoted(entry.quote, spans))
        fields |= {"category": entry.category, "reason": one_line(entry.reason, _LONGEST_REASON)}
        entries.append((entry.id - 1, SentenceVerdict.model_validate(fields)))
    return Entries.of(reply, entries)
