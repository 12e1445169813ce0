"""A model's address without credentials, and keys removed from what others send."""

from __future__ import annotations

import json
import os
import re
import tomllib
import unicodedata
from base64 import b64encode
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit, urlunsplit

import httpx2

from redraft.errors import Set, UsageError
from redraft.text.sanitizer import one_line

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


_MAX_BYTES = 4 * 1024 * 1024
_FEW_SECONDS = 3.0


class ModelServer(httpx2.Client):
    """A client of a server that is queried about its models, with no redirects and limited responses; invalid answers
    are ignored."""

    def __init__(self, url: str, key: str = "", *, seconds: float = _FEW_SECONDS, by_proxy: bool = True) -> None:
        """Servers on this machine are asked without the environment's proxy."""
        self.url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        # Reading the certificates takes longer than the request does.
        checked = by_proxy or self.url.startswith("https:")
        super().__init__(timeout=seconds, headers=headers, trust_env=by_proxy, verify=checked)
        self.gone = False
        """Whether it did not answer at all."""

    def answer(self, path: str, *, above: bool = False, content: object = None) -> Any:
        """Return the JSON at a path, or in response to `content`; None if there is none. With `above` the path is that
        above the version, for endpoints beyond OpenAI's protocol. A server that does not answer is not asked again."""
        if self.gone:
            return None
        address = f"{self.url.removesuffix('/v1') if above else self.url}{path}"
        method = "GET" if content is None else "POST"
        read = bytearray()
        try:
            with self.stream(method, address, json=content, follow_redirects=False) as response:
                if response.status_code != httpx2.codes.OK:
                    return None
                for piece in response.iter_bytes():
                    read += piece
                    if len(read) > _MAX_BYTES:
                        return None
            return json.loads(read)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError):
            self.gone = True
            return None
        except (ValueError, RecursionError):
            return None


_SECONDS = 1.0
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server at the usual port of its kind."""

    kind: str
    port: int
    models: tuple[str, ...] | None = None
    """The names of its models; None if no model server answers."""

    @property
    def url(self) -> str:
        """Return the address of its models."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def prefix(self) -> str:
        """Return what the names of its models begin with."""
        return f"{self.kind.partition(' or ')[0].lower().replace(' ', '-')}/"


USUAL = (
    LocalServer("Ollama", 11434),
    LocalServer("llama.cpp", 8080),
    LocalServer("vLLM or llama-cpp-python", 8000),
    LocalServer("LM Studio", 1234),
)


def local_servers(usual: Sequence[LocalServer] = USUAL) -> list[LocalServer]:
    """Return these servers of this machine with their models, queried concurrently and without a key."""

    def queried(server: LocalServer) -> LocalServer:
        with ModelServer(server.url, seconds=_SECONDS, by_proxy=False) as connected:
            entries = _value(connected.answer("/models"), "data")
        if not isinstance(entries, list):
            return server
        names = (_value(entry, "id") for entry in entries)
        shown = (one_line(name, _LONGEST) for name in names if isinstance(name, str) and name.strip())
        return replace(server, models=tuple(shown))

    with ThreadPoolExecutor(max_workers=max(1, len(usual))) as pool:
        return list(pool.map(queried, usual))


_SIGN = re.compile(r"[^a-z0-9]")
_OLLAMAS_OWN = re.compile(r"^num_ctx\s+(\d+)\s*$", re.MULTILINE)
# The names of the window in lists of models: vLLM, llama.cpp, and resellers.
_IN_A_LIST = ("max_model_len", "n_ctx", "context_length", "context_window", "max_context_length")
_MIN = 64


@lru_cache(maxsize=256)
def window_of_family(name: str) -> int | None:
    """Return the window of a hosted model by its family, through any proxy; None for an unknown family."""
    table = (resources.files("redraft.llm") / "windows.toml").read_text("utf-8")
    windows: dict[str, int] = tomllib.loads(table)["windows"]
    plain = name.rpartition("/")[2].lower()
    fitting = [family for family in windows if plain.startswith(family) and _SIGN.match(plain[len(family) :] or "-")]
    return windows[max(fitting, key=len)] if fitting else None


def window_at(server: ModelServer, name: str) -> int | None:
    """Return the window that a server reports for a model; None if it reports none. The window of a model's training
    does not count."""
    numbers = (answer for answer in _answers(server, name) if isinstance(answer, int) and not isinstance(answer, bool))
    return next((number for number in numbers if number >= _MIN), None)


def _answers(server: ModelServer, name: str) -> Iterator[object]:
    """Yield the answers to each kind of server's question, until one is understood."""
    listed = server.answer("/models")
    if listed is None:
        return
    entry = _entry(listed, "data", "id", name)
    for holder in (entry, _value(entry, "meta")):
        yield from (_value(holder, key) for key in _IN_A_LIST)
    yield _value(server.answer("/props", above=True), "default_generation_settings", "n_ctx")
    yield _value(_entry(server.answer("/api/v0/models", above=True), "data", "id", name), "loaded_context_length")
    described = server.answer("/api/show", above=True, content={"model": name})
    match = _OLLAMAS_OWN.search(str(_value(described, "parameters")))
    yield int(match[1]) if match else None
    yield _value(_entry(server.answer("/api/ps", above=True), "models", "name", name), "context_length")


def _value(answer: object, *path: str) -> object:
    """Return the value at a path of keys; None if there is none."""
    for key in path:
        answer = answer.get(key) if isinstance(answer, dict) else None
    return answer


def _entry(answer: object, of: str, key: str, name: str) -> object:
    """Return a model's entry in a list; Ollama's `qwen3` is its `qwen3:latest`."""
    listed, names = _value(answer, of), (name, f"{name}:latest")
    entries = listed if isinstance(listed, list) else []
    return next((entry for entry in entries if _value(entry, key) in names), None)
