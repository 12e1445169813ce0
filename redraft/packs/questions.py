"""Building a document's pack: questions asked stretch by stretch, then ranked so that no part of it goes unasked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import ceil, sqrt

from redraft.agents.accounting import FIRST, Attempt
from redraft.agents.evidence import EvidenceDesk
from redraft.agents.examiner import QUESTION, Examiner
from redraft.agents.judge import Judge
from redraft.agents.together import together
from redraft.domain import Chunk, Evidence, Pack, PackQuestion, Span, content_id
from redraft.errors import RejectedRequest, ReplyError
from redraft.events import Noted, Observer
from redraft.packs.misses import Misses
from redraft.prompts.judging import ASK_DOCUMENT, RANK_QUESTIONS, Candidate, DocumentQuestion
from redraft.text.chunks import chunk
from redraft.text.cleaning import one_line
from redraft.text.sentences import halves
from redraft.text.words import count_words

# As many as in the paper for a document that fits the window.
_FEWEST, _MOST_IN_WINDOW = 6, 12
_WORDS_A_QUESTION = 50
# A longer document is read in stretches short enough that none of it is skimmed over.
_STRETCH_TOKENS = 4096
# More are asked for than are kept, so that there is something to choose from.
_SPARE = 1.5
_MOST_RANKED = 120
_RANKED_TOKENS = 100
_LONGEST_TEXT = 500
# Among so many places in the document one from the right stretch is looked for, where no quote tells which it is.
_PLACES = 12
_PROMPT_TOKENS = 600
# How many questions are wanted follows the length of the document beside the window, and no language.
_REPLY_AS_A_RULE = 1_080


@dataclass(frozen=True, slots=True)
class _Found:
    """A question with where its answer stands, and which stretch it is from."""

    asked: DocumentQuestion
    evidence: Evidence
    stretch: int


async def build_pack(judge: Judge, desk: EvidenceDesk, limit: int, observer: Observer) -> Pack:
    """Ask about the whole document; at most `limit` questions, however long it is. What could not be had is named."""
    stretches = stretches_of(desk)
    wanted = questions_wanted(desk, limit)
    each = questions_each(wanted, len(stretches))
    named = [_Stretch(one.span, one.index, f"stretch {one.index + 1} of {len(stretches)}") for one in stretches]
    misses = Misses()
    replies = await together(_ask(judge, desk, stretch, each, misses) for stretch in named)
    missing = tuple(trouble for _, troubles in replies for trouble in troubles)
    for trouble in missing:
        observer(Noted(trouble))
    found = _trimmed([asked for asked, _ in replies], min(_MOST_RANKED, max(wanted, desk.window // _RANKED_TOKENS)))
    if not found:
        what = "not one question about the document came back"
        raise misses.nothing(what, missing[0] if missing else "", desk.document.title)
    order = list(range(len(found)))
    if len(stretches) > 1:
        candidates = [
            Candidate(id=n + 1, question=f.asked.question, answer=f.asked.answer) for n, f in enumerate(found)
        ]
        order = [number - 1 for number in await Examiner(judge).rank(candidates, "questions ranked")]
    chosen = chosen_in(order, [f.stretch for f in found], wanted)
    questions = tuple(_question(number, found[n], desk) for number, n in enumerate(chosen, 1))
    hashes = {prompt.name: judge.book.hash(prompt) for prompt in (ASK_DOCUMENT, RANK_QUESTIONS)}
    document = desk.document.id
    return Pack(pack_id(document, questions), document, judge.model.identity, hashes, questions, missing)


def pack_id(document: str, questions: Sequence[PackQuestion]) -> str:
    """The same for the same questions about the same document."""
    material = [document, *([q.text, q.kind, q.answer, q.evidence.text] for q in questions)]
    return content_id(json.dumps(material, ensure_ascii=False))[:16]


def pack_key(judge: Judge, desk: EvidenceDesk, limit: int) -> str:
    """The same for the same document, judge, prompts and limits: a pack is built once for each."""
    hashes = [judge.book.hash(prompt) for prompt in (ASK_DOCUMENT, RANK_QUESTIONS)]
    material = [judge.model.identity, *judge.drawn, *hashes, limit, desk.room, desk.tokenizer.name]
    return content_id(json.dumps(material))[:32]


def stretches_of(desk: EvidenceDesk) -> Sequence[Chunk]:
    """The document whole where it fits into a prompt, else in stretches."""
    room = _room(desk)
    fits = desk.document_tokens <= room
    return chunk(desk.document, desk.tokenizer, room if fits else min(room, _STRETCH_TOKENS))


def questions_wanted(desk: EvidenceDesk, limit: int) -> int:
    """6 to 12 for what fits into the window; beyond that as many more as the root of the length."""
    usual = max(desk.room, desk.window - _REPLY_AS_A_RULE - _PROMPT_TOKENS)
    fitting = max(_FEWEST, min(_MOST_IN_WINDOW, count_words(desk.document.text) // _WORDS_A_QUESTION))
    return max(1, min(limit, round(fitting * max(1.0, sqrt(desk.document_tokens / usual)))))


def _room(desk: EvidenceDesk) -> int:
    """The tokens of the document that a prompt has room for beside what it says and the questions that come back."""
    return max(desk.room, desk.window - _MOST_IN_WINDOW * QUESTION.tokens(desk.wording) - _PROMPT_TOKENS)


def questions_each(wanted: int, stretches: int) -> int:
    """How many questions to ask for about each stretch."""
    return wanted if stretches == 1 else min(_MOST_IN_WINDOW, ceil(_SPARE * wanted / stretches) + 1)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A part of the document that is asked about at once, and what it is called."""

    span: Span
    index: int
    name: str

    def halves(self, text: str) -> list[_Stretch]:
        """Its two halves; nothing where it is one sentence."""
        parts = halves(text, self.span) or ()
        return [_Stretch(part, self.index, f"{self.name}, part {at}") for at, part in enumerate(parts, 1)]


