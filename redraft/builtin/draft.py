"""Writes a summary: the best sentences of some parts, in order, in paragraphs, within a word limit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from redraft.builtin.prose import LAST_RESORT, NO_SENTENCE, ProseSentence, cut, has_outside_reference, read
from redraft.prompts import summarization
from redraft.text.languages import is_foreign, language_of, language_spans_beside
from redraft.text.vectors import SentenceVectors, Weights, choose, rank
from redraft.text.words import count_words, has_words

# Rank and score both count; the root dampens sentences in the densest part of the graph.
_RANK_POWER = 0.9
# The beginning of a text says who and where, which a summary needs.
_OPENING_WORDS, _OPENING_BONUS = 200, 0.6
# The ends of the beginning, the middle and the end; each is represented.
_STAGES = (0.25, 0.75, 1.0)
_SHARE_OF_STAGE, _FAIR = 1 / 3, 0.25

_WORDS_IN_ONE_PARAGRAPH, _PARAGRAPH_WORDS = 180, 110
# The room that a full summary gives up for the next part of the document: one sentence, and at most this
# share, so that it does not lose its own beginning after a few parts.
_NEWS_WORDS, _NEWS_SHARE = 30, 1 / 8
_UNSPACED_END = re.compile(r"(?<=[。！？」])[ ]")

DraftingInput = (
    summarization.BeginInput
    | summarization.ChunkInput
    | summarization.WholeInput
    | summarization.MergeInput
    | summarization.UpdateInput
    | summarization.CompressInput
    | summarization.TidyInput
)


def summarize(inputs: DraftingInput) -> str:
    """Return the most important sentences of a document, an excerpt or a summary. Of summaries to merge, each gets room
    in proportion to its length, so that beginning, middle and end all survive; what comes before them gets that of an
    average one. An excerpt that is added to a summary gets the room that the summary leaves, or that of a sentence."""
    match inputs:
        case summarization.TidyInput():
            return inputs.summary
        case summarization.CompressInput():
            return compose([inputs.summary], [1], inputs.words - 1, inputs.query)
        case summarization.UpdateInput():
            added = max(inputs.words - count_words(inputs.summary), min(_NEWS_WORDS, inputs.words * _NEWS_SHARE))
            shares = [inputs.words - added, added]
            return compose([inputs.summary, inputs.excerpt], shares, inputs.words, inputs.query, stages=False)
        case summarization.MergeInput():
            sizes: list[float] = [count_words(summary) for summary in inputs.summaries]
            before = [inputs.context] if isinstance(inputs, summarization.MergeOnwardInput) else []
            usual = [min(count_words(text), sum(sizes) / max(1, len(sizes))) for text in before]
            return compose([*before, *inputs.summaries], [*usual, *sizes], inputs.words, inputs.query)
        case summarization.BeginInput() | summarization.ChunkInput():
            return compose([inputs.excerpt], [1], inputs.words, inputs.query)
    return compose([inputs.document], [1], inputs.words, inputs.query)


def compose(
    parts: Sequence[str], shares: Sequence[float], limit: int, query: str | None = None, *, stages: bool = True
) -> str:
    """Return the best sentences of `parts` in at most `limit` words, distributed over the parts by `shares`. With
    `stages`, beginning, middle and end are represented. Empty only if no part has a word."""
    language = language_of("\n".join(parts))
    # A part in several languages is split, and its share with it.
    texts: list[str] = []
    room: list[float] = []
    languages: list[str] = []
    for part, share, spans in zip(parts, shares, language_spans_beside(parts), strict=True):
        own_texts = [part[slice(*span.span)] for span in spans]
        counts = [count_words(text) for text in own_texts]
        texts += own_texts
        languages += [span.language for span in spans]
        room += [share] if len(own_texts) == 1 else [share * count / max(1, sum(counts)) for count in counts]
    # Sentences are scored together per language.
    sentences: list[ProseSentence] = []
    for name in dict.fromkeys(languages):
        own_parts = [part if languages[at] == name else "" for at, part in enumerate(texts)]
        sentences += with_dependent_last(read(own_parts, name), name)
    prose = sorted(sentences, key=lambda sentence: sentence.part)
    limit = max(1, limit)
    if not prose:
        # Only punctuation, of which an underscore counts as a word.
        rest = " ".join(" ".join(texts).split())
        return cut(rest, limit, language) if has_words(rest) else ""
    question = (query or "").strip()
    rooms = limit * np.asarray(room, dtype=np.float64) / max(sum(room), 1e-9)
    vectors = SentenceVectors([sentence.text for sentence in prose], [languages[sentence.part] for sentence in prose])
    chosen = _chosen(vectors, prose, limit, rooms, question, stages=stages and not question)
    if not chosen:
        best = max(prose, key=lambda sentence: sentence.suitability)
        return cut(best.text, limit, languages[best.part])
    # A long text has paragraphs of about one length.
    words = sum(prose[at].words for at in chosen)
    count = max(1, round(words / _PARAGRAPH_WORDS)) if words > _WORDS_IN_ONE_PARAGRAPH else 1
    paragraphs: list[list[str]] = [[] for _ in range(count)]
    before = 0
    for sentence in (prose[at] for at in chosen):
        paragraphs[count * before // words].append(sentence.text)
        before += sentence.words
    return "\n\n".join(_UNSPACED_END.sub("", " ".join(paragraph)) for paragraph in paragraphs if paragraph)


def with_dependent_last(prose: Sequence[ProseSentence], language: str) -> list[ProseSentence]:
    """Return the sentences with those that need their context, and dialogue, marked as a last resort."""
    return [
        replace(sentence, suitability=min(sentence.suitability, LAST_RESORT))
        if sentence.spoken or (not is_foreign(language) and has_outside_reference(sentence.text))
        else sentence
        for sentence in prose
    ]


def _chosen(
    vectors: SentenceVectors, prose: Sequence[ProseSentence], limit: int, room: Weights, question: str, *, stages: bool
) -> list[int]:
    """Return the chosen sentences; last resorts, and then non-sentences, only where there is nothing else."""
    words = np.asarray([sentence.words for sentence in prose], dtype=np.int64)
    part = np.asarray([sentence.part for sentence in prose], dtype=np.int64)
    suitabilities = np.asarray([sentence.suitability for sentence in prose])
    worth = rank(vectors, question) * suitabilities if question else centrality(vectors, prose)
    if question:
        # The answer to a question may be anywhere, so no part is guaranteed a share.
        part, room = np.zeros_like(part), np.asarray([float(limit)])
    # The best sentence of the beginning, the middle and the end, if it takes at most a third of the room.
    first, begin, place = list[int](), 0.0, np.cumsum(words) / words.sum()
    for end in _STAGES if stages else ():
        is_in_stage = (place > begin) & (place <= end) & (words <= limit * _SHARE_OF_STAGE) & (suitabilities >= _FAIR)
        stage_worth = np.where(is_in_stage, worth, 0.0)
        best = int(np.argmax(stage_worth))
        first += [best] if stage_worth[best] > 0 else []
        begin = end
    for allowed in (suitabilities > LAST_RESORT, suitabilities > NO_SENTENCE, suitabilities > 0):
        if chosen := choose(vectors, np.where(allowed, worth, 0.0), words, part, limit, room, first):
            break
    return chosen


def centrality(vectors: SentenceVectors, prose: Sequence[ProseSentence]) -> Weights:
    """Return each sentence's value for a summary: central, well formed, and early rather than late."""
    words = np.asarray([sentence.words for sentence in prose], dtype=np.int64)
    earliness = np.maximum(0.0, 1 - (np.cumsum(words) - words) / _OPENING_WORDS)
    suitabilities = np.asarray([sentence.suitability for sentence in prose])
    worth: Weights = rank(vectors) ** _RANK_POWER * suitabilities * (1 + _OPENING_BONUS * earliness)
    return worth
