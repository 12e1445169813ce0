"""A server that takes whatever comes, as an eavesdropper would, and keeps it; and the ways in which it is offered."""

from __future__ import annotations

import gzip
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self


class Listener:
    """Listens on the loopback and answers everything with 200; `heard` is all of it, heads and bodies, unpacked."""

    def __init__(self, sends_on_to: str = "", status: int = 307, *, hangs: bool = False) -> None:
        """One that sends its callers on to an address answers everything with that, by this status; one that hangs
        takes what comes and never answers."""
        self.heard: list[str] = []
        self.sent: list[bytes] = []
        self.over = threading.Event()
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def _take(self) -> None:
                body = _unpacked(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
                if hangs:
                    listener.over.wait()
                    return
                listener.sent.append(body)
                listener.heard.append(f"{self.requestline}\n{self.headers}\n{body.decode('utf-8', 'replace')}")
                self.send_response(status if sends_on_to else 200)
                if sends_on_to:
                    self.send_header("Location", f"{sends_on_to}{self.path}?key=secret")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            do_GET = do_POST = do_PATCH = do_PUT = _take  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Nobody wants to read it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def text(self) -> str:
        return "\n".join(self.heard)


def _unpacked(body: bytes) -> bytes:
    for unpack in (gzip.decompress, zlib.decompress, _zstandard):
        try:
            return unpack(body)
        except Exception:  # noqa: BLE001
            continue
    return body


def _zstandard(body: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj().decompress(body)


def switched_on(url: str) -> dict[str, str]:
    """Every variable that has switched tracing on in some version, with all of it going to `url`."""
    settings = {
        "TRACING": "true",
        "TRACING_V2": "true",
        "ENDPOINT": url,
        "API_KEY": "lsv2_pt_0123456789abcdef",
        "PROJECT": "leak",
    }
    return {f"{owner}_{name}": value for owner in ("LANGSMITH", "LANGCHAIN") for name, value in settings.items()}
