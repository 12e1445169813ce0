"""The whole of redraft on a real language model, the smallest that can be had: what becomes of its replies.

    python -m benchmarks.real_model [--texts 3] [--rounds 2] [--words 1500] [--at-once 1] [--out FILE] [--keep DIR]

A story, a report and a manual are drafted by every strategy, each draft is judged by every metric, and the hierarchical
one is refined. The model is SmolLM2-135M-Instruct, served by llama.cpp on this machine; without the two packages that
bring it (see `tests/realserver.py`) nothing is done, and a sentence says so. The summaries are bad, and the scores mean
nothing: what counts is that no run dies, that no score stands on fewer verdicts than it says, and how many replies can
be read. The exit code is 1 where one of the first two does not hold.

After each run, and when it is stopped (^C), the tables are written to `--out`, as far as they go. `--keep` keeps the
databases, to look into, and to go on from: the same command once more begins where it was stopped, and asks nothing
twice.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.common import ROOT, SAMPLE, use_vocabulary
from benchmarks.ledger import Tally, asked, entries, tallies, unsound
from redraft import (
    CallAnswered,
    CallFailed,
    Document,
    DraftConfig,
    Evaluation,
    Event,
    JudgeConfig,
    Limits,
    RedraftError,
    RefineConfig,
    Result,
    RunError,
    Session,
)
from redraft.store.runs import Run
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
# A model that has come to repeat itself fills any room. What it has to say needs no more than this; with half of it
# more is lost than saved. A user has the same by `max_tokens` in the model's table of redraft.toml.
_MAX_TOKENS = 600
# Each item is some seconds of a core. A short summary and a few questions go through all the same prompts.
_WORDS, _QUESTIONS, _CLAIMS = 60, 6, 8
_OFTEN = 15.0


@dataclass(slots=True)
class Found:
    """What came of the runs on all texts."""

    evaluations: list[tuple[str, Evaluation]] = field(default_factory=list)
    databases: list[Path] = field(default_factory=list)
    deaths: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    """What each run came to."""
    seconds: float = 0.0
    """What the runs took, of those that were gone on with all of it."""
    save: Callable[[Found], None] = lambda _: None
    """What is done with it after each run."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--texts", type=int, default=3, choices=range(1, len(SOURCES) + 1))
    parser.add_argument("--rounds", type=int, default=2, help="rounds of refinement; 0 for none")
    parser.add_argument("--words", type=int, default=1500, help="of each text")
    parser.add_argument("--prompts", default="simple")
    parser.add_argument("--threads", type=int, default=1, help="of a server: more of them wait for each other")
    parser.add_argument("--at-once", type=int, default=1, help="texts, each with a server of its own")
    parser.add_argument("--out", type=Path, help="write the tables to a file, too, after each run")
    parser.add_argument("--keep", type=Path, help="a folder for the databases, to look into and to go on from")
    options = parser.parse_args()
    if lacking := missing():
        print(f"skipped: {lacking}")
        return
    use_vocabulary()
    with contextlib.ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)

        def written(found: Found) -> str:
            return "\n".join(report(found, _heading(options, found.seconds)))

        def save(found: Found) -> None:
            if options.out:
                options.out.write_text(written(found) + "\n", "utf-8")

        found = Found(save=save)
        asyncio.run(work_on_all(found, folder, options))
        save(found)
        print(written(found))
    sys.exit(1 if found.deaths or found.doubts else 0)


def _heading(options: argparse.Namespace, seconds: float) -> str:
    what = f"{options.texts} texts of {options.words:,} words, {options.rounds} rounds, {options.at_once} at once"
    return f"{MODEL} (Q4_1, llama.cpp), prompts {options.prompts}, {what}: runs of {seconds / 60:.0f} minutes together"


async def work_on_all(found: Found, folder: Path, options: argparse.Namespace) -> None:
    """Work on the texts, so many side by side, each with a server and a database of its own."""
    turns = asyncio.Semaphore(options.at_once)

    async def one(name: str) -> None:
        document, database = shortened(SOURCES[name], options.words), folder / f"{name}.db"
        async with turns:
            with served_again(database, options.threads) as url:
                await work(found, name, document, database, url, options.rounds, options.prompts)

    async with asyncio.TaskGroup() as group:
        for name in list(SOURCES)[: options.texts]:
            group.create_task(one(name))


def shortened(path: Path, words: int) -> Document:
    """The first paragraphs of a text, up to the one that brings it to so many words."""
    kept: list[str] = []
    for paragraph in path.read_text("utf-8").split("\n\n"):
        kept.append(paragraph)
        if count_words("\n\n".join(kept)) >= words:
            break
    return Document.from_text("\n\n".join(kept))


