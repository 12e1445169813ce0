"""A local server that speaks the chat-completions protocol over real HTTP, for tests and benchmarks.

A script decides what each request is answered with, and every request is recorded. As a process,
`python -m tests.chatserver --log requests.jsonl`, it answers with `summarizer` and prints its base url.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import re
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import KW_ONLY, asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, get_args

from aiohttp import web

Json = dict[str, Any]
Early = Literal["status", "drop", "hang"]  # no reply: an error status, a lost connection, nothing ever
Spoiled = Literal["html", "no_choices", "null_content", "malformed", "drop_midway"]  # an unreadable reply
Kind = Early | Spoiled | Literal["drip", ""]  # a reply in slow drops, a plain reply
EARLY, UNREADABLE = get_args(Early), get_args(Early) + get_args(Spoiled)
PAGE = "<!DOCTYPE html><html><head><title>Gateway</title></head><body>Please sign in.</body></html>"
CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
VOCABULARY = """the a old young quiet river captain letter morning winter garden road city house people story
children market keeper stranger answer promise question reason silence storm light carries finds follows opens
remembers returns begins leaves watches gathers tells turns slowly again together before after"""

FENCED = re.compile(r"<(\w+)(?: [^>]*)?>\n(.*?)\n</\1>", re.DOTALL)


@dataclass(slots=True)
class ChatRequest:
    """One request as the server saw it. Each line of the log holds these fields."""

    index: int
    start: float
    path: str
    model: str
    messages: list[Json]
    body: Json
    authorization: str
    prompt_tokens: int
    end: float = 0.0
    completion_tokens: int = 0
    status: int = 0  # until a response begins
    fault: str = ""
    reply: str = ""
    finish_reason: str = ""
    answered: bool = False  # a readable reply went out, to its last byte


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply. Its usage is counted by the server ("auto"), left out (None) or sent as it is (a dict)."""

    text: str = ""
    finish_reason: str = "stop"
    usage: Json | Literal["auto"] | None = "auto"
    latency: float | None = None
    refusal: str | None = None
    tool_calls: list[Json] | None = None
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    reasoning_content: str | None = None
    """The thoughts, apart from the reply."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong. `text` is what the reply says or would have said, `seconds` how long a drip takes."""

    kind: Kind
    text: str = "The reply ends somewhere in here."
    status: int = 500
    message: str = ""
    type: str | None = None
    param: str | None = None
    code: str | None = None
    retry_after: float | None = None
    seconds: float = 1.0
    latency: float | None = None

    def error(self) -> Json:
        message = self.message or f"The server answers with status {self.status}."
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        kind = self.type or ("requests" if self.status == 429 else kind)
        code = self.code or CODES.get(self.status)
        return {"error": {"message": message, "type": kind, "param": self.param, "code": code}}


