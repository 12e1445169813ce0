"""Sentence vectors and embeddings."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, redirect_stderr
from functools import cache, cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from stop_words import LANGUAGE_MAPPING, get_stop_words

from redraft.errors import UsageError
from redraft.lazy import pattern
from redraft.store.table import Cache
from redraft.text.languages import ENGLISH, is_foreign, language_of, primary
from redraft.text.words import UNSPACED

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


Weights = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

_TERM = pattern(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+(?:['’][^\W_{UNSPACED}]+)*")
_IS_UNSPACED = pattern(f"[{UNSPACED}]")
_POSSESSIVE = pattern(r"['’]s$")
# Contractions such as "didn't" carry no more meaning than the stop words they are made of.
_CONTRACTION = pattern(r"['’](?:t|ll|ve|re|d|m)$")
_APOSTROPHE = pattern("['’]")
_MIN_TERMS_CONTAINED = 3
# Inflected words are the same up to this length.
_STEM = 6
_LISTED = {**LANGUAGE_MAPPING, "no": "norwegian"}


@cache
def stop_words(language: str = ENGLISH) -> frozenset[str]:
    """Return the stop words of a language; empty if no list is known. Those of English are scikit-learn's."""
    if not is_foreign(language):
        return frozenset(Path(__file__).with_name("stop_words.txt").read_text("utf-8").split())
    code = primary(language)
    return frozenset(get_stop_words(_LISTED[code])) if code in _LISTED else frozenset()


def terms(text: str, language: str = ENGLISH) -> Iterator[str]:
    """Return the content words of `text` in lower case, in English without plural and possessive endings."""
    stopped, foreign = stop_words(language), is_foreign(language)
    for match in _TERM.finditer(text.lower()):
        term = match.group()
        if _IS_UNSPACED.match(term):
            yield from (letter for letter in term if not (foreign and letter in stopped))
            yield from (term[at : at + 2] for at in range(len(term) - 1))
        elif foreign:
            yield from (part for part in _APOSTROPHE.split(term) if part not in stopped)
        elif not _CONTRACTION.search(term):
            term = _POSSESSIVE.sub("", term)
            singular = term
            if len(term) > 4 and term.endswith("ies"):
                singular = term[:-3] + "y"
            elif len(term) > 3 and term.endswith("s") and not term.endswith(("ss", "us", "is")):
                singular = term[:-1]
            if term not in stopped:
                yield singular


@lru_cache(maxsize=256)
def telling_terms(text: str, language: str = ENGLISH) -> frozenset[str]:
    """Return the telling terms of a text, truncated to ignore inflections."""
    return frozenset(term[:_STEM] for term in terms(text, language) if len(term) > 1 or term.isnumeric())


