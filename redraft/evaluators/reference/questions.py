"""Builds a document's questions: all at once where the document fits the judge's window; otherwise stretch by stretch,
each by its share of the whole, and then ranked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, pairwise, zip_longest
from math import ceil, sqrt
from typing import TypeVar

import numpy as np

from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import FIRST_TRY, Attempt, EntryBudget, gather_all
from redraft.agents.writer import Outliner
from redraft.domain import Chunk, Pack, PackQuestion, Span, content_id
from redraft.errors import RejectedRequest, ReplyError
from redraft.evaluators.reference.exchange import pack_id
from redraft.evaluators.reference.keyfact_builder import Builder, build_error
from redraft.events import Notice
from redraft.prompts import qa
from redraft.prompts.silence import is_answer
from redraft.prompts.summarization import DocumentOutline, outline_text
from redraft.settings import JudgeConfig
from redraft.text.chunks import MIN_BUDGET, chunk
from redraft.text.document_form import body_of
from redraft.text.languages import language_of
from redraft.text.retrieval import Ranker
from redraft.text.sanitizer import one_line
from redraft.text.sentences import halves
from redraft.text.words import count_words, has_words

QUESTION = EntryBudget(frame=38, words=34, sentences=1)
# An entry of a reply that only names a question.
_NUMBER = EntryBudget(frame=8)
_NEAREST = 2
"""How many of the pack's questions count as being about the same thing."""


def cited_for(text: str, pack: Pack | None) -> tuple[Span, ...]:
    """Return the places cited by the pack's questions that are closest to a question or claim."""
    if pack is None or not pack.questions:
        return ()
    scores = _ranker(pack.questions).scores(text)
    order = [int(at) for at in np.argsort(-scores, kind="stable")[:_NEAREST] if scores[at] > 0]
    spans = (pack.questions[at].evidence.span for at in order)
    return tuple(dict.fromkeys(span for span in spans if span is not None))


@lru_cache(maxsize=8)
def _ranker(questions: tuple[PackQuestion, ...]) -> Ranker:
    texts = [f"{question.text} {question.answer}" for question in questions]
    return Ranker(texts, [language_of("\n".join(texts))] * len(texts))


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

T = TypeVar("T")


def stretches_of(reader: EvidenceReader, limit: int, *, natural: bool = True) -> Sequence[Chunk]:
    """Return the document in stretches of at most so many tokens and similar length, which end at sections where they
    are `natural`. Surrounding matter, such as a list of references, is left out."""
    (start, end), _ = body_of(reader.document)
    left_out = (reader.text(Span(0, start)), reader.text(Span(end, len(reader.document.text))))
    tokens = reader.document_tokens - sum(map(reader.tokenizer.count, left_out))
    # Each ends with a sentence, so before its share is full.
    share = ceil(tokens / ceil(tokens / limit) * _EVEN) if tokens > limit else limit
    return chunk(
        reader.document, reader.tokenizer, max(MIN_BUDGET, min(limit, share)), end, start=start, natural=natural
    )