async def _ask(
    judge: Judge, desk: EvidenceDesk, stretch: _Stretch, count: int, misses: Misses, attempt: Attempt = FIRST
) -> tuple[list[_Found], list[str]]:
    """The questions about one stretch; where the reply is cut off, half as many about each half of it.

    Of a stretch that the judge declines it is said what went wrong. It does not stop the others.
    """
    text = desk.text(stretch.span)
    if not count_words(text):
        return [], []
    roomier = attempt.roomier()
    parts = stretch.halves(desk.document.text) if roomier and count > 1 else []
    try:
        asked = await Examiner(judge).ask_document(
            text, count, f"questions on {stretch.name}", attempt if parts else None
        )
    except (ReplyError, RejectedRequest) as error:
        misses.note(error)
        if not (parts and roomier and isinstance(error, ReplyError) and error.wants_room):
            return [], [f"no questions on {stretch.name}: {error.message}"]
        following = attempt if error.late else roomier
    else:
        return [_Found(one, _evidence(one, desk, stretch.span), stretch.index) for one in asked], []
    counts = (count + 1) // 2, count // 2
    replies = await together(
        _ask(judge, desk, part, few, misses, following) for part, few in zip(parts, counts, strict=True)
    )
    (first, here), (second, there) = replies
    mixed = [found for pair in zip_longest(first, second) for found in pair if found is not None]
    return mixed, [*here, *there]


def _evidence(asked: DocumentQuestion, desk: EvidenceDesk, within: Span) -> Evidence:
    """Where the answer stands: the quote, or else the place in the stretch that is nearest to the question."""
    quoted = desk.quoted(asked.quote, [within])
    if quoted.span is not None:
        return quoted
    near = [
        passage.span
        for passage in desk.passages.nearest(f"{asked.question} {asked.answer}", _PLACES)
        if passage.span.start in range(*within)
    ]
    return desk.place(near[0] if near else within)


def _trimmed(asked: Sequence[Sequence[_Found]], most: int) -> list[_Found]:
    """What will be ranked, stretch by stretch, each question once: the first of every stretch, then the second, ...

    Where there is no room for one of every stretch, those that are left out lie between others.
    """
    seen: set[str] = set()
    kept: list[_Found] = []
    for row in zip_longest(*asked):
        fresh: list[_Found] = []
        for found in row:
            if found is not None and (key := one_line(found.asked.question).casefold()) not in seen:
                seen.add(key)
                fresh.append(found)
        room = min(most - len(kept), len(fresh))
        kept += [fresh[at * len(fresh) // room] for at in range(room)]
    return sorted(kept, key=lambda found: found.stretch)


def chosen_in(order: Sequence[int], parts: Sequence[int], wanted: int) -> list[int]:
    """The `wanted` best in `order`, with at least one from every part where there is room for that.

    Where there are more parts than room, neighbouring parts stand for each other.
    """
    count = max(parts, default=0) + 1
    groups = [part * min(wanted, count) // count for part in parts]
    chosen: set[int] = set()
    represented: set[int] = set()
    for n in order:
        if groups[n] not in represented and len(chosen) < wanted:
            represented.add(groups[n])
            chosen.add(n)
    for n in order:
        if len(chosen) < wanted:
            chosen.add(n)
    return [n for n in order if n in chosen]


def _question(number: int, found: _Found, desk: EvidenceDesk) -> PackQuestion:
    span = found.evidence.span
    return PackQuestion(
        id=number,
        text=one_line(found.asked.question, _LONGEST_TEXT),
        kind=found.asked.kind,
        answer=one_line(found.asked.answer, _LONGEST_TEXT),
        evidence=found.evidence,
        position=span.start / len(desk.document.text) if span else 0.0,
    )
