"""A local entailment model as judge: loading, inference, and what its probabilities say of claims."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial
from itertools import combinations
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple, cast

from redraft.domain import Usage
from redraft.errors import ProviderError
from redraft.llm.base import LazyModel, Model, Reply, Request, Sampling
from redraft.prompts import factual, qa
from redraft.prompts.contract import UNSURE, InputT, ReplyModel, Unsure, ValueT
from redraft.text.sanitizer import one_line
from redraft.text.sentences import sentences
from redraft.text.units import words
from redraft.text.vectors import folder_of, load, not_loaded

NOT_SO = "No"
"""The document's answer to a claim that it contradicts."""
_BEFORE, _AFTER = "Is this so: “", "”?"
_USUAL_IMPORTANCE = 3


Verdict = Literal["supported", "contradicted", "absent", "unsure"]


class ClaimAnswer(NamedTuple):
    """What some texts say about a claim, and why."""

    verdict: Verdict
    category: factual.Category | Unsure
    """What is wrong with a sentence that makes the claim."""
    reason: str
    quote: str = ""
    """The sentence of the texts that it rests on."""
    correction: str = NOT_SO
    """What the texts say instead of a claim that they contradict."""
    share: float | None = None
    """The share of the claim's word pairs that the texts have, where that is its support."""
    places: Collection[int] = ()
    """The numbers of the texts that it rests on."""


Check = Callable[[Sequence[str], Sequence[str]], Sequence[ClaimAnswer]]
"""Answers each of some claims from some texts."""


def claim_in(question: str) -> str:
    """Return the claim that a question of `claims_asked` is about; empty for any other question."""
    is_claim = question.startswith(_BEFORE) and question.endswith(_AFTER)
    return question.removeprefix(_BEFORE).removesuffix(_AFTER) if is_claim else ""


def claim_question(claim: str) -> str:
    """Return the question that asks to confirm a claim."""
    return f"{_BEFORE}{one_line(claim)}{_AFTER}"


def claims_asked(inputs: qa.AskSummaryInput) -> qa.SummaryQuestions:
    """Return one question per sentence: whether it is true."""
    lists = []
    for line in inputs.sentences:
        if not inputs.only or line.id in inputs.only:
            texts = {"question": claim_question(line.sentence), "answer": one_line(line.sentence), "search": ""}
            asked = qa.SummaryQuestion(**texts, importance=_USUAL_IMPORTANCE)
            lists.append(qa.SentenceQuestions(id=line.id, questions=[asked]))
    return qa.SummaryQuestions(sentences=lists)


def answer_from_document(inputs: qa.AnswerFromDocumentInput, check: Check) -> qa.DocumentAnswers:
    """Return what the texts say about each claim; other questions are left open."""
    claims = {item.id: claim for item in inputs.questions if (claim := claim_in(item.question))}
    checked = dict(zip(claims, check(list(claims.values()), inputs.texts), strict=True))
    answers: list[qa.DocumentAnswer] = []
    for item in inputs.questions:
        answer = checked.get(item.id)
        if answer is None or answer.verdict == UNSURE:
            answers.append(qa.DocumentAnswer(id=item.id, quote="", answered=UNSURE, answer=""))
            continue
        text = {"supported": claims[item.id], "absent": ""}.get(answer.verdict, answer.correction)
        quote = answer.quote if text else ""
        answers.append(qa.DocumentAnswer(id=item.id, quote=quote, answered=bool(text), answer=text, share=answer.share))
    return qa.DocumentAnswers(answers=answers)


def verify_sentences(inputs: factual.VerifyInput, check: Check) -> factual.Verifications:
    """Return what is wrong with each sentence."""
    checked = check([statement.sentence for statement in inputs.sentences], inputs.texts)
    entries = [
        factual.Verification(id=statement.id, quote=answer.quote, reason=answer.reason, category=answer.category)
        for statement, answer in zip(inputs.sentences, checked, strict=True)
    ]
    return factual.Verifications(sentences=entries)


