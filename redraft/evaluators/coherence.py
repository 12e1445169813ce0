"""Coherence: the share of sentences that do not confuse a reader of the summary (BooookScore, equation 1), where a
newcomer stops, who has never seen the document and never will, and which of two summaries is better (appendix C)."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel

from redraft.agents.evidence import EvidenceQuery
from redraft.agents.judge import USUAL, Attempt, Entries, EntryBudget, ItemResults, Judge, ask_all, gather_all
from redraft.builtin.facade import IDENTITY
from redraft.domain import Document, Evaluation, Finding, Outcome, Span, Task, content_id
from redraft.errors import Set, UsageError
from redraft.evaluators.base import Case, ConfiguredMetric, Votes, agreement, mean_evaluation, panel_votes, votes_of
from redraft.evaluators.metric_info import PREFERENCE
from redraft.prompts import coherence as schemas
from redraft.prompts.book import PromptBook
from redraft.prompts.coherence import ASPECTS, FIND_CONFUSION, FIND_STOPS, PREFER_SUMMARY, Aspect, Stop, StopType
from redraft.prompts.contract import UNSURE, InputT, Prompt
from redraft.prompts.qa import Statement
from redraft.prompts.revision import CHOOSE_DRAFT, ChooseInput, DraftChoice
from redraft.prompts.tags import NO_ITEM
from redraft.settings import NEWCOMER
from redraft.text.languages import other_language_in
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


class SentenceConfusion(BaseModel):
    """The stored verdict on a sentence; None if the judge cannot tell."""

    confusing: bool | None
    questions: tuple[str, ...] = ()
    types: tuple[schemas.ErrorType, ...] = ()


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

        async def votes(judge: Judge, sentences: Sequence[Statement]) -> Votes[SentenceConfusion]:
            reader = case.reader
            results = await proofread(judge, case.text, sentences, reader.tokenizer, reader.window, self.judging.batch)
            return votes_of(results, lambda reply: (CONFUSING, 0.0) if reply.confusing else (CLEAR, 1.0))

        panel = await panel_votes(case, statements, CLEAR, votes)
        objections = [panel.answers(n, CONFUSING) for n in range(len(statements))]
        # The objections of all judges to each sentence.
        questions = [list(dict.fromkeys(text for entry in by for text in entry.questions)) for by in objections]
        types = [list[str](dict.fromkeys(kind for entry in by for kind in entry.types)) for by in objections]
        counts: dict[str, int] = dict.fromkeys(schemas.ERROR_TYPES, 0)
        for by, kinds in zip(objections, types, strict=True):
            counts |= {kind: counts.get(kind, 0) + 1 for kind in (kinds or [UNTYPED]) if by}
        # Those that most judges object to first, then in order; the document is searched, so in a thread.
        said_by = {n: panel.items[n].said_by for n in panel.disputed_items()}
        findings = await asyncio.to_thread(
            lambda: [_confusion_finding(case, statements[n], types[n], questions[n], by) for n, by in said_by.items()]
        )
        evaluation = mean_evaluation(
            self,
            panel,
            findings=findings,
            details={
                # Each type among the confusing sentences, and those without a known type.
                "types": counts,
                "headings": len(case.statements) - len(statements),
                "sentences": [
                    {"id": statement.id, **panel.shown(n), "types": types[n], "questions": questions[n]}
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
    case: Case, statement: Statement, types: list[str], questions: list[str], said_by: tuple[int, int] | None
) -> Finding:
    """Return the finding on a sentence, with the task and the instruction of each of its types, and the passage that
    may answer the reader's questions."""
    chosen = [what for kind, what in WHAT_TO_DO.items() if kind in types]
    chosen = chosen or [_UNCLEAR if questions else _UNNAMED]
    reader, task, question = case.reader, chosen[0][0], " ".join(questions)

    def passages() -> Iterator[Span]:
        """Yield where the answer may stand. Who a person is stands where the document first names them, or else where
        it says most about them; for all else, near the sentence's own source."""
        about = "entity omission" in types and not _PRONOUN.search(question)
        for name in _NAME.findall(question) if about else ():
            if (at := reader.document.text.find(name)) >= 0:
                yield from reader.passages.around(Span(at, at + len(name)))
        for text in (*([question] if about else []), f"{question} {statement.before} {statement.sentence}"):
            yield from reader.wanted(EvidenceQuery(text), 1, among=reader.passages)

    # Other faults are mended without the document.
    place = next(passages(), None) if task in ("clarify", "correct", "connect") else None
    return Finding(
        Booookscore.name,
        ", ".join(types) or UNTYPED,
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
    entry_tokens = CONFUSION.tokens(judge.wording)
    size = min(batch, max(1, judge.reply_tokens // entry_tokens))
    # The rest of the window is for the summary next to its `size` longest sentences.
    tokens = [tokenizer.count(statement.sentence) for statement in statements]
    frame = prompt_tokens(judge.book, tokenizer, FIND_CONFUSION) + size * entry_tokens
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
        sentences: list[schemas.SummarySentence] = []
        for statement in (statements[n] for n in numbers):
            same = alike[statement.sentence]
            place = f"number {same.index(statement.id) + 1} of {len(same)} sentences with these words"
            place = place if len(same) > 1 else ""
            sentences.append(schemas.SummarySentence(id=statement.id, place=place, sentence=statement.sentence))
        inputs = schemas.ConfusionInput(summary=summary if fits else stretch(numbers), sentences=sentences)
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


def prompt_tokens(book: PromptBook, tokenizer: Tokenizer, prompt: Prompt[Any, Any], *texts: str) -> int:
    """Return the tokens of a prompt with these texts and without others."""
    return sum(map(tokenizer.count, (book.source(prompt.name), *texts))) + _FRAME


STOPS = EntryBudget(frame=40 * schemas.MAX_STOPS, words=36 * schemas.MAX_STOPS)
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


class NewcomerMetric(ConfiguredMetric):
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
        stops = [stop for _, of_part in sorted(results.verdicts.items()) for stop in of_part.stops]
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


async def stops_in(judge: Judge, parts: Sequence[schemas.FindStopsInput]) -> ItemResults[schemas.Stops]:
    """Return the stops in each part that has a readable reply, by its index, at most `MAX_STOPS` in each."""

    async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[schemas.Stops]:
        room = min(STOPS.tokens(judge.wording), judge.reply_tokens)
        reply = await judge.ask(FIND_STOPS, parts[numbers[0]], room, "stops", attempt)
        distinct: dict[tuple[str, str], Stop] = {}
        for stop in reply.value.stops:
            words, question = one_line(stop.words), one_line(stop.question, LONGEST_QUESTION)
            distinct.setdefault((words, question), Stop(words=words, question=question, type=stop.type))
        stops = schemas.Stops(stops=[*distinct.values()][: schemas.MAX_STOPS], unsure=reply.value.unsure)
        # The stops after a cut are not known, so the reply is asked for again with more room.
        return reply, [(numbers[0], None if reply.is_truncated else stops)]

    items = [[content_id(part.context), content_id(part.summary), part.goes_on, part.query] for part in parts]
    results = await judge.verdicts(
        FIND_STOPS, schemas.Stops, items, lambda numbers: ask_all([[n] for n in numbers], ask)
    )
    return results.decided(lambda stops: not stops.unsure)


def parts_of(case: Case, judge: Judge) -> list[tuple[schemas.FindStopsInput, int]]:
    """Return the summary with the number of its sentences; in parts if it does not fit a prompt, each of which is shown
    with the one before it."""
    count = case.reader.tokenizer.count
    around = prompt_tokens(judge.book, case.reader.tokenizer, FIND_STOPS) + count(case.query or "")
    room = case.reader.window - around - min(STOPS.tokens(judge.wording), judge.reply_tokens)
    if count(case.text) <= room:
        return [(schemas.FindStopsInput(summary=case.text, query=case.query), len(case.statements))]
    parts = case.reader.parts(case.statements, room // 2)
    texts = [" ".join(statement.sentence for statement in part) for part in parts]
    return [
        (schemas.FindStopsInput(context=before, summary=text, goes_on=number < len(parts), query=case.query), len(part))
        for number, (part, text, before) in enumerate(zip(parts, texts, ["", *texts], strict=False), 1)
    ]


PREFERENCE_VERSION = 1
"""The version of comparisons."""
ChoiceT = TypeVar("ChoiceT", schemas.PreferenceReply, DraftChoice)
PREFERENCE_TOKENS = 400
_LONGEST_REASON = 1_000

Side = Literal["a", "b"]
Winner = Literal["a", "b", "tie"]
# The summaries by their places in the two prompts.
_BY_PLACE: tuple[Mapping[str, Winner], ...] = (
    {"first": "a", "second": "b", "tie": "tie"},
    {"first": "b", "second": "a", "tie": "tie"},
)


@dataclass(frozen=True, slots=True)
class PreferenceVerdict:
    """One judge's verdict on an aspect from both orders."""

    winner: Winner
    leaning: Side | None = None
    """The summary preferred in one order, where the other order is a tie."""
    order_decides: bool = False
    """Whether the two orders prefer different summaries."""


def settled(a_first: Winner, b_first: Winner) -> PreferenceVerdict:
    """Return the verdict from two replies, with `a` in first place in the first reply and `b` in the second: what both
    prefer, a tie that leans to what one of them prefers, or a tie where they prefer what stands in the same place."""
    if a_first == b_first:
        return PreferenceVerdict(a_first)
    if a_first != "tie" and b_first != "tie":
        return PreferenceVerdict("tie", order_decides=True)
    return PreferenceVerdict("tie", leaning="a" if "a" in (a_first, b_first) else "b")


async def prefer(referees: Sequence[Referee], document: Document, document_tokens: int, a: str, b: str) -> Evaluation:
    """Ask every judge in both orders. A judging of which one order brought no verdict is unjudged, never a tie."""
    judgings = await gather_all(referee.prefer(document, document_tokens, a, b) for referee in referees)
    verdicts: list[dict[Aspect, PreferenceVerdict]] = [judging["verdicts"] for judging in judgings]
    judged_count = sum(map(bool, verdicts))
    trouble = next((judging["trouble"] for judging in judgings if judging["trouble"]), "")
    if all(referee.judge.model.identity == IDENTITY for referee in referees):
        trouble = trouble or "the built-in model does not compare summaries: name a language model as judge"
    both = [judging for judging in judgings if judging["a_first"] and judging["b_first"]]
    unsure = both[0]["a_first"]["reason"] if both else ""
    by_aspect = [{n: by[aspect].winner for n, aspect in enumerate(ASPECTS) if aspect in by} for by in verdicts]
    details = {
        "same": False,
        "document_read": all(judging["document_read"] for judging in judgings if judging["verdicts"]),
        "aspects": {aspect: count_votes(aspect, verdicts) for aspect in ASPECTS},
        "agreement": agreement(by_aspect),
        "judgings": judgings,
        **({"trouble": trouble} if trouble else {}),
    }
    reason = "" if judged_count else trouble or unsure or "no judge gave a verdict in both orders"
    outcome: Outcome = "measured" if judged_count else "failed"
    unjudged = len(judgings) - judged_count
    return Evaluation(
        PREFERENCE, PREFERENCE_VERSION, outcome, None, judged_count, unjudged, details=details, reason=reason
    )


def same() -> Evaluation:
    """Return the evaluation of two identical summaries: a tie, without asking a judge."""
    aspects = {aspect: count_votes(aspect, []) | {"winner": "tie"} for aspect in ASPECTS}
    details = {"same": True, "document_read": False, "aspects": aspects, "agreement": None, "judgings": []}
    return Evaluation(PREFERENCE, PREFERENCE_VERSION, "measured", details=details)


def count_votes(aspect: Aspect, verdicts: Sequence[Mapping[Aspect, PreferenceVerdict]]) -> dict[str, object]:
    """Count the votes on an aspect. Leaning verdicts, and those decided by order, count as ties too."""
    votes = [verdict[aspect] for verdict in verdicts if aspect in verdict]
    winners: Counter[Winner] = Counter(vote.winner for vote in votes)
    majority = (winner for winner in winners if 2 * winners[winner] > len(votes))
    return {
        # A tie without a majority, and none without votes.
        "winner": next(majority, "tie" if votes else None),
        **{winner: winners[winner] for winner in get_args(Winner)},
        **{f"leaning_{side}": sum(vote.leaning == side for vote in votes) for side in get_args(Side)},
        "order_decides": sum(vote.order_decides for vote in votes),
        "unjudged": len(verdicts) - len(votes),
    }


@dataclass(frozen=True, slots=True)
class Referee:
    """Asks one judge twice, with each summary in first place once, since judges are biased by position; `window` is the
    token limit of a prompt and its reply, None for a model without one."""

    judge: Judge
    tokenizer: Tokenizer
    window: int | None

    async def prefer(self, document: Document, document_tokens: int, a: str, b: str) -> dict[str, Any]:
        """Ask for the better summary in both orders; the document is shown if it fits. Return the replies, and the
        verdict on every aspect that both decide."""
        trouble, tokens = "", prompt_tokens(self.judge.book, self.tokenizer, PREFER_SUMMARY, a, b) + PREFERENCE_TOKENS
        if not self.judge.can_read(other_language_in(document)):
            trouble = "the built-in model judges English only, and the document is in another language"
        elif self.window is not None and tokens > self.window:
            trouble = f"the two summaries need {tokens:,} tokens, and the window has {self.window:,}"
        is_read = not trouble and (self.window is None or tokens + document_tokens <= self.window)
        results: ItemResults[schemas.PreferenceReply] = ItemResults(trouble=trouble)
        if not trouble:
            text, key = (document.text, document.id) if is_read else (None, None)
            inputs = schemas.PreferInput(document=text, first="", second="")
            results = await self._both_orders(PREFER_SUMMARY, schemas.PreferenceReply, inputs, a, b, [key])
        shown_replies: list[dict[str, Any] | None] = [None, None]
        for order, reply in results.verdicts.items():
            choices = [(aspect, _BY_PLACE[order].get(getattr(reply, aspect), UNSURE)) for aspect in ASPECTS]
            shown_replies[order] = dict(choices, reason=reply.reason)
        a_first, b_first = shown_replies
        pairs = {aspect: (a_first[aspect], b_first[aspect]) for aspect in ASPECTS} if a_first and b_first else {}
        return {
            "judge": self.judge.name,
            "document_read": is_read,
            "verdicts": {aspect: settled(*pair) for aspect, pair in pairs.items() if UNSURE not in pair},
            "a_first": a_first,
            "b_first": b_first,
            "trouble": results.trouble,
        }

    async def choose(self, notes: ChooseInput, revision: str, best: str) -> list[DraftChoice]:
        """Return which of two drafts is better, for the revision in first place and then in second; nothing where one
        of the two replies is missing. `notes` hold what both are compared by."""
        items = [item.model_dump(mode="json") for item in notes.must_know]
        key = [items, notes.errors, notes.query]
        results = await self._both_orders(CHOOSE_DRAFT, DraftChoice, notes, revision, best, key)
        return [results.verdicts[0], results.verdicts[1]] if len(results.verdicts) == 2 else []

    async def _both_orders(
        self, prompt: Prompt[InputT, Any], kind: type[ChoiceT], inputs: InputT, a: str, b: str, key: list[object]
    ) -> ItemResults[ChoiceT]:
        """Ask with each text in first place once; `key` is what else the verdict depends on."""
        orders = [(a, b), (b, a)]

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[ChoiceT]:
            (number,) = numbers
            label, (first, second) = f"preference, {'AB'[number]} first", orders[number]
            in_order = inputs.model_copy(update={"first": first, "second": second})
            reply = await self.judge.ask(prompt, in_order, PREFERENCE_TOKENS, label, attempt)
            choice = reply.value.model_copy(update={"reason": one_line(reply.value.reason, _LONGEST_REASON)})
            return reply, [(number, choice)]

        async def judged(numbers: Sequence[int]) -> ItemResults[ChoiceT]:
            # Which order is asked first is pseudo-random, but the same for the same texts.
            earlier, later = sorted((a, b))
            drawn = int(content_id("\n".join((self.judge.name, earlier, later)))[:8], 16) % 2
            later_first = (a == earlier) == bool(drawn)
            return await ask_all([[n] for n in (numbers[::-1] if later_first else numbers)], ask)

        items = [[*key, content_id(first), content_id(second)] for first, second in orders]
        return await self.judge.verdicts(prompt, kind, items, judged)