class SentenceVectors:
    """The TF-IDF vectors of some sentences, each of length one. A term weighs 1 + ln(count) times 1 + ln((1 +
    sentences) / (1 + sentences with it)); a sentence without terms is zero."""

    def __init__(self, texts: Sequence[str], languages: Sequence[str] | None = None) -> None:
        """`languages` are the sentences' own, if they are not from one text."""
        self._language = language_of("\n".join(texts))
        read_by = languages or [self._language] * len(texts)
        counts = [Counter(terms(*bag)) for bag in zip(texts, read_by, strict=True)]
        vocabulary = sorted({term for bag in counts for term in bag})
        self._number = {term: at for at, term in enumerate(vocabulary)}
        self._sizes: Indices = np.array([len(bag) for bag in counts], dtype=np.int64)
        self.has_terms: npt.NDArray[np.bool_] = self._sizes > 0
        """Which sentences are not the zero vector."""
        # One entry for each term of each sentence, ordered by sentence, then term.
        entries = [(self._number[term], count) for bag in counts for term, count in sorted(bag.items())]
        table = np.array(entries, dtype=np.int64).reshape(-1, 2)
        self._terms: Indices = table[:, 0]
        self._sentences: Indices = np.repeat(np.arange(len(counts)), self._sizes)
        self._starts: Indices = np.concatenate(([0], np.cumsum(self._sizes))).astype(np.int64)
        holders = np.bincount(self._terms, minlength=len(vocabulary))
        self._rarity: Weights = np.log((1 + len(counts)) / (1 + holders)) + 1
        weights = (1 + np.log(table[:, 1])) * self._rarity[self._terms]
        lengths = np.sqrt(_sums(self._sentences, weights**2, len(counts)))
        self._weights: Weights = weights / lengths[self._sentences]
        # The same entries ordered by term.
        self._by_term: Indices = np.argsort(self._terms, kind="stable")
        self._term_starts: Indices = np.concatenate(([0], np.cumsum(holders))).astype(np.int64)

    def __len__(self) -> int:
        return len(self._sizes)

    def spread(self, weights: Weights) -> Weights:
        """Return the matrix of all cosines times `weights`, without forming that matrix."""
        by_term = _sums(self._terms, self._weights * weights[self._sentences], len(self._number))
        return _sums(self._sentences, self._weights * by_term[self._terms], len(self))

    def similarity_to(self, text: str) -> Weights:
        """Return the cosine of every sentence with `text`, ignoring unknown terms."""
        vector = np.zeros(len(self._number))
        for term, count in Counter(terms(text, self._language)).items():
            if (at := self._number.get(term)) is not None:
                vector[at] = (1 + np.log(count)) * self._rarity[at]
        length = np.sqrt(vector @ vector)
        by_term = vector / length if length else vector
        return _sums(self._sentences, self._weights * by_term[self._terms], len(self))

    def neighbours(self, index: int) -> tuple[Indices, Weights]:
        """Return the sentences that share a term with sentence `index`, including itself, and their similarities: the
        cosine, or one if the other has all terms of the shorter."""
        entries_of_index = slice(self._starts[index], self._starts[index + 1])
        postings = [
            self._by_term[self._term_starts[at] : self._term_starts[at + 1]] for at in self._terms[entries_of_index]
        ]
        if not postings:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        entries = np.concatenate(postings)
        factors = np.repeat(self._weights[entries_of_index], [len(posting) for posting in postings])
        near, which = np.unique(self._sentences[entries], return_inverse=True)
        same = _sums(which, factors * self._weights[entries], len(near))
        shorter = np.minimum(self._sizes[near], self._sizes[index])
        same[(np.bincount(which) >= shorter) & (shorter >= _MIN_TERMS_CONTAINED)] = 1.0
        return near, same


def _sums(groups: Indices, values: Weights, count: int) -> Weights:
    """Return the sum of the values of each group."""
    return np.bincount(groups, values, minlength=count).astype(np.float64, copy=False)


_REFUSES_CODE = 6
# A model's public name has at most one slash; everything else is a folder.
_PUBLIC_NAME = re.compile(r"\w[\w.\-]*(?:/\w[\w.\-]*)?")


def folder_of(name_or_path: str, what: str) -> str | None:
    """Return the local folder that a name refers to; None for a public name. Raise `UsageError` if it is neither;
    `what` describes the model."""
    folder = os.path.expanduser(name_or_path)
    if os.path.isdir(folder):  # unlike pathlib's, it takes any string
        return folder
    if not _PUBLIC_NAME.fullmatch(name_or_path):
        raise not_loaded(name_or_path, what, "no such folder")
    return None


def load(kind: Literal["SentenceTransformer", "CrossEncoder"], name_or_path: str, what: str, **options: Any) -> Any:
    """Load a model of one of the classes of sentence-transformers."""
    folder = folder_of(name_or_path, what)
    try:
        import sentence_transformers
    except ImportError as error:
        raise UsageError(
            f"{what} needs a package that is not installed ({error})",
            hint='pip install "redraft[embeddings]", or choose an option that needs none',
        ) from error
    version = str(sentence_transformers.__version__)
    first = version.partition(".")[0]
    # Before version 6 it runs code from a model's folder even if remote code is not trusted.
    if not first.isdecimal() or int(first) < _REFUSES_CODE:
        raise UsageError(
            f"{what} needs sentence-transformers {_REFUSES_CODE} or later, which runs no code from a model's folder;"
            f" {version} is installed",
            hint='pip install --upgrade "redraft[embeddings]"',
        )
    # Reading a folder needs no progress bar; a download may take minutes, and keeps it.
    with redirect_stderr(io.StringIO()) if folder else nullcontext():
        try:
            return getattr(sentence_transformers, kind)(
                folder or name_or_path, local_files_only=folder is not None, trust_remote_code=False, **options
            )
        except Exception as error:  # a broken file can be any error of four libraries
            reason = next((line for line in str(error).splitlines() if line.strip()), "")
            raise not_loaded(name_or_path, what, f"{type(error).__name__}: {reason}") from error


