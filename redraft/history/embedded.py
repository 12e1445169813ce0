"""What a model of embeddings says of a document, and of what is held against it, made once and kept in the store."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence

import numpy as np

from redraft.store.parents import Ancestry
from redraft.text.embeddings import Embeddings, Encoder

# Half of the room, and nothing that a cosine would show.
_KEPT_AS = np.float16


class KeptEncoder:
    """An encoder that remembers the lists that it was asked for within one document, by the model's weights.

    Also short ones, the sentences of a summary or a question: to look them up takes a hundredth of what it takes to
    encode them. They are as they are kept from the first time on, so that whoever looks again finds the same. Several
    threads may ask at once: for what one of them makes the others wait.
    """

    def __init__(self, encoder: Encoder, ancestry: Ancestry, document: str) -> None:
        self._encoder = encoder
        self._ancestry = ancestry
        self._document = document
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The model, as the user named it."""
        return self._encoder.name

    @property
    def weights(self) -> str:
        """What tells its model from every other."""
        return self._encoder.weights

    def encode(self, texts: Sequence[str]) -> Embeddings:
        """A row of unit length for every text, in order."""
        if not texts:
            return self._encoder.encode(texts)
        cut = hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()
        with self._lock:
            kept = self._ancestry.vectors(self._document, cut, self.weights)
            if kept is None:
                kept = self._encoder.encode(texts).astype(_KEPT_AS).tobytes()
                self._ancestry.keep_vectors(self._document, cut, self.weights, kept)
        rows = np.frombuffer(kept, dtype=_KEPT_AS).reshape(len(texts), -1).astype(np.float32)
        # What was rounded is not quite of unit length any more, and nothing would be exactly like itself.
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(np.divide(rows, lengths, out=rows, where=lengths > 0), dtype=np.float32)