@dataclass(frozen=True, slots=True)
class Raw:
    """A response as it stands, of the protocol or not. `cut` bytes before its end the connection is lost."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    cut: int = 0
    length: bool = True
    """Whether its length is said beforehand."""
    readable: bool = False
    """Whether a client can make something of it."""


Reply = Answer | Fault | Raw | str | dict[str, Any]
Script = Callable[[ChatRequest], Reply | Awaitable[Reply]]
Latency = Callable[[int, int, int], float]


def text_of(message: Json) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


# With this a prompt goes on whose reply is asked for in words.
FORM = "\n\nReply with one JSON object"


def asked(request: ChatRequest) -> str:
    """What a request asks, and of whom: the same in whichever way it asks for the form of the reply."""
    texts = [text_of(message).partition(FORM)[0] for message in request.messages]
    body = {
        name: value for name, value in request.body.items() if name not in ("response_format", "tools", "tool_choice")
    }
    return json.dumps(body | {"messages": texts}, sort_keys=True)


def linear_latency(
    base: float, per_prompt_token: float, per_completion_token: float, jitter: float = 0.2, seed: int = 0
) -> Latency:
    """Seconds that grow with both token counts, give or take the share `jitter`; the order plays no part."""
    return lambda prompt, completion, _index: (
        (base + per_prompt_token * prompt + per_completion_token * completion)
        * (1 + random.Random(f"{seed} {prompt} {completion}").uniform(-jitter, jitter))
    )


def summarizer(share: float = 0.9, words: int = 100, wrap: Callable[[str], str] = str) -> Callable[[ChatRequest], str]:
    """A script of sentences of 8 to 16 words that depend on nothing but the messages: seven words of eight are those of
    what is to be summarized.

    They fill `share` of the last word limit in the last user message, or of `words`; `wrap` dresses them. Who asks for
    an outline gets one.
    """

    def script(request: ChatRequest) -> str:
        texts = [(message.get("role"), text_of(message)) for message in request.messages]
        question = next((text for role, text in reversed(texts) if role == "user"), "")
        if "turning points" in question:
            outline = {"kind": "narrative", "line": "It goes on.", "turning_points": ["It ends."], "cast": []}
            return json.dumps(outline)
        limit = int((re.findall(r"(\d[\d,]*) words", question) or [str(words)])[-1].replace(",", ""))
        prompt = "\n".join(text for role, text in texts if role == "user")
        vocabulary = [word.lower() for _, text in FENCED.findall(prompt) for word in re.findall(r"[A-Za-z]{4,}", text)]
        choices = (VOCABULARY.split(), vocabulary or VOCABULARY.split())
        rng, sentences, remaining = random.Random(json.dumps(texts)), [], max(int(limit * share), min(limit, 8))
        while remaining > 0:
            # What is left after a sentence must still make a whole one.
            length = remaining if remaining <= 16 else rng.randint(8, min(16, remaining - 8))
            sentences.append(" ".join(rng.choice(choices[at % 8 != 7]) for at in range(length)).capitalize() + ".")
            remaining -= length
        return wrap(" ".join(sentences))

    return script


def refused(body: Json, refuses: Collection[str]) -> Fault | None:
    """The complaint about a request that uses what this provider does not offer."""
    form, heat = (body.get("response_format") or {}).get("type"), body.get("temperature")
    no, only = "is not supported with this model.", "Only the default (1) value is supported."
    value = f"Unsupported value: 'temperature' does not support {heat} with this model. {only}"
    limit = f"Unsupported parameter: 'max_completion_tokens' {no} Use 'max_tokens' instead."
    rows = (
        (form, True, f"Invalid parameter: 'response_format' of type '{form}' {no}"),
        ("temperature", heat not in (None, 1), value),
        ("top_p", "top_p" in body, f"Unsupported parameter: 'top_p' {no}"),
        ("tools", "tools" in body, f"Unsupported parameter: 'tools' {no}"),
        ("max_completion_tokens", "max_completion_tokens" in body, limit),
    )
    for feature, matches, message in rows:
        if matches and feature in refuses:
            code, param = message.lower().replace(": ", "").replace(" ", "_").split("'")[:2]
            return Fault("status", status=400, message=message, param=param, code=code)
    return None


def worded(request: ChatRequest, answer: Answer) -> tuple[Json, str]:
    """The message of an answer and its finish reason. A forced tool gets plain text as its arguments."""
    calls, reason = answer.tool_calls, answer.finish_reason
    tools, choice = request.body.get("tools"), request.body.get("tool_choice")
    if tools and choice not in (None, "auto", "none") and calls is None and answer.refusal is None:
        tool = choice if isinstance(choice, dict) else tools[0]
        function = {"name": tool["function"]["name"], "arguments": answer.text}
        calls = [{"id": f"call_{request.index}", "type": "function", "function": function}]
        reason = "tool_calls" if reason == "stop" else reason
    content = answer.text if answer.refusal is None and not calls else None
    message: Json = {"role": "assistant", "content": content, "refusal": answer.refusal}
    if answer.reasoning_content is not None:
        message["reasoning_content"] = answer.reasoning_content
    return (message | {"tool_calls": calls} if calls else message), reason


def encoded(request: ChatRequest, answer: Answer, fault: Fault) -> tuple[str, str]:
    """The content type and the body of a response."""
    if fault.kind == "html":
        return "text/html", PAGE
    if fault.kind == "status":
        return "application/json", json.dumps(fault.error())
    (message, reason), usage = worded(request, answer), answer.usage
    if fault.kind == "null_content":
        message["content"] = None
    if isinstance(usage, str):
        prompt_tokens, reply_tokens = request.prompt_tokens, request.completion_tokens
        usage = {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": reply_tokens,
            "total_tokens": prompt_tokens + reply_tokens,
        }
        usage["prompt_tokens_details"] = {"cached_tokens": answer.cached_tokens}
        usage["completion_tokens_details"] = {"reasoning_tokens": answer.reasoning_tokens}
    head = {"id": f"chatcmpl-{request.index}", "object": "chat.completion", "created": int(time.time())}
    choices = [] if fault.kind == "no_choices" else [{"index": 0, "message": message, "finish_reason": reason}]
    body = head | {"model": request.model, "choices": choices} | ({"usage": usage} if usage else {})
    return "application/json", json.dumps(body)[: -9 if fault.kind == "malformed" else None]


@dataclass(eq=False, repr=False)
class ChatServer:
    """The server, in a thread and event loop of its own, as a context manager."""

    script: Script | Iterable[Reply | Script] = field(default_factory=summarizer)
    _: KW_ONLY
    host: str = "127.0.0.1"
    port: int = 0
    refuses: Collection[str] = ()
    latency: Latency | None = None
    count: Callable[[str], int] = lambda text: len(text.encode("utf-8", "surrogatepass")) // 4
    log: Path | None = None
    pages: Mapping[str, Json] = field(default_factory=dict)  # what else it has to say, by path
    base_url: str = field(default="", init=False)
    seen: list[ChatRequest] = field(default_factory=list, init=False)
    looked: list[tuple[str, str]] = field(default_factory=list, init=False)  # for what else, and with which key
    in_flight: int = field(default=0, init=False)
    peak: int = field(default=0, init=False)

    @property
    def answered(self) -> list[ChatRequest]:
        return [request for request in self.seen if request.answered]

    def __enter__(self) -> Self:
        self._turns = itertools.repeat(self.script) if callable(self.script) else iter(self.script)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> None:
        app = web.Application(client_max_size=2**30)
        for prefix in ("", "/v1"):
            app.router.add_post(f"{prefix}/chat/completions", self._chat)
            app.router.add_get(f"{prefix}/models", self._models)
        app.router.add_route("*", "/{path:.*}", self._page)
        # Requests still waiting are cancelled: when their client leaves, and when the server stops.
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.01)
        await self._runner.setup()
        await web.TCPSite(self._runner, self.host, self.port, backlog=1024).start()
        self.port = self._runner.addresses[0][1]
        self.base_url = f"http://{self.host}:{self.port}/v1"

    async def _page(self, request: web.Request) -> web.Response:
        self.looked.append((request.path, request.headers.get("Authorization", "")))
        if request.path not in self.pages:
            raise web.HTTPNotFound
        return web.json_response(self.pages[request.path])

    async def _models(self, request: web.Request) -> web.Response:
        if request.path in self.pages:
            return await self._page(request)
        self.looked.append((request.path, request.headers.get("Authorization", "")))
        return web.json_response({"object": "list", "data": [{"id": "test-model", "object": "model"}]})

    def _saw(self, path: str, body: Json, key: str) -> ChatRequest:
        tokens = sum(self.count(text_of(message)) for message in body["messages"])
        request = ChatRequest(
            len(self.seen), time.monotonic(), path, body["model"], body["messages"], body, key, tokens
        )
        self.seen.append(request)
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        return request

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        recorded = self._saw(request.path, body, request.headers.get("Authorization", ""))
        try:
            reply = refused(body, self.refuses) or await self._asked(recorded)
            if isinstance(reply, Raw):
                return await self._respond_raw(request, recorded, reply)
            return await self._respond(request, recorded, reply)
        finally:
            self._settle(recorded)

    def _settle(self, request: ChatRequest, answered: bool = False) -> None:
        # Before the last byte leaves: a client that has its answer finds it recorded and its place free.
        if request.end:
            return
        request.end, request.answered = time.monotonic(), answered
        self.in_flight -= 1
        if self.log:
            with self.log.open("a", encoding="utf-8") as log:
                log.write(json.dumps(asdict(request)) + "\n")

    async def _asked(self, request: ChatRequest) -> Answer | Fault | Raw:
        turn = next(self._turns, Fault("status", message="The script is exhausted: it has no reply left."))
        reply = turn(request) if callable(turn) else turn
        reply = await reply if isinstance(reply, Awaitable) else reply
        reply = json.dumps(reply) if isinstance(reply, dict) else reply
        return Answer(reply) if isinstance(reply, str) else reply

    async def _respond(self, request: web.Request, recorded: ChatRequest, reply: Answer | Fault) -> web.StreamResponse:
        fault = reply if isinstance(reply, Fault) else Fault("")
        answer = Answer(reply.text, latency=reply.latency) if isinstance(reply, Fault) else reply
        kind, delay, readable = fault.kind, answer.latency or 0.0, fault.kind not in UNREADABLE
        calls = "".join(call["function"]["arguments"] for call in answer.tool_calls or ())
        content = f"{answer.text}{answer.refusal or ''}{calls}"
        recorded.fault, recorded.reply, recorded.finish_reason = kind, content if readable else "", answer.finish_reason
        recorded.completion_tokens = 0 if kind in EARLY else self.count(content) + answer.reasoning_tokens
        if answer.latency is None and self.latency and kind not in EARLY:
            delay = self.latency(recorded.prompt_tokens, recorded.completion_tokens, recorded.index)
        await asyncio.sleep(recorded.start + delay - time.monotonic())
        if kind == "hang":
            await asyncio.Event().wait()
        content_type, text = encoded(recorded, answer, fault)
        body, headers = text.encode(), {"Content-Type": content_type}
        if fault.retry_after is not None:
            headers["Retry-After"] = f"{fault.retry_after:g}"
        response = web.StreamResponse(status=fault.status if kind == "status" else 200, headers=headers)
        response.content_length = len(body)
        total = {"drop": 0, "drop_midway": len(body) // 2}.get(kind, len(body))
        steps = 20 if kind == "drip" else 1
        for step in range(steps if total else 0):
            await response.prepare(request)
            recorded.status = response.status
            await asyncio.sleep(fault.seconds / steps if kind == "drip" else 0)
            if step == steps - 1:
                self._settle(recorded, readable)
            await response.write(body[total * step // steps : total * (step + 1) // steps])
        if total < len(body) and request.transport:
            request.transport.close()
        return response

    async def _respond_raw(self, request: web.Request, recorded: ChatRequest, reply: Raw) -> web.StreamResponse:
        recorded.fault = "raw"
        recorded.completion_tokens = self.count(reply.body.decode("utf-8", "replace"))
        response = web.StreamResponse(status=reply.status, headers=reply.headers)
        if reply.length:
            response.content_length = len(reply.body)
        await response.prepare(request)
        recorded.status = response.status
        self._settle(recorded, reply.readable)
        await response.write(reply.body[: len(reply.body) - reply.cut])
        if reply.cut and request.transport:
            request.transport.close()
        return response


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    delays = {"base": 0.0, "prompt": 0.0, "completion": 0.0, "jitter": 0.2}
    for name, default in delays.items():
        parser.add_argument(f"--latency-{name}", type=float, default=default)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--refuses", nargs="*", default=[])
    parser.add_argument("--log", type=Path)
    options = vars(parser.parse_args())
    latency = linear_latency(*(options.pop(f"latency_{name}") for name in delays))
    with ChatServer(latency=latency, **options) as server:
        print(server.base_url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
