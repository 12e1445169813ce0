"""Coherence: the share of sentences that do not confuse a reader of the summary (BooookScore, equation 1), and where a
newcomer stops, who has never seen the document and never will."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from pydantic import BaseModel

from redraft.agents.evidence import EvidenceQuery, EvidenceReader
from redraft.agents.judge import USUAL, Attempt, Entries, EntryBudget, ItemResults, Judge, ask_all, in_batches
from redraft.domain import Evaluation, Finding, Span, Task, content_id
from redraft.errors import Set, UsageError
from redraft.evaluators.base import Case, ConfiguredMetric, Evaluator, Votes, mean_evaluation, panel_votes, votes_of
from redraft.prompts.book import PromptBook
from redraft.prompts.coherence import (
    ERROR_TYPES,
    FIND_CONFUSION,
    FIND_STOPS,
    MAX_STOPS,
    ConfusionInput,
    ErrorType,
    FindStopsInput,
    Stop,
    StopType,
    SummarySentence,
)
from redraft.prompts.contract import UNSURE, Prompt
from redraft.prompts.qa import Statement
from redraft.prompts.tags import NO_ITEM
from redraft.settings import NEWCOMER
from redraft.text.quotes import locate, source_of
from redraft.text.sanitizer import one_line
from redraft.text.sentences import is_heading
from redraft.text.tokens import Tokenizer

CLEAR, CONFUSING = "clear", "confusing"
CONFUSION = EntryBudget(frame=50, words=26)
"""What one entry of a reply may hold."""
# Tokens of the reply schema and the numbering.
_FRAME = 300
# The fewest tokens of a stretch that are of any use.
_MIN_STRETCH = 500
# How many sentences after those judged are shown if the summary is too long.
_AFTER = 3
LONGEST_QUESTION = 300
UNTYPED = "untyped"
"""The kind of a finding whose confusion the judges do not classify."""

WHAT_TO_DO: dict[StopType, tuple[Task, str]] = {
    "duplication": ("drop", "Another sentence says this already. Say it once."),
    "inconsistency": ("correct", "Another part of the summary contradicts this. Make both agree with the document."),
    "entity omission": ("clarify", "A reader cannot tell who or what this is. Say it as the document does."),
    "event omission": ("clarify", "A reader cannot tell what happened. Say it as the document does."),
    "causal omission": ("clarify", "A reader cannot tell why. Give the reason that the document gives."),
    "discontinuity": ("connect", "This does not follow from what comes before it. Add a transition, or move it."),
    "salience": ("drop", "This adds nothing to the main line. Leave it out."),
    "language": ("change", "The wording is wrong or unclear. Say it in plain words."),
}  # fmt: skip
"""What a revision does for each type. Types that settle others come first: a dropped sentence raises no question."""
_UNCLEAR: tuple[Task, str] = ("clarify", "This leaves the reader with this question. Answer it from the document.")
_UNNAMED: tuple[Task, str] = ("change", "This confuses the reader. Say it in plain words.")
# Capitalized words other than the first of a question.
_WORD = r"(?:[A-Z]['’])?[A-Z]\w+(?:-\w+)*"
_NAME = re.compile(rf"(?<=[\w,;] )(?:(?:Dr|Mrs?|Ms|St)\. )?{_WORD}(?: (?:of |the |de |van |von )?{_WORD})*")
# A question about a pronoun is answered where the document has the sentence, not by the pronoun.
_PRONOUN = re.compile(r"[\"'“‘](?:he|him|his|she|hers?|they|them|theirs?|its?)[\"'”’]", re.IGNORECASE)
# Types whose answer has to be looked up in the document.
_LOOKED_UP: frozenset[Task] = frozenset({"clarify", "correct", "connect"})


class SentenceConfusion(BaseModel):
    """The stored verdict on a sentence; None if the judge cannot tell."""

    confusing: bool | None
    questions: tuple[str, ...] = ()
    types: tuple[ErrorType, ...] = ()


@dataclass(frozen=True, slots=True)
class Booookscore(ConfiguredMetric):
    """Judges several sentences at a time, with the whole summary but without the document. Headings are not judged. The
    document is searched only for answers to a confused reader's questions."""

    name = "booookscore"
    title = "BooookScore (clarity)"
    meaning = "How many sentences of the summary are clear to a reader, from 0 to 1."
    version = 3
    prompts = (FIND_CONFUSION,)
    item = "sentence"
    aim = "form"

    def check(self, book: PromptBook, tokenizer: Tokenizer, window: int | None) -> None:
        """Raise if the judge's window is too small for the prompt."""
        smallest_window = least_window(book, tokenizer)
        if window is not None and window < smallest_window:
            raise UsageError(
                f"the prompt of booookscore does not fit into a window of {window:,} tokens",
                fix=(
                    *("use ", Set("context_tokens", smallest_window), " or more, or "),
                    *(Set("prompts", "simple"), ", which has a short one"),
                ),
            )

    async def evaluate(self, case: Case) -> Evaluation:
        """Score the draft, and find each confusing sentence with the reader's questions and the passage that may answer
        them."""
        statements = sentences_of(case.statements)
        if not statements:
            return self.not_applicable("the summary has no sentence")

        async def ask(judge: Judge, sentences: Sequence[Statement]) -> Votes[SentenceConfusion]:
            reader = case.reader
            results = await proofread(judge, case.text, sentences, reader.tokenizer, reader.window, self.judging.batch)
            return votes_of(results, lambda reply: (CONFUSING, 0.0) if reply.confusing else (CLEAR, 1.0))

        panel = await panel_votes(case, statements, CLEAR, ask)
        confusions: list[SentenceConfusion] = []
        for confused in (panel.answers(n, CONFUSING) for n in range(len(statements))):
            # The objections of all judges to a sentence.
            questions = dict.fromkeys(question for confusion in confused for question in confusion.questions)
            kinds = dict.fromkeys(kind for confusion in confused for kind in confusion.types)
            verdict = SentenceConfusion(confusing=bool(confused), questions=tuple(questions), types=tuple(kinds))
            confusions.append(verdict)
        confusing = [confusion for confusion in confusions if confusion.confusing]
        types = Counter(kind for confusion in confusing for kind in confusion.types or (UNTYPED,))
        # Those that most judges object to first, then in order; the document is searched, so in a thread.
        disputed = [(statements[n], confusions[n], panel.items[n].said_by) for n in panel.disputed_items()]
        findings = await asyncio.to_thread(lambda: [_confusion_finding(*dispute, case.reader) for dispute in disputed])
        evaluation = mean_evaluation(
            self,
            panel,
            findings=findings,
            details={
                # Each type among the confusing sentences, and those without a known type.
                "types": {kind: types[kind] for kind in (*ERROR_TYPES, UNTYPED) if types[kind] or kind != UNTYPED},
                "headings": len(case.statements) - len(statements),
                "sentences": [
                    {
                        "id": statement.id,
                        **panel.shown(n),
                        "types": list(confusions[n].types),
                        "questions": list(confusions[n].questions),
                    }
                    for n, statement in enumerate(statements)
                ],
            },
        )
        # A judge that calls no sentence clear and leaves some open cannot be trusted on the rest. Its findings stand.
        trusted = any(votes.trouble for _, votes in panel.judges) or any(item.value for item in panel.items.values())
        if (trusted and evaluation.outcome == "scored") or not evaluation.judged or not evaluation.unjudged:
            return evaluation
        reason = f"{evaluation.judged:,} sentences are confusing, and {evaluation.unjudged:,} have no verdict"
        return replace(evaluation, outcome="failed", score=None, reason=reason)


