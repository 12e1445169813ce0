"""The review of drafts on the terminal, by questions or in an editor."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Mapping
from typing import Any

import click

from redraft.builtin.facade import NOT_UNDERSTOOD
from redraft.cli.terminal import say, say_markdown
from redraft.cli.views.progress import ProgressLine
from redraft.domain import ReviewQuestion
from redraft.report.history.results import document_read, findings_in, read_result
from redraft.report.markdown.evaluation import finding_item, table
from redraft.report.markdown.trace import score_items
from redraft.runs.driver import Reviewer
from redraft.settings import EXTRACTIVE
from redraft.store.store import Store
from redraft.text.sanitizer import clean, one_line
from redraft.text.words import count, count_words

_KEYS = (
    ("enter", "revise the draft now"),
    ("d 2 4", "drop findings 2 and 4: this run will not fix them"),
    ("a TEXT", "add a request in your own words"),
    ("e", "edit the draft in your editor ($EDITOR) instead of having it revised"),
    ("p", "print the draft and its findings again"),
    ("s", "stop here and keep the best draft so far"),
    ("?", "show this table"),
)


def reviewer(store: Store, line: ProgressLine) -> Reviewer:
    """Return a reviewer that asks on the terminal while the progress display is paused. Ctrl-C and SIGTERM interrupt
    the wait for input."""

    def stop(_number: int, _frame: object) -> None:
        say("")
        raise asyncio.CancelledError

    async def review(request: ReviewQuestion) -> Mapping[str, Any] | None:
        # Blocking is harmless: nothing else runs meanwhile. But the event loop, which handles signals, is blocked.
        handlers = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            with line.paused():
                return _Review(store, request).ask()
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)

    return review


class _Review:
    """A question to the person, repeated until it is answered."""

    def __init__(self, store: Store, request: ReviewQuestion) -> None:
        self._store = store
        self._request = request
        self._draft = store.runs.draft(request["draft"])
        self._writes = store.runs.get(self._draft.run).settings.model != EXTRACTIVE
        findings = {finding.id: finding for finding in findings_in(store.judgments.of(self._draft.id))}
        self._findings = [findings[entry["id"]] for entry in request["findings"] if entry["id"] in findings]
        self._dropped: set[int] = set()
        self._added: list[str] = []
        self._edited: str | None = None

    def ask(self) -> Mapping[str, Any] | None:
        """Show the draft and read commands until one ends the review. Return None at the end of input: the run then
        waits to be resumed."""
        self._show()
        while True:
            line = _read_line("enter: revise now, or d, a, e, p, s, ?: ")
            if line is None:
                say("\nno answer: the run waits for your review")
                return None
            command, _, rest = line.partition(" ")
            match command.lower():
                case "":
                    break
                case "s":
                    if self._added:
                        say(f"  not carried out: {count(len(self._added), 'request')} (the run stops here)")
                    return {"stop": True}
                case "p":
                    self._show()
                case "?":
                    say_markdown(table([("key", "what it does"), *_KEYS]))
                case _:
                    say(f"  {self._changed(command, rest)}")
        if self._edited is not None:
            return {"edited": self._edited, "add": self._added}
        return {"drop": [self._findings[number - 1].id for number in sorted(self._dropped)], "add": self._added}

    def _show(self) -> None:
        result = read_result(self._store, self._draft.run)
        document = document_read(self._store, result.run)
        reasons = (("why", self._request["why"]), ("instruction", self._request["instruction"]))
        say(f"\nBefore revision {self._request['round']}: the best draft ({count(self._draft.words, 'word')})\n")
        for line in (
            *self._draft.text.split("\n"),
            "",
            *score_items(result.scores, {}, result.goals, result.offline_checked),
            *(f"{name}: {one_line(text)}" for name, text in reasons if text),
            *(outcome.said for outcome in result.requests),
            f"\nThis revision is to fix {count(len(self._findings), 'finding')}:",
        ):
            say(line)
        for number, finding in enumerate(self._findings, 1):
            say_markdown("\n".join(finding_item(finding, document, f"{number}.")))

    def _changed(self, command: str, rest: str) -> str:
        """Change the revision that is to come; return the reply to print."""
        match command.lower():
            case "d":
                numbers = rest.replace(",", " ").split()
                if not numbers or not {str(at) for at in range(1, len(self._findings) + 1)}.issuperset(numbers):
                    return f"give the numbers of findings, such as: d 1 (there are {len(self._findings)})"
                self._dropped |= {int(number) for number in numbers}
                remaining = count(len(self._findings) - len(self._dropped), "finding")
                is_any = len(self._dropped) < len(self._findings)
                return f"{remaining} left" if is_any else "none left: redraft looks for the next findings"
            case "a":
                text = rest or (_read_line("  what to change: ") or "").removeprefix("a ")
                if not text:
                    return "nothing was added"
                self._added.append(text)
                return f"added: {text}" if self._writes else f"added, but {NOT_UNDERSTOOD}; see `redraft models`"
            case "e":
                before = self._draft.text if self._edited is None else self._edited
                try:
                    written = click.edit(before + "\n", extension=".md")
                except (click.ClickException, UnicodeDecodeError) as error:
                    return one_line(str(error), 200)
                edited = clean(written or "").strip()
                if written is not None and not edited:
                    return "the text is empty: nothing was changed"
                if written is None or edited == before:
                    return "nothing was changed"
                self._edited = edited
                return f"edited ({count(count_words(edited), 'word')}); enter judges it"
        hint = f"; to request it, type: a {one_line(f'{command} {rest}', 60)}" if " " in rest else ""
        return f"{one_line(command, 20)!r} is not a key; ? lists them{hint}"


def _read_line(prompt: str) -> str | None:
    """Return a line from stdin without spaces around it; None at the end of input."""
    click.echo(prompt, err=True, nl=False)
    line = sys.stdin.buffer.readline()
    return one_line(line.decode("utf-8", "replace")) if line else None
