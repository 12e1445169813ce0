"""The reviser: asks for a revised summary, and reads the reply: a section on the points, and the summary. A reply
without sections is taken as the summary, and points that it skips count as fixed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from typing import Any

from redraft.agents.evidence import NEAR, EvidenceReader
from redraft.agents.structured_writer import StructuredWriter, max_intermediate_words
from redraft.builtin.facade import shortened
from redraft.document import merge_spans
from redraft.domain import REVIEW, Completion, Finding, PointAnswer, PointOutcome, Span
from redraft.prompts.revision import CRITICIZE, EDIT, REVISE, CriticizeInput, EditInput, Point, ReviseInput
from redraft.prompts.tags import Tags
from redraft.text.quotes import FEWEST, locate, shares_names
from redraft.text.reply_cleanup import declines
from redraft.text.retrieval import PASSAGE
from redraft.text.sanitizer import one_line
from redraft.text.sentences import sentences
from redraft.text.units import words
from redraft.text.words import count_words, is_unspaced

# What the paper's document answers to a question that it does not answer.
_UNANSWERABLE = "UNANSWERABLE"

_POINTS, _POINTS_END = (re.compile(tag, re.IGNORECASE) for tag in (r"<points>", r"</points>"))
_REVISION, _REVISION_END = (re.compile(tag, re.IGNORECASE) for tag in (r"<revision>\n?", r"\n?</revision>"))
_LINE = re.compile(
    r"\W*(?:(?:id|point)\W+){0,2}(?P<tag>[^\W\d_]+)\W+(?P<became>fixed|mended|kept|left)\b(?P<said>.*)", re.IGNORECASE
)
_BECAME: dict[str, PointOutcome] = {"fixed": "fixed", "mended": "fixed", "kept": "kept", "left": "left"}
_BEFORE_SAID = " \t:,;.-–—=→"
_QUOTES = {'"': '"', "“": "”", "„": "“”", "«": "»", "»": "«", "‘": "’", "'": "'", "`": "`", "「": "」"}


def read_reply(reply: str) -> tuple[str, dict[str, tuple[PointOutcome, str]]]:
    """Return the revised summary of a reply, and by its tag the outcome of each point with the words that go with it;
    of several lines on a point the first counts."""
    revision = _REVISION.search(reply)
    points = _POINTS.search(reply, 0, revision.start() if revision else len(reply))
    if revision is None and points is None:
        return reply, {}
    section, text = "", reply
    if points is not None:
        end = _POINTS_END.search(reply, points.end())
        stop = end.start() if end else revision.start() if revision else len(reply)
        section = reply[points.end() : stop]
        # Without a section of its own, the summary is the text outside the points.
        text = reply[end.end() :] if end else ""
        text = text if text.strip() else reply[: points.start()]
    if revision is not None:
        ends = list(_REVISION_END.finditer(reply, revision.end()))
        text = reply[revision.end() : ends[-1].start() if ends else len(reply)]
    outcomes: dict[str, tuple[PointOutcome, str]] = {}
    for match in filter(None, map(_LINE.match, section.splitlines())):
        words_said = match["said"].strip().lstrip(_BEFORE_SAID).rstrip()
        closing = _QUOTES.get(words_said[:1], "")
        if len(words_said) > 1 and closing and words_said[-1] in closing:
            words_said = words_said[1:-1].strip()
        outcomes.setdefault(match["tag"].casefold(), (_BECAME[match["became"].casefold()], words_said))
    return text, outcomes


BESIDE = 1
"""How many passages are read before and after those with the evidence of a finding."""
INSTRUCTION = "agent"
"""Replaces the metric for an instruction of the model that leads the revision."""
# How much of the room next to an editor's notes the summaries of the document's parts may take.
_SHARE_OF_PARTS = 0.9
# Tokens of the complaint about a flawed reply.
_MARGIN = 180
# Every round draws its own samples; the next sample of a run begins after this many rounds.
_ROUNDS = 1000
# The least share of word pairs that a revision has in common with its summary.
_IN_COMMON = 0.1
# The least relative length of a translated summary, which has no words in common.
_TRANSLATED = 0.4
# The fewest words that a revision without a limit is given room for.
_MIN = 50
# Letters per word of a script without spaces.
_LETTERS_A_WORD = 2.5
# Tokens of a line on a point, with a quote, and of the tags of both sections.
_A_POINT, _SECTIONS = 60, 24
_LONGEST_SAID = 400
# Words that a point usually adds to a revision without a limit.
_WORDS_A_POINT = 40
_LONGEST_CRITICISM = 2000


@dataclass(frozen=True, slots=True)
class RevisionRequest:
    """What a revision is asked for: a summary in which these findings are dealt with. With an `EditInput` the whole
    text is written anew; else it is corrected in place, or only made shorter where there are no findings."""

    inputs: ReviseInput
    """What the reviser reads, which `Reviser.brief` completes."""
    findings: tuple[Finding, ...]
    number: int
    """The number of the round."""
    stops: tuple[Finding, ...] = ()
    """Where a reader stops."""
    missing: tuple[Finding, ...] = ()
    """What a reader must know and the draft lacks, with its place in the document."""
    levels: tuple[tuple[str, ...], ...] = ()
    """The summaries of the document's parts by level, lowest first: an editor reads the first level that fits."""
    places: tuple[Span, ...] = ()
    """The places of the document that the inputs cover; none for a revision that only shortens."""

    @property
    def usual(self) -> int:
        """Return the limit, or how long a revision without one is expected to be."""
        asked = len(self.findings) + len(self.missing)
        return self.inputs.words or max(_MIN, count_words(self.inputs.summary)) + _WORDS_A_POINT * asked


