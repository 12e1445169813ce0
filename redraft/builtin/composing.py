"""Composing a summary: the best sentences of some parts, in their order, in paragraphs, within a number of words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np

from redraft.builtin.pointing import anchored
from redraft.builtin.prose import LAST_RESORT, Sentence, cut, read
from redraft.text.languages import is_foreign, language_of, tongues_beside
from redraft.text.ranking import Candidates, choose, rank, rank_towards
from redraft.text.vectors import SentenceVectors, Weights
from redraft.text.words import count_words

# Rank and standing both count; the root keeps one sentence in the thick of the graph from outweighing all the rest.
_RANK_POWER = 0.9
# A text says at its beginning who and where; a summary that does not is hard to enter.
_OPENING_WORDS = 200
_OPENING_BONUS = 0.6

_WORDS_PER_SEGMENT = 60
_FEWEST_SEGMENTS = 3
_WORDS_IN_ONE_PARAGRAPH = 180
_PARAGRAPH_WORDS = 110
_SHORT_PARAGRAPH_WORDS = 60

_UNSPACED_END = re.compile(r"(?<=[。！？」])[ ]")

# Every question is asked about a text, and what happens in it: these words say nothing of what the answer is about.
# Of other languages none are known: what a text in one of them is asked is looked for as it is.
_ASKING = re.compile(
    r"\b(?:plot|stor(?:y|ies)|book|novel|text|document|passage|article|summar(?:y|i[sz]e)|describe|explain|tell|happens?"
    r"|main|characters?|please|give)\b",
    re.IGNORECASE,
)


def compose(parts: Sequence[str], shares: Sequence[float], limit: int, query: str | None = None) -> str:
    """The best sentences of `parts` in at most `limit` words; `shares` says in which proportion the parts get them.

    Empty only when no part has a word.
    """
    language = language_of("\n".join(parts))
    parts, shares, languages = _by_language(parts, shares)
    sentences = _in_their_order(parts, languages)
    limit = max(1, limit)
    if not sentences:
        # Nothing but marks, of which an underscore counts as a word.
        rest = " ".join(" ".join(parts).split())
        return cut(rest, limit, language) if count_words(rest) else ""
    asked = (query if is_foreign(language) else _ASKING.sub(" ", query)).strip() if query else ""
    if asked:
        # What a question is about may stand anywhere, so no part has a claim to be heard.
        segments, room = [0] * len(sentences), np.asarray([float(limit)])
    else:
        proportion = np.asarray(shares, dtype=np.float64)
        segments, room = _segmented(sentences, limit * proportion / max(float(proportion.sum()), 1e-9))
    vectors = SentenceVectors([one.text for one in sentences], [languages[one.part] for one in sentences])
    chosen = _chosen(vectors, sentences, segments, room, limit, asked)
    if not chosen:
        best = max(sentences, key=lambda sentence: sentence.standing)
        return cut(best.text, limit, languages[best.part])
    return _in_paragraphs([(sentences[at], segments[at]) for at in chosen])


def _by_language(parts: Sequence[str], shares: Sequence[float]) -> tuple[list[str], list[float], list[str]]:
    """The parts, each with its share and its language; one in several languages is as many parts."""
    texts: list[str] = []
    room: list[float] = []
    languages: list[str] = []
    for part, share, tongues in zip(parts, shares, tongues_beside(parts), strict=True):
        each = [part[start:end] for (start, end), _ in tongues]
        words = [count_words(text) for text in each]
        texts += each
        languages += [language for _, language in tongues]
        room += [share] if len(each) == 1 else [share * its / max(1, sum(words)) for its in words]
    return texts, room, languages


def _in_their_order(parts: Sequence[str], languages: Sequence[str]) -> list[Sentence]:
    """The sentences of all parts as they may stand elsewhere; those of a language are judged together."""
    found: list[Sentence] = []
    for language in dict.fromkeys(languages):
        of_it = [part if its == language else "" for part, its in zip(parts, languages, strict=True)]
        found += standing_alone(read(of_it, language), language)
    return sorted(found, key=lambda sentence: sentence.part)


def _segmented(sentences: Sequence[Sentence], room: Weights) -> tuple[list[int], Weights]:
    """Divide each part that has room for many words into stretches of one length, so that none of it is passed over.

    Returns the stretch each sentence is in, and each stretch's room.
    """
    lengths = np.bincount([s.part for s in sentences], weights=[s.words for s in sentences], minlength=len(room))
    counts = np.maximum(1, np.round(room / _WORDS_PER_SEGMENT)).astype(int)
    if len(room) == 1:
        counts = np.maximum(counts, _FEWEST_SEGMENTS)
    first = [0, *accumulate(counts.tolist())]
    segments, before = [], np.zeros(len(room))
    for sentence in sentences:
        part = sentence.part
        segments.append(first[part] + int(counts[part] * before[part] / lengths[part]))
        before[part] += sentence.words
    return segments, np.repeat(room / counts, counts)


def _chosen(
    vectors: SentenceVectors,
    sentences: Sequence[Sentence],
    segments: Sequence[int],
    room: Weights,
    limit: int,
    asked: str,
) -> list[int]:
    words = np.asarray([sentence.words for sentence in sentences], dtype=np.int64)
    part = np.asarray(segments, dtype=np.int64)
    standing = np.asarray([sentence.standing for sentence in sentences])
    worth = rank_towards(vectors, asked) * standing if asked else centrality(vectors, sentences)
    proper = standing > LAST_RESORT
    chosen = choose(vectors, Candidates(np.where(proper, worth, 0.0), words, part), limit, room)
    return chosen or choose(vectors, Candidates(worth, words, part), limit, room)


def standing_alone(sentences: Sequence[Sentence], language: str) -> list[Sentence]:
    """The sentences as they may stand elsewhere; a last resort are those that would lose their meaning."""
    found: list[Sentence] = []
    for one, text in zip(sentences, anchored(sentences, language), strict=True):
        if text is None:
            found.append(replace(one, standing=min(one.standing, LAST_RESORT)))
        else:
            found.append(replace(one, text=text, words=count_words(text)))
    return found


def centrality(vectors: SentenceVectors, sentences: Sequence[Sentence]) -> Weights:
    """How much each sentence would do for a summary of all of them: central, well told, and early rather than late."""
    words = np.asarray([sentence.words for sentence in sentences], dtype=np.int64)
    earliness = np.maximum(0.0, 1 - (np.cumsum(words) - words) / _OPENING_WORDS)
    standing = np.asarray([sentence.standing for sentence in sentences])
    worth: Weights = rank(vectors) ** _RANK_POWER * standing * (1 + _OPENING_BONUS * earliness)
    return worth


def _in_paragraphs(chosen: Sequence[tuple[Sentence, int]]) -> str:
    """Join sentences, each with its stretch, beginning a paragraph where a long text moves on to another stretch."""
    left = sum(sentence.words for sentence, _ in chosen)
    if left <= _WORDS_IN_ONE_PARAGRAPH:
        return _joined([sentence.text for sentence, _ in chosen])
    paragraphs: list[list[str]] = [[]]
    filled, segment = 0, chosen[0][1]
    for sentence, its_segment in chosen:
        due = filled >= (_SHORT_PARAGRAPH_WORDS if its_segment != segment else _PARAGRAPH_WORDS)
        if due and left >= _SHORT_PARAGRAPH_WORDS:
            paragraphs.append([])
            filled = 0
        paragraphs[-1].append(sentence.text)
        filled, left, segment = filled + sentence.words, left - sentence.words, its_segment
    return "\n\n".join(_joined(paragraph) for paragraph in paragraphs)


def _joined(sentences: Sequence[str]) -> str:
    return _UNSPACED_END.sub("", " ".join(sentences))
