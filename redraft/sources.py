"""Reads files and standard input up to a size limit, and writes files atomically."""

from __future__ import annotations

import errno
import json
import os
import shlex
import stat
import sys
import tempfile
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from redraft.errors import Advice, DocumentError, RedraftError, RunCommand, Set, UsageError

STDIN = "-"
MAX_BYTES = 200_000_000
"""The default size limit of a source."""
MAX_SETTINGS_BYTES = 1_000_000
"""The size limit of settings, price and prompt files."""

# A text is not taken for a path if it is longer, has too many words, or a few words and no suffix, unless the file
# exists.
_LONGEST_PATH, _MAX_WORDS, _FEW_WORDS = 1000, 15, 3
_KINDS = {stat.S_IFIFO: "a named pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}
size_limit: ContextVar[int] = ContextVar("size_limit", default=MAX_BYTES)
"""The size limit of sources."""


def is_inline_text(source: str) -> bool:
    """Return whether a string is a text passed in place of a path, which must not be echoed: nothing exists there, and
    it reads like a sentence."""
    try:
        if b"\0" in os.fsencode(source):
            return True
    except UnicodeEncodeError:
        return True
    words = source.split()
    suffix = Path(words[-1]).suffix if words else ""
    like_text = "\n" in source or len(words) > _MAX_WORDS or (len(words) > _FEW_WORDS and suffix in ("", "."))
    return (len(source) > _LONGEST_PATH or like_text) and not os.path.exists(source)


def path_of(source: str, instead: str) -> Path:
    """Return a path; raise for a text in its place, without quoting it, as it may be long or private. `instead` says
    what takes a text."""
    if not source:
        raise UsageError("the file name is empty", hint="check the path")
    if is_inline_text(source):
        raise UsageError(
            f"a text of {len(source):,} characters was given where a path was expected",
            hint=f"give the path of a file, or - to read the text from stdin; from Python, {instead}",
        )
    return Path(source).expanduser()


def read_source(path: Path | None, source: str, limit: int | None = None) -> bytes:
    """Return the bytes of the file that a user calls `source`, or of standard input; raise `DocumentError` if it cannot
    be read."""
    try:
        return read_file(path, limit)
    except FileNotFoundError:
        raise DocumentError("no such file", place=source, hint="check the path") from None
    except IsADirectoryError:
        fix = ("to summarize each file in it: ", RunCommand("batch", more=(shlex.quote(source),)))
        raise DocumentError("it is a directory", place=source, fix=fix) from None
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0, "check the path")
        place = "stdin" if path is None else source
        raise DocumentError(error.strerror or str(error), place=place, fix=advice) from error


_ADVICE: dict[int, Advice] = {
    errno.EFBIG: ("if that is intended, allow more with ", Set("max_source")),
    errno.EINVAL: "give a file, or pipe the text into - (stdin)",
}


def read_file(path: Path | None, limit: int | None = None) -> bytes:
    """Return the bytes of a file, or with None of standard input; raises `OSError` where it is missing, larger than
    `limit`, or not a regular file (a pipe or device could block forever)."""
    if path is None:
        if sys.stdin is None:
            raise OSError(errno.EBADF, "standard input is closed", STDIN)
        return _at_most(sys.stdin.buffer, limit, STDIN)
    if (kind := stat.S_IFMT(path.stat().st_mode)) in _KINDS:
        raise OSError(errno.EINVAL, f"it is {_KINDS[kind]}, not a file", str(path))
    # Without blocking, since the file may have become a pipe after the check.
    flags = getattr(os, "O_NONBLOCK", 0)
    with open(path, "rb", opener=lambda name, mode: os.open(name, mode | flags)) as file:
        if stat.S_IFMT(os.fstat(file.fileno()).st_mode) in _KINDS:
            raise OSError(errno.EINVAL, "it is not a file", str(path))
        return _at_most(file, limit, str(path))


def strict_json(data: bytes) -> Any:
    """Parse JSON in UTF-8; raises `ValueError` for what other parsers may read differently, such as a name that occurs
    twice in an object."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        by_name: dict[str, Any] = {}
        for name, value in pairs:
            if name in by_name:
                raise ValueError(f'"{name:.60}" occurs twice in one object')
            by_name[name] = value
        return by_name

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not a number")

    return json.loads(data.decode("utf-8-sig"), object_pairs_hook=members, parse_constant=refuse)


def readable_size(count: int) -> str:
    """Return a number of bytes in readable form."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.4g} {name}"
    return f"{count} byte{'s' * (count != 1)}"


def _at_most(file: BinaryIO, most: int | None, place: str) -> bytes:
    limit = size_limit.get() if most is None else most
    data = file.read(limit + 1)
    if data is None:
        raise OSError(errno.EINVAL, "it is not a file: there is nothing to read yet", place)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {readable_size(limit)}", place)
    return data


def write(path: Path, content: str | bytes, hint: str) -> None:
    """Write a file completely or not at all, a pipe or device as it is; the error's hint says what to do."""
    data = content.encode() if isinstance(content, str) else content
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        path = path.resolve()
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~mask)
            os.replace(name, path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise RedraftError(f"it cannot be written: {error.strerror}", place=str(path), hint=hint) from error
