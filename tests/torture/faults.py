"""All kinds of faults of providers, at a tenth and three tenths of the requests. Each run is brought to its end."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests.chatserver import PAGE, Answer, ChatRequest, Fault, Raw, Reply
from tests.torture.runner import Attack, Try, Violation
from tests.torture.world import KINDS, World, identity, judged, told_by, undisturbed, with_twists, world

SHARES = (0.1, 0.3)
REFUSAL = "I'm sorry, but I can't help with that."
_TRIES = 60
_TIMEOUT = "2.5"
_SLOW = 1.0
_KINDS = tuple(kind for kind in KINDS if kind != "direct")
_JSON = {"Content-Type": "application/json"}
_MEGABYTE = 2**20
_BOMB = "gzip of 300 MB"

Twist = Callable[[ChatRequest, Answer], Reply]


@cache
def _bomb() -> bytes:
    return gzip.compress(b'{"padding": "' + b" " * (300 * _MEGABYTE) + b'"}')


def _status(code: int, retry_after: float | None = None, message: str = "") -> Twist:
    return lambda request, answer: Fault("status", status=code, retry_after=retry_after, message=message)


def _body(request: ChatRequest, answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": None}
    reason = answer.finish_reason
    if tools := request.body.get("tools"):
        function = {"name": tools[0]["function"]["name"], "arguments": answer.text}
        message |= {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}
        reason = "tool_calls"
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": int(time.time()), "model": request.model}
    return head | {"choices": [choice], "usage": answer.usage}


def _changed(change: Callable[[dict[str, Any]], object], *, readable: bool = False) -> Twist:
    def twist(request: ChatRequest, answer: Answer) -> Raw:
        body = _body(request, answer)
        changed = change(body)
        return Raw(json.dumps(body if changed is None else changed).encode(), readable=readable)

    return twist


def _sent(data: Callable[[bytes], bytes], headers: dict[str, str] | None = None, **more: Any) -> Twist:
    return lambda request, answer: Raw(
        data(json.dumps(_body(request, answer)).encode()), headers=_JSON | (headers or {}), **more
    )


def _finish(reason: str, share: float = 1.0) -> Twist:
    return lambda request, answer: replace(
        answer, text=answer.text[: int(len(answer.text) * share)], finish_reason=reason
    )


def _message(body: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = body["choices"][0]["message"]
    return message


_NO_SCHEMA = Fault("status", status=400, message="'response_format' of type 'json_schema' is off today.")
FAULTS: dict[str, Twist] = {
    **{
        f"{code}": _status(code) for code in (400, 401, 402, 403, 404, 405, 408, 409, 413, 422, 425, 500, 501, 502, 504)
    },
    "429": _status(429),
    "429 retry-after": _status(429, 0.05),
    "503": _status(503),
    "503 retry-after": _status(503, 0.05),
    "529": _status(529),
    "418": _status(418),
    "context length": _status(400, message="This model's maximum context length is 10 tokens."),
    "schema refused": lambda request, answer: _NO_SCHEMA if request.body.get("response_format") else answer,
    "reset before headers": lambda request, answer: Fault("drop"),
    "reset after headers": lambda request, answer: Raw(b"x" * 1000, cut=1000),
    "half a body": lambda request, answer: Fault("drop_midway", text=answer.text),
    "half a body without a length": _sent(lambda body: body[: len(body) // 2], length=False),
    "no answer": lambda request, answer: Fault("hang"),
    "slow body": lambda request, answer: Fault("drip", text=answer.text, seconds=_SLOW),
    "empty body": lambda request, answer: Raw(b""),
    "204": lambda request, answer: Raw(b"", status=204, length=False),
    "null": lambda request, answer: Raw(b"null"),
    "a list": lambda request, answer: Raw(b"[]"),
    "wrong JSON": lambda request, answer: Fault("malformed", text=answer.text),
    "an error in a 200": lambda request, answer: Raw(json.dumps(Fault("status").error()).encode()),
    "HTML page": lambda request, answer: Fault("html"),
    "HTML page as JSON": lambda request, answer: Raw(PAGE.encode()),
    "HTML page with 502": lambda request, answer: Raw(PAGE.encode(), 502, {"Content-Type": "text/html"}),
    "content type text/plain": _sent(bytes, {"Content-Type": "text/plain"}, readable=True),
    "no choices": lambda request, answer: Fault("no_choices"),
    "choices null": _changed(lambda body: body.update(choices=None)),
    "null content": lambda request, answer: Fault("null_content"),
    "empty content": lambda request, answer: replace(answer, text=""),
    "no message": _changed(lambda body: body["choices"][0].pop("message") and None),
    "content is a number": _changed(lambda body: _message(body).update(content=7, tool_calls=None)),
    "finish length": _finish("length", 0.5),
    "finish length, empty": _finish("length", 0.0),
    "content filter": _finish("content_filter", 0.5),
    "refusal": lambda request, answer: replace(answer, refusal=REFUSAL),
    "refusal in prose": lambda request, answer: replace(answer, text=REFUSAL),
    "two choices": _changed(lambda body: body["choices"].append(body["choices"][0]), readable=True),
    "no usage": lambda request, answer: replace(answer, usage=None),
    "negative usage": lambda request, answer: replace(answer, usage={"prompt_tokens": -5, "completion_tokens": -9}),
    "usage in words": lambda request, answer: replace(
        answer, usage={"prompt_tokens": "many", "completion_tokens": None}
    ),
    "no id, no model": _changed(lambda body: {"choices": body["choices"]}, readable=True),
    "gzip": _sent(gzip.compress, {"Content-Encoding": "gzip"}, readable=True),
    "broken gzip": _sent(lambda body: gzip.compress(body)[:-12], {"Content-Encoding": "gzip"}),
    "gzip that is none": _sent(bytes, {"Content-Encoding": "gzip"}),
    _BOMB: lambda request, answer: Raw(_bomb(), headers=_JSON | {"Content-Encoding": "gzip"}),
    "redirect to nowhere": lambda request, answer: Raw(b"", 302, {"Location": "/elsewhere"}),
    "redirect in circles": lambda request, answer: Raw(b"", 307, {"Location": request.path}),
    "invalid UTF-8": _sent(lambda body: body.replace(b'"content": "', b'"content": "\xff\xfe\xc3')),
    "a byte order mark": _sent(lambda body: b"\xef\xbb\xbf" + body),
    "100 KB of blanks first": _sent(lambda body: b" " * 100_000 + body, readable=True),
    "nested 5000 deep": lambda request, answer: Raw(b"[" * 5000 + b"]" * 5000),
}
_REFUSALS = {"content filter", "refusal", "refusal in prose"}
# These are about one request, so that a refinement goes another way, as after a refusal.
_REJECTIONS = {"400", "413", "422", "context length"}
_LED = {"refine", "redraft"}
_UNKNOWN_USAGE = {"no usage", "negative usage", "usage in words"}


def faults(seed: int) -> Iterator[Try]:
    """Each fault at each share, with the kinds of runs in turn; then the same with another kind, and another chance."""
    for number in itertools.count():
        for place, (fault, share) in enumerate(itertools.product(FAULTS, SHARES)):
            kind = _KINDS[(number + place) % len(_KINDS)]
            name = f"faults/{fault}, {share:.0%}, {kind} #{number}"
            yield Try(name, partial(_faulty, fault, share, kind, f"{seed} {name}"))


def _faulty(fault: str, share: float, kind: str, seed: str, folder: Path) -> Iterator[Violation]:
    def at_times(request: ChatRequest, count: int) -> bool:
        return random.Random(f"{seed} {identity(request)} {count}").random() < share

    if fault == _BOMB:
        _bomb()  # takes longer than whoever asks would wait
    script = with_twists(FAULTS[fault], at_times)
    with world(folder, script, REDRAFT_TIMEOUT=_TIMEOUT, REDRAFT_CONCURRENCY="4") as workspace:
        done = workspace.finished(kind, _TRIES)
        refused = fault in _REFUSALS or (fault in _REJECTIONS and kind in _LED)
        for violation in judged(workspace, kind, done, same=not refused):
            # An answer whose usage is not known cannot be told by it; one that was refused is asked for again.
            if violation.breach not in {"lost", "repeated"} or not (refused or fault in _UNKNOWN_USAGE):
                yield violation
        yield from _refusals(workspace, kind, done.out)


def _refusals(workspace: World, kind: str, out: str) -> Iterator[Violation]:
    """A refusal is no part of a summary, and a verdict that it has left out is not replaced by another."""
    if "can't help with that" in out:
        yield Violation("wrong", f"{kind}: a refusal stands in what was made: {out[:200]!r}")
    if kind == "evaluate":
        expected = _findings(undisturbed(kind).out)
        if wrong := _findings(told_by(out)) - expected:
            yield Violation("wrong", f"verdicts that nobody gave: {sorted(wrong)[:3]}", len(wrong))


def _findings(out: str) -> set[str]:
    lines = (line.strip().partition(" ") for line in out.splitlines() if line[:4].strip().isdigit())
    return {text.strip() for _, _, text in lines}


ATTACKS = (
    Attack("faults", faults, 6, small=("faults/500, 30%", "faults/429 retry-after, 30%", "faults/half a body, 10%")),
)