def not_loaded(name_or_path: str, what: str, reason: str) -> UsageError:
    """Return the error for a model that cannot be loaded."""
    return UsageError(
        f"{what} cannot be loaded: {reason}",
        place=name_or_path,
        hint="give the folder that a sentence-transformers model was saved to, or the name of a public one",
    )


Embeddings = npt.NDArray[np.float32]

# Half the size, with no visible effect on a cosine.
_STORED_AS = np.float16
_REMEMBERED = 20_000
_BATCH = 32


class Encoder:
    """Turns texts into rows of unit length by a model of sentence-transformers, with a cache of recent texts."""

    def __init__(self, name: str, model: SentenceTransformer) -> None:
        self.name = name
        """The name of the model, as the user gave it, which is recorded with every run that relied on it."""
        self._model = model
        self._known: dict[str, Embeddings] = {}
        # Threads encode at once, and each forgets what is old.
        self._lock = Lock()

    @cached_property
    def weights(self) -> str:
        """Return a hash of the model's weights, part of cache keys, since a folder may hold another model later."""
        digest = hashlib.sha256()
        for name, values in sorted(self._model.state_dict().items()):
            digest.update(name.encode())
            digest.update(values.cpu().numpy().tobytes())
        return digest.hexdigest()

    def encode(self, texts: Sequence[str]) -> Embeddings:
        """Return a row of unit length for every text, in order."""
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._known]
            if new:
                rows = self._model.encode(
                    [text.encode("utf-8", "replace").decode("utf-8") for text in new],
                    batch_size=_BATCH,
                    normalize_embeddings=True,
                    show_progress_bar=False,
                )
                self._known.update(zip(new, rows, strict=True))
            rows_of_texts = np.stack([self._known[text] for text in texts])
            for text in list(self._known)[: max(0, len(self._known) - _REMEMBERED)]:
                del self._known[text]
            return rows_of_texts


class CachingEncoder(Encoder):
    """An encoder that stores the vectors of each list of texts per document, by the model's weights.

    Short lists such as a summary's sentences or a question are stored too: a lookup takes a hundredth of the time of
    encoding. Vectors are rounded as stored from the first call on, so that later calls return the same. Thread-safe:
    while one thread encodes, the others wait.
    """

    def __init__(self, encoder: Encoder, vectors: Cache, document: str) -> None:
        self.name = encoder.name
        self._encoder = encoder
        self._vectors = vectors
        self._document = document
        self._lock = Lock()

    @cached_property
    def weights(self) -> str:
        """An identifier of the model's weights."""
        return self._encoder.weights

    def encode(self, texts: Sequence[str]) -> Embeddings:
        """Return a row of unit length for each text, in order."""
        if not texts:
            return self._encoder.encode(texts)
        cut = hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()
        with self._lock:
            key = json.dumps((self._document, cut, self.weights))
            if (stored := self._vectors.find([key]).get(key)) is not None:
                vectors = b64decode(stored)
            else:
                vectors = self._encoder.encode(texts).astype(_STORED_AS).tobytes()
                self._vectors.put({key: b64encode(vectors).decode()}, self._document)
        rows = np.frombuffer(vectors, dtype=_STORED_AS).reshape(len(texts), -1).astype(np.float32)
        # Rounded rows are not quite of unit length, so that no text would match itself exactly.
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(np.divide(rows, lengths, out=rows, where=lengths > 0), dtype=np.float32)


@lru_cache(maxsize=1)
def load_encoder(name_or_path: str) -> Encoder:
    """Return the encoder in a local folder, without any download, or a public model by its name."""
    model = load("SentenceTransformer", name_or_path, "the embedding model", device="cpu")
    return Encoder(name_or_path, model)


