"""Reading more and more of a document: the steps, and how alike statements are, by embeddings or TF-IDF vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
import numpy.typing as npt

from redraft.text.languages import language_of, language_spans_in
from redraft.text.sentences import sentences
from redraft.text.vectors import Encoder, terms

_USUAL = (*range(10_000, 128_000, 10_000), 128_000)
# The maximum steps, and minimum tokens of a step, for a document too short for the usual steps.
_STEPS, _SHORTEST = 13, 256
# The minimum ratio of the words that are summarized to those of the summary.
_LONGER = 2


@dataclass(frozen=True, slots=True)
class ReadingStep:
    """A step that reads so many tokens; without `until` it reads the whole document, of about so many tokens."""

    number: int
    tokens: int
    until: int | None


def plan_steps(
    chosen_steps: Sequence[int] | None, tokens: int, words: int, limit: int | None
) -> tuple[tuple[ReadingStep, ...], str]:
    """Return the steps for a document of so many tokens and words, and a note where they are not as asked.

    Without `chosen_steps` they are the usual ones, or equal parts of a document with room for fewer than two of
    those. `limit` is the length of its summaries, if known.
    """
    steps_tokens = tuple(chosen_steps or _USUAL)
    within = [tokens_read for tokens_read in steps_tokens if tokens_read < tokens]
    if len(within) == len(steps_tokens):
        return tuple(ReadingStep(n, tokens_read, tokens_read) for n, tokens_read in enumerate(within, 1)), ""
    if chosen_steps or len(within) > 1:
        steps = [
            *(ReadingStep(n, tokens_read, tokens_read) for n, tokens_read in enumerate(within, 1)),
            ReadingStep(len(within) + 1, tokens, None),
        ]
        return tuple(steps), f"has about {tokens:,} tokens: {len(steps)} steps, the last of which is all of it"
    by_length = words // (_LONGER * limit) if limit else _STEPS
    count = max(1, min(_STEPS, tokens // _SHORTEST, by_length))
    parts = [ReadingStep(n, round(n * tokens / count), round(n * tokens / count)) for n in range(1, count)]
    note = f"has about {tokens:,} tokens, too few for steps of {_USUAL[0]:,}: {count} of about {tokens // count:,} each"
    return (*parts, ReadingStep(count, tokens, None)), note


Matrix = npt.NDArray[np.float64]
# Likeness is rounded, so that a statement equals itself.
_DECIMALS = 6


class EmbeddingSimilarity:
    """The cosine of embeddings; 0.7 is the traceability thesis's threshold for all-MiniLM-L6-v2."""

    threshold = 0.7

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.name = f"cosine of {encoder.name}"

    def between(self, statements: Sequence[str], candidates: Sequence[str]) -> Matrix:
        """Return the cosines, none below zero."""
        if not statements or not candidates:
            return np.zeros((len(statements), len(candidates)))
        cosines = (
            self._encoder.encode(statements).astype(np.float64) @ self._encoder.encode(candidates).astype(np.float64).T
        )
        return np.asarray(np.round(np.clip(cosines, 0.0, 1.0), _DECIMALS), dtype=np.float64)


class TermSimilarity:
    """The cosine of TF-IDF vectors by section 2.5.1 of the traceability thesis: a term's share of the terms times the
    log of the sentences of the document over those with it. The threshold of 0.5 is not fitted: with equal weights half
    of each statement is in the other."""

    name = "TF-IDF cosine"
    threshold = 0.5

    def __init__(self, document: str) -> None:
        self._language = language_of(document)
        lines = [
            frozenset(terms(document[sentence.start : sentence.end], language))
            for span, language in language_spans_in(document)
            for sentence in sentences(document, span, language)
        ]
        self._lines = len(lines)
        self._holding = Counter(term for line in lines for term in line)
        self._known: dict[str, dict[str, float]] = {}

    def between(self, statements: Sequence[str], candidates: Sequence[str]) -> Matrix:
        """Return the cosines; 0 if either statement has no terms."""
        for text in {*statements, *candidates} - self._known.keys():
            counts = Counter(terms(text, self._language))
            # A term that the document lacks is as rare as any in it.
            raw = {
                term: count / counts.total() * log(self._lines / max(1, self._holding[term])) if self._lines else 0.0
                for term, count in counts.items()
            }
            length = sqrt(sum(value * value for value in raw.values()))
            self._known[text] = {term: value / length for term, value in raw.items()} if length else {}
        vectors, across = ([self._known[text] for text in texts] for texts in (statements, candidates))
        cosines = [
            [sum(a * candidate_vector.get(term, 0.0) for term, a in vector.items()) for candidate_vector in across]
            for vector in vectors
        ]
        matrix = np.array(cosines, dtype=np.float64).reshape(len(statements), len(candidates))
        return np.asarray(np.round(matrix, _DECIMALS), dtype=np.float64)


SentenceSimilarity = EmbeddingSimilarity | TermSimilarity
"""A measure of similarity: its name, the threshold above which two statements count as the same, and `between`."""
