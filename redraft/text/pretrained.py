"""Models of sentence-transformers (the extra `embeddings`): from a folder, for which nothing is fetched, or by name."""

from __future__ import annotations

import io
import os
import re
from contextlib import nullcontext, redirect_stderr
from typing import Any, Literal

from redraft.errors import UsageError

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
