"""The checks of the built-in model: consistency by names, numbers, opposites and word pairs; coverage and key facts by
key sentences. It looks for words and understands nothing, so it abstains from everything else."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, lru_cache, partial
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple

from redraft.builtin.draft import centrality, edit, revise, summarize
from redraft.builtin.prose import LAST_RESORT, TITLES, Detail, amounts, details, read
from redraft.builtin.stand_in import Handler
from redraft.domain import Document
from redraft.errors import RejectedRequest
from redraft.llm import nli
from redraft.llm.nli import NOT_SO, ClaimAnswer, claim_in, claim_question, claims_asked
from redraft.prompts import factual, qa, revision, summarization
from redraft.prompts.book import PROMPTS
from redraft.prompts.contract import UNSURE, Unsure
from redraft.text.document_form import body_of
from redraft.text.languages import ENGLISH
from redraft.text.sanitizer import bare_quote, one_line
from redraft.text.sentences import sentences
from redraft.text.vectors import SentenceVectors
from redraft.text.word_keys import NEGATIONS, Word, carries, keys, listed, telling, words
from redraft.text.words import count_words

# The lines examined closely: those that share most words, where adjacent pairs count more than two words.
_PLACES, _PAIR_WEIGHT = 5, 2.0
# A line that has this share of a sentence's words in order is about the same thing.
_SAME = 0.6
# This many content words are never all absent from a related text.
_MIN_STRANGE = 3
# Names with this many initial letters in common may be the same.
_ALIKE_FROM = 3
_MIN_FIGURES = 2
# What a negation adds, as in "he saw" and "he did not see".
_HELPERS = listed(
    "do does did be is are was were have had has will would can could may might must should any all every some ever"
    " everybody everyone everything always somebody someone something anybody anyone anything"
)
Term = str | tuple[str, str]
"""A word, or a pair of adjacent words."""
Step = tuple[str, int, int, int, int]
"""An opcode of `difflib`."""


@dataclass(frozen=True)
class Line:
    """A sentence of a text, and its words."""

    text: str
    words: list[Word]

    @cached_property
    def keys(self) -> list[str]:
        """Return the keys of its words."""
        return [word.key for word in self.words]

    @cached_property
    def details(self) -> list[Detail]:
        """Return the names and numbers in it."""
        return details(self.text, self.words)


Fault = Literal["name", "number", "opposite", "absent"]
_DIFFERS = "It says “{}”; the text says “{}”."
_FAULTS: Mapping[Fault, tuple[nli.Verdict, factual.Category, str]] = {
    "name": ("contradicted", "entity", _DIFFERS),
    "number": ("contradicted", "entity", _DIFFERS),
    "opposite": ("contradicted", "relation", "One of the two denies what the other says."),
    "absent": ("absent", "out_of_article", "“{}” is nowhere in the text."),
}
_NEAR_QUOTATION = 0.9
"""The least share of a sentence's word pairs that supports it: parts of a book that say nothing of the matter have half
of them, such as "of the" and "on a"."""


def _supported(share: float, nearest: str) -> ClaimAnswer:
    """Return the answer about a sentence without a fault; one that is no near quotation of the texts is left open."""
    category: factual.Category | Unsure = "none" if share >= _NEAR_QUOTATION else UNSURE
    return ClaimAnswer("supported", category, f"The text has {share:.0%} of its word pairs.", nearest, share=share)


def _faulty(fault: Fault, nearest: str, wording: str, counterpart: str = "") -> ClaimAnswer:
    """Return the answer about a sentence with something wrong in it, and what the texts have instead."""
    verdict, category, reason = _FAULTS[fault]
    correction = NOT_SO if fault == "opposite" else counterpart
    return ClaimAnswer(verdict, category, reason.format(wording, counterpart), nearest, correction)


class SourceText:
    """Some texts with an index of their words. A check takes time proportional to the lines that share a word."""

    def __init__(self, texts: Sequence[str]) -> None:
        split = [text[span.start : span.end] for text in texts for span in sentences(text)]
        self.lines = [Line(text, line_words) for text in split if (line_words := words(text))]
        self._folded = "\n".join(texts).casefold()
        self._by_term: dict[Term, list[int]] = defaultdict(list)
        for number, line in enumerate(self.lines):
            for term in _terms(line.keys):
                self._by_term[term].append(number)
        self._keys = [key for line in self.lines for key in line.keys]
        self._joined = f" {' '.join(self._keys)} "
        self._ends = list(accumulate(len(line.words) for line in self.lines))

    def find(self, keys: Sequence[str]) -> Line | None:
        """Return the line that contains these words consecutively, or None."""
        at = self._joined.find(f" {' '.join(keys)} ") if keys else -1
        return None if at < 0 else self.lines[bisect_right(self._ends, self._joined.count(" ", 0, at))]

    def rarities(self, terms: Iterable[Term]) -> dict[Term, float]:
        """Return how rare each word or pair of words is, of those that the texts have."""
        own_terms = [term for term in terms if term in self._by_term]
        return {term: math.log(1 + len(self.lines) / len(self._by_term[term])) for term in own_terms}

    def nearest(self, keys: Sequence[str]) -> list[Line]:
        """Return the lines that share most words with these, best first."""
        votes: dict[int, float] = defaultdict(float)
        for term, rarity in self.rarities(_terms(keys)).items():
            weight = rarity * (1 if isinstance(term, str) else _PAIR_WEIGHT)
            for number in self._by_term[term]:
                votes[number] += weight
        best = sorted(votes, key=lambda number: (-votes[number], number))[:_PLACES]
        return [self.lines[number] for number in best]

    def check(self, text: str) -> ClaimAnswer:
        """Return what the texts say about a sentence, by the line that is closest to it."""
        sentence = Line(text, words(text))
        if line := self.find(sentence.keys):
            return _supported(1.0, line.text)
        sentence_pairs = list(pairwise(sentence.keys))
        share = sum(pair in self._by_term for pair in sentence_pairs) / max(1, len(sentence_pairs))
        aligned: list[tuple[int, Line, Sequence[Step]]] = []
        for line in self.nearest(sentence.keys):
            opcodes = SequenceMatcher(None, sentence.keys, line.keys, autojunk=False).get_opcodes()
            aligned.append((sum(end - first for kind, first, end, _, _ in opcodes if kind == "equal"), line, opcodes))
        nearest = ""
        if aligned:
            shared, line, steps = max(aligned, key=lambda match: (match[0], -len(match[2])))
            nearest = line.text
            if shared >= _SAME * len(sentence.keys) and (contradicted := self._compared(sentence, line, steps)):
                return contradicted
        telling = [key for key in sentence.keys if carries(key) and key not in NEGATIONS]
        if len(telling) >= _MIN_STRANGE and not any(key in self._by_term for key in telling):
            return _faulty("absent", nearest, sentence.text)

        # A name or figure of the sentence that the texts lack.
        for detail in sentence.details:
            for at in range(detail.first, detail.last + 1):
                word = sentence.words[at]
                spelt = sentence.text[word.start : word.end].casefold()
                figure = word.key.isdigit() and len(word.key) >= _MIN_FIGURES and word.key not in self._figures
                # A word that starts like a name may be another spelling of it.
                start = spelt[: max(_ALIKE_FROM, len(spelt) // 2)]
                name = at > 0 and start not in self._folded and spelt not in TITLES
                if detail.sure and (figure if detail.kind == "number" else name):
                    return _faulty("absent", nearest, sentence.text[detail.start : detail.end])
        return _supported(share, nearest)

    def _compared(self, sentence: Line, line: Line, steps: Sequence[Step]) -> ClaimAnswer | None:
        """Return how a line that otherwise says the same contradicts a sentence: by a name or number, or because one of
        the two negates what the other says in the same words."""
        for _, first, end, other_first, other_end in (step for step in steps if step[0] == "replace"):
            # At either end the line may say more than the sentence.
            size = max(end - first, 1)
            if end == len(sentence.keys):
                other_end = min(other_end, other_first + size)
            elif first == 0:
                other_first = max(other_first, other_end - size)
            place, other_place = range(first, end), range(other_first, other_end)
            for detail in (detail for detail in sentence.details if detail.sure):
                if other := self._find_replacement(detail, sentence.keys, place, line, other_place):
                    wording, counterpart = sentence.text[detail.start : detail.end], line.text[other.start : other.end]
                    return _faulty(detail.kind, line.text, wording, counterpart)

        equal = [step for step in steps if step[0] == "equal"]
        start, stop = (equal[0][3], equal[-1][4]) if equal else (0, 0)
        is_even = sum(key in NEGATIONS for key in (*sentence.keys, *line.keys[start:stop])) % 2 == 0
        for kind, first, end, other_first, other_end in () if is_even else steps:
            sides = sentence.keys[first:end], line.keys[other_first:other_end]
            turned = kind != "equal" and NEGATIONS.isdisjoint(sides[0]) != NEGATIONS.isdisjoint(sides[1])
            only = kind == "replace" and any(len(side) == 1 and side[0] in NEGATIONS for side in sides)
            both = {key for side in sides for key in side if carries(key)}
            if turned and start <= other_first and other_end <= stop and (only or not both - NEGATIONS - _HELPERS):
                return _faulty("opposite", line.text, sentence.text)
        return None

    def _find_replacement(
        self, detail: Detail, keys: Sequence[str], place: range, line: Line, line_place: range
    ) -> Detail | None:
        """Return the name or number that a line has in place of the sentence's, if nothing else there differs.

        Two numbers are the same if they are equal, and two names if they are alike or parts of one name, such as
        "Hester" and "Miss Vane"."""
        own_keys = _within(detail, keys, place)
        if not own_keys:
            return None
        first = set(own_keys) - TITLES
        starts = {key[:_ALIKE_FROM] for key in own_keys}
        for candidate in line.details:
            line_keys = _within(candidate, line.keys, line_place)
            if not line_keys or candidate.kind != detail.kind:
                continue
            is_same = not set(own_keys).isdisjoint(line_keys)
            if detail.kind == "number":
                is_same = is_same or amounts(own_keys) == amounts(line_keys)
            elif not is_same:
                second = set(line_keys) - TITLES
                initials, line_initials = ([key[0] for key in name] for name in (own_keys, line_keys))
                is_same = list(own_keys) == line_initials or list(line_keys) == initials  # "J. R."
                is_same = is_same or any(key[:_ALIKE_FROM] in starts for key in line_keys if len(key) >= _ALIKE_FROM)
                is_same = is_same or any(first & name and second & name for name in self._names)
            # "Mr. Crane" may be Matthias Crane but not Mrs. Crane.
            if not is_same and TITLES.issuperset(own_keys) == TITLES.issuperset(line_keys):
                return candidate
        return None

    @cached_property
    def _names(self) -> list[set[str]]:
        """Return the names of several words in the texts."""
        names = [(line, detail) for line in self.lines for detail in line.details if detail.last > detail.first]
        return [set(line.keys[detail.words]) for line, detail in names if detail.kind == "name"]

    @cached_property
    def _figures(self) -> str:
        """Return the figures in the texts, including numbers written as words."""
        return f"{self._folded} {' '.join(amounts(self._keys))}"


source_text = lru_cache(maxsize=4)(SourceText)
"""The index of some texts, given as a tuple; cached, since one document is used repeatedly."""


def _within(detail: Detail, keys: Sequence[str], place: range) -> Sequence[str]:
    """Return the words of a name or number within a place; none if more than function words stand there besides, as
    where "Harry Kane" replaces "the striker"."""
    own_keys = keys[max(place.start, detail.first) : min(place.stop, detail.last + 1)]
    says_more = any(carries(keys[at]) and keys[at] not in own_keys for at in place)
    return [] if says_more else own_keys


def _terms(keys: Sequence[str]) -> list[Term]:
    # In the order of the words: sums of weights depend on it, and with them the order of lines that are equally good.
    return list(dict.fromkeys((*pairwise(keys), *(key for key in keys if carries(key)))))


_SHORTEST, _LONGEST = 8, 45
# The discount for each earlier key sentence of the same stretch of the text; two fit in a stretch.
_AGAIN, _A_STRETCH = 0.6, 2
_STATED = 0.5
"""A summary has a key sentence if one of its sentences has this share of its telling words."""
# A text is about a question when it has this share of its telling words; a sentence with so many of them may answer it,
# and so many are quoted at most.
_MENTIONED, _SHARED, _SENTENCES = 0.6, 2, 2
# About as many key facts as in people's trees.
_WORDS_A_ROOT, _MAX_ROOTS, _FACTS_A_ROOT, _BRANCHES = 1_000, 4, 10, 3
_QUERY_WORDS = 12


def key_sentences(text: str, count: int) -> list[str]:
    """Return the most central sentences of an English text that can stand alone, from all its stretches, best first."""
    prose = read([text], ENGLISH)
    worth = centrality(SentenceVectors([sentence.text for sentence in prose]), prose)
    worded = [at for at, sentence in enumerate(prose) if telling(sentence.text)]
    proper = [at for at in worded if prose[at].suitability > LAST_RESORT and _SHORTEST <= prose[at].words <= _LONGEST]
    usable = proper if len(proper) > 1 else worded
    stretches, chosen = max(1, count // _A_STRETCH), list[int]()
    counts: Counter[int] = Counter()
    while usable and len(chosen) < count:
        best = max(usable, key=lambda at: worth[at] * _AGAIN ** counts[at * stretches // len(prose)])
        usable.remove(best)
        counts[best * stretches // len(prose)] += 1
        chosen.append(best)
    return [prose[at].text for at in sorted(chosen, key=lambda at: -worth[at])]


def _places(sentences: Iterable[str], lines: Sequence[qa.SummaryLine | qa.Statement]) -> dict[str, list[int]]:
    """Return which line, by number, has most of each key sentence; none if no line has enough of it."""
    line_terms = [(line.id, telling(line.sentence)) for line in reversed(lines)]
    places: dict[str, list[int]] = {}
    for sentence in sentences:
        terms = telling(sentence)
        shares = {number: len(terms & words) / max(1, len(terms)) for number, words in line_terms}
        best = max(shares, key=shares.__getitem__, default=0)
        places[sentence] = [best] if shares and shares[best] >= _STATED else []
    return places


def ask_document(inputs: qa.AskDocumentInput) -> qa.DocumentQuestions:
    """Return the key sentences of a document."""
    text = inputs.excerpt or inputs.document or ""
    body = text if inputs.excerpt else text[slice(*body_of(Document.from_text(text))[0])]
    questions = [
        qa.DocumentQuestion(question=f"{qa.KEY_SENTENCE}{text}", kind="what", answer=text, quote=text, weight=1)
        for text in key_sentences(body, inputs.count)
    ]
    return qa.DocumentQuestions(questions=questions)


def answer_from_summary(inputs: qa.AnswerFromSummaryInput) -> qa.SummaryAnswers:
    """Return which key sentences a summary has; other questions are left open."""
    asked = {item.id: qa.sentence_in(item.question) for item in inputs.questions}
    places = _places(asked.values(), inputs.sentences)
    answers: list[qa.SummaryAnswer] = []
    for number, sentence in asked.items():
        answered: bool | Unsure = bool(places[sentence]) if sentence else UNSURE
        answer = sentence if answered is True else ""
        answers.append(qa.SummaryAnswer(id=number, sentences=places[sentence], answered=answered, answer=answer))
    return qa.SummaryAnswers(answers=answers)


def compare_answers(inputs: qa.CompareInput) -> qa.Comparisons:
    """Compare what the document has instead of a claim, or the same key sentence twice; leave other pairs open."""
    comparisons: list[qa.Comparison] = []
    for pair in inputs.pairs:
        same = qa.sentence_in(pair.question) and pair.summary == pair.document
        verdict: qa.Verdict = "contradicts" if claim_in(pair.question) else "full" if same else "unclear"
        comparisons.append(qa.Comparison(id=pair.id, reason="by words", verdict=verdict))
    return qa.Comparisons(comparisons=comparisons)


def check_claims(claims: Sequence[str], texts: Sequence[str]) -> list[ClaimAnswer]:
    """Return what the texts say about each claim; one without words is left open."""
    source = source_text(tuple(texts))
    return [
        answer if keys(claim) else answer._replace(verdict=UNSURE)
        for claim in claims
        for answer in [source.check(claim)]
    ]


answer_from_document = partial(nli.answer_from_document, check=check_claims)
verify_sentences = partial(nli.verify_sentences, check=check_claims)


def grow(inputs: factual.ExcerptInput) -> factual.FactTree:
    """Return the key sentences of an excerpt as trees: the most central ones as roots."""
    count = max(1, min(_MAX_ROOTS, round(count_words(inputs.excerpt) / _WORDS_A_ROOT)))
    facts = key_sentences(inputs.excerpt, count * _FACTS_A_ROOT)
    if len(facts) < _A_STRETCH:
        raise RejectedRequest("it does not have two sentences that can serve as facts")
    roots: list[factual.Root] = []
    for at in range(min(count, len(facts) // _A_STRETCH)):
        fact, *inner = facts[at::count]
        branches, leaves = inner[:_BRANCHES], inner[_BRANCHES:]
        grown = [factual.Branch(fact=text, leaves=leaves[n :: len(branches)]) for n, text in enumerate(branches)]
        roots.append(factual.Root(fact=fact, branches=grown))
    return factual.FactTree(roots=roots)


def validate_facts(inputs: factual.ValidateFactsInput) -> factual.FactSupports:
    """Pass the facts that the excerpt has word for word; nothing can be said about others."""
    source, reason = source_text((inputs.excerpt,)), "It is a sentence of the text."
    supports = [
        factual.FactSupport(id=fact.id, reason=reason, quote=line.text, verdict="pass")
        for fact in inputs.facts
        if (line := source.find(keys(fact.fact)))
    ]
    return factual.FactSupports(facts=supports)


def ask_query(inputs: factual.QueryInput) -> factual.Query:
    """Return the question that the first of some facts answers."""
    words = one_line(inputs.facts[0].fact).split(" ")
    dots = "…" if len(words) > _QUERY_WORDS else ""
    try:
        return factual.Query(query=f"What is said about this: “{' '.join(words[:_QUERY_WORDS])}{dots}”?")
    except ValueError:  # words that are refused in a reply
        return factual.Query(query="What happens, and why?")


def align_facts(inputs: factual.AlignInput) -> factual.Alignments:
    """Return which facts a summary has, as key sentences."""
    places = _places([fact.fact for fact in inputs.facts], inputs.sentences)
    alignments = [
        factual.Alignment(id=fact.id, stated="yes" if places[fact.fact] else "no", sentences=places[fact.fact])
        for fact in inputs.facts
    ]
    return factual.Alignments(facts=alignments)


def split_facts(inputs: factual.SplitFactsInput) -> factual.AllFacts:
    """Return each sentence as one fact."""
    facts = [factual.SentenceFacts(id=line.id, facts=[one_line(line.sentence)]) for line in inputs.sentences]
    return factual.AllFacts(sentences=facts)


def write_answer(inputs: qa.AnswerInput) -> qa.WrittenAnswer:
    """Return the sentences that have the rarest of the telling words of a question, at least two of them; none where
    the text lacks most of these words."""
    source = source_text(tuple(inputs.texts))
    terms = dict.fromkeys(key for key in keys(inputs.question) if carries(key))
    rarities = source.rarities(terms)
    shared = {line.text: [key for key in rarities if key in line.keys] for line in source.lines}
    enough = max(1, min(_SHARED, len(terms)))
    worth = {text: sum(map(rarities.__getitem__, words)) for text, words in shared.items() if len(words) >= enough}
    is_mentioned, highest = len(rarities) >= _MENTIONED * len(terms), max(worth.values(), default=0.0)
    best = [text for text, value in worth.items() if is_mentioned and value == highest][:_SENTENCES]
    quoted = [qa.AnswerSentence(quote=text, sentence=bare_quote(text)) for text in best]
    return qa.WrittenAnswer(answered=bool(best), sentences=quoted)


def ask_typed(inputs: qa.AskTypedInput) -> qa.TypedReply:
    """Return the question whether the key sentence of a paragraph is true; questions of other types are left out."""
    sentence = next(iter(key_sentences(inputs.excerpt, 1)), "") if inputs.type == "binary" else ""
    question = claim_question(sentence) if sentence else ""
    return qa.TypedReply(question=question, answer="yes" if sentence else "", reason=sentence)


def answer_questions(inputs: qa.AnswerQuestionsInput) -> qa.GivenAnswers:
    """Return whether a document has the sentence that a question quotes; other questions are left open."""
    source = source_text((inputs.document,))
    answers: list[qa.GivenAnswer] = []
    for item in inputs.questions:
        line = source.find(keys(claim_in(item.question)))
        answer, reason = ("yes", line.text) if line else ("", "")
        answers.append(qa.GivenAnswer(id=item.id, answered=True if line else UNSURE, answer=answer, reason=reason))
    return qa.GivenAnswers(answers=answers)


def judge_answers(inputs: qa.JudgeAnswersInput) -> qa.AnswerVerdicts:
    """Judge an answer right if it has all telling words of its reference; leave other answers open."""
    verdicts: list[qa.AnswerVerdict] = []
    for pair in inputs.answers:
        terms = telling(pair.reference)
        verdict: qa.Correctness | Unsure = "right" if terms and terms <= telling(pair.answer) else UNSURE
        verdicts.append(qa.AnswerVerdict(id=pair.id, reason="by words", verdict=verdict))
    return qa.AnswerVerdicts(answers=verdicts)


HANDLERS: Mapping[str, Handler] = {
    **{name: summarize for name, prompt in PROMPTS.items() if issubclass(prompt.given, summarization.WritingInput)},
    summarization.TIDY.name: summarize,
    revision.REVISE.name: revise,
    revision.EDIT.name: edit,
    revision.CRITICIZE.name: lambda _: "Say more of what matters in the document, and nothing that it does not say.",
    qa.ASK_DOCUMENT.name: ask_document,
    qa.ANSWER_FROM_SUMMARY.name: answer_from_summary,
    qa.COMPARE_ANSWERS.name: compare_answers,
    qa.ASK_SUMMARY.name: claims_asked,
    qa.ANSWER_FROM_DOCUMENT.name: answer_from_document,
    qa.WRITE_ANSWER.name: write_answer,
    qa.ASK_TYPED.name: ask_typed,
    qa.ANSWER_QUESTIONS.name: answer_questions,
    qa.JUDGE_ANSWERS.name: judge_answers,
    factual.VERIFY_SENTENCES.name: verify_sentences,
    factual.KEYFACTS_ANALYTICAL.name: grow,
    factual.KEYFACTS_NARRATIVE.name: grow,
    factual.FACTS_FAITHFUL.name: validate_facts,
    factual.QUERY_ANALYTICAL.name: ask_query,
    factual.QUERY_NARRATIVE.name: ask_query,
    factual.ALIGN_FACTS.name: align_facts,
    factual.SPLIT_FACTS.name: split_facts,
}
"""The functions that answer prompts, by prompt name."""
