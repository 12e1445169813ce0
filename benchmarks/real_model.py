"""The whole of redraft on a real language model, the smallest that can be had: what becomes of its replies.

    python -m benchmarks.real_model [--texts 3] [--rounds 2] [--words 1500]

A story, a report and a manual are drafted by every strategy, each draft is judged by every metric, and the hierarchical
one is refined. The model is SmolLM2-135M-Instruct, served by llama.cpp on this machine; without the two packages that
bring it (see `tests/realserver.py`) nothing is done, and a sentence says so. The summaries are bad, and the scores mean
nothing: what counts is that no run dies, that no score stands on fewer verdicts than it says, and how many replies can
be read. The exit code is 1 where one of the first two does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.common import ROOT, SAMPLE, markdown, options_of, use_vocabulary
from benchmarks.ledger import COUNTS, asked, entries, tallies, unsound
from redraft import (
    Document,
    DraftConfig,
    Evaluation,
    JudgeConfig,
    Limits,
    RedraftError,
    RefineConfig,
    Result,
    Session,
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
# A model that has come to repeat itself fills any room. What it has to say needs no more than this; with half of it
# more is lost than saved. A user has the same by `max_tokens` in the model's table of redraft.toml.
_MAX_TOKENS = 600
# Each item is some seconds of a core. A short summary and a few questions go through all the same prompts.
_WORDS, _QUESTIONS, _CLAIMS = 60, 6, 8


@dataclass(slots=True)
class Findings:
    """What came of the runs on all texts."""

    evaluations: list[Evaluation] = field(default_factory=list)
    databases: list[Path] = field(default_factory=list)
    deaths: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    """What each run came to."""
    seconds: float = 0.0

    def add(self, name: str, result: Result, database: Path) -> None:
        """Note what a run came to, and look whether its scores stand on what they say."""
        evaluations = [evaluation for evaluation in result.evaluations.values() if evaluation.metric in METRICS]
        scores = ", ".join(f"{each.metric} {each.outcome} {each.score} {each.reason}" for each in evaluations)
        words = result.draft.words if result.draft else 0
        self.lines.append(f"{name}: {result.status}, {words} words, {len(result.rounds)} drafts; {scores}")
        self.seconds += result.run.seconds
        self.evaluations += evaluations
        self.doubts += [f"{name}: {doubt}" for doubt in unsound(result.evaluations.values(), entries(database))]


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--texts", type=int, default=3, choices=range(1, len(SOURCES) + 1))
    parser.add_argument("--rounds", type=int, default=2, help="rounds of refinement; 0 for none")
    parser.add_argument("--words", type=int, default=1500, help="of each text")
    parser.add_argument("--prompts", default="simple")
    options = parser.parse_args()
    if lacking := missing():
        print(f"skipped: {lacking}")
        return
    use_vocabulary()
    with tempfile.TemporaryDirectory() as folder, real_model() as url:
        findings = asyncio.run(work_on_all(Path(folder), url, options))
        print("\n".join(report(findings)))
    sys.exit(1 if findings.deaths or findings.doubts else 0)


async def work_on_all(folder: Path, url: str, options: argparse.Namespace) -> Findings:
    """Work on the texts one after another, each with a database of its own."""
    findings = Findings()
    for name in list(SOURCES)[: options.texts]:
        document = shortened(SOURCES[name], options.words)
        await work(findings, name, document, folder / f"{name}.db", url, options.rounds, options.prompts)
    return findings


def shortened(path: Path, words: int) -> Document:
    """The first paragraphs of a text, up to the one that brings it to so many words."""
    paragraphs: list[str] = []
    for paragraph in path.read_text("utf-8").split("\n\n"):
        paragraphs.append(paragraph)
        if count_words("\n\n".join(paragraphs)) >= words:
            break
    return Document.from_text("\n\n".join(paragraphs))


async def work(
    findings: Findings, name: str, document: Document, database: Path, url: str, rounds: int, prompts: str
) -> None:
    """Draft, judge and refine one text. What goes wrong is noted, and the next thing done."""
    sizes = {"words": _WORDS, "chunk_tokens": 700, "context_tokens": _WINDOW, "max_tokens": _MAX_TOKENS}
    settings = DraftConfig.model_validate({"model": NAME, "base_url": url, "prompts": prompts, **sizes})
    judging = JudgeConfig(metrics=METRICS, questions=_QUESTIONS, claims=_CLAIMS)
    limits = Limits(timeout=1800, concurrency=2)
    findings.databases.append(database)

    async def step(kind: str, running: Awaitable[Result]) -> Result | None:
        try:
            result = await running
        except Exception as error:  # noqa: BLE001  (whatever a run dies of is the finding)
            code = error.code if isinstance(error, RedraftError) else type(error).__name__
            findings.deaths.append(f"{name}: {kind} died: {code}: {error}")
            return None
        findings.add(f"{name}: {kind}", result, database)
        print(findings.lines[-1], file=sys.stderr, flush=True)
        return result

    async with Session(database, settings=settings, judging=judging, limits=limits) as session:
        for strategy in STRATEGIES:
            result = await step(strategy, session.summarize(document, strategy=strategy, judging=judging))
            if rounds and strategy == STRATEGIES[0] and result and result.summary:
                refinement = RefineConfig(goals=GOALS, rounds=rounds)
                await step("refined", session.refine(document, result.summary, refinement=refinement))


def report(findings: Findings) -> Iterator[str]:
    """The tables, in Markdown."""
    requests = [request for database in findings.databases for request in asked(database)]
    yield f"{MODEL} (Q4_1, llama.cpp): runs of {findings.seconds / 60:.0f} minutes together\n"
    rows: list[tuple[object, ...]] = [("prompt", *COUNTS)]
    rows += [(prompt, *(counts[name] for name in COUNTS)) for prompt, counts in tallies(requests).items()]
    yield markdown(rows) + "\n"
    judged: list[tuple[object, ...]] = [("metric", "drafts", "scored", "failed", "items judged", "items unjudged")]
    for metric in METRICS:
        evaluations = [evaluation for evaluation in findings.evaluations if evaluation.metric == metric]
        outcomes = [evaluation.outcome for evaluation in evaluations]
        items = (sum(each.judged for each in evaluations), sum(each.unjudged for each in evaluations))
        judged.append((metric, len(outcomes), outcomes.count("scored"), outcomes.count("failed"), *items))
    yield markdown(judged)
    yield from ("", *findings.lines, "")
    yield from findings.deaths or ["no run died"]
    yield from findings.doubts or ["every score stands on as many verdicts as it says"]


if __name__ == "__main__":
    main()
