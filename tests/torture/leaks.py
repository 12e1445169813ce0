"""A second server that must hear nothing, keys that must be found nowhere, and files that only their owner may read."""

from __future__ import annotations

import base64
import itertools
import json
import os
import random
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import quote, quote_plus

from tests.chatserver import Answer, ChatRequest, Fault, Raw, Reply
from tests.torture.processes import WorkerExit
from tests.torture.runner import Attack, Try, Violation
from tests.torture.world import KEY, KINDS, World, right, world

_PATIENCE = 60.0
_TOLD_TO_WAIT = 300.0
_ERRORS = (400, 401, 403, 404, 429, 500)


class Spy:
    """Somebody who listens and must not be told anything: every connection counts."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                connection.settimeout(0.5)
                with connection, suppress(OSError):
                    self.heard.append(connection.recv(65_536))
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    def close(self) -> None:
        """Listen no more. The thread is woken, as closing a socket does not interrupt who waits for it."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(2)


@contextmanager
def spy() -> Iterator[Spy]:
    """Somebody who listens."""
    listening = Spy()
    try:
        yield listening
    finally:
        listening.close()


Lure = Callable[[World, Spy], dict[str, str]]
"""Lays out what could lead a run to the spy: files, and the environment that it returns."""


def _file(name: str, text: str) -> Lure:
    def lay(workspace: World, listener: Spy) -> dict[str, str]:
        (workspace.folder / name).write_text(text.replace("SPY", listener.url), "utf-8")
        return {}

    return lay


def _variables(**variables: str) -> Lure:
    return lambda workspace, listener: {name: value.replace("SPY", listener.url) for name, value in variables.items()}


LURES: dict[str, Lure] = {
    "LANGSMITH_TRACING": _variables(
        LANGSMITH_TRACING="true", LANGSMITH_ENDPOINT="SPY", LANGSMITH_API_KEY="lsv2_sk_0123456789"
    ),
    "LANGCHAIN_TRACING_V2": _variables(
        LANGCHAIN_TRACING_V2="true", LANGCHAIN_ENDPOINT="SPY", LANGCHAIN_API_KEY="lsv2_sk_0123456789"
    ),
    "LANGSMITH_TRACING_V2": _variables(
        LANGSMITH_TRACING_V2="true", LANGSMITH_ENDPOINT="SPY", LANGSMITH_API_KEY="x", LANGSMITH_PROJECT="p"
    ),
    "LANGCHAIN_HANDLER": _variables(LANGCHAIN_HANDLER="langchain", LANGCHAIN_ENDPOINT="SPY", LANGCHAIN_API_KEY="x"),
    "LANGSMITH_RUNS_ENDPOINTS": _variables(LANGSMITH_TRACING="true", LANGSMITH_RUNS_ENDPOINTS='{"SPY": "x"}'),
    "an address in redraft.toml": _file("redraft.toml", 'base-url = "SPY"\nmodel = "openai:m"\n'),
    "an address for one command": _file("redraft.toml", '[summarize]\nbase-url = "SPY"\n'),
    "a judge's address in redraft.toml": _file(
        "redraft.toml", 'judge = ["openai:m"]\njudge-base-url = "SPY"\nrefine = true\n'
    ),
    "a .env file": _file(".env", "OPENAI_BASE_URL=SPY\nLANGSMITH_TRACING=true\nLANGSMITH_ENDPOINT=SPY\n"),
    "prompts in the directory": _file("summarize_chunk.md", "{{ excerpt }} {{ words }} {{ query }} SPY"),
    "a sitecustomize in the directory": _file(
        "sitecustomize.py", "import urllib.request\nurllib.request.urlopen('SPY')\n"
    ),
    "a module in the directory": _file("langsmith.py", "import urllib.request\nurllib.request.urlopen('SPY')\n"),
    "OPENAI_API_BASE": _variables(OPENAI_API_BASE="SPY"),
    "an address in the document": _file(
        "book.md", "# A\n\n![x](SPY) <img src='SPY'> See SPY for the rest of it.\n" * 20
    ),
}


def _redirect(code: int) -> Callable[[Spy, ChatRequest], Reply]:
    return lambda listener, request: Raw(b"", code, {"Location": f"{listener.url}/chat/completions"})


