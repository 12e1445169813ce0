"""Texts as points in a space of meanings, by a model of sentence-transformers (the extra `embeddings`)."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stderr
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from redraft.errors import UsageError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Embeddings = npt.NDArray[np.float32]

# A model's public name has at most one slash; everything else can only be meant as a folder.
_PUBLIC_NAME = re.compile(r"\w[\w.\-]*(?:/\w[\w.\-]*)?")
_REMEMBERED = 20_000
_BATCH = 32


class Encoder(Protocol):
    """Turns texts into rows of unit length; `name` is recorded with every run that relied on it."""

    @property
    def name(self) -> str:
        """The model, as the user named it."""
        ...

    def encode(self, texts: Sequence[str]) -> Embeddings:
        """A row of unit length for every text, in order."""
        ...


@lru_cache(maxsize=1)
def load_encoder(name_or_path: str) -> Encoder:
    """The encoder in a local folder, for which nothing is ever fetched, or a public model by its name."""
    folder = os.path.expanduser(name_or_path)
    local = os.path.isdir(folder)  # unlike pathlib's, it takes any string
    if not local and not _PUBLIC_NAME.fullmatch(name_or_path):
        raise _not_found(name_or_path, "no such folder")
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise UsageError(
            f"embeddings need a package that is not installed ({error})",
            hint='pip install "redraft[embeddings]", or choose what needs no embeddings',
        ) from error
    # A folder is read in a moment, and the bar that goes with it is noise. A download may take minutes, and keeps it.
    with redirect_stderr(io.StringIO()) if local else nullcontext():
        try:
            model = SentenceTransformer(
                folder if local else name_or_path, device="cpu", local_files_only=local, trust_remote_code=False
            )
        except Exception as error:  # a broken file can be any error of four libraries
            reason = next((line for line in str(error).splitlines() if line.strip()), "")
            raise _not_found(name_or_path, f"{type(error).__name__}: {reason}") from error
    return _SentenceTransformerEncoder(name_or_path, model)


def _not_found(name_or_path: str, reason: str) -> UsageError:
    return UsageError(
        f"the embedding model cannot be loaded: {reason}",
        place=name_or_path,
        hint="give the folder that a sentence-transformers model was saved to, or the name of a public one",
    )


class _SentenceTransformerEncoder:
    """Remembers the texts it has seen last, for the same answers come again and again."""

    def __init__(self, name: str, model: SentenceTransformer) -> None:
        self.name = name
        self._model = model
        self._known: dict[str, Embeddings] = {}

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