def _compare(inputs: qa.CompareInput, _: Check) -> qa.Comparisons:
    """Compare answers about claims: what the document denies contradicts the summary. Other pairs are left out."""
    comparisons = [
        qa.Comparison(id=pair.id, reason="by the entailment model", verdict="contradicts" if contradicted else "full")
        for pair in inputs.pairs
        for contradicted in [pair.document == NOT_SO]
        # A long answer is stored by its beginning.
        if contradicted or pair.summary.startswith(pair.document.removesuffix("…"))
    ]
    return qa.Comparisons(comparisons=comparisons)


def _align(inputs: factual.AlignInput, check: Check) -> factual.Alignments:
    texts = [f"{statement.before} {statement.sentence}".strip() for statement in inputs.sentences]
    alignments: list[factual.Alignment] = []
    for fact, answer in zip(inputs.facts, check([fact.fact for fact in inputs.facts], texts), strict=True):
        places = sorted(answer.places) if answer.verdict == "supported" else []
        stated = "yes" if answer.verdict == "supported" else UNSURE if answer.verdict == UNSURE else "no"
        nearest = [inputs.sentences[at].id for at in places]
        alignments.append(factual.Alignment(id=fact.id, stated=stated, sentences=nearest))
    return factual.Alignments(facts=alignments)


REPLIES: Mapping[str, Callable[[Any, Check], ReplyModel]] = {
    qa.ASK_SUMMARY.name: lambda inputs, _: claims_asked(inputs),
    qa.ANSWER_FROM_DOCUMENT.name: answer_from_document,
    qa.COMPARE_ANSWERS.name: _compare,
    factual.VERIFY_SENTENCES.name: verify_sentences,
    factual.ALIGN_FACTS.name: _align,
}
"""The replies of a judge that checks claims, by prompt. It cannot do what other prompts ask."""


VERSION = 4
"""Part of what identifies a stored answer: raise it with every change after which an answer may differ."""
WHAT = "the entailment model"
_CLASSES = ("entailment", "neutral", "contradiction")
# What models with two classes call them, such as MiniCheck, HHEM and models for zero-shot classification.
_FINE = frozenset(("entailment", "entailed", "supported", "consistent", "factual", "faithful", "grounded"))
_FAULTY = frozenset(f"{no}{label}" for label in _FINE for no in ("not_", "not ", "non-", "non_", "un", "in")) | {
    "hallucinated",
    "hallucination",
}
_BATCH = 32
# The limit if neither the tokenizer nor the model declares one.
_USUAL_LENGTH = 512
# Tokenizers without a limit declare this much.
_NO_LIMIT = 1_000_000
_REMEMBERED = 50_000
_CATEGORIES: Mapping[Verdict, factual.Category | Unsure] = {
    "supported": "none",
    "contradicted": "sentence",
    "absent": "out_of_article",
    UNSURE: UNSURE,
}


class EntailmentScores(NamedTuple):
    """The probability of each class."""

    entailment: float
    neutral: float
    contradiction: float


