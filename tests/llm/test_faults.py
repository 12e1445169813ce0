"""Servers that fail, refuse and throttle; and secrets, which appear nowhere."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
import re
import time
from email.utils import formatdate

import pytest

import redraft
from redraft.domain import Usage
from redraft.errors import (
    CapabilityError,
    ModelError,
    ProviderError,
    RateLimited,
    RedraftError,
    TransientError,
    UsageError,
)
from redraft.llm.addresses import base_url
from redraft.llm.failures import redact, translate
from redraft.llm.rate_limiter import Limiter
from redraft.runs.models import open_model, resolve
from redraft.settings import DraftConfig
from tests.chatserver import Answer, ChatServer, Fault, Seen
from tests.llm.support import KEY, RED, Desk, colour, story

GOOD = '{"name": "red", "share": 0.5}'
TEXT = "Once upon a time."


def limited(retry_after: float | None = None, code: str | None = None) -> Fault:
    return Fault("status", status=429, retry_after=retry_after, code=code)


@pytest.mark.parametrize("kind", ["html", "no_choices", "malformed", "drop", "drop_midway"])
async def test_what_may_pass_is_tried_again(desk: Desk, kind: str) -> None:
    with ChatServer([Fault(kind), GOOD]) as server:  # type: ignore[arg-type]
        async with desk.at(server) as model:
            assert (await model.ask(colour())).value == RED
    assert len(server.seen) == 2
    assert desk.outcomes() == ["transient", "ok"]
    assert len(desk.pauses) == 1


async def test_pauses_grow_and_have_an_end(desk: Desk) -> None:
    with ChatServer([Fault("status", status=status) for status in (500, 502, 503, 504, 408, 500, 500)]) as server:
        async with desk.at(server) as model:
            with pytest.raises(TransientError, match="500"):
                await model.ask(story())
    assert len(server.seen) == 6
    assert desk.outcomes() == ["transient"] * 6
    assert len(desk.pauses) == 5
    for n, pause in enumerate(desk.pauses):
        assert 0.3 * 2**n <= pause <= 0.7 * 2**n


@pytest.mark.parametrize("fault", [Fault("hang"), Fault("drip", seconds=4)])
async def test_a_request_has_only_so_much_time(desk: Desk, fault: Fault) -> None:
    with ChatServer([fault, TEXT]) as server:
        async with desk.at(server, seconds=0.4) as model:
            began = time.monotonic()
            assert (await model.ask(story())).value == TEXT
    assert 0.4 <= time.monotonic() - began < 2
    assert desk.outcomes() == ["timed_out", "ok"]


@pytest.mark.parametrize("status", [401, 402, 403, 404, 405])
async def test_what_holds_for_every_request_fails_at_once(desk: Desk, status: int) -> None:
    with ChatServer([Fault("status", status=status)]) as server:
        async with desk.at(server) as model:
            with pytest.raises(ProviderError) as caught:
                await model.ask(story())
            with pytest.raises(ProviderError):
                await model.ask(colour())
    assert len(server.seen) == 1
    assert caught.value.hint
    assert desk.outcomes() == ["provider"]


async def test_a_bad_request_says_nothing_of_the_others(desk: Desk) -> None:
    with ChatServer([Fault("status", status=400, message="odd characters"), TEXT]) as server:
        async with desk.at(server) as model:
            with pytest.raises(ModelError, match="odd characters"):
                await model.ask(story())
            assert (await model.ask(story("a lily"))).value == TEXT


async def test_too_long_a_request_is_no_refusal_of_tools(desk: Desk) -> None:
    message = "This model's maximum context length is 10 tokens, 5 of them in the functions of response_format."
    with ChatServer([Fault("status", status=400, message=message)]) as server:
        async with desk.at(server) as model:
            with pytest.raises(ModelError) as caught:
                await model.ask(colour())
    assert "`chunk_tokens`" in caught.value.hint
    assert len(server.seen) == 1


@pytest.mark.slow
async def test_retry_after_is_obeyed_by_everybody(desk: Desk) -> None:
    with ChatServer([limited(0.6), *[Answer(TEXT)] * 4]) as server:
        async with desk.at(server, limiter=Limiter(1)) as model:
            await asyncio.gather(*(model.ask(story(str(n))) for n in range(4)))
    turned_away, *others = server.seen
    assert min(seen.start for seen in others) - turned_away.end >= 0.55
    assert min(seen.start for seen in others) - turned_away.end < 1.5
    assert desk.outcomes().count("rate_limited") == 1
    assert desk.pauses == []


async def test_429_without_retry_after_pauses(desk: Desk) -> None:
    with ChatServer([limited(), limited(), TEXT]) as server:
        async with desk.at(server) as model:
            assert (await model.ask(story())).value == TEXT
    assert len(desk.pauses) == 2
    assert len(server.seen) == 3


async def test_without_credit_there_is_no_second_try(desk: Desk) -> None:
    with ChatServer([limited(code="insufficient_quota")]) as server:
        async with desk.at(server) as model:
            with pytest.raises(ProviderError) as caught:
                await model.ask(story())
    assert "credit" in caught.value.hint
    assert len(server.seen) == 1


async def test_a_wait_of_hours_is_left_to_the_user(desk: Desk) -> None:
    with ChatServer([limited(7200)]) as server:
        async with desk.at(server) as model:
            with pytest.raises(ProviderError) as caught:
                await model.ask(story())
    assert "2.0 hours" in caught.value.hint


async def test_an_overloaded_server_that_names_a_time_is_given_it(desk: Desk) -> None:
    with ChatServer([Fault("status", status=503, retry_after=0.3), TEXT]) as server:
        async with desk.at(server) as model:
            assert (await model.ask(story())).value == TEXT
    assert server.seen[1].start - server.seen[0].end >= 0.25
    assert desk.outcomes() == ["rate_limited", "ok"]


class _Refused(Exception):
    status_code = 429

    def __init__(self, retry_after: str) -> None:
        super().__init__("slow down")
        self.response = type("Response", (), {"headers": {"retry-after": retry_after}})()


class _Answered(Exception):
    """As Mistral's: the status is the response's."""

    def __init__(self, status: int) -> None:
        super().__init__(f"Error response {status}")
        self.response = type("Response", (), {"status_code": status, "headers": {"retry-after": "2"}})()


class _Coded(Exception):
    """As Google's: the status is a code."""

    def __init__(self, status: int) -> None:
        super().__init__(f"{status} None.")
        self.code = status


