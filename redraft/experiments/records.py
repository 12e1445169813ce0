"""What the records of all experiments have in common: how far each came, what it used, and why it is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from operator import attrgetter
from typing import Protocol

from redraft.domain import Totals
from redraft.runs.experiment_runner import Failure


class HasStatus(Protocol):
    """A record that is `done`, has `failed`, or was `not made`."""

    @property
    def status(self) -> str:
        """Which of the three."""


def status_of(failure: Failure | None, *, done: bool) -> str:
    """Whether something is `done`, has `failed`, or was `not made`."""
    return "failed" if failure is not None else "done" if done else "not made"


def by_status(records: Iterable[HasStatus]) -> str:
    """How many of some records are done, have failed, and were not made."""
    found = Counter(one.status for one in records)
    return ", ".join(f"{found[status]} {status}" for status in ("done", "failed", "not made"))


def json_of(record: object, keys: str, **more: object) -> dict[str, object]:
    """A record as programs read it: its attributes by their names, or by another one (`order=way.policy`), and more.

    A word `name:` takes its place among the keys for what is given as `more`.
    """
    found: dict[str, object] = {}
    for key in keys.split():
        name, _, path = key.partition("=")
        if key.endswith(":"):
            found[key[:-1]] = more[key[:-1]]
        else:
            found[name] = plain_json(attrgetter(path or name)(record))
    return found


def plain_json(value: object) -> object:
    """What stands in a record as programs read it. Of what was used the time is left out, which is another on every
    machine."""
    if isinstance(value, Totals):
        return {name: one for name, one in asdict(value).items() if name != "seconds"}
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return {key: plain_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(one) for one in value]
    return value


def failed(failure: Failure) -> tuple[str, str, str]:
    """The cells of a failure: its stage, code and message."""
    return (failure.stage, failure.code, failure.message)
