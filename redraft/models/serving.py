"""What a server says of itself beside the protocol by which it is asked: small questions that may go unanswered."""

from __future__ import annotations

import json
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

import httpx2

_MOST_BYTES = 4 * 1024 * 1024
_FEW_SECONDS = 3.0


class Server:
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
