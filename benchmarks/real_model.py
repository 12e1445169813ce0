"""The whole of redraft on a real language model, the smallest that can be had: what becomes of its replies.

    python -m benchmarks.real_model [--texts 3] [--rounds 2] [--words 1500] [--out FILE] [--keep DIR]

A story, a report and a manual are drafted by every strategy, each draft is judged by every metric, and the hierarchical
one is refined. The model is SmolLM2-135M-Instruct, served by llama.cpp on this machine; without the two packages that
bring it (see `tests/realserver.py`) nothing is done, and a sentence says so. The summaries are bad, and the scores mean
nothing: what counts is that no run dies, that no score stands on fewer verdicts than it says, and how many replies can
be read. The exit code is 1 where one of the first two does not hold. `--keep` keeps the databases, to look into.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.common import ROOT, SAMPLE, use_vocabulary
from benchmarks.ledger import Asked, Tally, asked, entries, tallies, unsound
from redraft import (
    CallAnswered,
    CallFailed,
    Document,
    Evaluation,
    Event,
    Judging,
    Limits,
    RedraftError,
    Refinement,
    Result,
    Settings,
    Workshop,
)
from redraft.text.words import count_words
from tests.realserver import MODEL, NAME, WINDOW, missing, real_model

STRATEGIES = ("hierarchical", "incremental", "direct")
METRICS = ("coverage", "consistency", "booookscore", "keyfact_recall", "faithfulness")
GOALS = {"coverage": 0.8, "consistency": 0.85}
SOURCES = {
    "story": SAMPLE,
    "report": ROOT / "benchmarks" / "texts" / "report.md",
    "manual": ROOT / "benchmarks" / "texts" / "how-to.md",
}
# Tokens are counted with another vocabulary than the model's, which has a third of its words.
_WINDOW = int(WINDOW * 0.75)
_OFTEN = 15.0


@dataclass(slots=True)
class Found:
    """What came of the runs on all texts."""

    evaluations: list[tuple[str, Evaluation]] = field(default_factory=list)
    requests: list[Asked] = field(default_factory=list)
    deaths: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    """What each run came to."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--texts", type=int, default=3, choices=range(1, len(SOURCES) + 1))
    parser.add_argument("--rounds", type=int, default=2, help="rounds of refinement; 0 for none")
    parser.add_argument("--words", type=int, default=1500, help="of each text")
    parser.add_argument("--prompts", default="simple")
    parser.add_argument("--threads", type=int, default=1, help="of the model: more of them wait for each other")
    parser.add_argument("--out", type=Path, help="write the tables to a file, too")
    parser.add_argument("--keep", type=Path, help="a folder for the databases")
    options = parser.parse_args()
    if lacking := missing():
        print(f"skipped: {lacking}")
        return
    use_vocabulary()
    began, found = time.monotonic(), Found()
    with contextlib.ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        url = stack.enter_context(real_model(threads=options.threads))
        for name in list(SOURCES)[: options.texts]:
            database = folder / f"{name}.db"
            document = shortened(SOURCES[name], options.words)
            asyncio.run(work(found, name, document, database, url, options.rounds, options.prompts))
            found.requests += asked(database)
    heading = f"{MODEL} (Q4_1, llama.cpp), prompts {options.prompts}, {options.texts} texts of {options.words:,} words"
    text = "\n".join(report(found, f"{heading}, {(time.monotonic() - began) / 60:.0f} minutes"))
    print(text)
    if options.out:
        options.out.write_text(text + "\n", "utf-8")
    sys.exit(1 if found.deaths or found.doubts else 0)


def shortened(path: Path, words: int) -> Document:
    """The first paragraphs of a text, up to the one that brings it to so many words."""
    kept: list[str] = []
    for paragraph in path.read_text("utf-8").split("\n\n"):
        kept.append(paragraph)
        if count_words("\n\n".join(kept)) >= words:
            break
    return Document.from_text("\n\n".join(kept))


async def work(
    found: Found, name: str, document: Document, database: Path, url: str, rounds: int, prompts: str
) -> None:
    """Draft, judge and refine one text. What goes wrong is noted, and the next thing done."""
    settings = Settings(model=NAME, base_url=url, words=150, chunk_tokens=500, context_tokens=_WINDOW, prompts=prompts)
    judging = Judging(metrics=METRICS)
    limits = Limits(timeout=1800, concurrency=2)
    watch = Watch()
    async with Workshop(database, settings=settings, judging=judging, limits=limits, observer=watch.observe) as shop:
        for strategy in STRATEGIES:
            with watch.at(f"{name}: {strategy}", found):
                result = await shop.summarize(document, strategy=strategy, judging=judging)
                take(found, watch, result, database)
                if rounds and strategy == STRATEGIES[0] and result.summary:
                    with watch.at(f"{name}: refined", found):
                        refinement = Refinement(goals=GOALS, rounds=rounds)
                        refined = await shop.refine(document, result.summary, refinement=refinement)
                        take(found, watch, refined, database)


