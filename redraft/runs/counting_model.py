"""A counting model: answers at once with the stored reply, which is free, or an ordinary one, and counts the tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, pairwise
from math import ceil
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel

from redraft.domain import Usage
from redraft.errors import UnreadableReply
from redraft.evaluators.base import METRIC
from redraft.llm import structured_output
from redraft.llm.base import Reply, Request, Sampling
from redraft.prompts import coherence, factual, qa, revision, summarization
from redraft.prompts.book import PromptBook
from redraft.prompts.contract import InputT, Prompt, ValueT
from redraft.prompts.tags import ItemRef, TagContext, Tags, asked_about
from redraft.store.connection import off_loop
from redraft.text.sentences import sentences_in
from redraft.text.tokens import Tokenizer
from redraft.text.words import WORD, count_words, is_unspaced

_LONG = 2_000
"""Texts of at least this many characters are counted apart from their prompts, once for all of them."""
_FIRST_WORD = re.compile(r"(?:^|(?<=[.。] ))\w+")
_SIX_WORDS = re.compile(r"(\w+)((?:\W+\w+){0,5})")
_WORDS_A_SENTENCE, _KEPT_OF = 18, 6
# How a text begins that was written anew, by which the next comparison knows it.
_EDITED = "Edited once, it says the same.", "Edited again, it says the same."
_QUOTED = 90  # characters, about
_QUESTIONS_A_SENTENCE = 3
_STOPS = 6
_FACTS_A_SENTENCE = 3
_CHARACTERS_A_ROOT = 5_000
"""A tree has another root, with six more facts, for about this many characters of the excerpt."""
_MAX_ROOTS = 8
_POINTS, _NAMES = 8, 10
"""The numbers of turning points and names in an outline."""
_REASON = "The text says so in the sentence that is quoted, and nothing else in it speaks against that."

Entry = TypeVar("Entry", bound=BaseModel)
Count = Callable[[Request[Any, Any], Usage], None]
"""Called with each counted request."""
Recall = Callable[[Request[Any, Any]], "Reply[Any] | None"]
"""Returns the stored reply to a request."""


def recall_nothing(_: Request[Any, Any]) -> None:
    """Return that no reply is stored."""


class TokenCounts:
    """Counts tokens and caches the counts of long texts."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, int] = {}

    def of(self, text: str) -> int:
        """Return the number of tokens of a text."""
        if len(text) < _LONG:
            return self._tokenizer.count(text)
        if text not in self._known:
            self._known[text] = self._tokenizer.count(text)
        return self._known[text]

    def learn(self, text: str, tokens: int) -> None:
        """Store the token count of a text that was counted elsewhere."""
        self._known[text] = tokens


