"""Synchronous calls, in a script without asyncio: python examples/embed/sync.py BOOK"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import redraft


def show(event: redraft.Event) -> None:
    """Report progress, as the run goes on."""
    if isinstance(event, redraft.events.MetricScored) and event.score is not None:
        print(f"{event.metric} {event.score:.2f}", file=sys.stderr)


def main() -> None:
    book = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "redraft.db"
        # One call, for one result; with model="openai:gpt-5-mini", another model writes.
        made = redraft.summarize(book, store=store, words=60)
        # A session, for several runs; what is known of the book is not asked for again.
        with redraft.Session(store, observer=show) as session:
            judged = session.evaluate(book, made.summary or "", metrics=["consistency"])
            answer = session.ask(book, "Who rebuilt the Long Bank?")
    print(made.summary)
    print(judged.scores["consistency"], answer.question, *(one.text for one in answer.sentences))


if __name__ == "__main__":
    main()
