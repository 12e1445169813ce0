"""Writing a summary: the best sentences of some parts, in their order, in paragraphs, within a number of words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from redraft.builtin.prose import LAST_RESORT, NO_SENTENCE, ProseSentence, cut, matter_around, read
from redraft.builtin.references import NamedPeople, points_out
from redraft.prompts.summarization import (
    BeginGiven,
    ChunkGiven,
    CompressGiven,
    MergeGiven,
    MergeOnwardGiven,
    TidyGiven,
    UpdateGiven,
    WholeGiven,
)
from redraft.text.languages import is_foreign, language_of, language_spans_beside
from redraft.text.pagerank import RankedSentences, choose, rank, rank_towards
from redraft.text.sentences import sentences
from redraft.text.vectors import SentenceVectors, Weights
from redraft.text.words import count_words

# Rank and standing both count; the root keeps one sentence in the thick of the graph from outweighing all the rest.
_RANK_POWER = 0.9
# A text says at its beginning who and where; a summary that does not is hard to enter.
_OPENING_WORDS, _OPENING_BONUS = 200, 0.6
# What is told up to here is how a story begins, how it goes on and turns, and how it ends; of each there is something.
_STAGES = (0.25, 0.75, 1.0)
_SHARE_OF_STAGE, _FAIR = 1 / 3, 0.25

_WORDS_IN_ONE_PARAGRAPH, _PARAGRAPH_WORDS = 180, 110
# What a summary that is already as long as it may be gives up for the next part of the document: room for one sentence,
# and no more than this share, lest it forget its own beginning after a few parts.
_NEWS_WORDS, _NEWS_SHARE = 30, 1 / 8

_UNSPACED_END = re.compile(r"(?<=[。！？」])[ ]")
_BLANK_LINES = re.compile(r"\n\s*\n\s*")


def summarize_part(given: BeginGiven | ChunkGiven) -> str:
    """The sentences of an excerpt that matter most."""
    return compose([given.excerpt], [1], given.words, given.query)


def summarize_whole(given: WholeGiven) -> str:
    """The sentences of the document that matter most, from all its parts."""
    return compose([given.document], [1], given.words, given.query)


def merge(given: MergeGiven) -> str:
    """Each summary gets room in proportion to its length, so that beginning, middle and end all survive."""
    return compose(given.summaries, [count_words(one) for one in given.summaries], given.words, given.query)


def merge_onward(given: MergeOnwardGiven) -> str:
    """The context gets the share of an average summary: it tells of all that came before, they of what is new."""
    shares = [count_words(summary) for summary in given.summaries]
    of_context = min(count_words(given.context), sum(shares) / max(1, len(shares)))
    return compose([given.context, *given.summaries], [of_context, *shares], given.words, given.query)


def update(given: UpdateGiven) -> str:
    """The excerpt gets what the former summary leaves free, and the room of a sentence where it leaves nothing."""
    former = count_words(given.summary)
    news = max(given.words - former, min(_NEWS_WORDS, given.words * _NEWS_SHARE))
    shares = [given.words - news, news]
    return compose([given.summary, given.excerpt], shares, given.words, given.query, stages=False)


def compress(given: CompressGiven) -> str:
    """The sentences that matter least are dropped."""
    return compose([given.summary], [1], given.words - 1, given.query)


def tidy(given: TidyGiven) -> str:
    """Without what stands around a text and is not part of it; whatever is in order stays as it is, to the letter."""
    text, kept, end = given.summary, "", 0
    around = matter_around(language_of(text))
    for span in sentences(text):
        gap, sentence = text[end : span.start], text[span.start : span.end]
        tidied = "" if around.search(sentence) else sentence
        if tidied or _BLANK_LINES.search(gap):
            kept += gap + tidied
        end = span.end
    kept += text[end:]
    return text if kept == text else _BLANK_LINES.sub("\n\n", kept.strip()) or text.strip()


def compose(
    parts: Sequence[str], shares: Sequence[float], limit: int, query: str | None = None, *, stages: bool = True
) -> str:
    """The best sentences of `parts` in at most `limit` words; `shares` says in which proportion the parts get them.

    With `stages` the beginning, the middle and the end of it all are represented. Empty only when no part has a word.
    """
    language = language_of("\n".join(parts))
    parts, shares, languages = _by_language(parts, shares)
    found = _in_their_order(parts, languages)
    limit = max(1, limit)
    if not found:
        # Nothing but marks, of which an underscore counts as a word.
        rest = " ".join(" ".join(parts).split())
        return cut(rest, limit, language) if count_words(rest) else ""
    asked = (query or "").strip()
    room = limit * np.asarray(shares, dtype=np.float64) / max(sum(shares), 1e-9)
    vectors = SentenceVectors([one.text for one in found], [languages[one.part] for one in found])
    chosen = _chosen(vectors, found, limit, room, asked, stages=stages and not asked)
    if not chosen:
        best = max(found, key=lambda sentence: sentence.standing)
        return cut(best.text, limit, languages[best.part])
    return _in_paragraphs([found[at] for at in chosen])


def _by_language(parts: Sequence[str], shares: Sequence[float]) -> tuple[list[str], list[float], list[str]]:
    """The parts, each with its share and its language; one in several languages is as many parts."""
    texts: list[str] = []
    room: list[float] = []
    languages: list[str] = []
    for part, share, tongues in zip(parts, shares, language_spans_beside(parts), strict=True):
        each = [part[start:end] for (start, end), _ in tongues]
        words = [count_words(text) for text in each]
        texts += each
        languages += [language for _, language in tongues]
        room += [share] if len(each) == 1 else [share * its / max(1, sum(words)) for its in words]
    return texts, room, languages


def _in_their_order(parts: Sequence[str], languages: Sequence[str]) -> list[ProseSentence]:
    """The sentences of all parts as they may stand elsewhere; those of a language are judged together."""
    found: list[ProseSentence] = []
    for language in dict.fromkeys(languages):
        of_it = [part if its == language else "" for part, its in zip(parts, languages, strict=True)]
        found += standing_alone(read(of_it, language), language)
    return sorted(found, key=lambda sentence: sentence.part)


def standing_alone(found: Sequence[ProseSentence], language: str) -> list[ProseSentence]:
    """The same sentences; those that lose their meaning elsewhere are a last resort, as is what somebody says."""
    people = NamedPeople([one.text for one in found if not one.spoken])
    return [
        replace(one, standing=min(one.standing, LAST_RESORT))
        if one.spoken or (not is_foreign(language) and points_out(one.text, people))
        else one
        for one in found
    ]


def _chosen(
    vectors: SentenceVectors, found: Sequence[ProseSentence], limit: int, room: Weights, asked: str, *, stages: bool
) -> list[int]:
    """Which sentences are taken; a last resort, and then what is no sentence, only where there is no other."""
    words = np.asarray([sentence.words for sentence in found], dtype=np.int64)
    part = np.asarray([sentence.part for sentence in found], dtype=np.int64)
    standing = np.asarray([sentence.standing for sentence in found])
    worth = rank_towards(vectors, asked) * standing if asked else centrality(vectors, found)
    if asked:
        # What a question is about may stand anywhere, so no part has a claim to be heard.
        part, room = np.zeros_like(part), np.asarray([float(limit)])
    first = _of_each_stage(np.where(standing >= _FAIR, worth, 0.0), words, limit) if stages else []
    for allowed in (standing > LAST_RESORT, standing > NO_SENTENCE, standing > 0):
        if chosen := choose(vectors, RankedSentences(np.where(allowed, worth, 0.0), words, part), limit, room, first):
            break
    return chosen


def _of_each_stage(worth: Weights, words: np.ndarray, limit: int) -> list[int]:
    """The best sentence of the beginning, the middle and the end, where it takes no more than a third of the room."""
    place = np.cumsum(words) / words.sum()
    chosen, begin = list[int](), 0.0
    for end in _STAGES:
        own = np.where((place > begin) & (place <= end) & (words <= limit * _SHARE_OF_STAGE), worth, 0.0)
        best = int(np.argmax(own))
        if own[best] > 0:
            chosen.append(best)
        begin = end
    return chosen


def centrality(vectors: SentenceVectors, found: Sequence[ProseSentence]) -> Weights:
    """How much each sentence would do for a summary of all of them: central, well told, and early rather than late."""
    words = np.asarray([sentence.words for sentence in found], dtype=np.int64)
    earliness = np.maximum(0.0, 1 - (np.cumsum(words) - words) / _OPENING_WORDS)
    standing = np.asarray([sentence.standing for sentence in found])
    worth: Weights = rank(vectors) ** _RANK_POWER * standing * (1 + _OPENING_BONUS * earliness)
    return worth


def _in_paragraphs(chosen: Sequence[ProseSentence]) -> str:
    """Join sentences; a long text has paragraphs of about one length."""
    words = sum(sentence.words for sentence in chosen)
    count = max(1, round(words / _PARAGRAPH_WORDS)) if words > _WORDS_IN_ONE_PARAGRAPH else 1
    paragraphs: list[list[str]] = [[] for _ in range(count)]
    before = 0
    for sentence in chosen:
        paragraphs[count * before // words].append(sentence.text)
        before += sentence.words
    return "\n\n".join(_UNSPACED_END.sub("", " ".join(one)) for one in paragraphs if one)