def sentences_of(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Return the judged sentences with their numbers in the summary: all except headings."""
    return tuple(statement for statement in statements if not is_heading(statement.sentence))


def _confusion_finding(
    statement: Statement, confusion: SentenceConfusion, said_by: tuple[int, int] | None, reader: EvidenceReader
) -> Finding:
    """Return the finding on a sentence, with the task and the instruction of each of its types, and the passage that
    may answer the reader's questions."""
    chosen = [what for kind, what in WHAT_TO_DO.items() if kind in confusion.types]
    chosen = chosen or [_UNCLEAR if confusion.questions else _UNNAMED]
    task, question = chosen[0][0], " ".join(confusion.questions)

    def passages() -> Iterator[Span]:
        """Yield where the answer may stand. Who a person is stands where the document first names them, or else where
        it says most about them; for all else, near the sentence's own source."""
        about = "entity omission" in confusion.types and not _PRONOUN.search(question)
        for name in _NAME.findall(question) if about else ():
            if (at := reader.document.text.find(name)) >= 0:
                yield from reader.passages.around(Span(at, at + len(name)))
        for text in (*([question] if about else []), f"{question} {statement.before} {statement.sentence}"):
            yield from reader.wanted(EvidenceQuery(text), 1, among=reader.passages)

    place = next(passages(), None) if task in _LOOKED_UP else None
    return Finding(
        Booookscore.name,
        ", ".join(confusion.types) or UNTYPED,
        task,
        " ".join(explanation for _, explanation in chosen),
        sentence=statement.sentence,
        question=question,
        evidence=reader.place(place) if place else None,
        said_by=said_by,
    )


async def proofread(
    judge: Judge, summary: str, statements: Sequence[Statement], tokenizer: Tokenizer, window: int, batch: int
) -> ItemResults[SentenceConfusion]:
    """Return what is confusing in each sentence, by its index among the statements. A judge is asked about `batch` of
    them at once; `window` is the token limit of a prompt and its reply. All requests begin with the summary, and the
    first goes ahead so that a provider can cache that prefix."""
    size = min(batch, max(1, judge.reply_tokens // CONFUSION.tokens(judge.wording)))
    # The rest of the window is for the summary next to its `size` longest sentences.
    tokens = [tokenizer.count(statement.sentence) for statement in statements]
    frame = prompt_tokens(judge.book, tokenizer, FIND_CONFUSION) + size * CONFUSION.tokens(judge.wording)
    room = window - frame - sum(sorted(tokens, reverse=True)[:size])
    fits = tokenizer.count(summary) <= room
    alike: defaultdict[str, list[int]] = defaultdict(list)
    for statement in statements:
        alike[statement.sentence].append(statement.id)

    def stretch(numbers: Sequence[int]) -> str:
        """Return as much of the summary around these sentences as fits, most of it before them."""
        begin, end = numbers[0], numbers[-1] + 1 + _AFTER
        tokens_left = room - sum(count + 1 for count in tokens[begin:end])
        while begin and (tokens_left := tokens_left - tokens[begin - 1] - 1) >= 0:
            begin -= 1
        return " ".join(statement.sentence for statement in statements[begin:end])

    async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[SentenceConfusion]:
        sentences: list[SummarySentence] = []
        for statement in (statements[n] for n in numbers):
            same = alike[statement.sentence]
            place = f"number {same.index(statement.id) + 1} of {len(same)} sentences with these words"
            place = place if len(same) > 1 else ""
            sentences.append(SummarySentence(id=statement.id, place=place, sentence=statement.sentence))
        inputs = ConfusionInput(summary=summary if fits else stretch(numbers), sentences=sentences)
        reply = await judge.ask_items(FIND_CONFUSION, inputs, numbers, CONFUSION, "coherence", attempt)
        number_of = {statements[n].id: n for n in numbers}
        entries: list[tuple[int, SentenceConfusion | None]] = []
        for entry in reply.value.sentences:
            questions = tuple(one_line(question, LONGEST_QUESTION) for question in entry.asked)
            verdict = SentenceConfusion(confusing=entry.is_confusing, questions=questions, types=tuple(entry.errors))
            # An entry that gives no verdict, or contradicts itself, is none.
            is_verdict = entry.is_confusing is not None or (entry.types == [UNSURE] and not entry.asked)
            entries.append((number_of.get(entry.id, NO_ITEM), verdict if is_verdict else None))
        return reply, entries

    # The verdict depends on how much of the summary is shown.
    beside_it = [content_id(summary)] if fits else [content_id(summary), room, size]
    results = await judge.verdicts(
        FIND_CONFUSION,
        SentenceConfusion,
        [[*beside_it, statement.id, statement.sentence] for statement in statements],
        lambda numbers: ask_all([numbers[at : at + size] for at in range(0, len(numbers), size)], ask, ahead=True),
    )
    return results.decided(lambda verdict: verdict.confusing is not None)


def least_window(
    book: PromptBook, tokenizer: Tokenizer, prompt: Prompt[Any, Any] = FIND_CONFUSION, reply: EntryBudget = CONFUSION
) -> int:
    """Return the smallest window in which a summary can be read, if need be in parts, with room for this reply."""
    return prompt_tokens(book, tokenizer, prompt) + _MIN_STRETCH + reply.tokens(USUAL)


def prompt_tokens(book: PromptBook, tokenizer: Tokenizer, prompt: Prompt[Any, Any]) -> int:
    """Return the tokens of a prompt without the summary."""
    return tokenizer.count(book.source(prompt.name)) + _FRAME


STOPS = EntryBudget(frame=40 * MAX_STOPS, words=36 * MAX_STOPS)
"""What a reply with as many stops as possible may hold."""
_ABSTAINS = "the built-in judge cannot tell where a newcomer stops: name a language model as judge"
_TASKS: Mapping[StopType, tuple[Task, str]] = {
    **WHAT_TO_DO,
    "inconsistency": ("clarify", "Another sentence contradicts this. Make both agree with the document."),
    "language": ("clarify", "A reader cannot tell what these words mean. Say it so that it reads one way only."),
    "overload": ("change", "This sentence carries too much at once. Split it, or say less."),
    "ending": ("change", "The summary stops without an ending. Say how it ends, or what is concluded."),
}
"""What a revision does about each type of stop."""


@dataclass(frozen=True, slots=True)
class NewcomerMetric(Evaluator):
    """The first judge reads the summary, and nothing of the document, and names the places where it stops. How many
    there are is no measure of quality, so there is no score."""

    name = NEWCOMER
    meaning = "Where a reader who has never seen the document stops, and what they would ask; no score."
    prompts = (FIND_STOPS,)
    heeds_query = True

    async def evaluate(self, case: Case) -> Evaluation:
        """Find the stops. What has no readable reply counts as not read, never as clear."""
        if not sentences_of(case.statements):
            return self.not_applicable("the summary has no sentence")
        judge, window = case.panel[0], case.reader.window
        if window < (required := least_window(judge.book, case.reader.tokenizer, FIND_STOPS, STOPS)):
            return self.not_applicable(f"its prompt needs a window of {required:,} tokens, and there are {window:,}")
        parts = parts_of(case, judge)
        results = await stops_in(judge, [part for part, _ in parts])
        read = sum(parts[n][1] for n in results.verdicts)
        unread = len(case.statements) - read
        if results.undecided:
            return self.not_applicable(_ABSTAINS)
        if not results.verdicts:
            return self.failed(results.trouble, unread)
        stops = [stop for _, reading in sorted(results.verdicts.items()) for stop in reading.stops]
        text = " ".join(statement.sentence for statement in case.statements)
        starts = [0, *accumulate(len(statement.sentence) + 1 for statement in case.statements)]
        after, findings = 0, list[Finding]()
        for stop in stops:
            task, explanation = _TASKS[stop.type]
            finding = Finding(NEWCOMER, stop.type, task, explanation, question=stop.question)
            # The stops are in the order of the text, so words that occur twice are looked for after the stop before.
            span = locate(text, stop.words, [Span(after, len(text))])
            after = span.start if span else after
            # Words that are not the summary's are left out, and the sentence is the one with most of them.
            if place := span or source_of(text, stop.words, [Span(0, len(text))]):
                sentence = case.statements[bisect_right(starts, place.start) - 1].sentence
                finding = replace(finding, sentence=sentence, found=text[span.start : span.end] if span else "")
            findings.append(finding)
        details: dict[str, object] = {"stops": [stop.model_dump() for stop in stops]}
        details |= {"trouble": results.trouble} if results.trouble else {}
        return self.measured(details, judged=read, unjudged=unread, findings=findings)


class PartReading(BaseModel):
    """The stored stops in a part of a summary; `unsure` if the judge cannot read as a newcomer does."""

    stops: tuple[Stop, ...] = ()
    unsure: bool = False


async def stops_in(judge: Judge, parts: Sequence[FindStopsInput]) -> ItemResults[PartReading]:
    """Return the stops in each part that has a readable reply, by its index, at most `MAX_STOPS` in each."""

    async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[PartReading]:
        (number,) = numbers
        room = min(STOPS.tokens(judge.wording), judge.reply_tokens)
        reply = await judge.ask(FIND_STOPS, parts[number], room, "stops", attempt)
        if reply.is_truncated:
            # The stops after a cut are not known, so the reply is asked for again with more room.
            return reply, [(number, None)]
        distinct: dict[tuple[str, str], Stop] = {}
        for stop in reply.value.stops:
            words, question = one_line(stop.words), one_line(stop.question, LONGEST_QUESTION)
            distinct.setdefault((words, question), Stop(words=words, question=question, type=stop.type))
        reading = PartReading(stops=tuple(distinct.values())[:MAX_STOPS], unsure=reply.value.unsure)
        return reply, [(number, reading)]

    items = [[content_id(part.context), content_id(part.summary), part.goes_on, part.query] for part in parts]
    results = await judge.verdicts(FIND_STOPS, PartReading, items, lambda numbers: ask_all(in_batches(numbers, 1), ask))
    return results.decided(lambda reading: not reading.unsure)


def parts_of(case: Case, judge: Judge) -> list[tuple[FindStopsInput, int]]:
    """Return the summary with the number of its sentences; in parts if it does not fit a prompt, each of which is shown
    with the one before it."""
    count = case.reader.tokenizer.count
    around = prompt_tokens(judge.book, case.reader.tokenizer, FIND_STOPS) + count(case.query or "")
    room = case.reader.window - around - min(STOPS.tokens(judge.wording), judge.reply_tokens)
    if count(case.text) <= room:
        return [(FindStopsInput(summary=case.text, query=case.query), len(case.statements))]
    parts = case.reader.parts(case.statements, room // 2)
    texts = [" ".join(statement.sentence for statement in part) for part in parts]
    return [
        (FindStopsInput(context=before, summary=text, goes_on=number < len(parts), query=case.query), len(part))
        for number, (part, text, before) in enumerate(zip(parts, texts, ["", *texts], strict=False), 1)
    ]
