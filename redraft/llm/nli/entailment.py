"""A cross-encoder of three classes: how likely it is that a claim follows from a premise, or is contradicted by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from redraft.text.embeddings import load, not_loaded
from redraft.text.sentences import sentences

WHAT = "the entailment model"
_CLASSES = ("entailment", "neutral", "contradiction")
_BATCH = 32
# Where neither the tokenizer nor the model says how much it reads.
_USUAL_LENGTH = 512
# What a tokenizer without a limit has for one.
_NO_LIMIT = 1_000_000
_REMEMBERED = 50_000


class Odds(NamedTuple):
    """How likely each class is; they add up to one."""

    entailment: float
    neutral: float
    contradiction: float


class Entailment:
    """The model, which remembers what it was asked last: the same is held against the same more than once."""

    def __init__(self, name_or_path: str, model: Any) -> None:
        self._model = model
        self._columns = _columns(name_or_path, model.config.id2label or {})
        self.length = _length(model)
        """The tokens of a premise and a claim together."""
        self._around: int = model.tokenizer.num_special_tokens_to_add(pair=True)
        self._known: dict[tuple[str, str], Odds] = {}

    def odds(self, pairs: Sequence[tuple[str, str]]) -> list[Odds]:
        """The odds of each pair of a premise and a claim, in order."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        if new:
            rows = self._model.predict(
                [(_plain(premise), _plain(claim)) for premise, claim in new],
                batch_size=_BATCH,
                apply_softmax=True,
                show_progress_bar=False,
            )
            for pair, row in zip(new, rows, strict=True):
                self._known[pair] = Odds(*(float(row[column]) for column in self._columns))
        found = [self._known[pair] for pair in pairs]
        for pair in list(self._known)[: max(0, len(self._known) - _REMEMBERED)]:
            del self._known[pair]
        return found

    def tokens(self, text: str) -> int:
        """How many tokens a text has by itself."""
        return len(self._model.tokenizer(_plain(text), add_special_tokens=False, verbose=False)["input_ids"])

    def room(self, claim: str) -> int:
        """The tokens that there is room for beside a claim."""
        return self.length - self._around - self.tokens(claim)

    def windows(self, text: str, room: int) -> list[str]:
        """A text in stretches of so many tokens at most, each of as many whole sentences as fit.

        A sentence that does not fit is cut between words, and a word that does not fit is left out.
        """
        pieces = [
            piece for start, end in sentences(text) for piece in self._fitting(text[start:end].split(), room) if piece
        ]
        found: list[str] = []
        for piece in pieces:
            if found and self.tokens(joined := f"{found[-1]} {piece}") <= room:
                found[-1] = joined
            else:
                found.append(piece)
        return found

    def _fitting(self, words: list[str], room: int) -> list[str]:
        """Some words in as few pieces as fit, as nearly as halving them comes to."""
        text = " ".join(words)
        if self.tokens(text) <= room:
            return [text]
        middle = len(words) // 2
        return [*self._fitting(words[:middle], room), *self._fitting(words[middle:], room)] if middle else []


@lru_cache(maxsize=1)
def load_entailment(name_or_path: str) -> Entailment:
    """The model in a local folder, for which nothing is ever fetched, or a public one by its name."""
    return Entailment(name_or_path, load("CrossEncoder", name_or_path, WHAT))


def _columns(name_or_path: str, labels: Mapping[Any, str]) -> list[int]:
    """In which column each of the classes stands, as the model's configuration has it: models differ in that."""
    known = {str(label).strip().casefold(): int(column) for column, label in labels.items()}
    if sorted(known) != sorted(_CLASSES):
        there = ", ".join(sorted(known)) or "none"
        raise not_loaded(
            name_or_path,
            WHAT,
            f"its classes are to be {', '.join(_CLASSES)}, and its configuration (id2label) has {there}",
        )
    return [known[name] for name in _CLASSES]


def _length(model: Any) -> int:
    """The most tokens that the model reads."""
    positions = getattr(model.config, "max_position_embeddings", None)
    # Some models keep two of their positions for themselves.
    said = [model.max_seq_length, model.tokenizer.model_max_length, positions - 2 if positions else None]
    return min((int(one) for one in said if one and one < _NO_LIMIT), default=_USUAL_LENGTH)


def _plain(text: str) -> str:
    """A text that a tokenizer takes: half of a pair of surrogates becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")
