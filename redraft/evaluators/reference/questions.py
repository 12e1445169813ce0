"""Builds a document's questions: writes them stretch by stretch, then ranks them so that every part is covered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest
from math import ceil, sqrt
from typing import TypeVar

import numpy as np

from redraft.agents.accounts import FIRST_TRY, Attempt, gather_all
from redraft.agents.evidence import EvidenceReader
from redraft.agents.examiner import QUESTION, Examiner
from redraft.agents.judge import Judge
from redraft.domain import Chunk, Evidence, Pack, PackQuestion, Span, content_id
from redraft.errors import RejectedRequest, ReplyError
from redraft.evaluators.reference.keyfact_builder import FailedReplies
from redraft.evaluators.reference.pack_file import pack_id
from redraft.events import Notice, Observer
from redraft.prompts.qa import ASK_DOCUMENT, RANK_QUESTIONS, Candidate, DocumentQuestion
from redraft.prompts.summarization import Outline, outline_text
from redraft.text.chunks import MIN_BUDGET, chunk
from redraft.text.document_form import body_of
from redraft.text.languages import language_of
from redraft.text.retrieval import Ranker
from redraft.text.sanitizer import one_line
from redraft.text.sentences import halves
from redraft.text.words import count_words

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


# The paper's number, for a document of up to this many tokens.
_MIN, _MAX_FIRST_QUESTIONS = 6, 12
_AT_FIRST_TOKENS = 6_500
_WORDS_A_QUESTION = 50
UNRANKED = 3
"""With this few stretches no ranking is needed: each lists its most important questions first."""
# With more stretches, more questions are written than kept, so that there is a choice.
_SPARE = 1.25
_MAX_RANKED = 120
# Fits the smallest window that is assumed elsewhere too.
_RANKED_AT_ONCE = 80
_RANKED_TOKENS = 100
# How much longer than its share a stretch may be, so that no small remainder is left.
_EVEN = 1.1
_LONGEST_TEXT = 500
# Without a quote, the right stretch is looked for among this many nearest passages.
_PLACES = 12
_PROMPT_TOKENS = 600
# A window of this size has room for an outline, a stretch and the reply.
_OUTLINE_WINDOW = 16_384

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _FoundQuestion:
    """A question, the place of its answer, and its stretch."""

    asked: DocumentQuestion
    evidence: Evidence
    stretch: int


@dataclass(frozen=True, slots=True)
class PackSize:
    """How many questions a pack has; depends only on the document and these two values."""

    questions: int | tuple[int, int]
    """The maximum overall; or a range per stretch, all of which are kept."""
    stretch: int
    """The maximum tokens of a stretch that is asked about at once."""


async def build_pack(
    judge: Judge, reader: EvidenceReader, quantity: PackSize, observer: Observer, outline: Outline | None = None
) -> Pack:
    """Ask about the whole document, stretch by stretch, with the outline in view where there is one. What could not be
    had is named."""
    stretches = stretches_of(reader, quantity.stretch)
    wanted = questions_wanted(reader, quantity)
    misses, of = FailedReplies(), len(stretches)
    # No outline where the number per stretch is fixed, as in a paper's procedure.
    seen = outline_text(outline) if outline is not None and shows_outline(reader, quantity) else None
    counts = _counts(questions_each(reader, quantity, of), wanted, [stretch.tokens for stretch in stretches])
    asker = _Asker(judge, reader, misses, seen, of)
    replies = await gather_all(_ask(asker, *one) for one in zip(stretches, counts, strict=True))
    missing = tuple(trouble for _, troubles in replies for trouble in troubles)
    for trouble in missing:
        observer(Notice(trouble))
    found = _trimmed([found_questions for found_questions, _ in replies], max(_MAX_RANKED, wanted))
    if not found:
        what = "the model returned no question about the document"
        raise misses.build_error(what, missing[0] if missing else "", reader.document.title)
    order = await _ranked(judge, found, reader.window, seen) if len(stretches) > UNRANKED else _interleaved(found)
    chosen = chosen_in(order, [f.stretch for f in found], wanted)
    questions = tuple(_question(number, found[n], reader) for number, n in enumerate(chosen, 1))
    hashes = {prompt.name: judge.book.hash(prompt) for prompt in (ASK_DOCUMENT, RANK_QUESTIONS)}
    document = reader.document.id
    return Pack(pack_id(document, questions), document, judge.model.identity, hashes, questions, missing)


def shows_outline(reader: EvidenceReader, quantity: PackSize) -> bool:
    """Return whether questions are written with the outline in view, if there is one."""
    return reader.window >= _OUTLINE_WINDOW and isinstance(quantity.questions, int)


def _counts(each: tuple[int, int], wanted: int, sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return the range of questions for each stretch by its share of the text, adding up to the wanted number."""
    least, most = each
    if least < most:
        return [each] * len(sizes)
    if len(sizes) > UNRANKED:
        shares = [min(most, ceil(most * size / max(sizes))) for size in sizes]
    else:
        ends = [round(wanted * sum(sizes[: at + 1]) / sum(sizes)) for at in range(len(sizes))]
        shares = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    return [(max(1, share), max(1, share)) for share in shares]


