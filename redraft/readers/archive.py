"""Zip archives, which are untrusted: what they unpack to is limited."""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Mapping
from urllib.parse import unquote

from redraft.errors import DocumentError

_MAX_BYTES = 400_000_000
_MAX_PART_BYTES = 200_000_000
_ENCRYPTED = 0x1
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError, RuntimeError)


class Archive:
    """The parts of a zip archive by name; the total unpacked size is limited."""

    def __init__(self, data: bytes, place: str) -> None:
        self._place = place
        self._left = _MAX_BYTES
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self.names = self._zip.namelist()
        except _BROKEN as error:
            raise self._error() from error
        self._by_key = {name.casefold(): name for name in self.names} | {name: name for name in self.names}

    def has(self, name: str) -> bool:
        return self._name(name) is not None

    def size(self, name: str) -> int:
        """Return the size of a part in bytes, as the archive declares it."""
        name = self._name(name) or ""
        return min(self._zip.getinfo(name).file_size, _MAX_PART_BYTES) if name else 0

    def part(self, name: str) -> bytes:
        """Return the content of a part."""
        stored_name = self._name(name)
        if stored_name is None:
            raise DocumentError(f"its part {name} is missing", place=self._place, hint="get the file again")
        if self._zip.getinfo(stored_name).flag_bits & _ENCRYPTED:
            raise DocumentError("it is encrypted", place=self._place, hint="save it without a password first")
        limit = min(self._left, _MAX_PART_BYTES)
        try:
            with self._zip.open(stored_name) as file:
                content = file.read(limit + 1)
        except _BROKEN as error:
            raise self._error() from error
        self._left -= len(content)
        if len(content) > limit:
            raise DocumentError(
                "unpacked it is larger than 200 MB in one part, or than 400 MB in all",
                place=self._place,
                hint="such a file is malicious, or contains no text; convert it to .txt first",
            )
        return content

    def _name(self, name: str) -> str | None:
        return self._by_key.get(name) or self._by_key.get(name.casefold())

    def _error(self) -> DocumentError:
        return DocumentError("the archive is broken or cut off", place=self._place, hint="get the file again")


def zipped(parts: Mapping[str, bytes]) -> io.BytesIO:
    """Return an archive of these parts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file


def resolve(part: str, href: str) -> tuple[str, str]:
    """Return the part that a reference in another part points to, and the fragment in it."""
    path, _, fragment = href.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(part), unquote(path))) if path else part
    return target.lstrip("/"), unquote(fragment)
