"""A worker as a process of its own: told what to do on its standard input, at whose end it stops."""

from __future__ import annotations

import asyncio
import json
import signal
import sys

from redraft.batches.terms import WorkerTerms, is_for_good, open_worker, work
from redraft.errors import RedraftError
from redraft.llm.prices import price_table
from redraft.text.cleaning import one_line

_FAILED, FAILED_FOR_GOOD = 1, 4


def main() -> None:
    """Work as the first line says, until the input ends, which it does also when whoever has started us was killed."""
    # Whoever has started us says when we are to stop; ^C in a terminal is theirs.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    terms = WorkerTerms(**json.loads(sys.stdin.readline()))
    try:
        with open_worker(terms, price_table(terms.prices), _say) as worker:
            asyncio.run(work(worker, sys.stdin.read))
    except RedraftError as error:
        _say(one_line(f"{error} {error.hint}".strip()))
        sys.exit(FAILED_FOR_GOOD if is_for_good(error) else _FAILED)


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
