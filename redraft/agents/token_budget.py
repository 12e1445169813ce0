"""The room for a reply: what its entries need in the document's own language, in the widest form that models write.

A reply of JSON may be indented, and its frame then takes as many tokens as its words. The words take what words of the
document take, and a quote what one of its longer sentences takes. So the same questions need twice the room in Russian
that they need in English.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil

from redraft.domain import Span
from redraft.settings import LEVEL_RATIO
from redraft.text.sentences import sentences
from redraft.text.tokens import Tokenizer
from redraft.text.words import UNSPACED, count_words

# As much is looked at, in pieces from all parts of a document.
_PIECES, _PIECE = 10, 2_000
# Three of four sentences are no longer than that one.
_LONGER = 0.75
_SHORTEST, _LONGEST = 16, 240
# Where letters count as words, so many of them make one of another language.
_LETTERS_A_WORD = 2
_LETTER = re.compile(rf"[{UNSPACED}]")


@dataclass(frozen=True, slots=True)
class Wording:
    """How a document's language comes out in tokens."""

    per_word: float = 1 / LEVEL_RATIO
    """The tokens of a word."""
    sentence: int = 40
    """The tokens of a longer sentence."""


USUAL = Wording()
"""That of English, where nothing is known of a document."""


@dataclass(frozen=True, slots=True)
class EntryBudget:
    """One entry of a reply: the tokens of its frame, the words that are written for it, and the sentences copied."""

    frame: int
    words: int = 0
    sentences: int = 0

    def tokens(self, wording: Wording) -> int:
        """What it may need where words and sentences are like these."""
        return ceil(self.frame + self.words * wording.per_word + self.sentences * wording.sentence)


def wording_of(text: str, tokenizer: Tokenizer, per_word: float) -> Wording:
    """The wording of a document whose words take so many tokens."""
    step = max(_PIECE, len(text) // _PIECES)
    pieces = [text[at : at + _PIECE] for at in range(0, len(text), step)]
    found = [piece[span.start : span.end] for piece in pieces for span in _whole(piece)]
    counts = sorted(tokenizer.count(sentence) for sentence in found if count_words(sentence))
    words = sum(map(count_words, pieces))
    unspaced = 2 * sum(len(_LETTER.findall(piece)) for piece in pieces) > words
    longer = counts[int(_LONGER * (len(counts) - 1))] if counts else USUAL.sentence
    return Wording(per_word * (_LETTERS_A_WORD if unspaced else 1), min(_LONGEST, max(_SHORTEST, longer)))


def _whole(piece: str) -> list[Span]:
    """The sentences of a piece that is cut out of a text, without the first and the last, which may be cut through."""
    found = sentences(piece)
    return found[1:-1] if len(found) > 2 else found
