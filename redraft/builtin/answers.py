"""Answers questions from a text by comparing words, without understanding it: an answer is found where one line has
nearly all content words of the question, as the line has that the question was made from, or its copy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from redraft.builtin.questions import read_claim
from redraft.builtin.references import Detail, details
from redraft.builtin.support import Ground, SourceLine, ground_of
from redraft.prompts import asking, qa
from redraft.prompts.contract import UNSURE, Unsure
from redraft.text.word_keys import Word, carries, is_negation, is_number, keys, words

# A line answers a question if it has all of its names and this share of its other words.
_SUPPORT = 0.65
# The share of a summary's sentences that are nearly quotations of the document.
_MADE_OF_QUOTATIONS = 0.8
_LONGEST_ANSWER, _LONGEST_DETAIL, _MORE = 30, 8, 3
# A sentence bears on a question when it has this share of its telling words; so many are quoted at most.
_BEARS, _SENTENCES = 0.6, 2

_OPENING = re.compile(
    r"\W*(?P<asks>who(?:m|se)?|what|when|where|why|how many|how much|how long|how old|how|which)\b", re.IGNORECASE
)
_NUMBERS = frozenset(("how many", "how much", "how long", "how old"))
_LOOSE_END = re.compile(r"(?:[\s,;:]+|\b(?:the|an?|and|but|was|were|had|has|is|are|of|to|did)\b)+$", re.IGNORECASE)


class _Answer(NamedTuple):
    """Whether there is an answer, the answer, and the line that it is based on."""

    answered: bool | Unsure
    answer: str = ""
    line: int | None = None


class _Sought(NamedTuple):
    """The content words of a question, the words of its names, and what it asks for."""

    keys: list[str]
    names: frozenset[str]
    asks: str


def answer_from_summary(given: qa.AnswerFromSummaryGiven) -> qa.SummaryAnswers:
    """Answer each question from the sentence that shares most words with it. "No answer" is returned only for a summary
    made of quotations, since a paraphrase may still be an answer."""
    kept = [one for one in given.sentences if words(one.sentence)]
    ground = ground_of(tuple(one.sentence for one in kept), whole=True)
    readable = sum(one.quoted for one in kept) >= _MADE_OF_QUOTATIONS * len(kept)
    answered: list[qa.SummaryAnswer] = []
    for asked in given.questions:
        claim = read_claim(asked.question)
        found = _answer(ground, asked.question)
        on = [] if found.line is None else [kept[found.line].id]
        said = ground.source.lines[found.line].text if claim and found.line is not None else found.answer
        silent = False if claim else found.answered
        there = found.answered is True or (silent if readable else UNSURE)
        answered.append(qa.SummaryAnswer(id=asked.id, sentences=on, answered=there, answer=said))
    return qa.SummaryAnswers(answers=answered)


def answer_from_document(given: qa.AnswerFromDocumentGiven) -> qa.DocumentAnswers:
    """Answer whether a sentence is true: with its own words, or with what the passages have instead. Other questions
    are answered from the place that shares most words."""
    ground = ground_of(tuple(given.texts))
    answered: list[qa.DocumentAnswer] = []
    for asked in given.questions:
        found = _answer(ground, asked.question)
        quote = "" if found.line is None else ground.source.lines[found.line].text
        answered.append(qa.DocumentAnswer(id=asked.id, quote=quote, answered=found.answered, answer=found.answer))
    return qa.DocumentAnswers(answers=answered)


def write_answer(given: asking.AnswerGiven) -> asking.WrittenAnswer:
    """The sentences that have most of the telling words of the question, as they stand; none where no sentence has
    most of them."""
    ground = ground_of(tuple(given.texts))
    wanted = dict.fromkeys(filter(carries, _read(given.question).keys))
    lines = [ground.source.lines[number] for number in ground.source.places(list(wanted))]
    shares = {line.text: len(wanted.keys() & line.keys) / len(wanted) for line in lines}
    most = max(shares.values(), default=0.0)
    best = [text for text, share in shares.items() if share >= max(_BEARS, most)][:_SENTENCES]
    return asking.WrittenAnswer(
        answered=bool(best), sentences=[asking.AnswerSentence(quote=text, sentence=text) for text in best]
    )


def answer_questions(given: qa.AnswerQuestionsGiven) -> qa.GivenAnswers:
    """Answer questions from the beginning of a document; whether a sentence is true is answered by yes or no."""
    ground = ground_of((given.document,))
    answered: list[qa.GivenAnswer] = []
    for asked in given.questions:
        found, claim = _answer(ground, asked.question), read_claim(asked.question)
        said, why = found.answer, ""
        if claim and found.line is not None:
            said, why = "yes" if said == claim else "no", ground.source.lines[found.line].text
        answered.append(qa.GivenAnswer(id=asked.id, answered=found.answered, answer=said, reason=why))
    return qa.GivenAnswers(answers=answered)


def compare_answers(given: qa.CompareGiven) -> qa.Comparisons:
    """Compare answers: they contradict each other if their numbers or names differ, or if one negates the other."""
    return qa.Comparisons(comparisons=[_compare(pair) for pair in given.pairs])


def _compare(pair: qa.Pair) -> qa.Comparison:
    # If the question is whether a sentence is true, the answer is what the document has instead.
    claimed = bool(read_claim(pair.question))
    apart = pair.document != pair.summary if claimed else differ(pair.document, pair.summary)
    reason = f"The document says “{pair.document}”." if apart else "Both say the same, or one says more."
    return qa.Comparison(id=pair.id, reason=reason, verdict="contradicts" if apart else "agrees")


def judge_answers(given: qa.JudgeAnswersGiven) -> qa.AnswerVerdicts:
    """Judge answers: right if they have the reference's words, wrong if they have others in their place, else
    undecided."""
    return qa.AnswerVerdicts(answers=[_judge(pair) for pair in given.answers])


def _judge(pair: qa.AnswerPair) -> qa.AnswerVerdict:
    reference, answer = (set(filter(carries, keys(text))) for text in (pair.reference, pair.answer))
    # An answer with this many additional words may mean something else.
    if reference and reference <= answer and len(answer - reference) <= _MORE:
        return qa.AnswerVerdict(id=pair.id, reason="It uses the words of the reference.", verdict="right")
    other = differ(pair.reference, pair.answer)
    reason = "It says something other than the reference." if other else "Its words do not decide it."
    return qa.AnswerVerdict(id=pair.id, reason=reason, verdict="wrong" if other else UNSURE)


def differ(one: str, other: str) -> bool:
    """Return whether two answers are short and differ in names or numbers, or are yes and no."""
    ours, theirs = keys(one), keys(other)
    if set(ours) <= set(theirs) or set(theirs) <= set(ours) or max(len(ours), len(theirs)) > _LONGEST_DETAIL:
        return False
    told = [set(filter(carries, said)) for said in (ours, theirs)]
    if any(map(is_negation, ours)) != any(map(is_negation, theirs)):
        return {ours[0], theirs[0]} == {"yes", "no"} or 2 * len(told[0] & told[1]) >= min(map(len, told)) > 0
    names, numbers = ([_keys_of(text, kind) for text in (one, other)] for kind in ("name", "number"))
    # Dates in the same year may differ; of two lists that share a name, either may be shorter.
    return bool((all(names) and not names[0] & names[1]) or (numbers[0] - numbers[1] and numbers[1] - numbers[0]))


def _keys_of(text: str, kind: str) -> set[str]:
    found = words(text)
    return {key for one in details(text, found) if one.kind == kind for key in _of(one, found)}


def _of(one: Detail, found: Sequence[Word]) -> list[str]:
    return [word.key for word in found[one.first : one.last + 1]]


def _answer(ground: Ground, question: str) -> _Answer:
    """Return the answer of a text to a question; undecided where words do not tell whether there is one."""
    claim = read_claim(question)
    if not claim:
        return _look_up(ground, _read(question))
    held = ground.hold(claim)
    if held.verdict == "borne out":
        return _Answer(True, claim, held.line)
    if held.verdict == "contradicted":
        return _Answer(True, "No" if held.wrong == "negation" else held.its, held.line)
    return _Answer(UNSURE if held.verdict == "open" else False)


def _look_up(ground: Ground, sought: _Sought) -> _Answer:
    wanted = {key for key in sought.keys if carries(key) and key not in sought.names}
    if not (sought.asks and wanted):  # words cannot tell who somebody is
        return _Answer(UNSURE)
    numbers = set(filter(is_number, sought.keys))
    best, most = _Answer(False), 0.0
    for number in ground.source.places(sought.keys):
        line = set(ground.source.lines[number].keys)
        support = len(wanted & line) / len(wanted)
        if support < _SUPPORT or support <= most or not sought.names | numbers <= line:
            continue
        if support < 1 and sought.asks.startswith("who"):  # part of it may be about somebody else
            best, most = _Answer(UNSURE), support
        elif answer := _rest(ground.source.lines[number], sought):
            best, most = _Answer(True, " ".join(answer.split(" ")[:_LONGEST_ANSWER]), number), support
    return best


@lru_cache(maxsize=1_000)
def _read(question: str) -> _Sought:
    """Parse a question; unusual beginnings leave open what it asks for."""
    opening = _OPENING.match(question)
    said = question[opening.end() :] if opening else question
    found = words(said)
    names = {key for one in details(said, found) if one.kind == "name" for key in _of(one, found)}
    return _Sought([word.key for word in found], frozenset(names), opening["asks"].lower() if opening else "")


def _rest(line: SourceLine, sought: _Sought) -> str:
    """Return what a line says beyond the question: a number, or the longest stretch. Empty for a negated line, unless
    the question asks why."""
    text, of = line.text, line.words
    kind = "number" if sought.asks in _NUMBERS else "name" if sought.asks.startswith("who") else ""
    fresh = [one for one in line.details if one.kind == kind and not set(_of(one, of)) & set(sought.keys)]
    if fresh or kind == "number":
        return text[fresh[0].start : fresh[0].end] if fresh else ""
    if sought.asks != "why" and any(is_negation(word.key) and word.key not in sought.keys for word in of):
        return ""
    stretches = [_LOOSE_END.sub("", one) for one in _stretches(text, of, sought.keys)]
    return max(stretches, key=lambda one: sum(map(carries, keys(one))), default="")


def _stretches(text: str, of: Sequence[Word], known: Sequence[str]) -> Iterator[str]:
    """Return the informative stretches of a line between the content words of a question."""
    first = 0
    for at in range(len(of) + 1):
        if at == len(of) or (carries(of[at].key) and of[at].key in known):
            if any(carries(word.key) for word in of[first:at]):
                yield text[of[first].start : of[at - 1].end]
            first = at + 1