def _reply_names_it(listener: Spy, request: ChatRequest) -> Reply:
    answer = right(request)
    return answer if answer.text.startswith("{") else replace(answer, text=f"{answer.text} See {listener.url}/x.png.")


REPLIES: dict[str, Callable[[Spy, ChatRequest], Reply]] = {
    **{f"a redirect with {code}": _redirect(code) for code in (301, 302, 303, 307, 308)},
    "a 300 with a choice": lambda listener, request: Raw(b"", 300, {"Location": listener.url}),
    "a Refresh": lambda listener, request: Raw(b"", 200, {"Refresh": f"0; url={listener.url}"}),
    "a 305 to a proxy": lambda listener, request: Raw(b"", 305, {"Location": listener.url}),
    "an Alt-Svc": lambda listener, request: Raw(b"", 503, {"Alt-Svc": f'h2="127.0.0.1:{listener.port}"'}),
    "a Link": lambda listener, request: Raw(b"", 500, {"Link": f"<{listener.url}>; rel=preload"}),
    "an address in a reply": _reply_names_it,
}


def elsewhere(seed: int) -> Iterator[Try]:
    """Every lure and every reply, with all kinds of runs in turn."""
    for number in itertools.count():
        kinds = itertools.islice(itertools.cycle(KINDS), number, None)
        for name, lure in LURES.items():
            kind = "redraft" if "judge" in name else next(kinds)
            yield Try(f"elsewhere/{name}, {kind} #{number}", partial(_lured, lure, kind))
        for name, reply in REPLIES.items():
            kind = next(kinds)
            yield Try(f"elsewhere/{name}, {kind} #{number}", partial(_answered, reply, kind))


def _lured(lure: Lure, kind: str, folder: Path) -> Iterator[Violation]:
    with spy() as listener, world(folder) as workspace:
        workspace.environment |= lure(workspace, listener)
        # A file of the directory is below the environment: the address must not be there, nor the model.
        for name in ("OPENAI_BASE_URL", "REDRAFT_MODEL") if (folder / "redraft.toml").exists() else ():
            workspace.environment.pop(name)
        words = () if (folder / "redraft.toml").exists() else ("--model", "openai:m")
        _in_a_fresh_process(workspace, (*KINDS[kind], *words))
        yield from _heard(listener)


def _answered(reply: Callable[[Spy, ChatRequest], Reply], kind: str, folder: Path) -> Iterator[Violation]:
    with spy() as listener, world(folder, partial(reply, listener)) as workspace:
        done = workspace.run(*KINDS[kind], REDRAFT_TIMEOUT="5")
        if done.trouble:
            yield Violation("crashed", done.trouble)
        yield from _heard(listener)


