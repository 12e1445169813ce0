"""Answers without an end, and answers that unpack to much more than they are: they are cut off, and memory is not."""

from __future__ import annotations

import gzip
import socketserver
import threading
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler

import pytest

from redraft.errors import OversizeReply
from redraft.llm import http_client
from tests.chatserver import ChatServer
from tests.llm.support import Desk, story

MB = 2**20
LIMIT = 4 * MB


@cache
def bomb(layers: int) -> bytes:
    """A packed answer of 64 MB, of less than 0.1 MB, or packed again, of a kilobyte."""
    packer, zeros = zlib.compressobj(9, wbits=31), bytes(MB)
    packed = b"".join(packer.compress(zeros) for _ in range(64)) + packer.flush()
    for _ in range(layers - 1):
        packed = gzip.compress(packed)
    return packed


@dataclass
class Flood:
    """A server whose answers are too long."""

    packed: bytes = b""
    layers: int = 0
    sent: list[int] = field(default_factory=list)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        request.rfile.read(int(request.headers["Content-Length"]))
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        if self.packed:
            request.send_header("Content-Encoding", ", ".join(["gzip"] * self.layers))
            request.send_header("Content-Length", str(len(self.packed)))
        request.end_headers()
        self.sent.append(0)
        with suppress(OSError):
            if self.packed:
                request.wfile.write(self.packed)
                self.sent[-1] = len(self.packed)
            while not self.packed:
                self.sent[-1] += request.connection.send(b" " * 65536)

    @contextmanager
    def serving(self) -> Iterator[str]:
        flood = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                flood.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
            server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize("layers", [0, 1, 2], ids=["endless", "packed", "packed twice"])
async def test_an_answer_that_is_too_long_is_cut_off(desk: Desk, layers: int) -> None:
    desk.monkeypatch.setattr(http_client.limit_response, "__defaults__", (LIMIT,))
    flood = Flood(bomb(layers) if layers else b"", layers)
    with flood.serving() as url:
        server = ChatServer()
        server.base_url = url
        async with desk.at(server, seconds=60) as model:
            model.most_tokens(story().sampling)
            tracemalloc.start()
            with pytest.raises(OversizeReply, match="longer than 4 MB, and was cut off"):
                await model.ask(story())
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    assert peak < 8 * LIMIT
    # Some answers are whole the next time.
    assert desk.outcomes() == ["oversize"] * len(flood.sent)
    assert len(flood.sent) > 1
    # What was read is what was allowed, and what the sockets hold.
    assert max(flood.sent) < LIMIT + 16 * MB


async def test_a_packed_answer_of_sane_size_is_read(desk: Desk) -> None:
    reply = (
        b'{"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0,'
        b' "message": {"role": "assistant", "content": "Once."}, "finish_reason": "stop"}]}'
    )
    with Flood(gzip.compress(reply), 1).serving() as url:
        server = ChatServer()
        server.base_url = url
        async with desk.at(server) as model:
            assert (await model.ask(story())).text == "Once."