@pytest.mark.parametrize("kind", [_Answered, _Coded])
@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(
    ("status", "error"), [(429, RateLimited), (500, TransientError), (401, ProviderError), (404, ProviderError)]
)
def test_every_provider_has_its_own_place_for_the_status(
    kind: type[Exception], wrapped: bool, status: int, error: type[ModelError]
) -> None:
    raised = kind(status)
    if wrapped:
        raised, raised.__cause__ = Exception("Error calling model"), raised
    found = translate(raised, frozenset())
    assert type(found) is error
    if isinstance(found, RateLimited):
        assert found.retry_after == (2 if kind is _Answered else None)


def test_retry_after_may_be_a_date() -> None:
    in_a_while = formatdate(time.time() + 1000, usegmt=True)
    for header, low, high in ((in_a_while, 900, 1001), (formatdate(0), 0, 0), ("2.5", 2.5, 2.5)):
        error = translate(_Refused(header), frozenset())
        assert isinstance(error, RateLimited)
        assert error.retry_after is not None
        assert low <= error.retry_after <= high


@pytest.mark.parametrize("header", ["soon", "nan", "-1", "inf", ""])
def test_retry_after_that_is_nonsense_counts_as_not_given(header: str) -> None:
    error = translate(_Refused(header), frozenset())
    assert isinstance(error, RateLimited)
    assert error.retry_after is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("refuses", "used"), [((), "json_schema"), (["json_schema"], "tools"), (["json_schema", "tools"], "plain")]
)
async def test_what_a_server_accepts_is_found_out_once(desk: Desk, refuses: list[str], used: str) -> None:
    def script(seen: Seen) -> Answer:
        return Answer(GOOD, latency=0.1)

    with ChatServer(script, refuses=refuses) as server:
        async with desk.at(server) as model:
            replies = await asyncio.gather(*(model.ask(colour(str(n))) for n in range(16)))
            await model.ask(colour("one more"))
    assert all(reply.value == RED for reply in replies)
    assert len(server.answered) == 17
    assert len(server.seen) == 17 + len(refuses)
    # Once it is known, nobody waits for anybody.
    assert server.peak >= 8
    body = server.seen[-1].body
    assert ("response_format" in body, "tools" in body) == (used == "json_schema", used == "tools")
    if used == "plain":
        assert '"required":["name","share"]' in body["messages"][0]["content"]
    assert desk.outcomes().count("unsupported") == len(refuses)
    assert desk.pauses == []


