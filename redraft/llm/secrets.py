"""Keys: validates them, and removes them from external texts in any encoding."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar, cast

from redraft.errors import UsageError

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage

T = TypeVar("T")
REDACTED = "[redacted]"
# Servers without keys are given words such as "none", which error messages may well contain.
LEAST_SECRET = 8
_VARIABLES = re.compile(r"(?:_KEY|_TOKEN|_SECRET|_PASSWORD)$", re.IGNORECASE)
_HEADERS = re.compile(r"authorization|key|token|secret|cookie", re.IGNORECASE)
_IN_THE_MESSAGE = ("content", "additional_kwargs", "tool_calls", "invalid_tool_calls", "response_metadata")
_BASE64 = r"[A-Za-z0-9+/_-]"
# The bytes before a secret shift its base64, and change its first letters.
_SHARED = (0, 2, 3)


def check_key(key: str, name: str) -> None:
    """Raise `UsageError` for a key that cannot go into a header, which HTTP libraries report as a failed connection."""
    flaws = {
        "a line break": "\n" in key or "\r" in key,
        "a space": " " in key or "\t" in key,
        "a letter that is not ASCII": not key.isascii(),
        "a control character": not key.isprintable(),
    }
    if found := next((flaw for flaw, there in flaws.items() if there), None):
        raise UsageError(
            f"{name} is not a key: it contains {found}",
            hint="a key is one word of plain letters, digits and symbols; copy it again, and nothing else",
        )


def environment_keys() -> tuple[str, ...]:
    """Return the keys in the environment."""
    found = {value.strip() for name, value in os.environ.items() if _VARIABLES.search(name)}
    return tuple(sorted(value for value in found if len(value) >= LEAST_SECRET))


def header_secrets(headers: object) -> list[str]:
    """Return the secrets in a chat model's own headers: the last word of `Bearer KEY` and the like."""
    if not isinstance(headers, Mapping):
        return []
    return [str(value).split()[-1] for name, value in headers.items() if value and _HEADERS.search(str(name))]


def redacted(value: T, secrets: tuple[str, ...]) -> T:
    """Return a text, or texts in lists and mappings, with the secrets removed in every encoding."""
    if isinstance(value, str):
        text: str = value
        for secret in secrets:
            for signs, form in _forms(secret):
                if any(sign in text for sign in signs):
                    text = form.sub(REDACTED, text)
        return cast(T, text)
    if isinstance(value, list):
        return cast(T, [redacted(one, secrets) for one in value])
    if isinstance(value, dict):
        return cast(T, {name: redacted(one, secrets) for name, one in value.items()})
    return value


def message_without(message: AIMessage, secrets: tuple[str, ...]) -> AIMessage:
    """Return a message with the secrets removed."""
    return message.model_copy(update={name: redacted(getattr(message, name), secrets) for name in _IN_THE_MESSAGE})


@lru_cache(maxsize=64)
def _forms(secret: str) -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    """Return patterns of a secret in base64, or escaped as in URLs, JSON and HTML, each with a string that every match
    contains, for a quick test of long texts."""
    cores = _in_base64(secret)
    cores = [*cores, *(core.replace("+", "-").replace("/", "_") for core in cores)]
    within = "|".join(f"{_BASE64}{{0,3}}{re.escape(core)}{_BASE64}{{0,2}}={{0,2}}" for core in cores)
    escaped = "".join(map(_letter, secret))
    return (tuple(cores), re.compile(within)), ((secret, "%", "\\", "&#"), re.compile(escaped))


def _letter(letter: str) -> str:
    code = ord(letter)
    escaped = [rf"%{byte:02x}" for byte in letter.encode("utf-8", "replace")]
    forms = ["".join(escaped), rf"\\u{code:04x}", rf"&\#{code};", rf"&\#x{code:x};"]
    return rf"(?:\\?{re.escape(letter)}|(?i:{'|'.join(forms)}))"


def _in_base64(secret: str) -> list[str]:
    """Return the base64 that every text with this secret has in common, at each alignment."""
    cores = []
    for shift, shared in enumerate(_SHARED):
        encoded = b64encode(b"\0" * shift + secret.encode("utf-8", "replace")).decode()
        whole = encoded.rstrip("=")
        # The bytes after it change the last letter, unless it ends with a group of four.
        cores.append(whole[shared : len(whole) - (len(whole) < len(encoded))])
    return cores
