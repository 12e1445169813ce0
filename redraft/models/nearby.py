"""Servers of language models on this machine: who answers at the ports that they usually have."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from redraft.models.serving import Server
from redraft.text.cleaning import one_line

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
class Nearby:
    """What is at a port: the models by name, or None where nobody there speaks of models."""

    port: Port
    models: tuple[str, ...] | None


def nearby(ports: Sequence[Port]) -> list[Nearby]:
    """Whoever answers on this machine, all of them asked at once and with no key."""
    with ThreadPoolExecutor(max_workers=max(1, len(ports))) as pool:
        return list(pool.map(_at, ports))


def _at(port: Port) -> Nearby:
    with Server(port.url, seconds=_SECONDS, by_proxy=False) as server:
        listed = server.get("/models")
    entries = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(entries, list):
        return Nearby(port, None)
    names = (one.get("id") for one in entries if isinstance(one, dict))
    return Nearby(port, tuple(one_line(name, _LONGEST) for name in names if isinstance(name, str) and name.strip()))
