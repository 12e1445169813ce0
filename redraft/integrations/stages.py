"""The stage label of a call, from its prompt's module; and whether the `telemetry` extra is installed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from types import ModuleType

from redraft.errors import UsageError
from redraft.prompts import coherence, factual, qa, revision, summarization
from redraft.prompts.contract import Prompt

_ADDRESSES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_HTTP = "http/protobuf"


def check_metrics() -> None:
    """Refuse to offer metrics where they cannot be."""
    _check("--metrics-port", "prometheus_client", "prometheus-client")


def check_spans() -> None:
    """Raise `UsageError` if spans cannot be sent, or if no address is set for them."""
    _check("--send-spans", "opentelemetry", "opentelemetry-api")
    _check("--send-spans", "opentelemetry.sdk", "opentelemetry-sdk")
    _check("--send-spans", "opentelemetry.exporter.otlp.proto.http", "opentelemetry-exporter-otlp-proto-http")
    if not any(os.environ.get(name) for name in _ADDRESSES):
        raise UsageError(
            "--send-spans needs to know where spans go",
            hint="set OTEL_EXPORTER_OTLP_ENDPOINT, such as http://127.0.0.1:4318",
        )
    protocol = next(filter(None, map(os.environ.get, _PROTOCOLS)), _HTTP)
    if protocol != _HTTP:
        raise UsageError(
            f"--send-spans sends spans by {_HTTP}, and OTEL_EXPORTER_OTLP_PROTOCOL says {protocol}",
            hint="name an address that takes that, usually the one with port 4318, and leave the variable out",
        )


def _check(option: str, module: str, package: str) -> None:
    if find_spec(module) is None:
        raise UsageError(f"{option} needs {package}, which is not installed", hint='pip install "redraft[telemetry]"')


OTHER = "other"
"""The stage of prompts from packages or applications."""
_STAGES: Mapping[ModuleType, str] = {
    summarization: "drafting",
    qa: "judging",
    factual: "judging",
    coherence: "judging",
    revision: "revising",
}
_OF = {one.name: stage for where, stage in _STAGES.items() for one in vars(where).values() if isinstance(one, Prompt)}
_OF |= {revision.DECIDE.name: "deciding", qa.TRACE_SENTENCES.name: "tracing", qa.WRITE_ANSWER.name: "answering"}
STAGES = (*dict.fromkeys([*_STAGES.values(), *_OF.values()]), OTHER)


def stage_of(prompt: str) -> str:
    """Return the stage of a prompt's calls."""
    return _OF.get(prompt, OTHER)
