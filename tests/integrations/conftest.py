"""What is told of batches is the same on a file and on a server; and a collector of spans, to be looked into."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.judges import KEY
from tests.leaks.listener import Listener
from tests.support import story


class Collector(Listener):
    """Everything that was sent there, and the spans in it."""

    @property
    def spans(self) -> list[Any]:
        """All spans, as the protocol has them."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        requests = map(ExportTraceServiceRequest.FromString, self.sent)
        resources = [resource for request in requests for resource in request.resource_spans]
        return [span for resource in resources for scope in resource.scope_spans for span in scope.spans]

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans if span.name == name]


def attributes(span: Any) -> dict[str, Any]:
    return {
        attribute.key: getattr(attribute.value, attribute.value.WhichOneof("value")) for attribute in span.attributes
    }


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three documents, whose names and texts are nobody's business."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / "in").mkdir()
    for n in range(3):
        text = story(12).text.replace("The Keeper", f"The Keeper of light {n}").replace("keeper", f"keeper {n}")
        (tmp_path / "in" / f"patient-{n}.md").write_text(text, "utf-8")
    (tmp_path / "prices.toml").write_text('[prices]\n"m" = { prompt = 100.0, completion = 100.0 }\n', "utf-8")
    return tmp_path


def expect_no_secret(message: bytes) -> None:
    """Nothing of the documents is in it, nor of the prompts, nor the key."""
    lowered = message.lower()
    for secret in (KEY, "keeper", "patient-", "summar", "salt"):
        assert secret.lower().encode() not in lowered, secret
