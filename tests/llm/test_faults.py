"""Servers that fail, refuse and throttle; and secrets, which appear nowhere."""

from __future__ import annotations

import asyncio
import gzip
import re
import time
import tracemalloc
import zlib
from email.utils import formatdate
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

import redraft
from redraft.errors import (
    CapabilityError,
    KeyRejected,
    LateReply,
    ModelError,
    OversizeReply,
    ProviderError,
    RateLimited,
    RedraftError,
    TimedOut,
    TransientError,
    UsageError,
)
from redraft.llm import providers
from redraft.llm.addresses import base_url
from redraft.llm.base import FunctionModel, Request, ScriptedModel
from redraft.llm.responses import redact, translate
from redraft.runs.models import open_model, resolve
from redraft.settings import DraftConfig
from tests.chatserver import Answer, ChatServer, Fault, Raw
from tests.llm.support import KEY, RED, Desk, colour, story

GOOD = '{"name": "red", "share": 0.5}'
TEXT = "Once upon a time."


def status(number: int, **more: Any) -> Fault:
    return Fault("status", status=number, **more)


@pytest.mark.parametrize("kind", ["html", "no_choices", "malformed", "drop", "drop_midway"])
async def test_broken_answer_is_tried_again(desk: Desk, kind: Any) -> None:
    async with desk.serving([Fault(kind), GOOD]) as (_, model):
        assert (await model.ask(colour())).value == RED
    assert desk.outcomes() == ["transient", "ok"]
    assert len(desk.pauses) == 1


async def test_pauses_grow_and_end(desk: Desk) -> None:
    async with desk.serving([status(number) for number in (500, 502, 503, 504, 408, 500, 500)]) as (server, model):
        with pytest.raises(TransientError, match="500"):
            await model.ask(story())
    assert len(server.seen) == 6
    assert desk.outcomes() == ["transient"] * 6
    assert len(desk.pauses) == 5
    for n, pause in enumerate(desk.pauses):
        assert 0.3 * 2**n <= pause <= 0.7 * 2**n


@pytest.mark.parametrize("fault", [Fault("hang"), Fault("drip", seconds=60)])
async def test_request_has_a_time_limit(desk: Desk, fault: Fault) -> None:
    async with desk.serving([fault, TEXT], seconds=0.4) as (_, model):
        began = time.monotonic()
        assert (await model.ask(story())).value == TEXT
    assert 0.4 <= time.monotonic() - began < 30
    assert desk.outcomes() == ["timed_out", "ok"]


@pytest.mark.parametrize(
    ("fault", "code", "hint"),
    [
        (status(401), "key", "key"),
        (status(402), "quota", "credit"),
        (status(403), "key", "permissions"),
        (status(404), "unknown_model", "name"),
        (status(405), "provider", "base URL"),
        (status(429, code="insufficient_quota"), "quota", "credit"),
        (status(429, retry_after=7200), "rate_limited", "2 h 00 min"),
    ],
)
async def test_provider_error_ends_all_requests(desk: Desk, fault: Fault, code: str, hint: str) -> None:
    async with desk.serving([fault]) as (server, model):
        with pytest.raises(ModelError) as caught:
            await model.ask(story())
        with pytest.raises(type(caught.value)):
            await model.ask(colour())
    assert len(server.seen) == 1
    assert hint in caught.value.hint
    assert caught.value.place == (model.identity.partition("@")[0] if code == "rate_limited" else "")
    assert desk.outcomes() == [caught.value.code] == [code]


async def test_rejected_request_leaves_others_alone(desk: Desk) -> None:
    too_long = "This model's maximum context length is 10 tokens, 5 of them in the functions of response_format."
    faults = [status(400, message="odd characters"), status(400, message=too_long)]
    async with desk.serving([*faults, TEXT]) as (server, model):
        with pytest.raises(ModelError, match="odd characters"):
            await model.ask(story())
        # A request that is too long is no refusal of tools.
        with pytest.raises(ModelError) as caught:
            await model.ask(colour())
        assert (await model.ask(story("a lily"))).value == TEXT
    assert "`chunk_tokens`" in caught.value.hint
    assert len(server.seen) == 3


