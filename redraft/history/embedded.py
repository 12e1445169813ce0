"""Embeddings of a document's sentences that are made once and kept in the store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np

from redraft.store.parents import Ancestry
from redraft.text.embeddings import Embeddings, Encoder, weights_of

# Fewer are made as fast as they are looked up.
_FEWEST = 64
# Half of the room, and nothing that a cosine would show.
_KEPT_AS = np.float16


class KeptEncoder:
    """An encoder that remembers long lists of sentences of one document, by how it was cut and by the model's weights.

    They are as they are kept from the first time on, so that whoever looks again finds the same.
    """

    def __init__(self, encoder: Encoder, ancestry: Ancestry, document: str) -> None:
        self._encoder = encoder
        self._ancestry = ancestry
        self._document = document
        self.weights = weights_of(encoder)
        """What tells its model from every other."""

    @property
    def name(self) -> str:
        """The model, as the user named it."""
        return self._encoder.name

    def encode(self, texts: Sequence[str]) -> Embeddings:
        """A row of unit length for every text, in order."""
        if len(texts) < _FEWEST:
            return self._encoder.encode(texts)
        cut = hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()
        kept = self._ancestry.vectors(self._document, cut, self.weights)
        if kept is None:
            kept = self._encoder.encode(texts).astype(_KEPT_AS).tobytes()
            self._ancestry.keep_vectors(self._document, cut, self.weights, kept)
        return np.frombuffer(kept, dtype=_KEPT_AS).reshape(len(texts), -1).astype(np.float32)