@dataclass(frozen=True, slots=True)
class Reviser:
    """Revises summaries with one model, towards the question that the summary answers, if any."""

    structured_writer: StructuredWriter
    reader: EvidenceReader
    query: str | None = None
    bare: bool = False
    """Whether a point with a question is that alone, as in LongSumEval; if the summary is wrong, with the document's
    answer."""

    def brief(self, request: RevisionRequest) -> RevisionRequest:
        """Return the request with all that the reviser reads: the document if it fits, else the passages around what is
        asked for, and for a text that is written anew the summaries of the document's parts. The first search indexes
        the document, so it belongs in a thread."""
        writer, summary = self.structured_writer, request.inputs.summary
        # With the sentences that an answer comes from, where a judge quoted only some of them.
        findings = list(request.findings)
        for at, finding in enumerate(findings):
            if finding.evidence and finding.answer:
                findings[at] = replace(finding, evidence=self.reader.widened(finding.evidence, finding.answer))
        point_of = point_in_paper if self.bare else point_to_fix
        update = _point_fields([point_of(number, finding) for number, finding in enumerate(findings, 1)])
        update |= {"length": count_words(summary), "query": self.query}
        update |= {"language": writer.language, "characters": writer.characters}
        request = replace(request, inputs=request.inputs.model_copy(update=update))
        if not (findings or isinstance(request.inputs, EditInput)):
            return request
        inputs, room = self._fitted(request)
        if self.reader.document_tokens <= room:
            text = self.reader.document.text
            update = {"document": text}
            if isinstance(inputs, EditInput) and writer.spare is not None:
                # Next to the whole document no quotes of it are needed.
                update["must_know"] = [item.model_copy(update={"quote": ""}) for item in inputs.must_know]
            return replace(request, inputs=inputs.model_copy(update=update), places=(Span(0, len(text)),))
        quoting = near_to = findings[: len(inputs.points)]
        if isinstance(inputs, EditInput):
            count = self.reader.tokenizer.count
            # The most detailed summaries of all parts that leave some room for passages.
            fitting = (list(level) for level in request.levels if sum(map(count, level)) <= room * _SHARE_OF_PARTS)
            inputs = inputs.model_copy(update={"parts": next(fitting, [])})
            room -= sum(map(count, inputs.parts))
            questions = {item.question for item in inputs.must_know if item.quote}
            quoting = [*near_to, *(finding for finding in request.missing if finding.question in questions)]
            near_to = [*near_to, *request.stops, *request.missing]
        near = self._near(near_to, room)
        quoted = [finding.evidence.span for finding in quoting if finding.evidence and finding.evidence.span]
        inputs = inputs.model_copy(update={"passages": [self.reader.text(span) for span in near]})
        return replace(request, inputs=inputs, places=tuple(merge_spans([*near, *quoted])))

    def _fitted(self, request: RevisionRequest) -> tuple[ReviseInput, float]:
        """Return the input as far as the window has room for it, and how many tokens are left for the document: without
        what may go, then without the least of what a reader must know, the last stops, and the last points."""
        inputs, spare = request.inputs, self.structured_writer.spare
        if spare is None:
            return inputs, inf
        # A reply, and the text of one that is sent back because of a flaw.
        texts = 2 * self.structured_writer.tokens(request.usual) + _MARGIN
        prompt = EDIT if isinstance(inputs, EditInput) else REVISE
        while (room := spare(prompt, inputs) - texts - _SECTIONS - _A_POINT * len(inputs.points)) < 0:
            if isinstance(inputs, EditInput) and inputs.may_go:
                inputs = inputs.model_copy(update={"may_go": []})
            elif isinstance(inputs, EditInput) and (inputs.must_know or inputs.stops):
                field_name = "must_know" if inputs.must_know else "stops"
                inputs = inputs.model_copy(update={field_name: getattr(inputs, field_name)[:-1]})
            elif len(inputs.points) > 1:
                inputs = inputs.model_copy(update=_point_fields(inputs.points[:-1]))
            else:
                break
        return inputs, room

    def _near(self, findings: Sequence[Finding], room: float) -> list[Span]:
        """Return the passages that hold the evidence of each finding, then their neighbours, as far as they fit."""
        places_of: list[list[Span]] = []
        for finding in findings:
            span = finding.evidence.span if finding.evidence else None
            places = [span] if span else []
            if finding.metric == REVIEW:
                text = f"{finding.sentence} {finding.question} {finding.expected}".strip()
                # A person's request has no evidence, so the nearest places are read.
                places += [] if span else self.reader.passages.nearest(text or finding.explanation, NEAR)
            places_of.append(places)
        places = [place for rank in range(NEAR) for item_places in places_of for place in item_places[rank : rank + 1]]
        around = (self.reader.passages.around(place, distance) for distance in range(BESIDE + 1) for place in places)
        return self.reader.fitting(around, room)

    async def revise(self, request: RevisionRequest, label: str) -> tuple[Completion, tuple[PointAnswer, ...]]:
        """Return the revision of a request with all that the reviser reads, and the reviser's answer to each finding. A
        text that is slightly over its limit is shortened; a point kept without a quote that the document has counts as
        left."""
        outcomes: dict[str, tuple[PointOutcome, str]] = {}
        inputs, words, limit = request.inputs, request.usual, request.inputs.words

        def read(reply: str) -> str:
            text, points = read_reply(reply)
            # A reply that was sent back may have answered points that the next one skips.
            outcomes.update(points)
            return text

        writer = replace(self._writer(request.number), read=read, beside=_SECTIONS + _A_POINT * len(inputs.points))
        completion = await writer.within(
            EDIT if isinstance(inputs, EditInput) else REVISE,
            # A shorter text is only asked for where one without a limit had no room.
            lambda most: inputs.model_copy(update={"words": most if limit or most < words else None}),
            words,
            label,
            max_intermediate_words(words),
            at_worst=max_intermediate_words(words, "at worst"),
            free=limit is None,
        )
        if not completion.flaw and _is_no_revision(completion.text, request, self.structured_writer.language):
            completion = replace(completion, flaw="it has almost nothing in common with the summary")
        if limit and not completion.flaw and completion.words > limit:
            completion = await self.shorten(completion.text, limit, request.number, f"{label}, shortened")
        tags, answers = Tags(inputs), list[PointAnswer]()
        for point, finding in zip(inputs.points, request.findings, strict=False):
            became, words_said = outcomes.get(tags.tag("points", point.id), ("", ""))
            words_said = one_line(words_said, _LONGEST_SAID)
            if became == "kept" and locate(self.reader.document.text, words_said, fewest=FEWEST) is None:
                became, words_said = "left", f"its quote is not in the document: {words_said or 'there is none'}"
            if finding.metric != INSTRUCTION:
                answers.append(PointAnswer(finding.id, became, words_said))
        return completion, tuple(answers)

    async def shorten(self, text: str, words: int, number: int, label: str) -> Completion:
        """Return the text within a limit. If no reply keeps to it, sentences are left out."""
        request = self.brief(RevisionRequest(ReviseInput(summary=text, points=[], words=words), (), number))
        completion = await self._writer(number).within(
            REVISE, lambda limit: request.inputs.model_copy(update={"words": limit}), words, label
        )
        is_text = completion.text and not completion.flaw
        if is_text and not _is_no_revision(completion.text, request, self.structured_writer.language):
            return completion
        cut = shortened([text], words)
        return Completion(cut, count_words(cut), completion.attempts)

    def _writer(self, number: int) -> StructuredWriter:
        """Return the writer with a sample of its own for every round."""
        sample = self.structured_writer.sample * _ROUNDS + max(0, number - 1)
        return replace(self.structured_writer, sample=sample)

    async def criticize(self, summary: str, number: int) -> str:
        """Return the writer's own criticism of a summary, in general: the first step of Self-Refine."""
        writer = self._writer(number)
        inputs = CriticizeInput(summary=summary, query=self.query, language=writer.language)
        room = None
        if writer.spare is not None:
            room = await asyncio.to_thread(writer.spare, CRITICIZE, inputs) - writer.tokens(2 * inputs.words)
        if room is None or self.reader.document_tokens <= room:
            inputs = inputs.model_copy(update={"document": self.reader.document.text})
        else:
            near = await asyncio.to_thread(self.reader.passages.nearest, summary, room // PASSAGE)
            spans = self.reader.fitting(([passage] for passage in near), room)
            inputs = inputs.model_copy(update={"passages": [self.reader.text(span) for span in spans]})
        label = f"criticism before revision {number}"
        completion = await writer.within(CRITICIZE, lambda _: inputs, inputs.words, label, free=True)
        return one_line(completion.text, _LONGEST_CRITICISM)


def _is_no_revision(text: str, request: RevisionRequest, language: str | None) -> bool:
    """Return whether a reply is not a revision, such as an excuse or another language; always False for a person's
    requests."""
    if any(finding.metric in (REVIEW, INSTRUCTION) for finding in request.findings):
        return False
    inputs = request.inputs
    sources = [inputs.summary, inputs.document or "", *inputs.passages]
    evidence = [(finding.expected, finding.evidence.text if finding.evidence else "") for finding in request.findings]
    sources += [f"{expected} {quote}" for expected, quote in evidence]
    if isinstance(inputs, EditInput):
        sources += [*inputs.parts, *(item.answer for item in inputs.must_know)]
    source_pairs = {pair for source in sources for pair in pairwise(words(source))}
    pairs = list(pairwise(words(text)))
    if sum(pair in source_pairs for pair in pairs) >= _IN_COMMON * len(pairs):
        return False
    if not language:
        return True
    # A translation has the same names, is not much shorter, and is no excuse.
    first = next((text[span.start : span.end] for span in sentences(text)), "")
    length, length_before = (
        count_words(version) / (_LETTERS_A_WORD if is_unspaced(version) else 1) for version in (text, inputs.summary)
    )
    if declines(text) or declines(first) or length <= _TRANSLATED * length_before:
        return True
    return shares_names(text, inputs.summary) is False


def _point_fields(points: Sequence[Point]) -> dict[str, Any]:
    return {"points": list(points), "tasks": list(dict.fromkeys(point.task for point in points if point.task))}


def point_to_fix(number: int, finding: Finding) -> Point:
    """Return a finding for the reviser."""
    return Point(
        id=number,
        task=finding.task,
        # What the summary says to a question, and what the document does, say it all.
        instruction="" if finding.found else finding.explanation,
        sentence=finding.sentence,
        question=finding.question,
        says=finding.found,
        answer=finding.answer,
        why=finding.why,
        evidence=finding.evidence.text if finding.evidence else "",
    )


def point_in_paper(number: int, finding: Finding) -> Point:
    """Return a finding as LongSumEval's prompts tell it: the question, and what is right where the summary is wrong."""
    if not finding.question:
        return point_to_fix(number, finding)
    answer = "" if finding.task == "add" else finding.answer or _UNANSWERABLE
    return Point(
        id=number, task=finding.task, instruction=finding.explanation, question=finding.question, answer=answer
    )
