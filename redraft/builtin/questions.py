"""Questions in short, correct English about a document and about each sentence of a summary, and their answers.

Who or what did something is asked where subject and verb are easy to tell; otherwise whether the sentence is true. Such
a question quotes the sentence, so that its place in the document can be found. Answers are found by comparing words,
without understanding: in a line with nearly all content words of the question, which was made from it or its copy.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from lemminflect import getAllLemmas, getInflection

from redraft.builtin.draft import centrality, with_dependent_last
from redraft.builtin.prose import as_sentence, plain, read
from redraft.builtin.references import NamedPeople, details
from redraft.builtin.support import SourceChecker, SourceLine, checker_for
from redraft.domain import Document, QuestionWord
from redraft.prompts import qa
from redraft.prompts.contract import UNSURE, Unsure
from redraft.prompts.qa import AskTypedInput, TypedReply
from redraft.text.document_form import body_of
from redraft.text.languages import ENGLISH
from redraft.text.pagerank import rank
from redraft.text.sanitizer import one_line
from redraft.text.sentences import is_heading, sentences
from redraft.text.vectors import SentenceVectors
from redraft.text.word_keys import Word, carries, is_negation, is_number, keys, listed, words
from redraft.text.words import count_words

_WHETHER = "Is this so: “{}”?"
_IS_WHETHER = re.compile(r"Is this so: “(.*)”\?", re.DOTALL)

_MIN_WORDS, _MIN_ASKED, _MAX_ASKED, _MIN_TELLING, _LONGEST_SUBJECT = 8, 4, 18, 3, 7
# The discount for each earlier question about the same stretch.
_AGAIN_STRETCH, _QUESTIONS_A_STRETCH = 0.6, 2
# A yes-or-no question is worth less than one with an answer.
_WHETHER_WORTH = 0.2
_IMPORTANCE, _MIN_CLAIMED = 3, 2
_LONGEST_ASKED, _TRIED = 10, 6

_NAME = re.compile(r"(?:(?:Mr|Mrs|Ms|Dr|Col)\. )?[A-Z][\w’'-]*[a-z](?: (?:of |de |van |von )?[A-Z][\w’'-]*[a-z])*")
_ARTICLE = re.compile(r"(?:the|an?) ", re.IGNORECASE)
_PERSON = re.compile(r"(?:m[ae]n|boy|girl|child|father|mother|son|sister|king|queen|woman|lady)")
# Words with these endings may or may not be people: a keeper is, a river is not.
_EITHER = re.compile(r"[a-z]+(?:er|or|ist|ian|ain|ant|ent)|first|second|third|last|rest")
_AUXILIARIES = listed(
    "be am is are was were been would could should might must will can may shall had have has did does do"
)
_NOT_IN_SUBJECT = listed("as that who which when while where in on at with and or but from to for by about like")
_BREAK = re.compile(r"[;:—–\"“”()]")
_CLAUSE_END = re.compile(
    r",? (?:and|but|or) |, (?!\d)"
    r"| (?:who|which|whose|whom|what|how|why|whether|than|when|while|as|if|although|though|where|that|until) "
)
_POINTS = re.compile(
    r"\b(?:he|him|his|she|her|its?|they|them|their|this|that|these|those|there|here|I|me|my|we|us|our|you|your|such|same"
    r"|others?|another|one|so|nobody|nothing|each|none|some(?:one|thing|body)|not|never|no|\w+sel(?:f|ves))\b",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\?[\"'”’»)\]*_]*\s*$")
_FIGURE = re.compile(r"(?<![\d.,])[1-9]\d{0,3}(?![\d.,]*\d)")


def ask_whether(sentence: str) -> str:
    """Return the question whether a sentence is entirely true."""
    return _WHETHER.format(sentence)


def read_claim(question: str) -> str:
    """Return the sentence that such a question quotes; empty for any other question."""
    return quoted.group(1) if (quoted := _IS_WHETHER.fullmatch(question)) else ""


def ask_summary(given: qa.AskSummaryInput) -> qa.SummaryQuestions:
    """Ask whether each informative sentence of a summary is true."""
    return qa.SummaryQuestions(
        sentences=[
            qa.SentenceQuestions(id=line.id, questions=_claims(line.sentence) if given.at_most else [])
            for line in given.sentences
            if not given.only or line.id in given.only
        ]
    )


def _claims(sentence: str) -> list[qa.SummaryQuestion]:
    text = one_line(sentence)
    if not is_statement(text):
        return []
    return [qa.SummaryQuestion(question=ask_whether(text), answer=text, search="", importance=_IMPORTANCE)]


def is_statement(text: str) -> bool:
    """Return whether a text is a statement, not a heading, question or fragment."""
    said = keys(text)
    enough = len(said) >= _MIN_CLAIMED and any(map(carries, said))
    return enough and not is_heading(text) and not _ASKS.search(text)


def ask_document(given: qa.AskDocumentInput) -> qa.DocumentQuestions:
    """Ask questions about the most important sentences, from all stretches of the text. It cannot weigh them."""
    pool = list(_candidates(given.excerpt or _body(given.document or "")))
    stretches = max(1, given.count // _QUESTIONS_A_STRETCH)
    asked: list[_Candidate] = []
    crowds: Counter[int] = Counter()
    while pool and len(asked) < given.count:
        worth = [candidate.worth * _AGAIN_STRETCH ** crowds[int(candidate.place * stretches)] for candidate in pool]
        best = pool.pop(worth.index(max(worth)))
        crowds[int(best.place * stretches)] += 1
        asked.append(best)
    asked.sort(key=lambda candidate: -candidate.worth)
    return qa.DocumentQuestions(questions=[candidate.question for candidate in asked])


def _body(text: str) -> str:
    """Return a document without the matter around it, such as a list of references."""
    return text[slice(*body_of(Document.from_text(text)).span)]


def rank_questions(given: qa.RankInput) -> qa.Ranking:
    """Rank questions by how much the others mention their words, all with the same weight."""
    worth = rank(SentenceVectors([f"{candidate.question} {candidate.answer}" for candidate in given.candidates]))
    order = sorted(range(len(worth)), key=lambda at: (-worth[at], at))
    return qa.Ranking(essential=[], important=[], minor=[given.candidates[at].id for at in order])


def ask_typed(given: AskTypedInput) -> TypedReply:
    """Ask a question that the paragraph answers, or whether one of its sentences is true. Abstractive and unanswerable
    questions are left out: it cannot write the former or verify the latter."""
    for pair in ask_document(qa.AskDocumentInput(excerpt=given.excerpt, count=_TRIED)).questions:
        if given.type == "binary":
            return _yes_or_no(one_line(pair.quote))
        if given.type == "extractive" and not read_claim(pair.question) and count_words(pair.answer) <= _LONGEST_ASKED:
            return TypedReply(question=pair.question, answer=pair.answer, reason="")
    return TypedReply(question="", answer="", reason="")


def _yes_or_no(sentence: str) -> TypedReply:
    """Ask whether the sentence is true; if it has a figure, with the figure changed."""
    if (figure := _FIGURE.search(sentence)) is None:
        return TypedReply(question=ask_whether(sentence), answer="yes", reason=sentence)
    other = f"{sentence[: figure.start()]}{int(figure.group()) + 1}{sentence[figure.end() :]}"
    return TypedReply(question=ask_whether(other), answer="no", reason=sentence)


class _Candidate(NamedTuple):
    """A possible question, its value, and the position of its sentence in the excerpt from 0 to 1."""

    question: qa.DocumentQuestion
    worth: float
    place: float


def _candidates(excerpt: str) -> Iterator[_Candidate]:
    """Return a question about each self-contained sentence."""
    prose = with_dependent_last(read([excerpt], ENGLISH), ENGLISH)
    worth = centrality(SentenceVectors([sentence.text for sentence in prose]), prose) if prose else ()
    spans = {as_sentence(plain(excerpt[one.start : one.end])): one for one in sentences(excerpt)}
    people = NamedPeople([sentence.text for sentence in prose if not sentence.spoken])
    for sentence, own in zip(prose, worth, strict=True):
        span = spans.get(sentence.text)
        if span is None or not sentence.is_suitable or sentence.words < _MIN_WORDS or not is_statement(sentence.text):
            continue
        quote = excerpt[span.start : span.end]
        told = one_line(quote)
        question, answer = question_about(told, people) or (ask_whether(told), told)
        kind: QuestionWord = "who" if question.startswith("Who") else "what"
        asked = qa.DocumentQuestion(question=question, kind=kind, answer=answer, quote=quote, weight=1)
        yield _Candidate(asked, own * (_WHETHER_WORTH if answer == told else 1), span.start / len(excerpt))


def question_about(sentence: str, people: NamedPeople) -> tuple[str, str] | None:
    """Return the question for the subject of a sentence and its answer; None where it would not be good English."""
    subject, predicate = ("", "") if _BREAK.search(sentence) else _parted(sentence.rstrip(".!?"))
    end = _CLAUSE_END.search(predicate)
    predicate = predicate[: end.start() if end else None]
    telling = sum(map(carries, keys(predicate)))
    long_enough = telling >= _MIN_TELLING and _MIN_ASKED <= len(predicate.split()) < _MAX_ASKED
    if not long_enough or _POINTS.search(f"{subject} {predicate}"):
        return None
    head, article = subject.partition(" of ")[0].split()[-1], _ARTICLE.match(subject)
    if people.gender(subject) or (article and _PERSON.fullmatch(head)):
        return f"Who {predicate}?", subject
    known = article and head.islower() and not _EITHER.fullmatch(head)
    return (f"What {predicate}?", subject) if known else None


def _parted(text: str) -> tuple[str, str]:
    """Split a text into subject and predicate; None where either is hard to tell."""
    said = text.split(" ")
    name = _NAME.match(text)
    sizes = range(2, _LONGEST_SUBJECT) if _ARTICLE.match(text) else [len(name.group().split())] if name else []
    for size in sizes:
        verb = next((word for word in said[size:] if word not in _AUXILIARIES and not word.endswith("ly")), "")
        if said[size - 1] in _NOT_IN_SUBJECT or said[size - 1].endswith(","):
            break
        if len(said) > size and (_is_past(said[size]) or (said[size] in _AUXILIARIES and _is_past(verb))):
            return " ".join(said[:size]), " ".join(said[size:])
    return "", ""


@lru_cache(maxsize=20_000)
def _is_past(word: str) -> bool:
    """Return whether a word may be a past tense or participle, other than an auxiliary such as "was"."""
    if not (word.isascii() and word.isalpha() and word.islower()) or word in _AUXILIARIES:
        return False
    if word.endswith("ed") and not getAllLemmas(word):
        return True
    plain = getAllLemmas(word, upos="VERB").get("VERB", ())
    return any(word in getInflection(one, tag) for one in plain for tag in ("VBD", "VBN"))


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


class _QuestionTerms(NamedTuple):
    """The content words of a question, the words of its names, and what it asks for."""

    keys: list[str]
    names: frozenset[str]
    asks: str


def answer_from_summary(given: qa.AnswerFromSummaryInput) -> qa.SummaryAnswers:
    """Answer each question from the sentence that shares most words with it. "No answer" is returned only for a summary
    made of quotations, since a paraphrase may still be an answer."""
    lines = [line for line in given.sentences if words(line.sentence)]
    ground = checker_for(tuple(line.sentence for line in lines), whole=True)
    readable = sum(line.quoted for line in lines) >= _MADE_OF_QUOTATIONS * len(lines)
    answered: list[qa.SummaryAnswer] = []
    for item in given.questions:
        claim = read_claim(item.question)
        answer = _answer(ground, item.question)
        on = [] if answer.line is None else [lines[answer.line].id]
        said = ground.text_of(answer.line) if claim else answer.answer
        silent = False if claim else answer.answered
        there = answer.answered is True or (silent if readable else UNSURE)
        answered.append(qa.SummaryAnswer(id=item.id, sentences=on, answered=there, answer=said))
    return qa.SummaryAnswers(answers=answered)


def answer_from_document(given: qa.AnswerFromDocumentInput) -> qa.DocumentAnswers:
    """Answer whether a sentence is true: with its own words, or with what the passages have instead. Other questions
    are answered from the place that shares most words."""
    ground = checker_for(tuple(given.texts))
    answered: list[qa.DocumentAnswer] = []
    for item in given.questions:
        answer = _answer(ground, item.question)
        quote = ground.text_of(answer.line)
        answered.append(qa.DocumentAnswer(id=item.id, quote=quote, answered=answer.answered, answer=answer.answer))
    return qa.DocumentAnswers(answers=answered)


def write_answer(given: qa.AnswerInput) -> qa.WrittenAnswer:
    """The sentences that have most of the telling words of the question, as they stand; none where no sentence has
    most of them."""
    ground = checker_for(tuple(given.texts))
    wanted = dict.fromkeys(filter(carries, _read(given.question).keys))
    lines = [ground.lines[number] for number in ground.places(list(wanted))]
    shares = {line.text: len(wanted.keys() & line.keys) / len(wanted) for line in lines}
    most = max(shares.values(), default=0.0)
    best = [text for text, share in shares.items() if share >= max(_BEARS, most)][:_SENTENCES]
    return qa.WrittenAnswer(
        answered=bool(best), sentences=[qa.AnswerSentence(quote=text, sentence=text) for text in best]
    )


def answer_questions(given: qa.AnswerQuestionsInput) -> qa.GivenAnswers:
    """Answer questions from the beginning of a document; whether a sentence is true is answered by yes or no."""
    ground = checker_for((given.document,))
    answered: list[qa.GivenAnswer] = []
    for item in given.questions:
        answer, claim = _answer(ground, item.question), read_claim(item.question)
        said, why = answer.answer, ""
        if claim and answer.line is not None:
            said, why = "yes" if said == claim else "no", ground.text_of(answer.line)
        answered.append(qa.GivenAnswer(id=item.id, answered=answer.answered, answer=said, reason=why))
    return qa.GivenAnswers(answers=answered)


def compare_answers(given: qa.CompareInput) -> qa.Comparisons:
    """Compare answers: they contradict each other if their numbers or names differ, or if one negates the other."""
    return qa.Comparisons(comparisons=[_compare(pair) for pair in given.pairs])


def _compare(pair: qa.Pair) -> qa.Comparison:
    # If the question is whether a sentence is true, the answer is what the document has instead.
    claimed = bool(read_claim(pair.question))
    apart = pair.document != pair.summary if claimed else differ(pair.document, pair.summary)
    reason = f"The document says “{pair.document}”." if apart else "Both say the same, or one says more."
    return qa.Comparison(id=pair.id, reason=reason, verdict="contradicts" if apart else "agrees")


def judge_answers(given: qa.JudgeAnswersInput) -> qa.AnswerVerdicts:
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
    return {word.key for detail in details(text, found) if detail.kind == kind for word in found[detail.words]}


def _answer(ground: SourceChecker, question: str) -> _Answer:
    """Return the answer of a text to a question; undecided where words do not tell whether there is one."""
    claim = read_claim(question)
    if not claim:
        return _look_up(ground, _read(question))
    held = ground.check(claim)
    if held.verdict == "borne out":
        return _Answer(True, claim, held.line)
    if held.verdict == "contradicted":
        return _Answer(True, "No" if held.wrong == "negation" else held.its, held.line)
    return _Answer(UNSURE if held.verdict == "open" else False)


def _look_up(ground: SourceChecker, sought: _QuestionTerms) -> _Answer:
    wanted = {key for key in sought.keys if carries(key) and key not in sought.names}
    if not (sought.asks and wanted):  # words cannot tell who somebody is
        return _Answer(UNSURE)
    numbers = set(filter(is_number, sought.keys))
    best, most = _Answer(False), 0.0
    for number in ground.places(sought.keys):
        line = set(ground.lines[number].keys)
        support = len(wanted & line) / len(wanted)
        if support < _SUPPORT or support <= most or not sought.names | numbers <= line:
            continue
        if support < 1 and sought.asks.startswith("who"):  # part of it may be about somebody else
            best, most = _Answer(UNSURE), support
        elif answer := _rest(ground.lines[number], sought):
            best, most = _Answer(True, " ".join(answer.split(" ")[:_LONGEST_ANSWER]), number), support
    return best


@lru_cache(maxsize=1_000)
def _read(question: str) -> _QuestionTerms:
    """Parse a question; unusual beginnings leave open what it asks for."""
    opening = _OPENING.match(question)
    said = question[opening.end() :] if opening else question
    names = frozenset(_keys_of(said, "name"))
    return _QuestionTerms(keys(said), names, opening["asks"].lower() if opening else "")


def _rest(line: SourceLine, sought: _QuestionTerms) -> str:
    """Return what a line says beyond the question: a number, or the longest stretch. Empty for a negated line, unless
    the question asks why."""
    text, of = line.text, line.words
    kind = "number" if sought.asks in _NUMBERS else "name" if sought.asks.startswith("who") else ""
    known = set(sought.keys)
    fresh = [detail for detail in line.details if detail.kind == kind and known.isdisjoint(line.keys[detail.words])]
    if fresh or kind == "number":
        return text[fresh[0].start : fresh[0].end] if fresh else ""
    if sought.asks != "why" and any(is_negation(word.key) and word.key not in sought.keys for word in of):
        return ""
    stretches = [_LOOSE_END.sub("", stretch) for stretch in _stretches(text, of, sought.keys)]
    return max(stretches, key=lambda stretch: sum(map(carries, keys(stretch))), default="")


def _stretches(text: str, of: Sequence[Word], known: Sequence[str]) -> Iterator[str]:
    """Return the informative stretches of a line between the content words of a question."""
    first = 0
    for at in range(len(of) + 1):
        if at == len(of) or (carries(of[at].key) and of[at].key in known):
            if any(carries(word.key) for word in of[first:at]):
                yield text[of[first].start : of[at - 1].end]
            first = at + 1
