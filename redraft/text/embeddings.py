"""Embeddings by a sentence-transformers model (the extra `embeddings`), loaded from a folder or by name."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stderr
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from redraft.errors import UsageError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


_REFUSES_CODE = 6
# A model's public name has at most one slash; everything else can only be meant as a folder.
_PUBLIC_NAME = re.compile(r"\w[\w.\-]*(?:/\w[\w.\-]*)?")


def folder_of(name_or_path: str) -> str | None:
    """The local folder that is meant; None for a public name."""
    folder = os.path.expanduser(name_or_path)
    return folder if os.path.isdir(folder) else None  # unlike pathlib's, it takes any string


def check_name(name_or_path: str, what: str) -> None:
    """Refuse what is neither a folder nor a public name. `what` the model is, is said."""
    if folder_of(name_or_path) is None and not _PUBLIC_NAME.fullmatch(name_or_path):
        raise not_loaded(name_or_path, what, "no such folder")


def load(kind: Literal["SentenceTransformer", "CrossEncoder"], name_or_path: str, what: str, **options: Any) -> Any:
    """A model of one of the classes of sentence-transformers."""
    check_name(name_or_path, what)
    folder = folder_of(name_or_path)
    try:
        import sentence_transformers
    except ImportError as error:
        raise UsageError(
            f"{what} needs a package that is not installed ({error})",
            hint='pip install "redraft[embeddings]", or choose what needs none',
        ) from error
    _check_version(str(sentence_transformers.__version__), what)
    # A folder is read in a moment, and the bar that goes with it is noise. A download may take minutes, and keeps it.
    with redirect_stderr(io.StringIO()) if folder else nullcontext():
        try:
            return getattr(sentence_transformers, kind)(
                folder or name_or_path, local_files_only=folder is not None, trust_remote_code=False, **options
            )
        except Exception as error:  # a broken file can be any error of four libraries
            reason = next((line for line in str(error).splitlines() if line.strip()), "")
            raise not_loaded(name_or_path, what, f"{type(error).__name__}: {reason}") from error


def _check_version(version: str, what: str) -> None:
    """Before version 6 a folder may bring modules of its own, which are run though remote code is not trusted."""
    first = version.partition(".")[0]
    if not first.isdecimal() or int(first) < _REFUSES_CODE:
        raise UsageError(
            f"{what} needs sentence-transformers {_REFUSES_CODE} or later, which runs no program of a model's folder;"
            f" {version} is installed",
            hint='pip install --upgrade "redraft[embeddings]"',
        )


def not_loaded(name_or_path: str, what: str, reason: str) -> UsageError:
    """Why a model is of no use."""
    return UsageError(
        f"{what} cannot be loaded: {reason}",
        place=name_or_path,
        hint="give the folder that a sentence-transformers model was saved to, or the name of a public one",
    )


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