DUPLICATE = 0.6
"""The similarity from which two sentences are duplicates, of which only one is chosen."""

_DAMPING = 0.85
# With a query most of a step's weight returns to the sentences similar to it.
_QUERY_DAMPING = 0.4
_QUERY_SHARE = 0.9
_STEPS = 40
_TOLERANCE = 1e-6

# How much a sentence loses by resembling a chosen one.
_REDUNDANCY = 0.9
# The factors of a part without any sentence, and of one with its full share.
_FIRST_OF_PART = 2.0
_BEYOND_SHARE = 0.4
# The fuller the summary, the better a sentence has to be, up to this share of the chosen ones' average.
_GOOD_ENOUGH = 0.3


def rank(vectors: SentenceVectors, query: str = "") -> Weights:
    """Return the centrality of every sentence, relative to a `query` if a sentence shares a term with it; the sum is
    one."""
    if not len(vectors):
        return np.zeros(0)
    restart, damping = np.ones(len(vectors)) / len(vectors), _DAMPING
    relevance = vectors.similarity_to(query)
    if relevance.any():
        restart, damping = _QUERY_SHARE * relevance / relevance.sum() + (1 - _QUERY_SHARE) * restart, _QUERY_DAMPING
        restart = restart / restart.sum()
    itself = vectors.has_terms.astype(np.float64)
    degree = np.maximum(vectors.spread(np.ones(len(vectors))) - itself, 0.0)
    degree[degree < 1e-9] = 0.0
    joined = degree > 0
    share = np.divide(1.0, degree, out=np.zeros(len(vectors)), where=joined)
    ranks: Weights = restart
    for _ in range(_STEPS):
        passed = ranks * share
        moved = np.maximum(vectors.spread(passed) - itself * passed, 0.0)
        # A sentence without neighbours passes its rank back to the start.
        lost = float(ranks[~joined].sum())
        following = damping * (moved + lost * restart) + (1 - damping) * restart
        following /= following.sum()
        settled = float(np.abs(following - ranks).sum()) < _TOLERANCE
        ranks = following
        if settled:
            break
    return ranks


def choose(
    vectors: SentenceVectors,
    worth_of_sentences: Weights,
    words_of_sentences: Indices,
    parts: Indices,
    limit: int,
    shares: Weights,
    first: Sequence[int] = (),
) -> list[int]:
    """Choose valuable sentences of at most `limit` words that repeat little; one with no worth is never chosen.

    The sentences are in source order; `parts` numbers the part of each. `shares` are the words for each part, exceeded
    only when nothing better is left; those in `first` are taken first.
    """
    count = len(worth_of_sentences)
    chosen: list[int] = []
    gains: list[float] = []
    words_of_parts, nearest = np.zeros(len(shares)), np.zeros(count)
    is_free = np.ones(count, dtype=np.bool_)
    waiting = list(reversed(first))
    while count:
        worth = worth_of_sentences * (1 - _REDUNDANCY * nearest)
        # Zero if not available, low if the part has reached its share, high if it has no sentence.
        words = words_of_parts[parts]
        within = np.where(words + words_of_sentences > shares[parts], _BEYOND_SHARE, 1.0)
        factors = np.where(words == 0, _FIRST_OF_PART, within)
        length = words_of_parts.sum()
        factors[~is_free | (nearest >= DUPLICATE) | (length + words_of_sentences > limit)] = 0.0
        gain = worth * factors
        best = waiting.pop() if (is_given := bool(waiting)) else int(np.argmax(gain))
        good = _GOOD_ENOUGH * (length / limit) ** 2 * float(np.mean(gains)) if gains and not is_given else 0.0
        if gain[best] <= 0 or worth[best] < good:
            if is_given:
                continue
            break
        gains.append(float(worth[best]))
        chosen.append(best)
        is_free[best] = False
        words_of_parts[parts[best]] += words_of_sentences[best]
        near, same = vectors.neighbours(best)
        nearest[near] = np.maximum(nearest[near], same)
    return sorted(chosen)
