"""What those know of jobs who ask: whether requests go out so, and under which name each of them stands in a job."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import NamedTuple

from redraft.store.jobs import Jobs

ATTEMPT: ContextVar[str] = ContextVar("attempt", default="")
"""The key of the request in the ledger, and the number of the attempt: `KEY-1`."""


class ByJob(NamedTuple):
    """Where jobs are on record, and whom to tell of them."""

    jobs: Jobs
    note: Callable[[str], None]
