"""What servers of models tell of themselves: which of them run on this machine, and how large a model's window is."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

import httpx2

from redraft.text.sanitizer import one_line

_MOST_BYTES = 4 * 1024 * 1024
_FEW_SECONDS = 3.0


class ModelServer:
    """A server at the address under which its models are asked. Nothing of what it answers is believed to be of use.

    As everywhere, no redirect is followed, and no answer is read that is longer than one can be.
    """

    def __init__(self, url: str, key: str = "", *, seconds: float = _FEW_SECONDS, by_proxy: bool = True) -> None:
        """What is on this machine is asked without the proxy that the environment may name."""
        self.url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx2.Client(timeout=seconds, follow_redirects=False, headers=headers, trust_env=by_proxy)
        self.gone = False
        """Whether it did not answer at all."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @property
    def above(self) -> str:
        """Where a server has what is not of OpenAI's protocol: its address without the version at its end."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc, parts.path.removesuffix("/v1"), "", ""))

    def get(self, path: str, *, above: bool = False) -> Any:
        """What there is at a path; None where that is no JSON. Nobody who does not answer is asked again."""
        return self._asked("GET", path, None, above)

    def post(self, path: str, content: object, *, above: bool) -> Any:
        """What comes back when `content` is sent there."""
        return self._asked("POST", path, content, above)

    def _asked(self, method: str, path: str, content: object, above: bool) -> Any:
        if self.gone:
            return None
        address = f"{self.above if above else self.url}{path}"
        read = bytearray()
        try:
            with self._client.stream(method, address, json=content) as response:
                if response.status_code != httpx2.codes.OK:
                    return None
                for piece in response.iter_bytes():
                    read += piece
                    if len(read) > _MOST_BYTES:
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
class Port:
    """Where a kind of server is unless somebody has put it elsewhere."""

    kind: str
    number: int

    @property
    def url(self) -> str:
        """The address under which its models are asked."""
        return f"http://127.0.0.1:{self.number}/v1"


USUAL = (Port("Ollama", 11434), Port("llama.cpp", 8080), Port("vLLM", 8000), Port("LM Studio", 1234))


@dataclass(frozen=True, slots=True)
class LocalServer:
    """What is at a port: the models by name, or None where nobody there speaks of models."""

    port: Port
    models: tuple[str, ...] | None


def nearby(ports: Sequence[Port]) -> list[LocalServer]:
    """Whoever answers on this machine, all of them asked at once and with no key."""
    with ThreadPoolExecutor(max_workers=max(1, len(ports))) as pool:
        return list(pool.map(_at, ports))


def _at(port: Port) -> LocalServer:
    with ModelServer(port.url, seconds=_SECONDS, by_proxy=False) as server:
        listed = server.get("/models")
    entries = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(entries, list):
        return LocalServer(port, None)
    names = (one.get("id") for one in entries if isinstance(one, dict))
    return LocalServer(
        port, tuple(one_line(name, _LONGEST) for name in names if isinstance(name, str) and name.strip())
    )


_SIGN = re.compile(r"[^a-z0-9]")
_OLLAMAS_OWN = re.compile(r"^num_ctx\s+(\d+)\s*$", re.MULTILINE)
# As servers call it in their lists of models: vLLM, llama.cpp, and those who sell what others have made.
_IN_A_LIST = ("max_model_len", "n_ctx", "context_length", "context_window", "max_context_length")
_LEAST = 64


@lru_cache(maxsize=1)
def _families() -> Mapping[str, int]:
    text = (resources.files("redraft.llm") / "windows.toml").read_text("utf-8")
    found: dict[str, int] = tomllib.loads(text)["windows"]
    return found


def window_of_family(name: str) -> int | None:
    """The window of a model that is sold as a service, by whatever proxy it comes; None for one of no known family."""
    plain = name.rpartition("/")[2].lower()
    fitting = [one for one in _families() if plain.startswith(one) and _SIGN.match(plain[len(one) :] or "-")]
    return _families()[max(fitting, key=len)] if fitting else None


def window_at(server: ModelServer, name: str) -> int | None:
    """The window that a server says it gives to a model; None where it does not say.

    What a model was trained for is not what it is served with, so that is no answer.
    """
    return next((said for said in _answers(server, name) if said is not None), None)


def _answers(server: ModelServer, name: str) -> Iterator[int | None]:
    """What each kind of server is asked, one after the other, until one of the questions is understood."""
    listed = server.get("/models")
    if listed is None:
        return
    entry = _entry(_list(listed, "data"), "id", name)
    for told in (entry, _dict(entry, "meta")):
        yield from (_number(told.get(key)) for key in _IN_A_LIST)
    yield _number(_dict(server.get("/props", above=True), "default_generation_settings").get("n_ctx"))
    loaded = _entry(_list(server.get("/api/v0/models", above=True), "data"), "id", name)
    yield _number(loaded.get("loaded_context_length"))
    shown = _OLLAMAS_OWN.search(str(_object(server.post("/api/show", {"model": name}, above=True)).get("parameters")))
    yield int(shown[1]) if shown else None
    running = _entry(_list(server.get("/api/ps", above=True), "models"), "name", name)
    yield _number(running.get("context_length"))


def _entry(entries: list[Any], key: str, name: str) -> dict[str, Any]:
    """What a list says of a model. Ollama's `qwen3` is its `qwen3:latest`."""
    wanted = (name, f"{name}:latest")
    return next((one for one in entries if isinstance(one, dict) and one.get(key) in wanted), {})


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dict(value: object, key: str) -> dict[str, Any]:
    return _object(_object(value).get(key))


def _list(value: object, key: str) -> list[Any]:
    found = _object(value).get(key)
    return found if isinstance(found, list) else []


def _number(value: object) -> int | None:
    """A number of tokens that makes sense; whatever else a server says is no answer."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= _LEAST else None
