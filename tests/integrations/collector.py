"""A collector that takes spans by OTLP over real HTTP, and keeps them."""

from __future__ import annotations

import gzip
import threading
import zlib
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass
class Collector:
    """Everything that was sent there, and the spans in it. One that `hangs` takes what comes and never answers."""

    hangs: bool = False
    sent: list[bytes] = field(default_factory=list)

    def __enter__(self) -> Self:
        self.over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def spans(self) -> list[Any]:
        """All spans, as the protocol has them."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        spans_found = (ExportTraceServiceRequest.FromString(one) for one in self.sent)
        return [
            span for one in spans_found for resource in one.resource_spans for scope in resource.scope_spans
            for span in scope.spans
        ]  # fmt: skip

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans if span.name == name]


def attributes(span: Any) -> dict[str, Any]:
    return {
        attribute.key: getattr(attribute.value, attribute.value.WhichOneof("value")) for attribute in span.attributes
    }


def _handler(collector: Collector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if collector.hangs:
                collector.over.wait()
                return
            packed = self.headers.get("Content-Encoding")
            collector.sent.append(
                gzip.decompress(body) if packed == "gzip" else zlib.decompress(body) if packed == "deflate" else body
            )
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    return Handler
