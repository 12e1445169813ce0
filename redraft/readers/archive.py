"""Zip archives, which may be crafted to unpack to more than any memory."""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from urllib.parse import unquote

from redraft.errors import DocumentError

_MOST_BYTES = 400_000_000
_MOST_OF_ONE = 200_000_000
_BLOCK = 1_000_000
_ENCRYPTED = 0x1


class Archive:
    """The parts of a zip archive by name; the total unpacked size is limited."""

    def __init__(self, data: bytes, place: str) -> None:
        self._place = place
        self._left = _MOST_BYTES
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self._names = {name: name for name in self._zip.namelist()}
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError, EOFError, UnicodeDecodeError) as error:
            raise self._broken() from error
        self._folded = {name.casefold(): name for name in self._names}

    def names(self) -> list[str]:
        return list(self._names)

    def has(self, name: str) -> bool:
        return self._real(name) is not None

    def size(self, name: str) -> int:
        """Return the size of a part in bytes, as the archive declares it."""
        real = self._real(name)
        return min(self._zip.getinfo(real).file_size, _MOST_OF_ONE) if real is not None else 0

    def part(self, name: str) -> bytes:
        real = self._real(name)
        if real is None:
            raise DocumentError(f"its part {name} is missing", place=self._place, hint="get the file again")
        if self._zip.getinfo(real).flag_bits & _ENCRYPTED:
            raise DocumentError("it is encrypted", place=self._place, hint="save it without a password first")
        made = bytearray()
        try:
            with self._zip.open(real) as file:
                while block := file.read(_BLOCK):
                    made += block
                    self._left -= len(block)
                    if self._left < 0 or len(made) > _MOST_OF_ONE:
                        raise DocumentError(
                            "unpacked it is larger than 200 MB in one part, or than 400 MB in all",
                            place=self._place,
                            hint="such a file is malicious, or contains no text; convert it to .txt first",
                        )
        except DocumentError:
            raise
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            OSError,
            NotImplementedError,
            ValueError,
            RuntimeError,
        ) as error:
            raise self._broken() from error
        return bytes(made)

    def _real(self, name: str) -> str | None:
        return name if name in self._names else self._folded.get(name.casefold())

    def _broken(self) -> DocumentError:
        return DocumentError("the archive is broken or cut off", place=self._place, hint="get the file again")


def beside(part: str, href: str) -> tuple[str, str]:
    """Return the part that a reference in another part points to, and the fragment in it."""
    path, _, fragment = href.partition("#")
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(part), unquote(path))) if path else part
    return whole.lstrip("/"), unquote(fragment)