async def test_overloaded_server_gets_its_time(desk: Desk) -> None:
    async with desk.serving([status(503, retry_after=0.3), TEXT]) as (server, model):
        assert (await model.ask(story())).value == TEXT
    assert server.seen[1].start - server.seen[0].end >= 0.25
    assert desk.outcomes() == ["rate_limited", "ok"]


class _Refused(Exception):
    """With the status in the response, as Mistral's."""

    def __init__(self, number: int, retry_after: str = "2") -> None:
        super().__init__(f"Error response {number}")
        self.response = SimpleNamespace(status_code=number, headers={"retry-after": retry_after})


class _Coded(Exception):
    """With the status as a code, as Google's."""

    def __init__(self, number: int) -> None:
        super().__init__(f"{number} None.")
        self.code = number


@pytest.mark.parametrize("kind", [_Refused, _Coded])
@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(
    ("number", "error"), [(429, RateLimited), (500, TransientError), (401, KeyRejected), (404, ProviderError)]
)
def test_status_is_found_for_every_provider(
    kind: type[Exception], wrapped: bool, number: int, error: type[ModelError]
) -> None:
    raised = kind(number)
    if wrapped:
        raised, raised.__cause__ = Exception("Error calling model"), raised
    translated = translate(raised, frozenset())
    assert type(translated) is error
    if isinstance(translated, RateLimited):
        assert translated.retry_after == (2 if kind is _Refused else None)


@pytest.mark.parametrize(
    ("header", "low", "high"),
    [
        ("in a while", 2000, 3001),
        (formatdate(0), 0, 0),
        ("2.5", 2.5, 2.5),
        *((nonsense, None, None) for nonsense in ("soon", "nan", "-1", "inf", "")),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str, low: float | None, high: float | None) -> None:
    header = formatdate(time.time() + 3000, usegmt=True) if header == "in a while" else header
    error = translate(_Refused(429, header), frozenset())
    assert isinstance(error, RateLimited)
    if low is None or high is None or error.retry_after is None:
        assert error.retry_after is low is high is None
    else:
        assert low <= error.retry_after <= high


@pytest.mark.parametrize("feature", ["temperature", "top_p", "max_completion_tokens"])
@pytest.mark.parametrize("make", [story, colour])
async def test_refused_parameter_is_omitted(desk: Desk, feature: str, make: type[object]) -> None:
    async with desk.serving(lambda request: Answer(GOOD, latency=0.05), refuses=[feature, "json_schema"]) as (
        server,
        model,
    ):
        await asyncio.gather(*(model.ask(make(str(n), temperature=0.5, top_p=0.9)) for n in range(16)))  # type: ignore[call-arg, arg-type]
    assert len(server.answered) == 16
    body = server.seen[-1].body
    assert feature not in body
    assert body.get("max_completion_tokens", body.get("max_tokens")) == 50


@pytest.mark.parametrize(
    ("message", "features", "refused"),
    [
        ("temperature is not supported", {"temperature"}, "temperature"),
        ("temperature is not supported", set(), None),
        ("`temperature` and `top_p` cannot both be specified", {"temperature", "top_p"}, "top_p"),
    ],
)
def test_only_used_features_are_refused(message: str, features: set[str], refused: str | None) -> None:
    error = Exception(message)
    error.status_code = 400  # type: ignore[attr-defined]
    translated = translate(error, frozenset(features))
    assert isinstance(translated, CapabilityError) == (refused is not None)
    assert translated.message.startswith(f"{refused}: " if refused else message)


def test_secrets_are_redacted() -> None:
    text = redact(f"{KEY} http://me:SECRET@host/v1 Bearer SECRET sk-proj-***SECRET SECRET", ["SECRET"])
    assert "SECRET" not in text
    assert "host/v1" in text
    assert len(redact("x" * 1000)) == 300


def test_address_loses_its_credentials() -> None:
    assert base_url("https://me:SECRET@Host.example:8443/v1/?key=SECRET#SECRET") == "https://host.example:8443/v1"
    assert base_url("http://[::1]:11434/v1") == "http://[::1]:11434/v1"


@pytest.mark.parametrize(
    "address", ["localhost:11434", "ftp://host", "http://", "http://host:port", "http://[::1", "x"]
)
def test_invalid_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError):
        base_url(address)


