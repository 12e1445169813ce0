"""Builds a document's key facts, chunk by chunk from each perspective, and records what failed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import (
    FIRST_TRY,
    Attempt,
    Entries,
    EntryBudget,
    ItemResults,
    Judge,
    ask_all,
    first_error,
    gather_all,
)
from redraft.domain import (
    Chunk,
    Dimension,
    Evidence,
    KeyFact,
    KeyFacts,
    Level,
    Objection,
    Perspective,
    Span,
    Tree,
    content_id,
)
from redraft.errors import Advice, JudgingError, RejectedRequest, ReplyError, Set, TruncatedReasoning
from redraft.evaluators.reference.keyfacts import (
    PROMPT_TOKENS,
    UNJUDGED,
    fact_batches,
    flatten,
    keyfacts_id,
    middle_of,
    pruned,
)
from redraft.events import Notice, Observer
from redraft.prompts import factual
from redraft.prompts.contract import UNSURE, Prompt
from redraft.prompts.factual import FactTree
from redraft.settings import JudgeConfig
from redraft.text.chunks import LONGEST_REST, MIN_BUDGET, chunk
from redraft.text.sanitizer import one_line
from redraft.text.sentences import halves, sentences
from redraft.text.words import has_words

FailedReplies = list[ReplyError | RejectedRequest]
"""Unusable replies in the order in which they arrived."""


def build_error(failures: FailedReplies, what: str, missing: str, place: str) -> JudgingError:
    """Return the error where nothing could be built, with the cause and what may help."""
    fix: Advice
    errors = [error for error in failures if isinstance(error, ReplyError) and error.cut and not error.late]
    if not errors:
        cause, fix = missing, ("try another ", Set("judges"), ", or ", Set("prompts", "simple"))
    else:
        replies = "the one reply was" if len(errors) == 1 else f"{len(errors)} replies were"
        reasoning = next((error for error in errors if isinstance(error, TruncatedReasoning)), None)
        cause = f"{replies} cut off: {(reasoning or errors[0]).message}"
        another = ("try another ", Set("judges"), ", or more room with a larger ", Set("context_tokens"))
        fix = reasoning.fix if reasoning else another
    return JudgingError(f"{what}{f': {cause}' if cause else ''}", place=place, fix=fix)


_OPINION = EntryBudget(frame=30, words=20)
_SUPPORT = EntryBudget(frame=36, words=20, sentences=1)
# Tokens of a reply with a query, and of the level of a fact in its prompt.
_QUERY_TOKENS, _LEVEL_TOKENS = 150, 20
_LONGEST_REASON = 400
_VALIDATIONS: Mapping[Dimension, tuple[Prompt[factual.ValidateFactsInput, Any], EntryBudget]] = {
    "faithfulness": (factual.FACTS_FAITHFUL, _SUPPORT),
    "objectivity": (factual.FACTS_OBJECTIVE, _OPINION),
    "significance": (factual.FACTS_SIGNIFICANT, _OPINION),
}
"""The prompt, and an entry of its reply, for each dimension in which facts are validated."""
# Characters of a token, at most, in a text that is searched for an overlap.
_CHARACTERS = 8
# How often a chunk is halved if its tree does not fit in a reply.
_HALVINGS = 2


FactOpinion = factual.FactAssessment | factual.FactSupport
"""Whether a fact passes in one dimension, why, and the words that prove it."""


@dataclass(frozen=True, slots=True)
class Builder:
    """Has a judge read one document for what its summaries are judged by."""

    judge: Judge
    reader: EvidenceReader
    judging: JudgeConfig
    observer: Observer
    failures: FailedReplies = field(default_factory=list, kw_only=True)


@dataclass(frozen=True, slots=True)
class KeyFactBuilder(Builder):
    """Builds the key-fact trees of one document: one judge extracts facts, the other validates them."""

    validator: Judge
    perspectives: tuple[Perspective, ...]

    @property
    def key(self) -> str:
        """Return the cache key: the same for the same judges, prompts and chunks."""
        material = [[judge.model.identity, *judge.sampling_key, judge.sample] for judge in (self.judge, self.validator)]
        tokens, rest = self._size
        chunks = [tokens, self.reader.tokenizer.name, *self.perspectives]
        if rest or self.judging.keyfact_overlap:
            chunks.append(f"{rest} {self.judging.keyfact_overlap}")
        return content_id(json.dumps([material, self.judge.book.hashes(factual.TREE_PROMPTS), chunks]))[:32]

    async def build(self) -> KeyFacts:
        """Build all trees in document order. What cannot be built is recorded and does not stop the rest."""
        document, overlap = self.reader.document, self.judging.keyfact_overlap
        tokens, rest = self._size
        chunks = chunk(document, self.reader.tokenizer, tokens, onward=bool(rest))
        worded = [piece for piece in chunks if has_words(self.reader.text(piece.span))]
        text, count = document.text, self.reader.tokenizer.count
        for at, piece in enumerate(worded if overlap else []):
            # With the sentences before it that fit in the overlap.
            begin = piece.span.start
            for sentence in reversed(sentences(text, Span(max(0, begin - _CHARACTERS * overlap), begin))):
                if count(text[sentence.start : piece.span.start]) > overlap:
                    break
                begin = sentence.start
            worded[at] = replace(piece, span=Span(begin, piece.span.end))
        grown = await gather_all(self._chunk(piece, len(chunks)) for piece in worded)
        trees = tuple(tree for tree_list, _ in grown for tree in tree_list)
        missing = tuple(trouble for _, troubles in grown for trouble in troubles)
        if not any(tree.kept for tree in trees):
            facts = [fact for tree in trees for fact in tree.facts]
            if not facts:
                trouble = missing[0] if missing else ""
                raise build_error(self.failures, "no key fact could be built", trouble, document.title)
            unjudged_count = sum(UNJUDGED in (objection.dimension for objection in fact.objections) for fact in facts)
            problem = f"no key fact could be built: none of the {len(facts)} that were found passed validation"
            problem += f"; {unjudged_count} of them were not validated" if unjudged_count else ""
            fix = ("try another ", Set("judges"), ", or another ", Set("validator"))
            raise JudgingError(problem, place=document.title, fix=fix)
        for trouble in missing:
            self.observer(Notice(trouble))
        made_by = (self.judge.model.identity, self.validator.model.identity)
        prompts = self.judge.book.hashes(factual.TREE_PROMPTS)
        return KeyFacts(keyfacts_id(document.id, trees), document.id, *made_by, prompts, trees, missing)

    @property
    def _size(self) -> tuple[int, int]:
        """Return the tokens of a chunk: those asked for, or what fits into a smaller window with a reply; and the most
        that completing its last sentence adds."""
        size = self.judging.keyfact_chunks
        rest = LONGEST_REST if size.endswith("+") else 0
        room = self.reader.room - self.judging.keyfact_overlap - rest
        return max(MIN_BUDGET, min(int(size.removesuffix("+")), room)), rest

    async def _chunk(self, stretch: Chunk, of: int) -> tuple[list[Tree], list[str]]:
        """Build the trees of one chunk. The facts of all perspectives are validated together, to read the chunk less
        often."""
        name = f"chunk {stretch.index + 1}/{of}"

        async def facts_from(perspective: Perspective) -> tuple[list[KeyFact], list[str]]:
            try:
                return flatten(await self._trees(stretch.span, perspective, name)), []
            except (ReplyError, RejectedRequest) as error:
                return [], [f"no {perspective} key facts of {name}: {error.message}"]

        grown = await gather_all(map(facts_from, self.perspectives))
        listed, troubles = [facts for facts, _ in grown], [trouble for _, failed in grown for trouble in failed]
        vetted, trouble = await self._vetted(stretch.span, [fact for facts in listed for fact in facts], name)
        if unjudged := sum(UNJUDGED in (objection.dimension for objection in fact.objections) for fact in vetted):
            why = trouble or "the judge cannot tell"
            troubles.append(
                f"{unjudged} of the {len(vetted)} key facts of {name} have no verdict from a validator: {why}"
            )
        trees: list[Tree] = []
        for perspective, facts in zip(self.perspectives, listed, strict=True):
            key_facts, vetted = vetted[: len(facts)], vetted[len(facts) :]
            if key_facts:
                position = middle_of(stretch.span, len(self.reader.document.text))
                trees.append(Tree(stretch.index, perspective, stretch.span, position, pruned(key_facts)))
        asked_trees = await gather_all(self._asked(tree, name) for tree in trees)
        return [tree for tree, _ in asked_trees], troubles + [trouble for _, trouble in asked_trees if trouble]

    async def _trees(
        self, span: Span, perspective: Perspective, name: str, depth: int = 0, attempt: Attempt = FIRST_TRY
    ) -> list[FactTree]:
        """Build the tree of a stretch, or those of its halves where the reply is cut off."""
        halved = halves(self.reader.document.text, span) if depth < _HALVINGS else None
        try:
            excerpt, room = factual.ExcerptInput(excerpt=self.reader.text(span)), self.judge.reply_tokens
            prompt, label = factual.KEYFACT_PROMPTS[perspective], f"{perspective} facts of {name}"
            limited = attempt if halved or attempt.loosely else None
            return [(await self.judge.ask(prompt, excerpt, room, label, limited)).value]
        except (ReplyError, RejectedRequest) as error:
            self.failures.append(error)
            if isinstance(error, RejectedRequest) or not error.needs_more_tokens or not halved:
                raise
            # A reply that loops with and without temperature would loop for the halves too.
            if error.loops and attempt.loosely:
                raise
            if error.loops:
                return await self._trees(span, perspective, name, depth, replace(attempt, loosely=True))
        parts = (self._trees(half, perspective, f"{name}, part {at}", depth + 1) for at, half in enumerate(halved, 1))
        return [tree for trees in await gather_all(parts) for tree in trees]

    async def _vetted(self, span: Span, facts: Sequence[KeyFact], name: str) -> tuple[list[KeyFact], str]:
        """Validate the facts; returns them with evidence and objections, and what went wrong."""
        if not facts:
            return [], ""
        # A fact in both trees at the same level is judged once.
        distinct = list({(fact.level, fact.text): fact for fact in facts}.values())
        excerpt = self.reader.text(span)
        validated = await gather_all(self._validated(dimension, excerpt, distinct, name) for dimension in _VALIDATIONS)
        accounts = dict(zip(_VALIDATIONS, validated, strict=True))

        def places() -> list[Evidence]:
            """Return the place of each fact: its quote, or the nearest passage in the chunk."""
            evidence: list[Evidence] = []
            for n, fact in enumerate(distinct):
                quotes = (getattr(account.verdicts.get(n), "quote", "") for account in accounts.values())
                quoted = self.reader.quoted(next(filter(None, quotes), fact.text), [span])
                place = quoted.span if quoted else None
                if place is None or place.start < span.start or place.end > span.end:
                    place = next(iter(self.reader.nearest(fact.text, 1, span)), span)
                evidence.append(self.reader.place(place))
            return evidence

        # The first search indexes the document; nothing else should wait for that.
        evidence = await asyncio.to_thread(places)
        changes: dict[tuple[Level, str], dict[str, Any]] = {}
        for n, fact in enumerate(distinct):
            # Facts without a verdict are pruned too.
            objections: list[Objection] = []
            for dimension, account in accounts.items():
                if (opinion := account.verdicts.get(n)) is None:
                    objections.append(Objection(UNJUDGED, f"no verdict was given on its {dimension}"))
                elif opinion.verdict != "pass":
                    objections.append(Objection(dimension, one_line(opinion.reason, _LONGEST_REASON)))
            changes[fact.level, fact.text] = {"evidence": evidence[n], "objections": tuple(objections)}
        return [replace(fact, **changes[fact.level, fact.text]) for fact in facts], first_error(accounts.values())

    async def _validated(
        self, dimension: Dimension, excerpt: str, facts: Sequence[KeyFact], name: str
    ) -> ItemResults[FactOpinion]:
        """Return the verdict on each fact in one dimension."""
        prompt, entry = _VALIDATIONS[dimension]
        validator = self.validator

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[FactOpinion]:
            listed = [factual.TreeFact(id=n + 1, level=facts[n].level, fact=facts[n].text) for n in numbers]
            fields = factual.ValidateFactsInput(excerpt=excerpt, facts=listed)
            reply = await validator.ask_items(prompt, fields, numbers, entry, f"{dimension} of {name}", attempt)
            return reply, ((fact.id - 1, fact) for fact in reply.value.facts)

        batches = fact_batches(len(facts), validator.reply_tokens, entry.tokens(validator.wording))
        results: ItemResults[FactOpinion] = await ask_all(batches, ask)
        return results.decided(lambda fact: fact.verdict != UNSURE)

    async def _asked(self, tree: Tree, name: str) -> tuple[Tree, str]:
        """Add the query to a tree; returns what went wrong. The judge reads the facts that fit, and their excerpt if
        that fits too; leaves are left out first, and the first fact never is."""
        if not tree.kept:
            return tree, ""
        count, room = self.reader.tokenizer.count, self.reader.window - PROMPT_TOKENS - _QUERY_TOKENS
        by_level = sorted(tree.kept, key=lambda fact: get_args(Level).index(fact.level))
        fitting: list[KeyFact] = []
        for fact in by_level:
            tokens = count(fact.text) + _LEVEL_TOKENS
            if fitting and tokens > room:
                break
            fitting.append(fact)
            room -= tokens
        listed = enumerate((fact for fact in tree.kept if fact in fitting), 1)
        facts = [factual.FactWithLevel(id=n, level=fact.level, fact=fact.text) for n, fact in listed]
        excerpt = self.reader.text(tree.span)
        query_input = factual.QueryInput(excerpt=excerpt if count(excerpt) <= room else None, facts=facts)
        label = f"{tree.perspective} query of {name}"
        try:
            prompt = factual.QUERY_PROMPTS[tree.perspective]
            reply = await self.judge.ask(prompt, query_input, _QUERY_TOKENS, label)
        except (ReplyError, RejectedRequest) as error:
            return tree, f"no {tree.perspective} query for {name}: {error.message}"
        return replace(tree, query=one_line(reply.value.query)), ""