def questions_wanted(reader: EvidenceReader, judging: JudgeConfig) -> int:
    """Return the number of questions: 6 to 12 for a few pages, then growing with the square root of the length up to
    the limit; where a range per stretch is set, the most for all stretches."""
    if not isinstance(judging.questions, int):
        return judging.questions[1] * len(stretches_of(reader, judging.stretch_tokens, natural=False))
    first = max(_MIN, min(_MAX_FIRST_QUESTIONS, count_words(reader.document.text) // _WORDS_A_QUESTION))
    return max(1, min(judging.questions, round(first * max(1.0, sqrt(reader.document_tokens / _AT_FIRST_TOKENS)))))


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
        parts = asker.whole() or asker.stretches()
        questions, missing = await asker.ask_each(parts)
        if not questions and len(parts) == 1 and len(stretches := asker.stretches()) > 1:
            parts = stretches
            questions, missing = await asker.ask_each(parts)
        for trouble in missing:
            self.observer(Notice(trouble))
        if not questions:
            what = "the model returned no question about the document"
            raise build_error(asker.failures, what, missing[0] if missing else "", document.title)
        if len(parts) > 1 and weighs:
            questions = await asker.weighed(questions)
        wanted = questions_wanted(self.reader, self.judging)
        questions = sorted(questions, key=lambda question: -question.weight)[:wanted]
        numbered = tuple(replace(question, id=number) for number, question in enumerate(questions, 1))
        made_by = (self.judge.model.identity, self.judge.book.hashes(_PROMPTS))
        return Pack(pack_id(document.id, numbered), document.id, *made_by, numbered, tuple(missing))

    def whole(self) -> list[_DocumentPart]:
        """Return the whole document as one part, if it fits a prompt with the reply."""
        if not isinstance(self.judging.questions, int) or self.reader.is_searched:
            return []
        count = questions_wanted(self.reader, self.judging)
        if self.reader.document_tokens > self._room(count):
            return []
        return [_DocumentPart(Span(0, len(self.reader.document.text)), "the document", count, count)]

    def stretches(self) -> list[_DocumentPart]:
        """Return the stretches of the document, each with its share of the questions: by its length and importance, or
        the same for all where a range is set."""
        reader, outline = self.reader, self.outline
        limit = min(self.judging.stretch_tokens, max(reader.room, self._room(_MAX_FIRST_QUESTIONS)))
        if isinstance(self.judging.questions, int):
            spans = [stretch.span for stretch in stretches_of(reader, limit)]
            lengths = [span.end - span.start for span in spans]
            weights = [outline.importance(span) for span in spans] if outline else lengths
            total = ceil(_SPARE * questions_wanted(reader, self.judging))
            divided = shares(total, weights if any(weights) else lengths)
            least_each = most_each = [min(share, _MAX_FIRST_QUESTIONS) for share in divided]
        else:
            spans = [stretch.span for stretch in stretches_of(reader, limit, natural=False)]
            times = questions_wanted(reader, self.judging) // self.judging.questions[1]
            least_each, most_each = (shares(times * number, [1] * len(spans)) for number in self.judging.questions)
        return [
            _DocumentPart(span, f"stretch {at} of {len(spans)}", fewest, limit)
            for at, (span, fewest, limit) in enumerate(zip(spans, least_each, most_each, strict=True), 1)
            if limit and has_words(reader.text(span))
        ]

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

    async def ask_each(self, parts: Sequence[_DocumentPart]) -> tuple[list[PackQuestion], list[str]]:
        """Return the distinct questions about all parts, the first of every part first, and what went wrong. A part
        that the judge declines does not stop the others."""
        replies = await gather_all(self._ask(part, FIRST_TRY) for part in parts)
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
        replies = await gather_all(self._ask(half, following) for half in parts)
        rows = zip_longest(*(half_questions for half_questions, _ in replies))
        more = [question for row in rows for question in row if question is not None]
        return [*more, *questions][: part.maximum], [trouble for _, troubles in replies for trouble in troubles]

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
            try:
                return (await self.judge.ask(qa.RANK_QUESTIONS, ranked, room, label)).value.weights
            except (ReplyError, RejectedRequest):
                return {}

        replies = await gather_all(map(weights_in, range(groups)))
        weights: dict[int, int] = {}
        for at, reply in enumerate(replies):
            weights |= reply or {candidate.id: questions[candidate.id].weight for candidate in candidates[at::groups]}
        ranked_first = sorted(range(len(questions)), key=lambda at: at not in weights)
        return [replace(questions[at], weight=weights.get(at, 1)) for at in ranked_first]


def evenly_spread(items: Sequence[T], limit: int) -> list[T]:
    """Return an evenly spread selection of at most this many."""
    room = min(limit, len(items))
    return [items[at * len(items) // room] for at in range(room)]