async def test_openai_needs_a_key(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="API key"):
        async with open_model(resolve(DraftConfig(model="openai:gpt-5")), seconds=1):
            pass
    with ChatServer([TEXT]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\r\n")
        async with open_model(DraftConfig(model="openai:m", base_url=base_url(server.base_url)), seconds=5) as model:
            await desk.recorded(model).ask(story())
    assert server.seen[0].authorization == f"Bearer {KEY}"


async def test_reasoning_model_gets_room_and_no_temperature(desk: Desk) -> None:
    async with desk.serving([TEXT], name="gpt-5-mini") as (server, model):
        await model.ask(story(top_p=0.9))
        assert model.most_tokens(story().sampling) == server.seen[0].body["max_completion_tokens"] > 4000
    assert not {"temperature", "top_p"} & server.seen[0].body.keys()


def test_every_error_has_its_code() -> None:
    kinds = [
        kind for kind in vars(redraft.errors).values() if isinstance(kind, type) and issubclass(kind, RedraftError)
    ]
    codes = [kind.code for kind in kinds]
    assert len(set(codes)) == len(codes) > 20
    assert all(re.fullmatch("[a-z_]+", code) for code in codes)


LATE = TimedOut("the model did not answer within 300 s")
SAID = "the model did not answer within 300 s, twice: a longer timeout, or a lower concurrency, gives it more time"


@pytest.mark.parametrize("request_", [colour(), story()], ids=["structured", "prose"])
async def test_second_time_out_is_the_last(desk: Desk, request_: Request[Any, Any]) -> None:
    with pytest.raises(ModelError, match=re.escape(SAID)) as caught:
        await desk.recorded(ScriptedModel([LATE, LATE])).ask(request_)
    assert len(desk.pauses) == 1
    assert desk.outcomes() == ["timed_out"] * 2
    # Less can be asked for than all items; a text is asked for whole.
    assert isinstance(caught.value, LateReply if request_.prompt.returns is not str else TimedOut)


async def test_silent_model_ends_the_run(desk: Desk) -> None:
    model = desk.recorded(FunctionModel(lambda _: LATE))
    kinds: list[type[ModelError]] = []
    for n in range(5):
        with pytest.raises(ModelError) as caught:
            await model.ask(colour(f"thing {n}"))
        kinds.append(caught.type)
    assert kinds == [LateReply] * 4 + [TimedOut]


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


@pytest.mark.slow
@pytest.mark.parametrize("layers", [0, 1, 2], ids=["not packed", "packed", "packed twice"])
async def test_oversize_answer_is_cut_off(desk: Desk, layers: int) -> None:
    desk.monkeypatch.setattr(providers, "MAX_BYTES", LIMIT)
    encoding = {"Content-Encoding": ", ".join(["gzip"] * layers)} if layers else {}
    flood = Raw(bomb(layers) if layers else b" " * (64 * MB), headers={"Content-Type": "application/json"} | encoding)
    async with desk.serving(lambda request: flood, seconds=60) as (server, model):
        model.most_tokens(story().sampling)
        tracemalloc.start()
        with pytest.raises(OversizeReply, match="longer than 4 MB, and was cut off"):
            await model.ask(story())
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert not layers or peak < 8 * LIMIT
    # Some answers are whole the next time.
    assert desk.outcomes() == ["oversize"] * len(server.seen)
    assert len(server.seen) > 1