@pytest.mark.parametrize("feature", ["temperature", "top_p", "max_completion_tokens"])
@pytest.mark.parametrize("make", [story, colour])
async def test_a_refused_parameter_is_left_out(desk: Desk, feature: str, make: type[object]) -> None:
    with ChatServer(lambda seen: Answer(GOOD, latency=0.05), refuses=[feature, "json_schema"]) as server:
        async with desk.at(server) as model:
            await asyncio.gather(*(model.ask(make(str(n), temperature=0.5, top_p=0.9)) for n in range(16)))  # type: ignore[call-arg, arg-type]
    assert len(server.answered) == 16
    body = server.seen[-1].body
    assert feature not in body
    assert body.get("max_completion_tokens", body.get("max_tokens")) == 50


async def test_a_feature_that_was_not_used_was_not_refused() -> None:
    class Refused(Exception):
        status_code = 400

    error = Refused("temperature is not supported")
    assert isinstance(translate(error, frozenset({"temperature"})), CapabilityError)
    assert not isinstance(translate(error, frozenset()), CapabilityError)


async def test_where_only_one_way_of_drawing_is_taken_it_is_the_temperature() -> None:
    class Refused(Exception):
        status_code = 400

    error = Refused("`temperature` and `top_p` cannot both be specified for this model")
    refused = translate(error, frozenset({"temperature", "top_p"}))
    assert isinstance(refused, CapabilityError)
    assert refused.message.startswith("top_p: ")


def test_secrets_are_redacted_in_every_form() -> None:
    text = redact(f"{KEY} http://me:SECRET@host/v1 Bearer SECRET sk-proj-***SECRET SECRET", ["SECRET"])
    assert "SECRET" not in text
    assert "host/v1" in text
    assert len(redact("x" * 1000)) == 300


def test_an_address_loses_its_credentials() -> None:
    assert base_url("https://me:SECRET@Host.example:8443/v1/?key=SECRET#SECRET") == "https://host.example:8443/v1"
    assert base_url("http://[::1]:11434/v1") == "http://[::1]:11434/v1"


@pytest.mark.parametrize("given", ["localhost:11434", "ftp://host", "http://", "http://host:port", "http://[::1", "x"])
def test_an_address_that_is_none_is_a_usage_error(given: str) -> None:
    with pytest.raises(UsageError):
        base_url(given)


async def test_openai_itself_needs_a_key(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="API key"):
        async with open_model(resolve(DraftConfig(model="openai:gpt-5")), seconds=1):
            pass
    with ChatServer([TEXT]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\r\n")
        async with open_model(DraftConfig(model="openai:m", base_url=base_url(server.base_url)), seconds=5) as model:
            await desk.recorded(model).ask(story())
    assert server.seen[0].authorization == f"Bearer {KEY}"


async def test_a_reasoning_model_has_room_to_think_and_no_temperature(desk: Desk) -> None:
    with ChatServer([TEXT]) as server:
        async with desk.at(server, name="gpt-5-mini") as model:
            await model.ask(story(top_p=0.9))
            assert model.most_tokens(story().sampling) == server.seen[0].body["max_completion_tokens"] > 4000
    assert not {"temperature", "top_p"} & server.seen[0].body.keys()


def test_every_error_has_a_code_of_its_own() -> None:
    def below(kind: type[RedraftError]) -> list[type[RedraftError]]:
        return [kind, *(one for child in kind.__subclasses__() for one in below(child))]

    for module in pkgutil.walk_packages(redraft.__path__, "redraft."):
        if module.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as missing:
            # Needs an extra that is not installed.
            if (missing.name or "").split(".")[0] == "redraft":
                raise
    codes = [kind.code for kind in below(RedraftError)]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch("[a-z_]+", code) for code in codes)
    assert Usage().reported
