"""Texts as points in a space of meanings, by a model of sentence-transformers (the extra `embeddings`)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from redraft.text.pretrained import load

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Embeddings = npt.NDArray[np.float32]

_REMEMBERED = 20_000
_BATCH = 32


class Encoder(Protocol):
    """Turns texts into rows of unit length; `name` is recorded with every run that relied on it."""

    @property
    def name(self) -> str:
        """The model, as the user named it."""
        ...

    @property
    def weights(self) -> str:
        """What tells the model from every other, whatever it is called: what it has said is remembered under that."""
        ...

    def encode(self, texts: Sequence[str]) -> Embeddings:
        """A row of unit length for every text, in order."""
        ...


@lru_cache(maxsize=1)
def load_encoder(name_or_path: str) -> Encoder:
    """The encoder in a local folder, for which nothing is ever fetched, or a public model by its name."""
    model = load("SentenceTransformer", name_or_path, "the embedding model", device="cpu")
    return _SentenceTransformerEncoder(name_or_path, model)


class _SentenceTransformerEncoder:
    """Remembers the texts it has seen last, for the same answers come again and again."""

    def __init__(self, name: str, model: SentenceTransformer) -> None:
        self.name = name
        self._model = model
        self._known: dict[str, Embeddings] = {}

    @cached_property
    def weights(self) -> str:
        """A hash of them: a folder may hold another model tomorrow."""
        found = hashlib.sha256()
        for name, values in sorted(self._model.state_dict().items()):
            found.update(name.encode())
            found.update(values.cpu().numpy().tobytes())
        return found.hexdigest()

    def encode(self, texts: Sequence[str]) -> Embeddings:
        """A row of unit length for every text, in order."""
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            rows = self._model.encode(
                [text.encode("utf-8", "replace").decode("utf-8") for text in new],
                batch_size=_BATCH,
                normalize_embeddings=True,
                show_progress_bar=False,
            )
            self._known.update(zip(new, rows, strict=True))
        found = np.stack([self._known[text] for text in texts])
        for text in list(self._known)[: max(0, len(self._known) - _REMEMBERED)]:
            del self._known[text]
        return found
