"""What attacks happen to: all kinds of runs on a small document, a server that answers them, and how they come out.

The server tells each request by what is in it, and says so in the number of prompt tokens that it reports: what the
ledger holds can so be told from what was sent, without a look at how redraft keeps it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from redraft.agents.structured_writer import MAX_TRIES
from tests.chatserver import FORM, Answer, ChatRequest, ChatServer, Reply, summarizer, text_of
from tests.judges import PerfectModel, island, read_sheet, summary_of
from tests.torture.processes import PATIENCE, Fate, Running, WorkerExit, start
from tests.torture.runner import Violation

KEY = "sk-torture/0123456789+abcdef=XYZ"
_NOBODY = "http://127.0.0.1:9"
_BOOK = island(24).text
# What differs from run to run in what is printed: ids, and where the server is.
_CHANGING = re.compile(r"\b[0-9a-f]{8}(?:[0-9a-f]{8})?\b|127\.0\.0\.1:\d+")
# How it is said that an item is left open: resuming asks about it again.
_OPEN = "without a verdict"

_COMMANDS = {
    "direct": "summarize book.md -w 60 --strategy direct",
    "hierarchical": "summarize book.md -w 60 --strategy hierarchical --chunk-tokens 128",
    "incremental": "summarize book.md -w 60 --chunk-tokens 128 --strategy incremental",
    "evaluate": "evaluate book.md poor.md",
    "refine": "refine book.md poor.md -g coverage=0.9 -g consistency=1.0 -w 200",
    "redraft": "summarize book.md -w 300 --chunk-tokens 256 --strategy hierarchical --refine -g coverage=0.3",
    "compare": "compare book.md poor.md other.md",
    "pack": "pack build book.md",
    "keyfacts": "keyfacts book.md",
}
KINDS: dict[str, tuple[str, ...]] = {kind: tuple(command.split()) for kind, command in _COMMANDS.items()}
"""The arguments of every kind of run."""

Twist = Callable[[ChatRequest, Answer], Reply]
"""What a server says in place of the right answer."""


def identity(request: ChatRequest) -> int:
    """A number that stands for what a request says, in whichever way it asks for its reply. As good as unique."""
    texts = [text_of(message) for message in request.messages]
    texts[0] = texts[0].partition(FORM)[0]
    digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
    return 1000 + int(digest[:7], 16)


def _wanted(request: ChatRequest) -> set[tuple[str, str]]:
    """What a request is for: each item that it asks about, with whom else ever; else the whole of it."""
    sheet = read_sheet(request)
    return {(sheet.prompt, text) for text in sheet.judged.values()} or {(sheet.prompt, str(identity(request)))}


_JUDGE, _PROSE = PerfectModel(), summarizer()


def right(request: ChatRequest) -> Answer:
    """The answer that every request has. It depends on the prompt alone, not on what is complained of after it."""
    sheet = read_sheet(request)
    if sheet.prompt not in ("revise", "edit") or sheet.items("points"):
        reply = _JUDGE(sheet)
    else:
        reply = _PROSE(replace(request, messages=request.messages[:1]))
    text = reply if isinstance(reply, str) else json.dumps(reply)
    usage = {"prompt_tokens": identity(request), "completion_tokens": 7, "total_tokens": identity(request) + 7}
    return Answer(text, usage=usage)


@dataclass(slots=True)
class Life:
    """A process on the store, from the first request that it sent on, and what was stored when it was over."""

    began: int
    ended: int = 0
    stored: frozenset[int] = frozenset()


@dataclass
class World:
    """A directory with a document and summaries of it, a server, and a database."""

    folder: Path
    server: ChatServer
    environment: dict[str, str]
    fate: Fate = Fate()  # noqa: RUF009
    """What happens to every process, unless it has a fate of its own."""
    lives: list[Life] = field(default_factory=list)
    _count: int = 0

    @property
    def database(self) -> Path:
        return self.folder / "redraft.db"

    def start(self, *arguments: str, fate: Fate | None = None, stdin: str = os.devnull, **more: str) -> Running:
        """Start the command."""
        self._count += 1
        streams = (stdin, self.folder / f".out{self._count}", self.folder / f".err{self._count}")
        self.lives.append(Life(len(self.server.seen)))
        return start(arguments, self.folder, self.environment | more, streams, fate or self.fate)

    def end(self, running: Running, patience: float = PATIENCE) -> WorkerExit:
        """Wait until a process is over, and nothing that it has sent is under way."""
        ended = running.end(patience)
        self.settle()
        self.lives[-1].ended = len(self.server.seen)
        self.lives[-1].stored = self.stored()
        return ended

    def run(self, *arguments: str, fate: Fate | None = None, patience: float = PATIENCE, **more: str) -> WorkerExit:
        """Run the command to its end."""
        return self.end(self.start(*arguments, fate=fate, **more), patience)

    def settle(self) -> None:
        """Wait for requests of the dead, which the server may still be reading."""
        quiet_since, sent = time.monotonic(), len(self.server.seen)
        while time.monotonic() < quiet_since + 0.05:
            time.sleep(0.01)
            if self.server.in_flight or len(self.server.seen) != sent:
                quiet_since, sent = time.monotonic(), len(self.server.seen)

    def stored(self) -> frozenset[int]:
        """The requests whose answers are in the ledger."""
        return frozenset(row[0] for row in self._rows("SELECT prompt_tokens FROM calls WHERE outcome = 'ok'"))

    def runs(self) -> list[str]:
        """The runs on record, the latest first."""
        return [row[0] for row in self._rows("SELECT id FROM runs ORDER BY created DESC, rowid DESC")]

    def _rows(self, query: str) -> list[tuple]:
        if not self.database.exists():
            return []
        with closing(sqlite3.connect(f"{self.database.as_uri()}?mode=ro", uri=True, timeout=30)) as raw:
            try:
                return raw.execute(query).fetchall()
            except sqlite3.OperationalError:
                # It was killed before there was a table.
                return []

    def finished(self, kind: str, tries: int = 3, fate: Fate | None = None) -> WorkerExit:
        """Go on with the run until it is done and says that nothing is lacking, as often as that may take.

        It begins anew if it is not on record.
        """
        for _ in range(tries):
            runs = self.runs()
            done = self.run(*(("resume", runs[0]) if runs else KINDS[kind]), fate=fate)
            if (done.code == 0 and _OPEN not in done.out + done.err) or done.trouble:
                return done
        return done


@contextmanager
def world(
    folder: Path, script: Callable[[ChatRequest], Reply] = right, fate: Fate | None = None, **more: str
) -> Iterator[World]:
    """A world with a server of its own."""
    (folder / "book.md").write_text(_BOOK, "utf-8")
    (folder / "poor.md").write_text(summary_of(1, 3, 4, wrong={2: "Bob"}), "utf-8")
    (folder / "other.md").write_text(summary_of(1, 2, 3, 4, 5, 6), "utf-8")
    home = folder / "home"
    home.mkdir()
    with ChatServer(script) as server:
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(home),
            "TMPDIR": str(home),
            "COLUMNS": "100",
            "HTTP_PROXY": _NOBODY,
            "HTTPS_PROXY": _NOBODY,
            "ALL_PROXY": _NOBODY,
            "NO_PROXY": "127.0.0.1",
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": server.base_url,
            "REDRAFT_DB": str(folder / "redraft.db"),
            "REDRAFT_MODEL": "openai:m",
            **more,
        }
        yield World(folder, server, environment, fate or Fate())


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """What comes of a run that nobody attacks."""

    out: str
    requests: Counter[int]
    conclusions: frozenset[tuple[str, str]]
    writes: int
    """To the checkpoints."""
    seconds: float


_undisturbed: dict[str, Undisturbed] = {}
_knowing = threading.Lock()


def undisturbed(kind: str) -> Undisturbed:
    """What comes of a kind of run when it is left alone; it is made once."""
    with _knowing:
        if kind not in _undisturbed:
            with TemporaryDirectory(prefix="undisturbed-") as name, world(Path(name)) as workspace:
                began = time.monotonic()
                done = workspace.run(*KINDS[kind])
                seconds = time.monotonic() - began
                assert done.code == 0, f"{kind}: {done.code} {done.err}"
                log = workspace.folder / "writes"
                writes = log.stat().st_size if log.exists() else 0
                requests = Counter(identity(request) for request in workspace.server.seen)
                conclusions = frozenset().union(*map(_wanted, workspace.server.seen))
                _undisturbed[kind] = Undisturbed(told_by(done.out), requests, conclusions, writes, seconds)
        return _undisturbed[kind]


def told_by(out: str) -> str:
    """What is printed, without what differs from run to run."""
    return _CHANGING.sub("…", out).strip()


def judged(workspace: World, kind: str, done: WorkerExit, *, same: bool = True) -> Iterator[Violation]:
    """What a run that was disturbed, and has been brought to its end, has lost, repeated or changed."""
    expected = undisturbed(kind)
    if done.trouble or done.code not in ({0} if same else {0, 3}):
        last = done.trouble or f"exit {done.code}: {done.err[-500:]}"
        yield Violation("bricked", f"{kind} does not come to its end: {last}")
        return
    if same and told_by(done.out) != expected.out:
        yield Violation("wrong", f"{kind}: another outcome: {_difference(expected.out, told_by(done.out))}")
    yield from repetitions(workspace.server.seen, workspace.lives, expected.requests)
    # What was left open or cut before is asked about in other company.
    if missing := expected.conclusions.difference(*map(_wanted, workspace.server.seen)):
        yield Violation("lost", f"{kind}: {len(missing)} items were never asked about", len(missing))


def repetitions(requests: Sequence[ChatRequest], lives: Sequence[Life], expected: Counter[int]) -> Iterator[Violation]:
    """What was paid for though it was stored, and what one process has sent twice without a need."""
    before: frozenset[int] = frozenset()
    for number, life in enumerate(lives):
        sent = Counter(identity(request) for request in requests[life.began : life.ended])
        if paid := [request_id for request_id in sent if request_id in before]:
            yield Violation("lost", f"process {number + 1} paid for {len(paid)} stored answers again", len(paid))
        # With more room for its reply it is another request.
        answered = Counter(
            (identity(request), request.body.get("max_completion_tokens"))
            for request in requests[life.began : life.ended]
            if request.answered and not _is_lost(request)
        )
        twice = sum(max(0, count - max(1, expected[request_id])) for (request_id, _), count in answered.items())
        if twice:
            yield Violation("repeated", f"process {number + 1} sent {twice} requests twice", twice)
        lost = Counter(identity(request_id) for request_id in requests[life.began : life.ended] if _is_lost(request_id))
        often = sum(
            max(0, count - (MAX_TRIES + 1) * max(1, expected[request_id])) for request_id, count in lost.items()
        )
        if often:
            yield Violation("repeated", f"process {number + 1} sent {often} requests more often than it may", often)
        before = life.stored


def _is_lost(request: ChatRequest) -> bool:
    """Whether prose came whole as the server sent it, and was empty, or broke off: that is asked for again, so often
    at most. In no other case does what was answered go out again: a structured reply is mended, or asked for in halves.
    """
    structured = (
        request.body.get("response_format") or request.body.get("tools") or FORM in text_of(request.messages[0])
    )
    useless = not request.reply.strip() or request.finish_reason == "length"
    return request.answered and not request.fault and not structured and useless


def _difference(expected: str, actual: str) -> str:
    at = next(
        (n for n, (a, b) in enumerate(zip(expected, actual, strict=False)) if a != b), min(len(expected), len(actual))
    )
    return f"{expected[max(0, at - 30) : at + 60]!r} became {actual[max(0, at - 30) : at + 60]!r}"


def with_twists(twist: Twist, when: Callable[[ChatRequest, int], bool]) -> Callable[[ChatRequest], Reply]:
    """A server that says something else at times; `when` is told how often a request has been made before."""
    count: Counter[int] = Counter()

    def script(request: ChatRequest) -> Reply:
        answer, number = right(request), identity(request)
        count[number] += 1
        return twist(request, answer) if when(request, count[number] - 1) else answer

    return script
