"""Builds what the summaries of a document are judged by, and records what failed. Questions are asked all at once where
the document fits the judge's window; otherwise stretch by stretch, each by its share of the whole, and then ranked. Key
facts are found chunk by chunk from each perspective."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise, zip_longest
from math import ceil, sqrt
from typing import Any, get_args

from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import FIRST_TRY, Attempt, Entries, EntryBudget, ItemResults, Judge, ask_all, gather_all
from redraft.agents.writer import Outliner
from redraft.domain import (
    Chunk,
    Dimension,
    KeyFact,
    KeyFacts,
    Level,
    Objection,
    Pack,
    PackQuestion,
    Perspective,
    Span,
    Tree,
    content_id,
)
from redraft.errors import Advice, JudgingError, RejectedRequest, ReplyError, Set, TruncatedReasoning
from redraft.evaluators.reference.exchange import pack_id
from redraft.evaluators.reference.keyfacts import UNJUDGED, fact_batches, flatten, keyfacts_id, middle_of, pruned
from redraft.events import Notice, Observer
from redraft.prompts import factual, qa
from redraft.prompts.contract import UNSURE, Prompt
from redraft.prompts.factual import FactTree
from redraft.prompts.silence import is_answer
from redraft.prompts.summarization import DocumentOutline, outline_text
from redraft.settings import JudgeConfig
from redraft.text.chunks import LONGEST_REST, MIN_BUDGET, chunk
from redraft.text.document_form import body_of
from redraft.text.sanitizer import one_line
from redraft.text.sentences import halves, sentences
from redraft.text.words import count_words, has_words

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


@dataclass(frozen=True, slots=True)
class Builder:
    """Has a judge read one document for what its summaries are judged by."""

    judge: Judge
    reader: EvidenceReader
    judging: JudgeConfig
    observer: Observer
    failures: FailedReplies = field(default_factory=list, kw_only=True)


QUESTION = EntryBudget(frame=38, words=34, sentences=1)
# An entry of a reply that only names a question.
_NUMBER = EntryBudget(frame=8)
_PROMPTS = (qa.ASK_DOCUMENT, qa.RANK_QUESTIONS)
# The paper's number, for a document of up to this many tokens.
_MIN, _MAX_FIRST_QUESTIONS = 6, 12
_AT_FIRST_TOKENS = 6_500
_WORDS_A_QUESTION = 50
# Of several stretches more questions are written than kept, so that there is a choice.
_SPARE = 1.25
# Fits the smallest window that is assumed elsewhere too.
_RANKED_AT_ONCE = 80
_RANKED_TOKENS = 100
# How much longer than its share a stretch may be, so that no small remainder is left.
_EVEN = 1.1
_LONGEST_TEXT = 500
_PROMPT_TOKENS = 900
# An outline that takes more of the window would displace the text itself.
_OUTLINE_SHARE = 0.1


def shares(total: int, weights: Sequence[float]) -> list[int]:
    """Divide a number of questions by weight: at least one for each weight, and none for the weight 0."""
    ends = [round(total * part / (sum(weights) or 1)) for part in accumulate(weights, initial=0.0)]
    return [max(1, end - start) if weight else 0 for weight, (start, end) in zip(weights, pairwise(ends), strict=True)]


@dataclass(frozen=True, slots=True)
class _DocumentPart:
    """A part of the document that is asked about at once, its name, and how many questions are asked for."""

    span: Span
    name: str
    fewest: int
    maximum: int


@dataclass(frozen=True, slots=True)
class PackBuilder(Builder):
    """Has a judge write the questions of one document."""

    outliner: Outliner | None
    """Has an outline of the document, where its parts were summarized; the document is not read again for it."""
    outline: DocumentOutline | None = None
    """The outline by which importance is told."""

    @property
    def key(self) -> str:
        """Return the cache key: the same for the same document, judge, prompts, number of questions and stretches. It
        does not depend on the judge's window, so that a pack built in one window also serves in another."""
        material = [self.judge.model.identity, *self.judge.sampling_key, *self.judge.book.hashes(_PROMPTS).values()]
        return content_id(json.dumps([*material, self.judging.questions, self.judging.stretch_tokens]))[:32]

    async def build(self) -> Pack:
        """Ask about the whole document at once, or where that does not fit or fails, stretch by stretch. What could not
        be had is named."""
        weighs, document = isinstance(self.judging.questions, int), self.reader.document
        asker = replace(self, outline=await self.outliner.outline()) if weighs and self.outliner else self
        parts = asker.whole()
        questions, missing = await asker.ask_each(parts)
        if not questions and (len(stretches := asker.stretches()) > 1 or not parts):
            parts = stretches
            questions, missing = await asker.ask_each(parts)
        for trouble in missing:
            self.observer(Notice(trouble))
        if not questions:
            what = "the model returned no question about the document"
            raise build_error(asker.failures, what, missing[0] if missing else "", document.title)
        if len(parts) > 1 and weighs:
            questions = await asker.weighed(questions)
        questions = sorted(questions, key=lambda question: -question.weight)[: self.wanted]
        numbered = tuple(replace(question, id=number) for number, question in enumerate(questions, 1))
        made_by = (self.judge.model.identity, self.judge.book.hashes(_PROMPTS))
        return Pack(pack_id(document.id, numbered), document.id, *made_by, numbered, tuple(missing))

    @property
    def wanted(self) -> int:
        """Return the number of questions: 6 to 12 for a few pages, then growing with the square root of the length up
        to the limit; where a range per stretch is set, the most for all stretches."""
        reader, limit = self.reader, self.judging.questions
        if not isinstance(limit, int):
            return limit[1] * len(self._spans(self.judging.stretch_tokens))
        first = max(_MIN, min(_MAX_FIRST_QUESTIONS, count_words(reader.document.text) // _WORDS_A_QUESTION))
        return max(1, min(limit, round(first * max(1.0, sqrt(reader.document_tokens / _AT_FIRST_TOKENS)))))

    def whole(self) -> list[_DocumentPart]:
        """Return the whole document as one part, if it fits a prompt with the reply."""
        count = self.wanted if isinstance(self.judging.questions, int) and not self.reader.is_searched else 0
        is_fitting = count and self.reader.document_tokens <= self._room(count)
        span = Span(0, len(self.reader.document.text))
        return [_DocumentPart(span, "the document", count, count)] if is_fitting else []

    def stretches(self) -> list[_DocumentPart]:
        """Return the stretches of the document, each with its share of the questions: by its length and importance, or
        the same for all where a range is set."""
        reader, outline, questions = self.reader, self.outline, self.judging.questions
        spans = self._spans(min(self.judging.stretch_tokens, max(reader.room, self._room(_MAX_FIRST_QUESTIONS))))
        if isinstance(questions, int):
            lengths = [span.end - span.start for span in spans]
            weights = [outline.importance(span) for span in spans] if outline else lengths
            divided = shares(ceil(_SPARE * self.wanted), weights if any(weights) else lengths)
            least_each = most_each = [min(share, _MAX_FIRST_QUESTIONS) for share in divided]
        else:
            times = self.wanted // questions[1]
            least_each, most_each = (shares(times * number, [1] * len(spans)) for number in questions)
        return [
            _DocumentPart(span, f"stretch {at} of {len(spans)}", fewest, limit)
            for at, (span, fewest, limit) in enumerate(zip(spans, least_each, most_each, strict=True), 1)
            if limit and has_words(reader.text(span))
        ]

    def _spans(self, limit: int) -> list[Span]:
        """Return the document in stretches of at most so many tokens and similar length, which end at sections unless a
        range of questions is set. Surrounding matter, such as a list of references, is left out."""
        reader, natural = self.reader, isinstance(self.judging.questions, int)
        (start, end), _ = body_of(reader.document)
        left_out = (reader.text(Span(0, start)), reader.text(Span(end, len(reader.document.text))))
        tokens = reader.document_tokens - sum(map(reader.tokenizer.count, left_out))
        # Each ends with a sentence, so before its share is full.
        share = ceil(tokens / ceil(tokens / limit) * _EVEN) if tokens > limit else limit
        size = max(MIN_BUDGET, min(limit, share))
        stretches = chunk(reader.document, reader.tokenizer, size, end, start=start, natural=natural)
        return [stretch.span for stretch in stretches]

    def _room(self, questions: int) -> int:
        """Return the tokens for the text in a prompt whose reply has so many questions."""
        outline_tokens = self.reader.tokenizer.count(self._shown) if self._shown else 0
        return self.reader.window - _PROMPT_TOKENS - outline_tokens - questions * QUESTION.tokens(self.judge.wording)

    @property
    def _shown(self) -> str | None:
        """Return the outline as the prompts show it; None if there is none, or no room for it."""
        if self.outline is None:
            return None
        text = outline_text(self.outline)
        return text if self.reader.tokenizer.count(text) <= _OUTLINE_SHARE * self.reader.window else None

    async def ask_each(
        self, parts: Sequence[_DocumentPart], attempt: Attempt = FIRST_TRY
    ) -> tuple[list[PackQuestion], list[str]]:
        """Return the distinct questions about all parts, the first of every part first, and what went wrong. A part
        that the judge declines does not stop the others."""
        replies = await gather_all(self._ask(part, attempt) for part in parts)
        # The parts by their reversed binary numbers: any beginning of this order is spread over the whole document.
        spread = sorted(range(len(replies)), key=lambda at: f"{at:032b}"[::-1])
        rows = zip_longest(*(replies[at][0] for at in spread))
        questions = [question for row in rows for question in row if question is not None]
        by_text = {question.text.casefold(): question for question in reversed(questions)}
        distinct = [question for question in questions if by_text[question.text.casefold()] is question]
        return distinct, [trouble for _, troubles in replies for trouble in troubles]

    async def _ask(self, part: _DocumentPart, attempt: Attempt) -> tuple[list[PackQuestion], list[str]]:
        """Return the questions about a part. Where the reply is cut off, half as many are asked about each half, and
        the questions of the cut reply are used only if those are too few; the whole document is asked about again."""
        reader, roomier = self.reader, attempt.with_more_room()
        text, is_whole = reader.text(part.span), part.span == (0, len(reader.document.text))
        ranged = not isinstance(self.judging.questions, int)
        if is_whole and not ranged:
            asked_input = qa.AskDocumentInput(document=text, count=part.maximum)
        else:
            fewest = part.fewest if part.fewest < part.maximum else None
            asked_input = qa.AskDocumentInput(excerpt=text, at_least=fewest, count=part.maximum, outline=self._shown)
        can_halve = roomier and part.maximum > 1 and asked_input.document is None
        two = halves(reader.document.text, part.span) if can_halve else None
        label = f"questions on {part.name}"
        questions: list[PackQuestion] = []
        try:
            room = part.maximum * QUESTION.tokens(self.judge.wording)
            reply = await self.judge.ask(qa.ASK_DOCUMENT, asked_input, room, label, attempt if two else None)
        except (ReplyError, RejectedRequest) as error:
            self.failures.append(error)
            if not (two and roomier and isinstance(error, ReplyError) and error.needs_more_tokens):
                return [], [f"no {label}: {error.message}"]
            following = (
                replace(attempt, loosely=attempt.loosely or error.loops) if error.late or error.loops else roomier
            )
        else:
            drafted = [entry for entry in reply.value.questions if entry.question.strip() and is_answer(entry.answer)]
            questions = [self._question(question, part.span) for question in drafted[: part.maximum]]
            if not (reply.is_truncated and two and roomier and len(questions) < part.fewest):
                return questions, []
            following = roomier
        counts = zip(shares(part.fewest, (1, 1)), shares(part.maximum, (1, 1)), strict=True)
        parts = [
            _DocumentPart(span, f"{part.name}, part {at}", *count)
            for at, (span, count) in enumerate(zip(two, counts, strict=True), 1)
        ]
        more, missing = await self.ask_each(parts, following)
        return [*more, *questions][: part.maximum], missing

    def _question(self, drafted: qa.DocumentQuestion, within: Span) -> PackQuestion:
        """Return a question as a pack has it, not yet numbered. The place of its answer is the quote, or else the
        passage in the stretch that is nearest to the question."""
        evidence = self.reader.sentence(drafted.quote, [within])
        if evidence is None:
            near = self.reader.nearest(f"{drafted.question} {drafted.answer}", 1, within)
            evidence = self.reader.place(near[0] if near else within)
        return PackQuestion(
            id=0,
            text=one_line(drafted.question, _LONGEST_TEXT),
            kind=drafted.kind,
            answer=one_line(drafted.answer, _LONGEST_TEXT),
            evidence=evidence,
            position=evidence.span.start / len(self.reader.document.text) if evidence.span else 0.0,
            weight=drafted.weight if isinstance(self.judging.questions, int) else 1,
        )

    async def weighed(self, questions: Sequence[PackQuestion]) -> list[PackQuestion]:
        """Return the questions with their weights in the whole document. Those that the judge leaves out, such as
        repetitions, come last; they keep their own weights if it gives none."""
        groups = ceil(len(questions) / max(1, min(_RANKED_AT_ONCE, self.reader.window // _RANKED_TOKENS)))
        order = sorted(range(len(questions)), key=lambda at: questions[at].position)
        candidates = [qa.Candidate(id=at, question=questions[at].text, answer=questions[at].answer) for at in order]

        async def weights_in(at: int) -> dict[int, int]:
            # Each group has questions from all parts of the document.
            ranked = qa.RankInput(candidates=candidates[at::groups], outline=self._shown)
            room = len(ranked.candidates) * _NUMBER.tokens(self.judge.wording)
            label = f"questions ranked, part {at + 1}/{groups}" if groups > 1 else "questions ranked"
            own_weights = {candidate.id: questions[candidate.id].weight for candidate in ranked.candidates}
            try:
                return (await self.judge.ask(qa.RANK_QUESTIONS, ranked, room, label)).value.weights or own_weights
            except (ReplyError, RejectedRequest):
                return own_weights

        replies = await gather_all(map(weights_in, range(groups)))
        weights = {at: weight for reply in replies for at, weight in reply.items()}
        ranked_first = sorted(range(len(questions)), key=lambda at: at not in weights)
        return [replace(questions[at], weight=weights.get(at, 1)) for at in ranked_first]


_OPINION = EntryBudget(frame=30, words=20)
_SUPPORT = EntryBudget(frame=36, words=20, sentences=1)
# Tokens of the prompt for a query without its facts, of a reply with one, and of the level of a fact in its prompt.
_QUERY_PROMPT_TOKENS, _QUERY_TOKENS, _LEVEL_TOKENS = 450, 150, 20
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

        def vetted() -> dict[tuple[Level, str], dict[str, Any]]:
            changes: dict[tuple[Level, str], dict[str, Any]] = {}
            for n, fact in enumerate(distinct):
                opinions = {dimension: account.verdicts.get(n) for dimension, account in accounts.items()}
                # Its place is its quote, or the nearest passage in the chunk.
                quotes = (getattr(opinion, "quote", "") for opinion in opinions.values())
                quoted = self.reader.quoted(next(filter(None, quotes), fact.text), [span])
                place = quoted.span if quoted else None
                if place is None or place.start < span.start or place.end > span.end:
                    place = next(iter(self.reader.nearest(fact.text, 1, span)), span)
                # Facts without a verdict are pruned too.
                objections = tuple(
                    Objection(dimension, one_line(opinion.reason, _LONGEST_REASON))
                    if opinion
                    else Objection(UNJUDGED, f"no verdict was given on its {dimension}")
                    for dimension, opinion in opinions.items()
                    if opinion is None or opinion.verdict != "pass"
                )
                changes[fact.level, fact.text] = {"evidence": self.reader.place(place), "objections": objections}
            return changes

        # The first search indexes the document; nothing else should wait for that.
        changes = await asyncio.to_thread(vetted)
        trouble = next((account.trouble for account in validated if account.trouble), "")
        return [replace(fact, **changes[fact.level, fact.text]) for fact in facts], trouble

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
        count, room = self.reader.tokenizer.count, self.reader.window - _QUERY_PROMPT_TOKENS - _QUERY_TOKENS
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
