"""Reading JSON as models write it: with trailing commas, in Python's literals, between single quotation marks.

Nothing is filled in: what breaks off, or lacks a mark without which it could mean something else, is no value.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass

# The beginning of an object, of a list of them, or of a list of texts: no word of a text looks so.
_BEGINS = re.compile(r"""[{\[]\s*["'{\[}]""")
_TOKEN = re.compile(
    r"""(?P<blank>\s++)|(?P<opening>[{\[])|(?P<closing>[}\]])|(?P<comma>,)|(?P<colon>:)
    |(?P<double>"(?:[^"\\]|\\.)*+")|(?P<single>'(?:[^'\\]|\\.)*+')
    |(?P<number>-?\d++(?:\.\d++)?(?:[eE][+-]?\d++)?(?![\w.]))|(?P<word>[A-Za-z]++)""",
    re.DOTALL | re.VERBOSE,
)
_WORDS = {"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}
_ESCAPE = re.compile(r'\\(.)|(")', re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_DEEPEST = 60
_MOST_READ = 300_000
# A literal or an escape that is cut off is reported where it begins, which is at most so far from the end.
_CUT_LITERAL = 6


class BrokenOffError(ValueError):
    """The text ends before the value does."""


class NoJsonError(ValueError):
    """No value begins there."""


@dataclass(slots=True)
class Loose:
    """Reads the values of one text."""

    text: str
    left: int = _MOST_READ
    """The characters that may still be read otherwise than to the letter."""

    def value(self, start: int) -> tuple[object, int]:
        """The value that begins there, and where it ends."""
        try:
            return _DECODER.raw_decode(self.text, start)
        except json.JSONDecodeError as error:
            cut = error.msg.startswith("Unterminated") or error.pos >= len(self.text) - _CUT_LITERAL
            if self.left > 0 and _BEGINS.match(self.text, start):
                try:
                    return self._loosely(start)
                except NoJsonError:
                    pass
            raise (BrokenOffError if cut else NoJsonError)(error.msg) from None
        except (ValueError, RecursionError) as error:
            raise NoJsonError(str(error)) from None

    def _loosely(self, start: int) -> tuple[object, int]:
        end, strict = self._strict(start)
        try:
            return _DECODER.decode(strict), end
        except (ValueError, RecursionError) as error:
            raise NoJsonError(str(error)) from None

    def _strict(self, start: int) -> tuple[int, str]:
        """Where the value ends, and how it would stand in JSON."""
        parts: list[str] = []
        within: list[str] = []
        at = start
        while found := _TOKEN.match(self.text, at):
            at = found.end()
            self.left -= at - found.start()
            kind, token = found.lastgroup or "", found.group()
            if kind == "closing" and parts[-1] == ",":
                parts.pop()
            _keep_count(within, token)
            if kind != "blank":
                parts.append(_in_json(kind, token, last=at == len(self.text)))
            if not within:
                return at, "".join(parts)
            if len(within) > _DEEPEST or self.left < 0:
                raise NoJsonError("it is too deep, or too long")
        # Between two marks a text has no end only where there is no other mark of the kind.
        if at >= len(self.text) - _CUT_LITERAL or self.text[at] in "\"'":
            raise BrokenOffError("the text ends within the value")
        raise NoJsonError("there is no value")


def _keep_count(within: list[str], token: str) -> None:
    """Keep account of the brackets that are still to be closed."""
    if token in _CLOSING:
        within.append(_CLOSING[token])
    elif token in _CLOSING.values() and within.pop() != token:
        raise NoJsonError("the brackets do not match")


def _in_json(kind: str, token: str, *, last: bool) -> str:
    if kind == "word":
        if last:
            raise BrokenOffError("the text ends within a word")
        if token not in _WORDS:
            raise NoJsonError(f"{token} is no value")
        return _WORDS[token]
    return _quoted(token) if kind in ("double", "single") else token


def _quoted(token: str) -> str:
    """A text with the escapes and between the marks that JSON has."""

    def escaped(found: re.Match[str]) -> str:
        letter = found[1]
        if letter is None:
            return '\\"'
        if letter in '"\\/bfnrtu':
            return found[0]
        # Marks are escaped as in Markdown; a letter is that of a formula.
        return f"\\\\{letter}" if letter.isalnum() else letter

    return f'"{_ESCAPE.sub(escaped, token[1:-1])}"'


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object without the names that two things are said of: neither is believed."""
    said: dict[str, object] = {}
    disputed = {name for name, value in pairs if said.setdefault(name, value) != value}
    return {name: value for name, value in said.items() if name not in disputed}


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large")
    return number


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


# Python reads NaN and Infinity, which would become scores, and refuses a line break in a string, which does no harm.
_DECODER = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=_no_number, object_pairs_hook=_object)