@dataclass(slots=True)
class CountingModel:
    """A `Model` that replaces another under its identity. Equal requests are counted once."""

    identity: str
    book: PromptBook
    tokens: TokenCounts
    count: Count
    query: str | None = None
    """The question that its key-fact trees answer, if one is given."""
    objects: Callable[[str], bool] = lambda _: False
    """Returns whether the model objects to some of a metric's items."""
    voice: str = ""
    """Letters that replace the ends of some words, so that no two runs have the same text."""
    asked: dict[tuple[object, ...], object] = field(default_factory=dict)
    """The replies to the counted requests."""
    recall: Recall = recall_nothing

    def most_tokens(self, sampling: Sampling) -> int:
        """Return the limit that the request sets."""
        return sampling.max_tokens or 0

    async def ask(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        """Answer a request. Raises `UnreadableReply` for a prompt whose reply has to satisfy more than its schema."""
        short, long = _apart(request.given)
        text = self.book.render(request.prompt, short)
        key = (request.prompt.name, text, tuple(map(hash, long)), request.sampling)
        known = self.asked.get(key)
        if known is None and (reply := await off_loop(self.recall, request)) is not None:
            return reply
        value = known if isinstance(known, str) else self._answer(request)
        said = value if isinstance(value, str) else _sent(cast("BaseModel", value), request.given)
        usage = Usage(
            self.tokens.of(text)
            + sum(map(self.tokens.of, long))
            + self.tokens.of(structured_output.prompt_schema(request)),
            self.tokens.of(said),
        )
        if known is None:
            self.asked[key] = value
            self.count(request, usage)
        if not isinstance(value, request.prompt.returns):
            raise UnreadableReply("no ordinary reply is known", text=said, usage=usage)
        return Reply(value, said, usage)

    def _answer(self, request: Request[Any, Any]) -> object:
        prompt, given = request.prompt, request.given
        if self.query and prompt.returns is factual.Query:
            return factual.Query(query=self.query)
        if handler := HANDLERS.get(prompt.name):
            if prompt in (revision.REVISE, revision.EDIT):
                return (_revise if prompt == revision.REVISE else _edit)(given, self.voice)
            reply = handler(given)
            if isinstance(reply, str):
                # Other samples, and other runs, have other sentences.
                draw = request.sampling.sample
                reply = _FIRST_WORD.sub(rf"\g<0>{draw}", reply) if draw else reply
                return _SIX_WORDS.sub(self._spoken, reply) if self.voice else reply
            return _objecting(reply, METRIC.get()) if self.objects(METRIC.get()) else reply
        if not issubclass(prompt.returns, BaseModel):
            return prose(list(_texts(given)), getattr(given, "words", 100))
        try:
            return prompt.returns.model_validate(_plain(prompt.returns), context=TagContext(Tags(given)))
        except ValueError as error:
            return str(error)

    def _spoken(self, words: re.Match[str]) -> str:
        first, others = words.groups()
        return f"{first[: -len(self.voice)] or first}{self.voice}{others}"


def _objecting(reply: object, metric: str) -> object:
    """Return the reply with an objection to every fifth item, so that a metric has findings."""
    match reply:
        case qa.SummaryAnswers(answers=some):
            silent = {"answered": False, "answer": "", "sentences": []}
            return qa.SummaryAnswers(answers=_objected(some, silent))
        case qa.Comparisons(comparisons=some) if metric == "consistency":
            together = {"verdict": "contradicts"}, _QUESTIONS_A_SENTENCE
            return qa.Comparisons(comparisons=_objected(some, *together))
        case factual.Verifications(sentences=some):
            return factual.Verifications(sentences=_objected(some, {"category": "entity"}))
    return reply


def _objected(items: Sequence[Entry], update: dict[str, Any], together: int = 1) -> list[Entry]:
    return [one.model_copy(update=update) if at // together % 5 == 0 else one for at, one in enumerate(items)]


def _sent(value: BaseModel, given: BaseModel) -> str:
    """Return a structured reply as JSON, as a model would send it."""
    return value.model_dump_json(by_alias=True, context=TagContext(Tags(given)))


def _apart(given: BaseModel) -> tuple[BaseModel, list[str]]:
    """Return a prompt's input without its long texts, and these texts."""
    long: list[str] = []

    def short(value: Any) -> Any:
        if isinstance(value, str) and len(value) >= _LONG:
            long.append(value)
            return "."
        return value

    short_ones: dict[str, Any] = {}
    for name in type(given).model_fields:
        value = getattr(given, name)
        made = [short(one) for one in value] if isinstance(value, list) else short(value)
        if made is not value and made != value:
            short_ones[name] = made
    return (given.model_copy(update=short_ones), long) if long else (given, long)


def _texts(value: object) -> Iterator[str]:
    """Yield all texts in a prompt's input."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _texts(getattr(value, name))
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _plain(shape: Any) -> Any:
    """Return the simplest value of a type that a reply may contain."""
    origin, inner = get_origin(shape), get_args(shape)
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        return {name: _plain(one.annotation) for name, one in shape.model_fields.items()}
    if origin is Literal:
        return inner[0]
    if origin in (Union, UnionType):
        return None if type(None) in inner else _plain(inner[0])
    if origin is None and shape in (bool, int, float):
        return shape(1)
    if origin in (list, tuple) or shape in (list, tuple):
        return []
    return {} if origin is dict or shape is dict else "so it is said"


# Texts.


def prose(sources: Sequence[str], words: int) -> str:
    """Return a text of `words` words, or fewer if there are no more, made of the beginnings of its sources."""
    share = ceil(words / max(1, len(sources)))
    taken = [word for source in sources for word in _shortened(source, share)][:words]
    between = "" if is_unspaced("".join(taken[:100])) else " "
    seen: set[tuple[str, ...]] = set()
    made: list[str] = []
    for at in range(0, len(taken), _WORDS_A_SENTENCE):
        some = tuple(taken[at : at + _WORDS_A_SENTENCE])
        # Avoid what looks like a loop: a repeated sentence gets another first word.
        sentence = some if some not in seen else (str(at), *some[1:])
        seen.add(sentence)
        made.append(_sentence(sentence, between))
    return between.join(made)


def _shortened(text: str, words: int) -> list[str]:
    """Return `words` words of a text with some left out in between, because a summary is not a quote."""
    found = _beginning(text, words * _KEPT_OF // (_KEPT_OF - 1) + 1)
    return [word for at, word in enumerate(found, 1) if at % _KEPT_OF][:words]


def _beginning(text: str, words: int) -> list[str]:
    found: list[str] = []
    for match in WORD.finditer(text):
        if len(found) == words:
            break
        found.append(match.group())
    return found


def _sentence(words: Sequence[str], between: str = " ") -> str:
    """Return words as a sentence without immediate repetitions."""
    text = between.join(word for before, word in pairwise(["", *words]) if word.casefold() != before.casefold())
    return f"{text[:1].upper()}{text[1:]}." if between else f"{text}。"


def _words(text: str, count: int, skipped: int = 0) -> str:
    """Return some words of a text, or all that a short one has."""
    found = _beginning(text, skipped + count)
    return " ".join(found[skipped:] or found) or "this"


def _quotes(texts: Sequence[str], count: int) -> list[str]:
    """Return `count` verbatim quotes, spread evenly over the texts."""
    length = sum(map(len, texts))
    if not length:
        return ["this"] * count
    found: list[str] = []
    for number in range(count):
        at = number * length // count
        for text in texts:
            if at < len(text):
                found.append(_quoted(text, at))
                break
            at -= len(text)
    return found


def _quoted(text: str, at: int) -> str:
    """Return whole words of a text from about an offset."""
    at = min(at, max(0, len(text) - _QUOTED))
    part = text[at : at + _QUOTED]
    words = [word.span() for word in WORD.finditer(part)]
    if len(words) < 4:
        return part.strip() or text[:_QUOTED].strip() or "this"
    first = words[1 if at else 0][0]
    return part[first : words[-2][1]]


# Replies, by prompt.


def _outline(given: summarization.OutlineInput) -> summarization.Outline:
    quotes = _quotes([part.summary for part in given.summaries], _POINTS + _NAMES + 1)
    return summarization.Outline(
        kind="other",
        line=_sentence(quotes[0].split() + quotes[1].split()),
        turning_points=[_words(quote, 12) for quote in quotes[: min(given.points, _POINTS)]],
        cast=[
            summarization.Term(name=_words(quote, 2), phrase=_words(quote, 6))
            for quote in quotes[: min(given.names, _NAMES)]
        ],
        central=[],
        important=[part.id for part in given.summaries],
        unneeded=[],
    )


def _ask_document(given: qa.AskDocumentInput) -> qa.DocumentQuestions:
    quotes = _quotes([given.document or given.excerpt or ""], given.count)
    return qa.DocumentQuestions(
        questions=[
            qa.DocumentQuestion(
                question=f"What does it say about {_words(quote, 7, 2)}, and what follows {number}?",
                kind="what",
                answer=_words(quote, 6, 4),
                quote=quote,
                weight=2,
            )
            for number, quote in enumerate(quotes, 1)
        ]
    )


def _rank_questions(given: qa.RankInput) -> qa.Ranking:
    return qa.Ranking(essential=[], important=[candidate.id for candidate in given.candidates], minor=[])


def _told(given: qa.AnswerFromSummaryInput | qa.AskSummaryInput) -> dict[int, str]:
    """Return the sentences of a summary by number."""
    return {line.id: line.sentence for line in given.sentences}


def _answer_from_summary(given: qa.AnswerFromSummaryInput) -> qa.SummaryAnswers:
    numbers = list(_told(given))
    # The first part of a summary answers all questions, so the later parts answer none.
    is_later = numbers[0] > 1 and numbers[-1] - numbers[0] == len(numbers) - 1
    told = cycle([(0, "")] if is_later else _told(given).items())
    return qa.SummaryAnswers(
        answers=[
            qa.SummaryAnswer(
                id=item.id,
                sentences=[number] if sentence else [],
                answered=bool(sentence),
                answer=_words(sentence, 7, item.id % 5) if sentence else "",
            )
            for item, (number, sentence) in zip(given.questions, told, strict=False)
        ]
    )


def _ask_summary(given: qa.AskSummaryInput) -> qa.SummaryQuestions:
    told, asked = _told(given), asked_about(given, "sentences")
    return qa.SummaryQuestions(
        sentences=[
            qa.SentenceQuestions(
                id=number,
                questions=[
                    qa.SummaryQuestion(
                        question=f"What does it say of {_words(told[number], 8, 2 * at)}?",
                        answer=_words(told[number], 4, 3 * at),
                        search=_words(told[number], 5, 2 * at) if given.searched else "",
                        importance=3,
                    )
                    for at in range(min(_QUESTIONS_A_SENTENCE, given.at_most))
                ],
            )
            for number in asked
        ]
    )


def _answer_from_document(given: qa.AnswerFromDocumentInput) -> qa.DocumentAnswers:
    quotes = _quotes(given.texts, len(given.questions))
    # Without a metric, only questions that should have no answer are asked of a document.
    answered = bool(METRIC.get())
    return qa.DocumentAnswers(
        answers=[
            qa.DocumentAnswer(
                id=item.id, quote=quote * answered, answered=answered, answer=_words(quote, 6, 1) * answered
            )
            for item, quote in zip(given.questions, quotes, strict=True)
        ]
    )


def _write_answer(given: qa.AnswerInput) -> qa.WrittenAnswer:
    quotes = _quotes(given.texts, max(1, given.words // _WORDS_A_SENTENCE // 2))
    sentences = [
        qa.AnswerSentence(quote=quote, sentence=_sentence(_beginning(quote, _WORDS_A_SENTENCE))) for quote in quotes
    ]
    return qa.WrittenAnswer(answered=True, sentences=sentences)


def _tree(given: factual.ExtractFactsInput, skipped: int = 0) -> factual.FactTree:
    """Return a tree of facts about the excerpt without its first `skipped` characters."""
    roots = min(_MAX_ROOTS, round(1.3 + len(given.excerpt) / _CHARACTERS_A_ROOT))
    facts = iter([_sentence(_beginning(quote, 14)) for quote in _quotes([given.excerpt[skipped:]], 7 * roots)])
    return factual.FactTree(
        roots=[
            factual.Root(
                fact=next(facts),
                branches=[
                    factual.Branch(fact=next(facts), leaves=[next(facts), next(facts)]),
                    factual.Branch(fact=next(facts), leaves=[next(facts), next(facts)]),
                ],
            )
            for _ in range(roots)
        ]
    )


def _query(given: factual.QueryInput) -> factual.Query:
    return factual.Query(query=f"Why does it matter for what comes after that {_words(given.facts[0].fact, 10)}?")


def _align(given: factual.AlignInput) -> factual.Alignments:
    numbers = cycle(statement.id for statement in given.sentences)
    return factual.Alignments(
        facts=[
            factual.Alignment(id=fact.id, stated="yes", sentences=[number])
            for fact, number in zip(given.facts, numbers, strict=False)
        ]
    )


def _mark(_: factual.JudgeChunkInput) -> factual.ChunkRating:
    return factual.ChunkRating(
        major_facts=5, connections=3, explanation=_REASON, validity=4, coherence=4, cross_content=4
    )


def _split(given: factual.SplitFactsInput) -> factual.AllFacts:
    return factual.AllFacts(
        sentences=[
            factual.SentenceFacts(
                id=statement.id, facts=[_words(statement.sentence, 8, 2 * at) for at in range(_FACTS_A_SENTENCE)]
            )
            for statement in given.sentences
        ]
    )


def _find_stops(given: coherence.FindStopsInput) -> coherence.Stops:
    return coherence.Stops(
        stops=[
            coherence.Stop(words=_words(given.summary, 5, 9 * at), question=_REASON, type="causal omission")
            for at in range(_STOPS)
        ]
    )


def _prefer(_: coherence.PreferInput) -> coherence.PreferenceReply:
    return coherence.PreferenceReply(
        reason=f"{_REASON} {_REASON}", detail="tie", structure="tie", logic="tie", overall="tie"
    )


def _decide(given: revision.DecideInput) -> revision.Decision:
    """Look up as much as allowed, then choose as many findings to fix as allowed."""
    if given.looks:
        searches = [_words(point.problem + point.sentence, 5) for point in given.findings[: given.requests]]
        return revision.Decision(why=_REASON, look_up=[f"{search} {given.looks}" for search in searches])
    return revision.Decision(
        why=_REASON,
        fix=[point.id for point in given.findings[: given.at_most]],
        instruction="Change as little as needed.",
    )


def _revise(given: revision.ReviseInput, voice: str = "") -> str:
    """Return the summary with each point fixed: sentences are reworded or removed, missing content is added."""
    text = given.summary
    for point in given.points:
        words = _beginning(point.sentence or f"{point.answer} {point.question}", _WORDS_A_SENTENCE)
        words += [voice] if voice else []
        if not point.sentence or point.sentence not in text:
            text = f"{text} {_sentence(words)}"
        elif point.task not in ("remove", "drop"):
            text = text.replace(point.sentence, _sentence([*words[1:], *words[:1]]), 1)
        elif len(left := text.replace(point.sentence, "", 1).strip()) > len(text) // 2:
            text = left
    if given.words and (surplus := count_words(text) - given.words) > 0:
        text = text[list(WORD.finditer(text))[surplus].start() :]
    tags = Tags(given)
    lines = "\n".join(f"{tags.tag('points', point.id)}: fixed" for point in given.points)
    return f"<points>\n{lines}\n</points>\n<revision>\n{text}\n</revision>"


def _edit(given: revision.EditInput, voice: str = "") -> str:
    """Return the summary with two of three sentences written anew: the others are as good as they were."""
    kept = sentences_in(given.summary)[2::3]
    texts = [f"{voice} {item.answer} {item.question}".strip() for item in given.must_know] or [given.summary]
    begun = f"{_EDITED[given.summary.startswith(_EDITED)]} {kept[0] if kept else ''}".strip()
    words = max(20, (given.words or given.length) - count_words(" ".join([begun, *kept[1:]])) - 2)
    text = " ".join([begun, *kept[1:], prose(texts, words)])
    tags = Tags(given)
    lines = "".join(f"{tags.tag('points', point.id)}: fixed\n" for point in given.points)
    return f"<points>\n{lines}</points>\n<revision>\n{text}\n</revision>"


def _choose(given: revision.ChooseInput) -> revision.DraftChoice:
    """Prefer a text that was edited once to one that never was; a second edit brings nothing."""
    edits = [text.startswith(_EDITED) for text in (given.first, given.second)]
    choice: coherence.Choice = "tie" if edits[0] == edits[1] else "first" if edits[0] else "second"
    return revision.DraftChoice(reason=f"{_REASON} {_REASON}", clear=choice, content=choice, overall=choice)


def _ask_typed(given: qa.AskTypedInput) -> qa.TypedReply:
    known = _words(given.excerpt, 6, 5)
    answer = {"unanswerable": "", "binary": "yes"}.get(given.type, known)
    reason = _REASON if given.type == "binary" else ""
    return qa.TypedReply(
        question=f"What does it say of {_words(given.excerpt, 9, 3)}, {given.type}?", answer=answer, reason=reason
    )


def _answer_questions(given: qa.AnswerQuestionsInput) -> qa.GivenAnswers:
    quotes = _quotes([given.document], len(given.questions))
    return qa.GivenAnswers(
        answers=[
            qa.GivenAnswer(id=item.id, answered=True, answer=_words(quote, 8), reason=_REASON)
            for item, quote in zip(given.questions, quotes, strict=True)
        ]
    )


def _handled(prompt: Prompt[InputT, ValueT], handler: Callable[[InputT], ValueT]) -> tuple[str, Callable[[Any], Any]]:
    return prompt.name, handler


def _verdicts(prompt: Prompt[Any, Any], **verdict: object) -> tuple[str, Callable[[Any], Any]]:
    """Return the handler of a prompt whose reply has an entry with the same verdict for each item that is judged."""
    ((listed, field),) = prompt.returns.model_fields.items()
    (entry,) = get_args(field.annotation)
    (judged,) = (ref.field for ref in entry.model_fields["id"].metadata if isinstance(ref, ItemRef))

    def reply(given: Any) -> Any:
        items = getattr(given, judged)
        quotes = _quotes(getattr(given, "texts", [getattr(given, "excerpt", "")]), len(items))
        entries = (
            entry(id=one.id, quote=quote, reason=_REASON, **verdict) for one, quote in zip(items, quotes, strict=True)
        )
        return prompt.returns(**{listed: list(entries)})

    return prompt.name, reply


HANDLERS: Mapping[str, Callable[[Any], Any]] = dict(
    (
        _handled(summarization.BEGIN, lambda given: prose([given.excerpt], given.words)),
        _handled(summarization.SUMMARIZE_CHUNK, lambda given: prose([given.excerpt], given.words)),
        _handled(summarization.SUMMARIZE_WHOLE, lambda given: prose([given.document], given.words)),
        _handled(summarization.MERGE, lambda given: prose(given.summaries, given.words)),
        _handled(summarization.MERGE_ONWARD, lambda given: prose(given.summaries, given.words)),
        _handled(summarization.UPDATE, lambda given: prose([given.summary, given.excerpt], given.words)),
        _handled(summarization.COMPRESS, lambda given: prose([given.summary], given.words)),
        _handled(summarization.TIDY, lambda given: given.summary),
        _handled(summarization.OUTLINE, _outline),
        _handled(revision.CRITICIZE, lambda given: prose([given.summary], given.words)),
        _handled(revision.REVISE, _revise),
        _handled(revision.EDIT, _edit),
        _handled(revision.CHOOSE_DRAFT, _choose),
        _handled(qa.ASK_DOCUMENT, _ask_document),
        _handled(qa.RANK_QUESTIONS, _rank_questions),
        _handled(qa.ASK_SUMMARY, _ask_summary),
        _handled(qa.ANSWER_FROM_SUMMARY, _answer_from_summary),
        _handled(qa.ANSWER_FROM_DOCUMENT, _answer_from_document),
        _handled(qa.WRITE_ANSWER, _write_answer),
        _verdicts(qa.COMPARE_ANSWERS, verdict="full"),
        _handled(qa.ASK_TYPED, _ask_typed),
        _handled(qa.ANSWER_QUESTIONS, _answer_questions),
        _verdicts(qa.JUDGE_ANSWERS, verdict="right"),
        _handled(factual.KEYFACTS_ANALYTICAL, _tree),
        _handled(factual.KEYFACTS_NARRATIVE, lambda given: _tree(given, min(_QUOTED, len(given.excerpt) // 4))),
        _verdicts(factual.FACTS_FAITHFUL, verdict="pass"),
        _verdicts(factual.FACTS_OBJECTIVE, verdict="pass"),
        _verdicts(factual.FACTS_SIGNIFICANT, verdict="pass"),
        _handled(factual.QUERY_ANALYTICAL, _query),
        _handled(factual.QUERY_NARRATIVE, _query),
        _handled(factual.ALIGN_FACTS, _align),
        _verdicts(factual.VERIFY_SENTENCES, category="none"),
        _handled(factual.JUDGE_CHUNK, _mark),
        _handled(factual.SPLIT_FACTS, _split),
        _verdicts(coherence.FIND_CONFUSION, questions=[], types=[coherence.NO_CONFUSION]),
        _handled(coherence.FIND_STOPS, _find_stops),
        _handled(coherence.PREFER_SUMMARY, _prefer),
        _handled(revision.DECIDE, _decide),
        _verdicts(factual.RULE_ON_FINDINGS, verdict="contradicted"),
    )
)
"""The reply functions by prompt name."""
