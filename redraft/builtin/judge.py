"""The checks of the built-in model: consistency by names, numbers, opposites and word pairs; coverage and key facts by
key sentences. It looks for words and understands nothing, so it abstains from everything else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from redraft.builtin import judge
from redraft.builtin.check import source_text
from redraft.builtin.draft import centrality, summarize, with_dependent_last
from redraft.builtin.prose import read
from redraft.builtin.revise import edit, revise
from redraft.builtin.stand_in import Handler
from redraft.domain import Document
from redraft.errors import RejectedRequest
from redraft.llm import nli
from redraft.llm.nli import NOT_SO, ClaimAnswer, claim_in, claim_question, claims_asked
from redraft.prompts import factual, qa, revision, summarization
from redraft.prompts.contract import UNSURE, Unsure
from redraft.text.document_form import body_of
from redraft.text.languages import ENGLISH
from redraft.text.sanitizer import bare_quote, one_line
from redraft.text.vectors import SentenceVectors
from redraft.text.word_keys import carries, keys, telling
from redraft.text.words import count_words

_SHORTEST, _LONGEST = 8, 45
# The discount for each earlier key sentence of the same stretch of the text; two fit in a stretch.
_AGAIN, _A_STRETCH = 0.6, 2
_STATED = 0.5
"""A summary has a key sentence if one of its sentences has this share of its telling words."""
_NEAR_QUOTATION = 0.9
"""The least share of a sentence's word pairs that supports it: parts of a book that say nothing of the matter have half
of them, such as "of the" and "on a"."""
# A text is about a question when it has this share of its telling words; a sentence with so many of them may answer it,
# and so many are quoted at most.
_MENTIONED, _SHARED, _SENTENCES = 0.6, 2, 2
# About as many key facts as in people's trees.
_WORDS_A_ROOT, _MAX_ROOTS, _FACTS_A_ROOT, _BRANCHES = 1_000, 4, 10, 3
_QUERY_WORDS = 12
_FAULTS: Mapping[str, tuple[nli.Verdict, factual.Category]] = {
    "name": ("contradicted", "entity"),
    "number": ("contradicted", "entity"),
    "opposite": ("contradicted", "relation"),
    "absent": ("absent", "out_of_article"),
}


def key_sentences(text: str, count: int) -> list[str]:
    """Return the most central sentences of an English text that can stand alone, from all its stretches, best first."""
    prose = with_dependent_last(read([text], ENGLISH), ENGLISH)
    worth = centrality(SentenceVectors([sentence.text for sentence in prose]), prose)
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


def _line_with(sentence: str, lines: Sequence[tuple[int, frozenset[str]]]) -> list[int]:
    """Return which line, by number, has most of a key sentence; none if no line has enough of it."""
    terms = telling(sentence)
    shares = {number: len(terms & words) / max(1, len(terms)) for number, words in reversed(lines)}
    best = max(shares, key=shares.__getitem__, default=0)
    return [best] if shares and shares[best] >= _STATED else []


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
    lines = [(line.id, telling(line.sentence)) for line in inputs.sentences]
    answers: list[qa.SummaryAnswer] = []
    for item in inputs.questions:
        sentence = qa.sentence_in(item.question)
        places = _line_with(sentence, lines)
        answered: bool | Unsure = bool(places) if sentence else UNSURE
        answer = sentence if places else ""
        answers.append(qa.SummaryAnswer(id=item.id, sentences=places, answered=answered, answer=answer))
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
    """Return what the texts say about each claim; a sentence that is no near quotation of them is left open."""
    source = source_text(tuple(texts))
    answers: list[ClaimAnswer] = []
    for claim in claims:
        checked = source.check(claim)
        verdict: nli.Verdict = "supported" if keys(claim) else UNSURE
        category: factual.Category | Unsure = "none" if checked.share >= _NEAR_QUOTATION else UNSURE
        correction, share = NOT_SO, None if checked.fault else checked.share
        if checked.fault:
            verdict, category = _FAULTS[checked.fault]
            correction = correction if checked.fault == "opposite" else checked.counterpart
        answers.append(ClaimAnswer(verdict, category, checked.reason, checked.nearest, correction, share))
    return answers


answer_from_document = partial(nli.answer_from_document, check=check_claims)
verify_sentences = partial(nli.verify_sentences, check=check_claims)


def grow(inputs: factual.ExtractFactsInput) -> factual.FactTree:
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
    lines = [(statement.id, telling(statement.sentence)) for statement in inputs.sentences]
    places = {fact.id: _line_with(fact.fact, lines) for fact in inputs.facts}
    return factual.Alignments(
        facts=[
            factual.Alignment(id=number, stated="yes" if lines_of_fact else "no", sentences=lines_of_fact)
            for number, lines_of_fact in places.items()
        ]
    )


def split_facts(inputs: factual.SplitFactsInput) -> factual.AllFacts:
    """Return each sentence as one fact."""
    facts = [
        factual.SentenceFacts(id=statement.id, facts=[one_line(statement.sentence)]) for statement in inputs.sentences
    ]
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
    return qa.WrittenAnswer(
        answered=bool(best), sentences=[qa.AnswerSentence(quote=text, sentence=bare_quote(text)) for text in best]
    )


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


_CRITICISM = "Say more of what matters in the document, and nothing that it does not say."
_DRAFTING = (
    *(summarization.BEGIN, summarization.SUMMARIZE_CHUNK, summarization.SUMMARIZE_WHOLE, summarization.MERGE),
    *(summarization.MERGE_ONWARD, summarization.UPDATE, summarization.COMPRESS, summarization.TIDY),
)
HANDLERS: Mapping[str, Handler] = {
    **{prompt.name: summarize for prompt in _DRAFTING},
    revision.REVISE.name: revise,
    revision.EDIT.name: edit,
    revision.CRITICIZE.name: lambda _: _CRITICISM,
    qa.ASK_DOCUMENT.name: judge.ask_document,
    qa.ANSWER_FROM_SUMMARY.name: judge.answer_from_summary,
    qa.COMPARE_ANSWERS.name: judge.compare_answers,
    qa.ASK_SUMMARY.name: claims_asked,
    qa.ANSWER_FROM_DOCUMENT.name: judge.answer_from_document,
    qa.WRITE_ANSWER.name: judge.write_answer,
    qa.ASK_TYPED.name: judge.ask_typed,
    qa.ANSWER_QUESTIONS.name: judge.answer_questions,
    qa.JUDGE_ANSWERS.name: judge.judge_answers,
    factual.VERIFY_SENTENCES.name: judge.verify_sentences,
    factual.KEYFACTS_ANALYTICAL.name: judge.grow,
    factual.KEYFACTS_NARRATIVE.name: judge.grow,
    factual.FACTS_FAITHFUL.name: judge.validate_facts,
    factual.QUERY_ANALYTICAL.name: judge.ask_query,
    factual.QUERY_NARRATIVE.name: judge.ask_query,
    factual.ALIGN_FACTS.name: judge.align_facts,
    factual.SPLIT_FACTS.name: judge.split_facts,
}
"""The functions that answer prompts, by prompt name."""