class Watch:
    """Tells on stderr what is going on, and keeps what a run has died of."""

    def __init__(self) -> None:
        self.what = ""
        self._began = time.monotonic()
        self._answered = self._failed = 0
        self._told = 0.0

    @contextlib.contextmanager
    def at(self, what: str, found: Found) -> Iterator[None]:
        """One run. Whatever it raises is noted as its death."""
        before, self.what = self.what, what
        try:
            yield
        except Exception as error:  # noqa: BLE001
            kind = error.code if isinstance(error, RedraftError) else type(error).__name__
            found.deaths.append(f"{what} died: {kind}: {error}")
            self.tell(found.deaths[-1])
        finally:
            self.what = before or what

    def observe(self, event: Event) -> None:
        """Count replies, and say so now and then."""
        if isinstance(event, CallAnswered) and not event.cached:
            self._answered += 1
            self.tell(f"{self._answered} replies, {self._failed} attempts in vain; {event.label}", fleeting=True)
        elif isinstance(event, CallFailed):
            self._failed += 1
            self.tell(f"{event.label}: {event.reason}", fleeting=True)

    def tell(self, line: str, *, fleeting: bool = False) -> None:
        """Say it, with the minutes since the text was begun; what is `fleeting` at most every quarter of a minute."""
        now = time.monotonic()
        if not fleeting or now - self._told > _OFTEN:
            self._told = now
            print(f"{(now - self._began) / 60:5.1f} min  {self.what}: {line}", file=sys.stderr, flush=True)


def take(found: Found, watch: Watch, result: Result, database: Path) -> None:
    """Note what a run came to, and look whether its scores stand on what they say."""
    scores = ", ".join(
        f"{one.metric} {one.score:.2f} ({one.judged} judged, {one.unjudged} not)"
        if one.score is not None
        else f"{one.metric} {one.outcome}: {one.reason}"
        for one in result.evaluations.values()
        if one.metric in METRICS
    )
    rounds = max((made.number for made in result.rounds), default=0)
    flawed = len(result.flawed) + len(result.gaps)
    draft = f"{result.draft.words} words, {flawed} pieces with a flaw or missing" if result.draft else "no draft"
    line = f"{result.status}, {draft}, {rounds} revisions; {scores}"
    watch.tell(line)
    found.lines.append(f"{watch.what}: {line}")
    found.evaluations += [(watch.what, one) for one in result.evaluations.values() if one.metric in METRICS]
    found.doubts += [f"{watch.what}: {what}" for what in unsound(result.evaluations.values(), entries(database))]


def report(found: Found, heading: str) -> Iterator[str]:
    """The tables, in Markdown."""
    yield from (heading, "")
    columns = ("prompt", "requests", "read at once", "after repair", "halved", "lost", "replies cut", "tokens", "s")
    yield from markdown([columns, *(row(prompt, tally) for prompt, tally in tallies(found.requests).items())])
    yield ""
    judged = [("metric", "drafts", "scored", "failed", "items judged", "items unjudged")]
    for metric in METRICS:
        of_one = [one for _, one in found.evaluations if one.metric == metric]
        outcomes = [one.outcome for one in of_one]
        numbers = (len(of_one), outcomes.count("scored"), outcomes.count("failed"))
        totals = (sum(one.judged for one in of_one), sum(one.unjudged for one in of_one))
        judged.append((metric, *map(str, (*numbers, *totals))))
    yield from markdown(judged)
    yield from ("", *found.lines, "")
    yield from found.deaths or ["no run died"]
    yield from found.doubts or ["every score stands on as many verdicts as it says"]


def row(prompt: str, tally: Tally) -> tuple[str, ...]:
    """A prompt's figures."""
    numbers = (tally.requests, tally.at_once, tally.repaired, tally.halved, tally.lost, tally.cut, tally.tokens)
    return (prompt, *(f"{number:,}" for number in numbers), f"{tally.seconds:,.0f}")


def markdown(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table, the first row being its head."""
    lines = [f"| {' | '.join(one)} |" for one in rows]
    yield from (lines[0], "|" + "---|" * len(rows[0]), *lines[1:])


if __name__ == "__main__":
    main()