@contextlib.contextmanager
def served_again(database: Path, threads: int) -> Iterator[str]:
    """The address of the model, the same whenever a database is gone on with: runs go on where they have begun."""
    noted = database.with_suffix(".port")
    with real_model(threads=threads, port=int(noted.read_text()) if noted.exists() else 0) as url:
        noted.write_text(str(urlsplit(url).port))
        yield url


async def work(
    found: Found, name: str, document: Document, database: Path, url: str, rounds: int, prompts: str
) -> None:
    """Draft, judge and refine one text. What goes wrong is noted, and the next thing done."""
    sizes = {"words": _WORDS, "chunk_tokens": 700, "context_tokens": _WINDOW, "max_tokens": _MAX_TOKENS}
    settings = DraftConfig.model_validate({"model": NAME, "base_url": url, "prompts": prompts, **sizes})
    judging = JudgeConfig(metrics=METRICS, questions=_QUESTIONS, claims=_CLAIMS)
    limits = Limits(timeout=1800, concurrency=2)
    watch = Watch(name)
    found.databases.append(database)
    async with Session(database, settings=settings, judging=judging, limits=limits, observer=watch.observe) as session:
        for strategy in STRATEGIES:
            drafting = partial(session.summarize, document, strategy=strategy, judging=judging)
            result = await step(found, watch, session, strategy, "evaluate", drafting)
            if rounds and strategy == STRATEGIES[0] and result and result.summary:
                refinement = RefineConfig(goals=GOALS, rounds=rounds)
                refining = partial(session.refine, document, result.summary, refinement=refinement)
                await step(found, watch, session, strategy, "refine", refining)


async def step(
    found: Found, watch: Watch, session: Session, strategy: str, kind: str, begin: Callable[[], Awaitable[Result]]
) -> Result | None:
    """One run, from its beginning or from where it was stopped before. What it came to is noted; its death, too."""
    watch.what = f"{watch.text}: {strategy if kind == 'evaluate' else 'refined'}"
    try:
        result = await (begin() if (earlier := begun(session, strategy, kind)) is None else gone_on(session, earlier))
    except Exception as error:  # noqa: BLE001
        code = error.code if isinstance(error, RedraftError) else type(error).__name__
        found.deaths.append(f"{watch.what} died: {code}: {error}")
        watch.tell(found.deaths[-1])
        result = None
    else:
        take(found, watch, result, session.store.path)
    finally:
        # What is stopped has replies, too.
        found.save(found)
    return result


def begun(session: Session, strategy: str, kind: str) -> Run | None:
    """The run of this kind that is in the database already."""
    # One that refines has been given its summary, whoever has drafted that.
    known = (strategy, "given")
    runs = session.store.runs.latest(1, wanted=lambda run: run.kind == kind and run.settings.strategy in known)
    return runs[0] if runs else None


async def gone_on(session: Session, run: Run) -> Result:
    """What a run came to that is done; where it was stopped it goes on. One that has died stays dead."""
    if run.status == "failed":
        raise RunError(f"{(run.error or {}).get('message', 'for no reason')} (in an earlier run)")
    return await (session.result(run.id) if run.status == "done" else session.resume(run.id))


class Watch:
    """Tells on stderr what is going on."""

    def __init__(self, text: str) -> None:
        self.text = self.what = text
        self._began = time.monotonic()
        self._answered = self._failed = 0
        self._told = 0.0

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
    found.seconds += result.run.seconds
    found.evaluations += [(watch.what, one) for one in result.evaluations.values() if one.metric in METRICS]
    found.doubts += [f"{watch.what}: {what}" for what in unsound(result.evaluations.values(), entries(database))]


def report(found: Found, heading: str) -> Iterator[str]:
    """The tables, in Markdown."""
    requests = [one for database in found.databases for one in asked(database)]
    yield from (heading, "")
    columns = (
        "prompt",
        "requests",
        "read at once",
        "after repair",
        "in part",
        "asked again",
        "lost",
        "replies cut",
        "tokens",
        "s",
    )
    yield from markdown([columns, *(row(prompt, tally) for prompt, tally in tallies(requests).items())])
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
    numbers = (
        tally.requests,
        tally.at_once,
        tally.repaired,
        tally.in_part,
        tally.again,
        tally.lost,
        tally.cut,
        tally.tokens,
    )
    return (prompt, *(f"{number:,}" for number in numbers), f"{tally.seconds:,.0f}")


def markdown(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table, the first row being its head."""
    lines = [f"| {' | '.join(one)} |" for one in rows]
    yield from (lines[0], "|" + "---|" * len(rows[0]), *lines[1:])


if __name__ == "__main__":
    main()
