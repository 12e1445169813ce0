"""What can be recomputed of the BooookScore paper from its released summaries, annotations and people's marks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from benchmarks.common import DATA, use_vocabulary
from benchmarks.papers import Check
from redraft.domain import Chunk, Document, Span
from redraft.graphs.plan import Planner
from redraft.lab.agreement.annotations import Annotations, Summaries
from redraft.lab.experiments.booookscore import CoherenceDesign
from redraft.lab.experiments.experiment import Outcome
from redraft.presets import preset
from redraft.prompts.book import PromptBook
from redraft.report.tables import Cell
from redraft.text.tokens import ESTIMATE, Tokenizer

PAPER = "BooookScore"
FOLDER = DATA / "booookscore"
PEOPLE = FOLDER / "human" / "summary-gpt4-4096-hier.json"
# Table 1: marks of each type for 100 sentences, by people, of hierarchical and incremental summaries (4,096 tokens).
TABLE_1 = {
    "entity omission": (3.71, 7.32),
    "event omission": (2.27, 4.26),
    "causal omission": (1.21, 2.76),
    "discontinuity": (1.56, 2.24),
    "salience": (1.03, 1.42),
    "language": (0.71, 0.82),
    "inconsistency": (1.03, 0.97),
    "duplication": (1.18, 2.13),
}
BY_PEOPLE = {"hier": 89.4, "inc": 82.33}
"""BooookScore by people's marks, by strategy."""
# Table 2 and section 4: the score, and the mean tokens and the repeated trigrams in percent where they are published.
TABLE_2 = {
    "gpt4-2048-hier": (89.1, 778.6, 4.2),
    "gpt4-2048-inc": (82.5, 805.4, 3.4),
    "gpt4-4096-hier": (90.8, None, None),
}
_ELSEWHERE = "sentences end elsewhere than NLTK has them"
_UNITS = "by other units"


@dataclass(frozen=True)
class _Released:
    """The tables of released summaries with their annotations."""

    measured: CoherenceDesign

    @cached_property
    def rows(self) -> dict[str, list[dict[str, Cell]]]:
        """The rows of every table, by its name."""
        tables = Outcome(self.measured, (), self.measured.items).report().tables
        return {one.name: [dict(zip(one.columns, row, strict=True)) for row in one.rows] for one in tables}

    def figure(self, table: str, column: str, **of: str) -> float:
        """One figure of a table."""
        (row, *_) = [row for row in self.rows[table] if of.items() <= row.items()]
        return float(row[column] or 0)


def released(summaries: str, annotations: str) -> _Released:
    """The tables of a file of summaries and one of annotations."""
    paths = [str(FOLDER / one) for one in (summaries, annotations)]
    return _Released(CoherenceDesign.measured(Summaries.read(paths[0]), [Annotations.read(paths[1])]))


def checks() -> Iterator[Check]:
    """Compare what the paper says with what comes out."""
    yield from _limits()
    if not PEOPLE.is_file():
        return
    use_vocabulary()
    yield from _of_people()
    for name, (score, tokens, trigrams) in TABLE_2.items():
        its = released(f"summaries/{name}-cleaned.json", f"annotations/{name}.json")
        place = "table 2" if tokens else "section 4"
        found = its.figure("scores", "BooookScore")
        yield Check(PAPER, f"{place}, {name}: BooookScore", score, round(found, 2), 0.35, _ELSEWHERE)
        if trigrams:
            repeated = its.figure("lengths", "% repeated trigrams")
            yield Check(PAPER, f"{place}, {name}: repeated trigrams", trigrams, round(repeated, 2), 0.4, _UNITS)
        if tokens and its.measured.tokenizer != ESTIMATE:
            length = its.figure("lengths", "tokens")
            yield Check(PAPER, f"{place}, {name}: tokens", tokens, round(length, 1))
            longest = max(one.tokens for one in its.measured.summaries)
            yield Check(PAPER, f"section 5, {name}: tokens of the longest, of 900", 900, longest, 2)
        if name == "gpt4-2048-inc":
            spread = its.figure("scores", "sd")
            yield Check(PAPER, "appendix G: sd by bootstrap", 0.015, round(spread, 3))


def _of_people() -> Iterator[Check]:
    for column, (strategy, score) in enumerate(BY_PEOPLE.items()):
        file = f"human/summary-gpt4-4096-{strategy}.json"
        tables = released(file, file)
        if strategy == "hier":
            marks = sum(item.marks for item in tables.measured.items)
            yield Check(PAPER, "section 3: errors that people marked", 353, marks)
        for kind, shares in TABLE_1.items():
            share = round(tables.figure("types", "% of sentences", type=kind), 2)
            yield Check(PAPER, f"table 1, by people, {strategy}: {kind}", shares[column], share)
        digits = len(str(score).partition(".")[2])
        by_marks = round(tables.figure("scores", "BooookScore"), digits)
        yield Check(PAPER, f"section 4, {strategy}: BooookScore by people's marks", score, by_marks)


def _limits() -> Iterator[Check]:
    """Compare the limits of the levels, in tokens, with those of the released code."""
    for chunks, limits in ((40, (585, 900)), (200, (380, 585, 900))):
        found = level_limits(chunks)
        for level, limit in enumerate(limits):
            yield Check(PAPER, f"A.1, {chunks} chunks, 8K: limit of level {level}", limit, found[level])


def level_limits(chunks: int) -> list[int]:
    """The limits in tokens of a tree over this many chunks of 2,048 tokens, in a window of 8K."""
    settings = preset("booookscore").settings.model_copy(update={"context_tokens": 8192})
    text = "The keeper tells of the lamp. " * (250 * chunks)
    size = len(text) // chunks
    cut = [Chunk(n, Span(n * size, (n + 1) * size), settings.chunk_tokens) for n in range(chunks)]
    document = Document("paper", "Paper", text)
    plan = Planner(document, cut, settings, Tokenizer(), PromptBook()).hierarchical()
    return [settings.token_cap(level.words) for level in plan.levels]
