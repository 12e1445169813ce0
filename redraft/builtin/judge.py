"""The checks of the built-in model: consistency by names, numbers, opposites and word pairs; coverage and key facts by
key sentences. It looks for words and understands nothing, so it abstains from everything else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from redraft.builtin.check import Checked, source_text
from redraft.builtin.draft import ranked_prose
from redraft.domain import Document
from redraft.errors import RejectedRequest
from redraft.llm.claim_judge import NOT_SO, claim_in, claim_question, claims_asked
from redraft.prompts import factual, qa
from redraft.prompts.contract import UNSURE, Unsure
from redraft.text.document_form import body_of
from redraft.text.sanitizer import one_line
from redraft.text.word_keys import carries, keys, telling
from redraft.text.words import count_words

_SHORTEST, _LONGEST = 8, 45
# The discount for each earlier key sentence of the same stretch of the text; two fit in a stretch.
_AGAIN, _A_STRETCH = 0.6, 2
_HELD = 0.5
"""A summary has a key sentence if one of its sentences has this share of its telling words."""
_NEAR_QUOTATION = 0.9
"""The least share of a sentence's word pairs that supports it: parts of a book that say nothing of the matter have half
of them, such as "of the" and "on a"."""
# A sentence answers a question when it has this share of its telling words; so many are quoted at most.
_ANSWERS, _SENTENCES = 0.6, 2
# About as many key facts as in people's trees.
_WORDS_A_ROOT, _MAX_ROOTS, _FACTS_A_ROOT, _BRANCHES = 1_000, 4, 10, 3
_QUERY_WORDS = 12
_CATEGORIES: Mapping[str, factual.Category] = {
    "name": "entity",
    "number": "entity",
    "opposite": "relation",
    "absent": "out_of_article",
}


def key_sentences(text: str, count: int) -> list[str]:
    """Return the most central sentences of an English text that can stand alone, from all its stretches, best first."""
    prose, worth = ranked_prose(text)
    worded = [at for at, sentence in enumerate(prose) if telling(sentence.text)]
    proper = [at for at in worded if prose[at].is_suitable and _SHORTEST <= prose[at].words <= _LONGEST]
    usable = proper if len(proper) > 1 else worded
    stretches, chosen = max(1, count // _A_STRETCH), list[int]()
    counts: Counter[int] = Counter()
    while usable and len(chosen) < count:
        best = max(usable, key=lambda at: worth[at] * _AGAIN ** counts[at * stretches // len(prose)])
        usable.remove(best)
        counts[best * stretches // len(prose)] += 1
        chosen.append(best)
    return [prose[at].text for at in sorted(chosen, key=lambda at: -worth[at])]


def _held_by(sentence: str, lines: Sequence[tuple[int, frozenset[str]]]) -> int | None:
    """Return which line, by number, has most of a key sentence; None if none has enough of it."""
    terms = telling(sentence)
    shares = {number: len(terms & words) / max(1, len(terms)) for number, words in reversed(lines)}
    best = max(shares, key=shares.__getitem__, default=None)
    return best if best is not None and shares[best] >= _HELD else None


def ask_document(inputs: qa.AskDocumentInput) -> qa.DocumentQuestions:
    """Return the key sentences of a document."""
    text = inputs.excerpt or inputs.document or ""
    body = text if inputs.excerpt else text[slice(*body_of(Document.from_text(text)).span)]
    questions = [
        qa.DocumentQuestion(question=qa.key_sentence(text), kind="what", answer=text, quote=text, weight=1)
        for text in key_sentences(body, inputs.count)
    ]
    return qa.DocumentQuestions(questions=questions)


def answer_from_summary(inputs: qa.AnswerFromSummaryInput) -> qa.SummaryAnswers:
    """Return which key sentences a summary has; other questions are left open."""
    lines = [(line.id, telling(line.sentence)) for line in inputs.sentences]
    answers: list[qa.SummaryAnswer] = []
    for item in inputs.questions:
        sentence = qa.sentence_in(item.question)
        place = _held_by(sentence, lines)
        answered: bool | Unsure = place is not None if sentence else UNSURE
        text, places = (sentence, [place]) if place is not None else ("", [])
        answers.append(qa.SummaryAnswer(id=item.id, sentences=places, answered=answered, answer=text))
    return qa.SummaryAnswers(answers=answers)


def compare_answers(inputs: qa.CompareInput) -> qa.Comparisons:
    """Compare what the document has instead of a claim, or the same key sentence twice; leave other pairs open."""

    def verdict(pair: qa.Pair) -> qa.Verdict:
        if claim_in(pair.question):
            return "contradicts"
        return "full" if qa.sentence_in(pair.question) and pair.summary == pair.document else "unclear"

    return qa.Comparisons(
        comparisons=[qa.Comparison(id=pair.id, reason="by words", verdict=verdict(pair)) for pair in inputs.pairs]
    )


def answer_from_document(inputs: qa.AnswerFromDocumentInput) -> qa.DocumentAnswers:
    """Return what the text says about each claim; other questions are left open."""
    source = source_text(tuple(inputs.texts))

    def answer(number: int, claim: str) -> qa.DocumentAnswer:
        if not keys(claim):
            return qa.DocumentAnswer(id=number, quote="", answered=UNSURE, answer="")
        checked = source.check(claim)
        text = claim
        if fault := checked.fault:
            text = {"absent": "", "opposite": NOT_SO}.get(fault.kind, fault.other)
        quote = checked.nearest if text else ""
        return qa.DocumentAnswer(
            id=number, quote=quote, answered=bool(text), answer=text, share=None if fault else checked.share
        )

    return qa.DocumentAnswers(answers=[answer(item.id, claim_in(item.question)) for item in inputs.questions])


def verify_sentences(inputs: factual.VerifyInput) -> factual.Verifications:
    """Return what is wrong with each sentence; one that is no near quotation of the text is left open."""
    source = source_text(tuple(inputs.texts))

    def category(checked: Checked) -> factual.Category | Unsure:
        if checked.fault:
            return _CATEGORIES[checked.fault.kind]
        return "none" if checked.share >= _NEAR_QUOTATION else UNSURE

    checks = [(statement.id, source.check(statement.sentence)) for statement in inputs.sentences]
    return factual.Verifications(
        sentences=[
            factual.Verification(id=at, reason=checked.reason, quote=checked.nearest, category=category(checked))
            for at, checked in checks
        ]
    )


def grow(inputs: factual.ExtractFactsInput) -> factual.FactTree:
    """Return the key sentences of an excerpt as trees: the most central ones as roots."""
    count = max(1, min(_MAX_ROOTS, round(count_words(inputs.excerpt) / _WORDS_A_ROOT)))
    facts = key_sentences(inputs.excerpt, count * _FACTS_A_ROOT)
    if len(facts) < _A_STRETCH:
        raise RejectedRequest("it does not have two sentences that can serve as facts")

    def root(root_facts: Sequence[str]) -> factual.Root:
        branches, leaves = root_facts[1 : 1 + _BRANCHES], root_facts[1 + _BRANCHES :]
        return factual.Root(
            fact=root_facts[0],
            branches=[
                factual.Branch(fact=fact, leaves=list(leaves[at :: len(branches)])) for at, fact in enumerate(branches)
            ],
        )

    return factual.FactTree(roots=[root(facts[at::count]) for at in range(min(count, len(facts) // _A_STRETCH))])


def validate_facts(inputs: factual.ValidateFactsInput) -> factual.FactSupports:
    """Pass the facts that the excerpt has word for word; nothing can be said about others."""
    source = source_text((inputs.excerpt,))
    lines = [(fact.id, source.find(keys(fact.fact))) for fact in inputs.facts]
    reason = "It is a sentence of the text."
    return factual.FactSupports(
        facts=[
            factual.FactSupport(id=number, reason=reason, quote=line.text, verdict="pass")
            for number, line in lines
            if line
        ]
    )


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
    lines = [(statement.id, telling(statement.sentence)) for statement in inputs.sentences]
    places = [(fact.id, _held_by(fact.fact, lines)) for fact in inputs.facts]
    return factual.Alignments(
        facts=[
            factual.Alignment(id=number, stated="yes", sentences=[place])
            if place is not None
            else factual.Alignment(id=number, stated="no", sentences=[])
            for number, place in places
        ]
    )


def split_facts(inputs: factual.SplitFactsInput) -> factual.AllFacts:
    """Return each sentence as one fact."""
    facts = [(statement.id, one_line(statement.sentence)) for statement in inputs.sentences]
    return factual.AllFacts(sentences=[factual.SentenceFacts(id=number, facts=[fact]) for number, fact in facts])


def write_answer(inputs: qa.AnswerInput) -> qa.WrittenAnswer:
    """Return the sentences that have most of the telling words of a question; none where no sentence has enough."""
    terms = {key for key in keys(inputs.question) if carries(key)}
    lines = source_text(tuple(inputs.texts)).nearest(list(terms))
    shares = {line.text: len(terms.intersection(line.keys)) / len(terms) for line in lines}
    threshold = max(_ANSWERS, *shares.values()) if shares else 1.0
    best = [text for text, share in shares.items() if share >= threshold][:_SENTENCES]
    return qa.WrittenAnswer(
        answered=bool(best), sentences=[qa.AnswerSentence(quote=text, sentence=text) for text in best]
    )


def ask_typed(inputs: qa.AskTypedInput) -> qa.TypedReply:
    """Return the question whether the key sentence of a paragraph is true; questions of other types are left out."""
    sentence = next(iter(key_sentences(inputs.excerpt, 1)), "") if inputs.type == "binary" else ""
    question = claim_question(sentence) if sentence else ""
    return qa.TypedReply(question=question, answer="yes" if sentence else "", reason=sentence)


def answer_questions(inputs: qa.AnswerQuestionsInput) -> qa.GivenAnswers:
    """Return whether a document has the sentence that a question quotes; other questions are left open."""
    source = source_text((inputs.document,))
    lines = [(item.id, source.find(keys(claim_in(item.question)))) for item in inputs.questions]
    return qa.GivenAnswers(
        answers=[
            qa.GivenAnswer(id=number, answered=True, answer="yes", reason=line.text)
            if line
            else qa.GivenAnswer(id=number, answered=UNSURE, answer="", reason="")
            for number, line in lines
        ]
    )


def judge_answers(given: qa.JudgeAnswersInput) -> qa.AnswerVerdicts:
    """Judge an answer right if it has all telling words of its reference; leave other answers open."""

    def verdict(pair: qa.AnswerPair) -> qa.Correctness | Unsure:
        wanted = telling(pair.reference)
        return "right" if wanted and wanted <= telling(pair.answer) else UNSURE

    return qa.AnswerVerdicts(
        answers=[qa.AnswerVerdict(id=pair.id, reason="by words", verdict=verdict(pair)) for pair in given.answers]
    )


JUDGING: Mapping[str, Callable[[Any], Any]] = {
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
