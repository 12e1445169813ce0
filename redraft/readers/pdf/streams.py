"""The compressed streams of a PDF file: how many are damaged or end too early, of which PDFium says nothing."""

from __future__ import annotations

import re
import zlib

_STREAM = re.compile(rb">>\s*stream\r?\n")
_LONGEST_HEAD = 2_000
# What is no page's text: pictures, fonts, and the tables of the file itself.
_OTHER = re.compile(
    rb"/Subtype\s*/Image|/Length[123]\b|/FunctionType|/Type\s*/(?:XRef|Metadata|EmbeddedFile)|/ICCBased|/N\s+\d"
)
_FLATE = re.compile(rb"/Filter\s*(?:\[\s*)?/(?:FlateDecode|Fl)\b")
_BLOCK, _MOST = 100_000, 400_000_000


def damaged_streams(data: bytes) -> tuple[int, int]:
    """How many streams that may hold text cannot be unpacked to their end, of how many."""
    if b"/Encrypt" in data:
        return 0, 0
    damaged = found = 0
    left = _MOST
    for match in _STREAM.finditer(data):
        head = data[max(0, match.start() - _LONGEST_HEAD) : match.start()].rpartition(b" obj")[2]
        if _OTHER.search(head) or not _FLATE.search(head):
            continue
        found += 1
        end = data.find(b"endstream", match.end())
        is_whole, size = _unpacked(data[match.end() : end if end >= 0 else len(data)], left)
        damaged += not is_whole
        left -= size
        if left <= 0:
            break
    return damaged, found


def _unpacked(packed: bytes, most: int) -> tuple[bool, int]:
    """Whether a stream unpacks to its end, and to how many bytes."""
    unpacking, size = zlib.decompressobj(), 0
    try:
        while packed and not unpacking.eof and size < most:
            size += len(unpacking.decompress(packed, _BLOCK))
            packed = unpacking.unconsumed_tail
    except zlib.error:
        return False, size
    return unpacking.eof or size >= most, size
