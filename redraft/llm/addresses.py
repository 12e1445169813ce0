"""A model's address without credentials, and keys removed from what others send."""

from __future__ import annotations

import os
import re
import unicodedata
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TypeVar, cast
from urllib.parse import urlsplit, urlunsplit

from redraft.errors import Set, UsageError

T = TypeVar("T")
REDACTED = "[redacted]"
# Servers without keys are given words such as "none", which error messages may well contain.
MIN_SECRET = 8
_VARIABLES = re.compile(r"(?:_KEY|_TOKEN|_SECRET|_PASSWORD)$", re.IGNORECASE)
_BASE64 = r"[A-Za-z0-9+/_-]"
# The bytes before a secret shift its base64, and change its first letters.
_SHARED = (0, 2, 3)


def check_key(key: str, name: str) -> None:
    """Raise `UsageError` for a key that cannot go into a header, which HTTP libraries report as a failed connection."""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(
            f"{name} is not a key: it contains a space, a control character or a letter that is not ASCII",
            hint="a key is one word of plain letters, digits and symbols; copy it again, and nothing else",
        )


def environment_keys() -> tuple[str, ...]:
    """Return the keys in the environment."""
    values = {value.strip() for name, value in os.environ.items() if _VARIABLES.search(name)}
    return tuple(sorted(value for value in values if len(value) >= MIN_SECRET))


def redacted(value: T, secrets: tuple[str, ...], also: re.Pattern[str] | None = None) -> T:
    """Return a text, or texts in lists and mappings, with the secrets removed in every encoding, and what matches the
    pattern `also`."""
    if isinstance(value, str):
        text: str = value
        for secret in secrets:
            for signs, form in _forms(secret):
                if any(sign in text for sign in signs):
                    text = form.sub(REDACTED, text)
        return cast("T", also.sub(REDACTED, text) if also else text)
    if isinstance(value, list | tuple):
        return cast("T", type(value)(redacted(part, secrets, also) for part in value))
    if isinstance(value, dict):
        return cast("T", {name: redacted(part, secrets, also) for name, part in value.items()})
    return value


@lru_cache(maxsize=64)
def _forms(secret: str) -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    """Return patterns of a secret in base64, or escaped as in URLs, JSON and HTML, each with a string that every match
    contains, for a quick test of long texts."""
    # The base64 that every text with this secret has in common, at each alignment.
    cores = []
    for shift, shared in enumerate(_SHARED):
        encoded = b64encode(b"\0" * shift + secret.encode("utf-8", "replace")).decode()
        digits = encoded.rstrip("=")
        # The bytes after it change the last letter, unless it ends with a group of four.
        cores.append(digits[shared : len(digits) - (len(digits) < len(encoded))])
    cores = [*cores, *(core.replace("+", "-").replace("/", "_") for core in cores)]
    within = "|".join(f"{_BASE64}{{0,3}}{re.escape(core)}{_BASE64}{{0,2}}={{0,2}}" for core in cores)

    escaped = ""
    for letter in secret:
        code, in_url = ord(letter), [rf"%{byte:02x}" for byte in letter.encode("utf-8", "replace")]
        forms = ["".join(in_url), rf"\\u{code:04x}", rf"&\#{code};", rf"&\#x{code:x};"]
        escaped += rf"(?:\\?{re.escape(letter)}|(?i:{'|'.join(forms)}))"
    return (tuple(cores), re.compile(within)), ((secret, "%", "\\", "&#"), re.compile(escaped))


OPENAI = "openai"
_ADDRESS = re.compile(r"@(?=https?://)")


def provider_of(model: str) -> str:
    """Return the provider in a model's name; empty for the built-in model, and if the name has none."""
    return model.partition(":")[0] if ":" in model else ""


def address_in(model: str) -> str | None:
    """Return the address in the identity of a model that was handed over: `provider:name@address`."""
    parts = _ADDRESS.split(model, maxsplit=1)
    return parts[1] if len(parts) > 1 else None


def name_of(model: str) -> str:
    """Return the model's name without its provider and address."""
    return _ADDRESS.split(model, maxsplit=1)[0].partition(":")[2]


_KEY_VARIABLE = "OPENAI_API_KEY"
DEFAULT_BASE_URL = "https://api.openai.com/v1"
# Servers other than OpenAI's own mostly want none.
_NO_KEY = "none"


def base_url(url: str | None) -> str:
    """Return the address of an OpenAI-compatible server: the given one, or the environment's, or OpenAI's own."""
    return plain_address(url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL)


Server = tuple[str, str | None, int | None]
"""Scheme, host and port. A key applies to one server."""


def server_at(url: str) -> Server:
    """Return the server behind an address."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def is_here(url: str) -> bool:
    """Return whether an address is on this machine."""
    host = urlsplit(url).hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.")


def shown_name(model: str, url: str | None) -> str:
    """Return a model's name for people: one on this machine by its port, not by the company whose protocol it has."""
    if not url or not is_here(url) or not name_of(model):
        return model
    port = urlsplit(url).port
    return f"{name_of(model)} (on this machine{f', port {port}' if port else ''})"


def key_server(urls: Sequence[str]) -> Server | None:
    """Return the one server that gets OPENAI_API_KEY from models without keys of their own: OpenAI, else the one in
    OPENAI_BASE_URL, else the first."""
    wanting = [server_at(url) for url in urls]
    usual = [server_at(DEFAULT_BASE_URL), server_at(os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL)]
    return next((server for server in (*usual, *wanting) if server in wanting), None)


def openai_key(model: str, url: str, variable: str | None, *, usual: bool) -> str:
    """Return the key for an OpenAI-compatible model, from its own variable or the usual one. Raises `UsageError` if
    OpenAI's own server would be asked without a key."""
    key = os.environ.get(variable or _KEY_VARIABLE, "").strip() if variable or usual else ""
    if not key and (variable or url == DEFAULT_BASE_URL):
        raise UsageError(
            f"{model} needs an API key",
            fix=(f"set {variable or _KEY_VARIABLE}, or use ", Set("model", "extractive"), ", which needs none"),
        )
    check_key(key, variable or _KEY_VARIABLE)
    return key or _NO_KEY


def key_place_of(model: str, roles: str, variable: str) -> str:
    """Return where the key of a model in these roles comes from, in words."""
    return f"{variable}, which has the key of {model}{f' ({roles})' if roles else ''}"


def plain_address(url: str) -> str:
    """Return the address without user, password, query and fragment. Raises `UsageError` for anything but http(s)."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError("the base URL is not an http(s) address", hint="for example http://localhost:11434/v1")
    is_host = False
    with suppress(UnicodeError):
        is_host = bool(parts.hostname.encode("idna"))
    if not is_host or any(unicodedata.category(letter)[0] in "CZ" for letter in url.strip()):
        raise UsageError(
            "the base URL has characters that are not allowed in an address", hint="type it instead of copying it"
        )
    host = parts.hostname if ":" not in parts.hostname else f"[{parts.hostname}]"
    address = f"{host}:{port}" if port else host
    return urlunsplit((parts.scheme, address, parts.path.rstrip("/"), "", ""))