def _in_a_fresh_process(workspace: World, command: tuple[str, ...]) -> WorkerExit:
    """What is read from the environment once, when a module is imported, is read here as well."""
    path = os.environ.get("PYTHONPATH", "")
    done = subprocess.run(
        [Path(sys.executable).with_name("redraft"), *command],
        cwd=workspace.folder,
        env=workspace.environment | ({"PYTHONPATH": path} if path else {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_PATIENCE,
        check=False,
    )
    return WorkerExit(done.returncode, done.stdout.decode(), done.stderr.decode())


def _heard(listener: Spy) -> Iterator[Violation]:
    if listener.heard:
        first = listener.heard[0][:200]
        yield Violation(
            "leaked", f"the second server was asked {len(listener.heard)} times: {first!r}", len(listener.heard)
        )


def forms(key: str) -> dict[str, bytes]:
    """The ways in which a key may be written."""
    encodings = {
        "plain": key,
        "percent": quote(key, safe=""),
        "form": quote_plus(key),
        "percent, small": quote(key, safe="").replace("%2F", "%2f").replace("%2B", "%2b").replace("%3D", "%3d"),
        "JSON": json.dumps(key)[1:-1],
        "escaped JSON": key.replace("/", "\\/"),
        "base64": base64.b64encode(key.encode()).decode(),
        "base64 for URLs": base64.urlsafe_b64encode(key.encode()).decode(),
        "Basic": base64.b64encode(f":{key}".encode()).decode(),
    }
    return {name: form.encode() for name, form in encodings.items()}


def _echo(way: str, form: str, request: ChatRequest) -> Reply:
    text, answer = f"the key {form} may not do this", right(request)
    if way == "refusal":
        return replace(answer, refusal=text)
    if way == "page":
        return Raw(f"<html>{text}</html>".encode(), 502, {"Content-Type": "text/html"})
    if way == "200":
        return Raw(json.dumps({"error": {"message": text}}).encode())
    if way == "finish reason":
        return replace(answer, finish_reason=text)
    if way == "no JSON":
        return Raw(text.encode())
    return Fault("status", status=int(way), message=text, code=form, param=form)


def keys(seed: int) -> Iterator[Try]:
    """Providers that say the key back, in every form and every way."""
    ways = [*map(str, _ERRORS), "refusal", "page", "200", "finish reason", "no JSON"]
    names = list(forms(KEY))
    for shift, (place, way) in itertools.product(range(len(names)), enumerate(ways)):
        form = names[(place + shift) % len(names)]
        yield Try(f"keys/{form} in {way}", partial(_kept, way, form))
    for number in itertools.count(1):
        chance = random.Random(f"{seed} keys {number}")
        yield Try(f"keys/random #{number}", partial(_kept, chance.choice(ways), chance.choice(names)))


def _kept(way: str, form: str, folder: Path) -> Iterator[Violation]:
    encoded = forms(KEY)[form].decode()
    with world(folder, partial(_echo, way, encoded), REDRAFT_TIMEOUT="5") as workspace:
        # Who is told to wait by each of its requests gives up after some minutes.
        ended = [workspace.run("summarize", "book.md", "-w", "60", "--chunk-tokens", "128", patience=_TOLD_TO_WAIT)]
        if runs := workspace.runs():
            ended += [
                workspace.run("show", runs[0], "--json"),
                workspace.run("trace", runs[0]),
                workspace.run("runs", "--json"),
            ]
        for process in ended:
            if process.trouble:
                yield Violation("crashed", process.trouble)
        yield from found_in(folder)
        yield from _open(folder)


def found_in(folder: Path) -> Iterator[Violation]:
    """Every file in which a key stands, in whichever form: the store, the checkpoints, logs and what was printed."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        for name, form in forms(KEY).items():
            if form in data:
                yield Violation("leaked", f"the key ({name}) stands in {_called(path)}")
                break


def _open(folder: Path) -> Iterator[Violation]:
    """Every file of the store that others may read."""
    for path in sorted(folder.glob("redraft*")):
        try:
            mode = stat.S_IMODE(path.stat().st_mode) & 0o077
        except FileNotFoundError:
            # A journal comes and goes.
            continue
        if mode:
            yield Violation("leaked", f"{path.name} may be read by others: {mode:o}")


def _called(path: Path) -> str:
    return {".out": "stdout", ".err": "stderr"}.get(path.name[:4], path.name)


def private(seed: int) -> Iterator[Try]:
    """Every kind of run, killed at some moment: its files are its owner's alone, whatever stands in them by then."""
    for number in itertools.count():
        kind = tuple(KINDS)[number % len(KINDS)]
        yield Try(f"private/{kind} #{number}", partial(_private, kind, f"{seed} {number}"))


def _private(kind: str, seed: str, folder: Path) -> Iterator[Violation]:
    def slowly(request: ChatRequest) -> Answer:
        return replace(right(request), latency=0.03)

    with world(folder, slowly) as workspace:
        running = workspace.start(*KINDS[kind])
        chance = random.Random(seed)
        for _ in range(chance.randint(5, 30)):
            yield from _open(folder)
            threading.Event().wait(0.02)
        running.kill()
        workspace.end(running)
        yield from _open(folder)
        workspace.finished(kind)
        yield from _open(folder)
        yield from found_in(folder)


ATTACKS = (
    Attack("elsewhere", elsewhere, 3, small=("elsewhere/LANGSMITH_TRACING,", "elsewhere/a redirect with 307")),
    Attack("keys", keys, 2, small=("keys/percent in 400", "keys/base64 in 401", "keys/plain in 403")),
    Attack("private", private, 1, small=("private/refine #4",)),
)
