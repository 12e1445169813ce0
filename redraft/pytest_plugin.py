"""The pytest plugin: sessions for tests of summaries, whose verdicts are cached between runs or recorded in a file.

Most of redraft is imported by the first test that uses it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

import redraft

_TALLY = pytest.StashKey[defaultdict[str, float]]()
_BUILT_IN = "extractive"
_MARK = (
    "redraft(recording=None, **session): the test judges summaries; the arguments are those of redraft.Session, and"
    " the file with recorded replies"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and settings."""
    group = parser.getgroup("redraft", "summaries that redraft judges")
    group.addoption("--redraft-model", metavar="NAME", help="Model that judges, instead of the setting redraft_model.")
    group.addoption(
        "--redraft-record",
        action="store_true",
        help="Ask the models for replies that the recordings lack, and add these to the files.",
    )
    parser.addini("redraft_model", "Model that judges, such as openai:gpt-5-mini.", default=_BUILT_IN)
    parser.addini(
        "redraft_recordings", "Folder with a recording for each test file, which is replayed.", type="paths", default=[]
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", _MARK)
    config.stash[_TALLY] = defaultdict(float)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Open a session for each test with the marker."""
    names = getattr(item, "fixturenames", None)
    if isinstance(names, list) and item.get_closest_marker("redraft") and "redraft_session" not in names:
        names.insert(0, "redraft_session")


@pytest.fixture
def redraft_session(request: pytest.FixtureRequest) -> Iterator[redraft.SyncSession]:
    """A `redraft.SyncSession` that keeps verdicts from one test run to the next, in the folder of pytest's cache."""
    marker = request.node.get_closest_marker("redraft")
    options: dict[str, Any] = dict(marker.kwargs) if marker else {}
    if marker and marker.args:
        hint = 'name the argument, as in redraft(judges=["openai:gpt-5-mini"])'
        raise redraft.UsageError(f"the marker redraft is given {marker.args[0]!r:.80} without a name", hint=hint)
    folders = request.config.getini("redraft_recordings")
    recording = Path(folders[0]) / f"{request.path.stem}.jsonl" if folders else None
    if (named := options.pop("recording", None)) is not None:
        recording = request.path.parent / named
    recorded: dict[str, redraft.testing.Recording] = {}
    chosen = request.config.getoption("redraft_model")
    options["model"] = chosen or options.get("model") or request.config.getini("redraft_model")
    if chosen:
        options.pop("judges", None)
    record = request.config.getoption("redraft_record")
    if record and recording is None:
        hint = "set redraft_recordings = recordings in pytest.ini, or give the marker redraft a recording=FILE"
        raise redraft.UsageError("there is no recording to add replies to", hint=hint)
    if recording is not None:
        models: list[Any] = []
        for model in (options["model"], *options.get("judges", ())):
            name = model if isinstance(model, str) else repr(model)
            # The built-in model needs no recording.
            if model != _BUILT_IN and name not in recorded:
                recorded[name] = redraft.testing.Recording(recording, model, record=record)
            models.append(recorded.get(name, model))
        options |= {"model": models[0], "judges": models[1:], "store": ":memory:"}
    if "store" not in options:
        cache = getattr(request.config, "cache", None)
        options["store"] = ":memory:" if cache is None else str(cache.mkdir("redraft") / "verdicts.db")
    tally = request.config.stash[_TALLY]
    tally["tests"] += 1
    with redraft.Session(**{"observer": lambda event: _count(tally, event), **options}) as session:
        open_sessions = resolve_name("redraft.testing:SESSIONS")
        open_sessions.append(session)
        try:
            yield session
        finally:
            open_sessions.remove(session)
            tally["replayed"] += sum(recording_.replayed for recording_ in recorded.values())


def _count(tally: dict[str, float], event: redraft.Event) -> None:
    """Add a reply to the totals."""
    if isinstance(event, redraft.events.CallAnswered):
        tokens = event.usage.prompt_tokens + event.usage.completion_tokens
        paid = {"calls": 1, "tokens": tokens, "cost": event.cost_usd or 0.0, "unpriced": event.cost_usd is None}
        for name, value in ({"cached": 1} if event.cached else paid).items():
            tally[name] += value


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what the judging took, if any test used redraft."""
    tally = config.stash[_TALLY]
    if not tally:
        return
    number = {name: int(tally[name]) for name in ("tests", "calls", "tokens", "cached", "replayed")}
    cost = "at unknown cost" if tally["unpriced"] else resolve_name("redraft.text.words:dollars")(tally["cost"])
    terminalreporter.write_line(
        f"redraft: {number['tests']} test{'s' * (number['tests'] != 1)}, {number['calls'] - number['replayed']:,} calls"
        f" ({number['tokens']:,} tokens, {cost}), {number['cached']:,} replies from the cache,"
        f" {number['replayed']:,} from recordings"
    )
