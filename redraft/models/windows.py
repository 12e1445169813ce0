"""How many tokens a model has room for: by its family, or as its server tells."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

from redraft.models.serving import Server

_SIGN = re.compile(r"[^a-z0-9]")
_OLLAMAS_OWN = re.compile(r"^num_ctx\s+(\d+)\s*$", re.MULTILINE)
# As servers call it in their lists of models: vLLM, llama.cpp, and those who sell what others have made.
_IN_A_LIST = ("max_model_len", "n_ctx", "context_length", "context_window", "max_context_length")
_LEAST = 64


@lru_cache(maxsize=1)
def _families() -> Mapping[str, int]:
    text = (resources.files("redraft.models") / "windows.toml").read_text("utf-8")
    found: dict[str, int] = tomllib.loads(text)["windows"]
    return found


def window_of_family(name: str) -> int | None:
    """The window of a model that is sold as a service, by whatever proxy it comes; None for one of no known family."""
    plain = name.rpartition("/")[2].lower()
    fitting = [one for one in _families() if plain.startswith(one) and _SIGN.match(plain[len(one) :] or "-")]
    return _families()[max(fitting, key=len)] if fitting else None


def window_at(server: Server, name: str) -> int | None:
    """The window that a server says it gives to a model; None where it does not say.

    What a model was trained for is not what it is served with, so that is no answer.
    """
    return next((said for said in _answers(server, name) if said is not None), None)


def _answers(server: Server, name: str) -> Iterator[int | None]:
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
