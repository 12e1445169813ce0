"""Queries model servers: which ones run on this machine, and the context window of a model."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

import httpx2

from redraft.llm.addresses import OPENAI, shown_name
from redraft.text.sanitizer import one_line

_MAX_BYTES = 4 * 1024 * 1024
_FEW_SECONDS = 3.0


class ModelServer:
    """A server that is queried about its models, with no redirects and limited responses; invalid
    answers are ignored."""

    def __init__(self, url: str, key: str = "", *, seconds: float = _FEW_SECONDS, by_proxy: bool = True) -> None:
        """Servers on this machine are asked without the environment's proxy."""
        self.url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        # Reading the certificates takes longer than the request does.
        checked = by_proxy or self.url.startswith("https:")
        self._client = httpx2.Client(
            timeout=seconds, follow_redirects=False, headers=headers, trust_env=by_proxy, verify=checked
        )
        self.gone = False
        """Whether it did not answer at all."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, path: str, *, above: bool = False, content: object = None) -> Any:
        """Return the JSON at a path, or in response to `content`; None if there is none. With `above` the path is that
        above the version, for endpoints beyond OpenAI's protocol. A server that does not answer is not asked again."""
        if self.gone:
            return None
        parts = urlsplit(self.url)
        unversioned = urlunsplit((parts.scheme, parts.netloc, parts.path.removesuffix("/v1"), "", ""))
        address, method = f"{unversioned if above else self.url}{path}", "GET" if content is None else "POST"
        read = bytearray()
        try:
            with self._client.stream(method, address, json=content) as response:
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


def names_for_people(names: Collection[str]) -> dict[str, str]:
    """Return the models at this machine's usual ports among `names`: without the server unless two have the same
    name."""
    models = {
        name: (name.removeprefix(server.prefix), server)
        for server in USUAL
        for name in names
        if name.startswith(server.prefix)
    }
    bare_names = [model for model, _ in models.values()]
    return {
        name: model if bare_names.count(model) == 1 else shown_name(f"{OPENAI}:{model}", server.url)
        for name, (model, server) in models.items()
    }


def local_servers(usual: Sequence[LocalServer] = USUAL) -> list[LocalServer]:
    """Return these servers of this machine with their models, queried concurrently and without a key."""

    def queried(server: LocalServer) -> LocalServer:
        with ModelServer(server.url, seconds=_SECONDS, by_proxy=False) as connected:
            entries = _value(connected.get("/models"), "data")
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


@lru_cache(maxsize=1)
def _families() -> Mapping[str, int]:
    text = (resources.files("redraft.llm") / "windows.toml").read_text("utf-8")
    windows: dict[str, int] = tomllib.loads(text)["windows"]
    return windows


def window_of_family(name: str) -> int | None:
    """Return the window of a hosted model by its family, through any proxy; None for an unknown family."""
    plain = name.rpartition("/")[2].lower()
    fitting = [
        family for family in _families() if plain.startswith(family) and _SIGN.match(plain[len(family) :] or "-")
    ]
    return _families()[max(fitting, key=len)] if fitting else None


def window_at(server: ModelServer, name: str) -> int | None:
    """Return the window that a server reports for a model; None if it reports none. The window of a model's training
    does not count."""
    numbers = (answer for answer in _answers(server, name) if isinstance(answer, int) and not isinstance(answer, bool))
    return next((number for number in numbers if number >= _MIN), None)


def _answers(server: ModelServer, name: str) -> Iterator[object]:
    """Yield the answers to each kind of server's question, until one is understood."""
    listed = server.get("/models")
    if listed is None:
        return
    entry = _entry(listed, "data", "id", name)
    for holder in (entry, _value(entry, "meta")):
        yield from (_value(holder, key) for key in _IN_A_LIST)
    yield _value(server.get("/props", above=True), "default_generation_settings", "n_ctx")
    yield _value(_entry(server.get("/api/v0/models", above=True), "data", "id", name), "loaded_context_length")
    match = _OLLAMAS_OWN.search(str(_value(server.get("/api/show", above=True, content={"model": name}), "parameters")))
    yield int(match[1]) if match else None
    yield _value(_entry(server.get("/api/ps", above=True), "models", "name", name), "context_length")


def _value(answer: object, *path: str) -> object:
    """Return the value at a path of keys; None if there is none."""
    for key in path:
        answer = answer.get(key) if isinstance(answer, dict) else None
    return answer


def _entry(answer: object, of: str, key: str, name: str) -> object:
    """Return a model's entry in a list; Ollama's `qwen3` is its `qwen3:latest`."""
    entries = _value(answer, of)
    names = (name, f"{name}:latest")
    return (
        next((entry for entry in entries if _value(entry, key) in names), None) if isinstance(entries, list) else None
    )