def _interleaved(found: Sequence[_FoundQuestion]) -> list[int]:
    """Interleave the questions: the first of every stretch, then the second, and so on."""
    stretches = sorted({f.stretch for f in found})
    own = [[n for n, f in enumerate(found) if f.stretch == stretch] for stretch in stretches]
    return [n for row in zip_longest(*own) for n in row if n is not None]


async def _ranked(judge: Judge, found: Sequence[_FoundQuestion], window: int, outline: str | None) -> list[int]:
    """Return the question numbers by importance. Where they do not fit one request, each group has questions from all
    parts of the document, and groups are merged rank by rank."""
    # The same number in one request for all but the smallest windows.
    groups = ceil(len(found) / max(1, min(_RANKED_AT_ONCE, window // _RANKED_TOKENS)))
    candidates = [Candidate(id=n + 1, question=f.asked.question, answer=f.asked.answer) for n, f in enumerate(found)]
    label = "questions ranked"
    orders = await gather_all(
        Examiner(judge).rank(
            candidates[at::groups], f"{label}, part {at + 1}/{groups}" if groups > 1 else label, outline
        )
        for at in range(groups)
    )
    return [number - 1 for row in zip_longest(*orders) for number in row if number is not None]


def pack_key(judge: Judge, quantity: PackSize) -> str:
    """Return the cache key: the same for the same document, judge, prompts and quantity. It does not depend on the
    judge's window, which does not change the questions per stretch."""
    hashes = [judge.book.hash(prompt) for prompt in (ASK_DOCUMENT, RANK_QUESTIONS)]
    asked = [quantity.questions, quantity.stretch]
    material = [judge.model.identity, *judge.sampling_key, *hashes, *asked]
    return content_id(json.dumps(material))[:32]


def stretches_of(reader: EvidenceReader, most: int) -> Sequence[Chunk]:
    """Return the document in stretches of at most so many tokens and similar length. Surrounding matter, such as a list
    of references, is left out."""
    start, end = body_of(reader.document).span
    left_out = (reader.text(Span(0, start)), reader.text(Span(end, len(reader.document.text))))
    tokens = reader.document_tokens - sum(map(reader.tokenizer.count, left_out))
    return chunk(reader.document, reader.tokenizer, _share_of(tokens, most), end, start=start)


def _share_of(tokens: int, most: int) -> int:
    """Return the most tokens of a part where so many are divided into similar parts."""
    count = ceil(tokens / most)
    # Each ends with a sentence, so before its share is full.
    return max(MIN_BUDGET, most if count <= 1 else min(most, ceil(tokens / count * _EVEN)))


def questions_wanted(reader: EvidenceReader, quantity: PackSize) -> int:
    """Return the number of questions: 6 to 12 for a few pages, then growing with the square root of the length up to
    the limit; where a number per stretch is set, all of those."""
    if not isinstance(quantity.questions, int):
        return quantity.questions[1] * len(stretches_of(reader, quantity.stretch))
    first = max(_MIN, min(_MAX_FIRST_QUESTIONS, count_words(reader.document.text) // _WORDS_A_QUESTION))
    grown = round(first * max(1.0, sqrt(reader.document_tokens / _AT_FIRST_TOKENS)))
    return max(1, min(quantity.questions, grown))


def questions_each(reader: EvidenceReader, quantity: PackSize, stretches: int) -> tuple[int, int]:
    """Return the range of questions to write about each stretch."""
    if not isinstance(quantity.questions, int):
        return quantity.questions
    wanted = questions_wanted(reader, quantity)
    spare = _SPARE if stretches > UNRANKED else 1.0
    each = wanted if stretches == 1 else min(_MAX_FIRST_QUESTIONS, ceil(spare * wanted / stretches))
    return each, each


def parts_of(reader: EvidenceReader, stretch: Chunk, count: int, outline: str | None = None) -> list[Span]:
    """Return a stretch whole where a prompt has room for it and the reply, or else in parts."""
    around = _PROMPT_TOKENS + (reader.tokenizer.count(outline) if outline else 0)
    room = max(reader.room, reader.window - count * QUESTION.tokens(reader.wording) - around)
    if stretch.tokens <= room:
        return [stretch.span]
    start, end = stretch.span
    document = replace(reader.document, text=reader.document.text[start:end], sections=(), marks=())
    return [
        Span(start + one.span.start, start + one.span.end)
        for one in chunk(document, reader.tokenizer, _share_of(stretch.tokens, max(MIN_BUDGET, room)))
    ]


@dataclass(frozen=True, slots=True)
class _StretchPart:
    """A stretch or part of it that is asked about at once, and its name."""

    span: Span
    stretch: int
    name: str

    def divided(self, spans: Sequence[Span]) -> list[_StretchPart]:
        """Return its parts by name, or itself if there is only one."""
        if len(spans) == 1:
            return [self]
        return [_StretchPart(span, self.stretch, f"{self.name}, part {at}") for at, span in enumerate(spans, 1)]


@dataclass(frozen=True, slots=True)
class _Asker:
    """What questions are written with: the judge, the document, and its outline and number of stretches."""

    judge: Judge
    reader: EvidenceReader
    misses: FailedReplies
    outline: str | None
    stretches: int


async def _ask(asker: _Asker, stretch: Chunk, count: tuple[int, int]) -> tuple[list[_FoundQuestion], list[str]]:
    """Return the questions about one stretch, and what went wrong; a stretch that the judge declines does not stop the
    others. A judge with a small window is asked part by part for the same number in total."""
    whole = _StretchPart(stretch.span, stretch.index, f"stretch {stretch.index + 1} of {asker.stretches}")
    parts = parts_of(asker.reader, stretch, count[1], asker.outline)
    spans = [span for span in parts if count_words(asker.reader.text(span))]
    return await _asked_of(asker, whole.divided(spans), count, FIRST_TRY)


async def _asked_of(
    asker: _Asker, parts: Sequence[_StretchPart], count: tuple[int, int], attempt: Attempt
) -> tuple[list[_FoundQuestion], list[str]]:
    """Return so many questions about some parts, interleaved."""
    shares = [(_share(count[0], at, len(parts)), _share(count[1], at, len(parts))) for at in range(len(parts))]
    replies = await gather_all(_asked(asker, part, share, attempt) for part, share in zip(parts, shares, strict=True))
    questions: list[_FoundQuestion] = []
    for row in zip_longest(*(found_questions for found_questions, _ in replies)):
        questions += evenly_spread([one for one in row if one is not None], count[1] - len(questions))
    return questions, [trouble for _, troubles in replies for trouble in troubles]


def _share(count: int, at: int, parts: int) -> int:
    """Return how many of the questions one part is asked for: at least one."""
    return max(1, (count + parts - 1 - at) // parts)


async def _asked(
    asker: _Asker, part: _StretchPart, count: tuple[int, int], attempt: Attempt
) -> tuple[list[_FoundQuestion], list[str]]:
    """Return the questions about a part. Where the reply is cut off, half as many are asked about each half; the
    questions of the cut reply are used only if those are too few."""
    reader, roomier = asker.reader, attempt.with_more_room()
    two = halves(reader.document.text, part.span) if roomier and count[1] > 1 else None
    label = f"questions on {part.name}"
    questions: list[_FoundQuestion] = []
    try:
        document_questions, cut = await Examiner(asker.judge).ask_document(
            reader.text(part.span), count, label, attempt if two else None, asker.outline
        )
    except (ReplyError, RejectedRequest) as error:
        asker.misses.note(error)
        if not (two and roomier and isinstance(error, ReplyError) and error.needs_more_tokens):
            return [], [f"no {label}: {error.message}"]
        following = replace(attempt, loosely=attempt.loosely or error.loops) if error.needs_fewer_items else roomier
    else:
        questions = [
            _FoundQuestion(question, _evidence(question, reader, part.span), part.stretch)
            for question in document_questions
        ]
        if not (cut and two and roomier and len(questions) < count[0]):
            return questions, []
        following = roomier
    more, troubles = await _asked_of(asker, part.divided(two), count, following)
    return [*more, *questions][: count[1]], troubles


def _evidence(asked: DocumentQuestion, reader: EvidenceReader, within: Span) -> Evidence:
    """Return the place of the answer: the quote, or the passage in the stretch nearest to the question."""
    quoted = reader.sentence(asked.quote, [within])
    if quoted.span is not None:
        return quoted
    near = [
        passage.span
        for passage in reader.passages.nearest(f"{asked.question} {asked.answer}", _PLACES)
        if passage.span.start in range(*within)
    ]
    return reader.place(near[0] if near else within)


def _trimmed(asked: Sequence[Sequence[_FoundQuestion]], most: int) -> list[_FoundQuestion]:
    """Return the distinct questions to rank, interleaved by stretch. Where there is no room for one of every stretch,
    the stretches left out are evenly spread."""
    seen: set[str] = set()
    questions: list[_FoundQuestion] = []
    for row in zip_longest(*asked):
        fresh: list[_FoundQuestion] = []
        for found in row:
            if found is not None and (key := one_line(found.asked.question).casefold()) not in seen:
                seen.add(key)
                fresh.append(found)
        questions += evenly_spread(fresh, most - len(questions))
    return sorted(questions, key=lambda found: found.stretch)


def evenly_spread(found: Sequence[T], most: int) -> list[T]:
    """Return an evenly spread selection of at most this many."""
    room = min(most, len(found))
    return [found[at * len(found) // room] for at in range(room)]


def chosen_in(order: Sequence[int], parts: Sequence[int], wanted: int) -> list[int]:
    """Return the `wanted` best in `order`, with at least one from every part where there is room. With more parts than
    room, neighbouring parts are grouped."""
    count = max(parts, default=0) + 1
    groups = [part * min(wanted, count) // count for part in parts]
    # The later ones in reversed order are the better ones.
    best = set({groups[n]: n for n in reversed(order)}.values())
    others = [n for n in order if n not in best]
    chosen = best.union(others[: wanted - len(best)])
    return [n for n in order if n in chosen]


def _question(number: int, found: _FoundQuestion, reader: EvidenceReader) -> PackQuestion:
    span = found.evidence.span
    return PackQuestion(
        id=number,
        text=one_line(found.asked.question, _LONGEST_TEXT),
        kind=found.asked.kind,
        answer=one_line(found.asked.answer, _LONGEST_TEXT),
        evidence=found.evidence,
        position=span.start / len(reader.document.text) if span else 0.0,
    )