class Entailment:
    """The model with a cache of recent pairs. It judges claims by passages, and writes no text."""

    def __init__(self, name_or_path: str, model: Any) -> None:
        self.identity = f"nli:{name_or_path}:{VERSION}"
        self._model = model
        labels = model.config.id2label or {}
        columns = {str(label).strip().casefold(): int(column) for column, label in labels.items()}
        fine, faulty = ([columns[label] for label in columns if label in names] for names in (_FINE, _FAULTY))
        self._columns: list[int | None]
        """The column of each class. A model with two classes says that a claim is supported or not, and never that it
        is contradicted."""
        if sorted(columns) == sorted(_CLASSES):
            self._columns = [columns[name] for name in _CLASSES]
        elif len(columns) == len(fine) + len(faulty) == 2 and fine and faulty:
            self._columns = [fine[0], faulty[0], None]
        else:
            reason = f"its classes must be {', '.join(_CLASSES)}, or supported and not_supported, but its configuration"
            reason += f" (id2label) has {', '.join(sorted(columns)) or 'none'}"
            raise not_loaded(name_or_path, WHAT, reason)
        positions = getattr(model.config, "max_position_embeddings", None)
        # Some models reserve two of their positions.
        limits = [model.max_seq_length, model.tokenizer.model_max_length, positions - 2 if positions else None]
        self.length = min((int(limit) for limit in limits if limit and limit < _NO_LIMIT), default=_USUAL_LENGTH)
        """The most tokens of a premise and a claim together."""
        self.around: int = model.tokenizer.num_special_tokens_to_add(pair=True)
        """The tokens that are added to them."""
        self._known: dict[tuple[str, str], EntailmentScores] = {}
        self.alone = Lock()
        """Held while it is used: its tokenizer keeps a state, and several runs may share it."""

    def most_tokens(self, sampling: Sampling) -> int:  # noqa: ARG002  (it writes no text)
        """Return 0: the reply is not text."""
        return 0

    async def ask(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        """Judge the claims of a request that leave room for a text; one request at a time, as each uses the whole
        machine. Raises `ProviderError` for what it cannot do."""
        if request.prompt.name not in REPLIES:
            raise ProviderError(
                f"an entailment model cannot do what the prompt {request.prompt.name} asks",
                hint=f"it judges by {', '.join(SERVES[:-1])} and {SERVES[-1]}",
            )
        check = partial(check_claims, self)
        value = await asyncio.to_thread(REPLIES[request.prompt.name], request.given, check)
        reads_texts = request.prompt.name not in (qa.ASK_SUMMARY.name, qa.COMPARE_ANSWERS.name)
        return Reply(cast("ValueT", value), value.model_dump_json(), Usage(reported=not reads_texts))

    def odds(self, pairs: Sequence[tuple[str, str]]) -> list[EntailmentScores]:
        """Return the scores of each pair of a premise and a claim, in order."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        if new:
            rows = self._model.predict(
                [(_plain(premise), _plain(claim)) for premise, claim in new],
                batch_size=_BATCH,
                apply_softmax=True,
                show_progress_bar=False,
            )
            for pair, row in zip(new, rows, strict=True):
                scores_of_pair = (0.0 if column is None else float(row[column]) for column in self._columns)
                self._known[pair] = EntailmentScores(*scores_of_pair)
        scores = [self._known[pair] for pair in pairs]
        for pair in list(self._known)[: max(0, len(self._known) - _REMEMBERED)]:
            del self._known[pair]
        return scores

    def tokens(self, text: str) -> int:
        """Return how many tokens a text has by itself."""
        return len(self._model.tokenizer(_plain(text), add_special_tokens=False, verbose=False)["input_ids"])

    def windows(self, text: str, room: int) -> list[str]:
        """Return a text in windows of a limited number of tokens and as many whole sentences as fit; a longer sentence
        is cut between words."""
        pieces = [
            piece for start, end in sentences(text) for piece in self._fitting(text[start:end].split(), room) if piece
        ]
        texts: list[str] = []
        for piece in pieces:
            if texts and self.tokens(joined := f"{texts[-1]} {piece}") <= room:
                texts[-1] = joined
            else:
                texts.append(piece)
        return texts

    def _fitting(self, words: list[str], room: int) -> list[str]:
        """Return some words in pieces that fit, by halving."""
        text = " ".join(words)
        if self.tokens(text) <= room:
            return [text]
        middle = len(words) // 2
        return [*self._fitting(words[:middle], room), *self._fitting(words[middle:], room)] if middle else []


@lru_cache(maxsize=1)
def load_entailment(name_or_path: str) -> Entailment:
    """Return the model in a local folder, without any download, or a public one by its name."""
    return Entailment(name_or_path, load("CrossEncoder", name_or_path, WHAT))


def _plain(text: str) -> str:
    """Return a text that a tokenizer takes: lone surrogates become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


# Passages are read in windows of a paragraph's length, as in the models' training.
_STRETCH = 160
# How many windows that share most words with a claim are used, and how many of these in pairs.
_NEAREST, _PAIRED = 8, 3
LOW, HIGH = 0.2, 0.8
"""The probability of entailment up to which a claim is not supported, and from which it is; between, it is unsure."""
# The fewest tokens of a premise that are worth reading.
_MIN_ROOM = 32


_Premise = tuple[str, frozenset[int], bool]
"""A text, the numbers of its passages, and whether it has the window that shares the most words with the claim."""
NO_ANSWER = ClaimAnswer(UNSURE, UNSURE, "The entailment model gave no answer.")
"""The answer about a claim that is too long, or without texts."""


def check_claims(model: Entailment, claims: Sequence[str], passages: Sequence[str]) -> list[ClaimAnswer]:
    """Return the answer about each claim, all in one batch."""
    with model.alone:
        premises: list[list[_Premise]] = []
        for claim in claims:
            room, claim_words = model.length - model.around - model.tokens(claim), set(words(claim))
            stretches = [
                (text, n)
                for n, passage in enumerate(passages if room >= _MIN_ROOM else ())
                for text in model.windows(passage, min(room, _STRETCH))
            ]
            shared = [len(claim_words & set(words(text))) for text, _ in stretches]
            # The windows nearest to the claim, and pairs of the nearest, as far as they fit.
            order = sorted(range(len(stretches)), key=lambda at: (-shared[at], at))[:_NEAREST]
            premises.append([(stretches[at][0], frozenset({stretches[at][1]}), at == order[0]) for at in order])
            for pair in combinations(sorted(order[:_PAIRED]), 2):
                text = " ".join(stretches[at][0] for at in pair)
                if model.tokens(text) <= room:
                    numbers = frozenset(stretches[at][1] for at in pair)
                    premises[-1].append((text, numbers, order[0] in pair))
        pairs = [(text, claim) for claim, row in zip(claims, premises, strict=True) for text, _, _ in row]
        odds = iter(model.odds(pairs))
    scores = ([(premise, next(odds)) for premise in row] for row in premises)
    return [_answer(claim, of_claim) if of_claim else NO_ANSWER for claim, of_claim in zip(claims, scores, strict=True)]


def _answer(claim: str, scores: Sequence[tuple[_Premise, EntailmentScores]]) -> ClaimAnswer:
    """Return the answer about one claim: any premise may support it, and the likeliest does, but only the nearest say
    how it is wrong, since models call unrelated texts contradictory."""
    best, support = max(scores, key=lambda score: score[1].entailment)
    near, fault = max((score for score in scores if score[0][2]), key=lambda score: score[1].contradiction)
    share = fault.contradiction / ((fault.contradiction + fault.neutral) or 1)
    unsupported = 1 - support.entailment
    faults: Mapping[Verdict, float] = {"contradicted": unsupported * share, "absent": unsupported * (1 - share)}
    verdict: Verdict = UNSURE
    likelihood, premise = support.entailment, best
    if support.entailment >= HIGH:
        verdict = "supported"
    elif support.entailment <= LOW:
        (verdict, likelihood), premise = max(faults.items(), key=lambda fault: fault[1]), near
    quote, (text, passages, _) = "", premise
    if verdict in ("supported", "contradicted"):
        # The sentence nearest to the claim.
        claimed = set(words(claim))
        candidates = [text[start:end] for start, end in sentences(text)] or [text]
        quote = max(candidates, key=lambda sentence: len(claimed & set(words(sentence))))
    reason = f"The entailment model: {verdict} ({likelihood:.2f})."
    return ClaimAnswer(verdict, _CATEGORIES[verdict], reason, quote, places=passages)


SERVES = ("consistency", "faithfulness", "keyfact_recall")
"""The metrics that it can judge; the last one only with existing key facts."""


def open_entailment(name_or_path: str) -> Model:
    """Return the judge of this name, loaded when first asked. Its identity has the public name, or the hash of a
    folder's files, which may be trained anew. Raises `UsageError` for an invalid name."""
    identity, folder = f"nli:{name_or_path}:{VERSION}", folder_of(name_or_path, WHAT)
    if folder is not None:
        files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        stamps = [(str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
        digest = hashlib.sha256(repr(stamps).encode()).hexdigest()[:8]
        identity = f"nli:{os.path.abspath(folder)}:{VERSION}:{digest}"
    return cast("Model", LazyModel(identity, f"{__name__}:load_entailment", name_or_path))
