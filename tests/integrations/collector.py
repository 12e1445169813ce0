"""A collector that takes spans by OTLP over real HTTP, and keeps them."""

from __future__ import annotations

from typing import Any

from tests.leaks.listener import Listener


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
