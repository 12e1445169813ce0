"""What judges say of summaries that people rated, beside what people say: items and tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, repeat
from statistics import fmean
from typing import Annotated, Any, NamedTuple

import pandas as pd
from pydantic import PlainSerializer
from sklearn.metrics import roc_auc_score

from redraft.domain import Evaluation, computed
from redraft.evaluators.consistency import Consistency, rouge1
from redraft.evaluators.coverage import Coverage
from redraft.evaluators.reference.keyfacts import share
from redraft.evaluators.statistics import mean
from redraft.lab.agreement import measures
from redraft.lab.agreement.measures import Cells
from redraft.lab.agreement.people import Dataset, HumanItem
from redraft.lab.declared import declared
from redraft.lab.doctor.controls import judged_entries
from redraft.lab.experiments.experiment import NamedFrame
from redraft.lab.experiments.frames import frame_of
from redraft.lab.experiments.runner import Item
from redraft.text.words import spaced

SIMILARITY, THRESHOLD = "similarity", "threshold"
READ = (SIMILARITY, THRESHOLD)
"""Settings that only affect how answers are read."""
Setting = tuple[tuple[str, str], ...]
"""Names and values, as written."""
BIGRAMS = "share of bigrams in the document"
"""The baseline for every judge: it only knows which words follow each other."""
QUESTEVAL = "QuestEval-like"
"""Both metrics' own questions and answers, scored as QuestEval does: by the mean token F1 of the answers, without a
threshold. The coverage figure is also QAEval's."""
CAPTIONS = {"bigrams": BIGRAMS, "questeval": QUESTEVAL}
"""What the baselines are called in captions."""
_ANSWERS = {Consistency.name: "claims", Coverage.name: "questions"}
"""The detail of a metric that lists its answers."""
_STATUSES = ("unjudged", "not applicable", "failed", "not made")
_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
_FIGURES = ("n", "tau-b", "p")
_PEOPLE = "people"
_WORD = re.compile(r"\w+")
_Rated = PlainSerializer(lambda rated: {name: getattr(rated, name) for name in ("id", "system", "people", "labels")})
_Counts = PlainSerializer(
    lambda of_item: of_item and {name: getattr(of_item, name) for name in ("judged", "unjudged", "version")}
)


class RatedSet(NamedTuple):
    """A metric held against what people said of the items of a set."""

    set: str
    dataset: Dataset
    metric: str
    human: str
    """The field of the human judgments."""


@dataclass(frozen=True, slots=True)
class AgreeItem(Item, label="{0.rated.id}, {0.method}", made="evaluation"):
    """One item that people rated, and what one judge says of it under one setting."""

    set: str
    metric: str
    number: int
    """Its place in the set."""
    rated: Annotated[HumanItem, _Rated]
    judge: str
    setting: Annotated[Setting, PlainSerializer(dict)] = ()
    evaluation: Annotated[Evaluation | None, _Counts] = None
    sentences: tuple[bool | None, ...] = ()
    """Whether each sentence that people judged is right; empty if the metric does not say."""

    @property
    def asked(self) -> Setting:
        """The part of the setting that needs requests of its own."""
        return tuple(pair for pair in self.setting if pair[0] not in READ)

    @property
    def by(self) -> str:
        """The judge, and the setting that it was asked under."""
        return ", ".join((self.judge, *map(" ".join, self.asked)))

    @property
    def method(self) -> str:
        """The judge, and the whole setting."""
        return ", ".join((self.judge, *map(" ".join, self.setting)))

    @computed
    def score(self) -> float | None:
        """The score."""
        return self.evaluation.score if self.evaluation else None

    @computed
    def outcome(self) -> str:
        """The outcome of the evaluation: an item without a score is unjudged. Empty if there is none."""
        outcome = self.evaluation.outcome if self.evaluation else ""
        return "unjudged" if outcome == "failed" else outcome

    @property
    def verdicts(self) -> tuple[int, int]:
        """The numbers of verdicts that were given, and that are missing."""
        return (self.evaluation.judged, self.evaluation.unjudged) if self.evaluation else (0, 0)


Column = Sequence[AgreeItem]
"""All items of a set, by one judge under one setting."""


def columns_of(items: Iterable[AgreeItem]) -> list[Column]:
    """Return the items by judge and setting, each in the order of the set."""
    columns: dict[tuple[str, Setting], list[AgreeItem]] = {}
    for item in sorted(items, key=lambda item: item.number):
        columns.setdefault((item.judge, item.setting), []).append(item)
    return list(columns.values())


def score_frame(dataset: Dataset, human: str, scores: Mapping[Any, Sequence[float | None]]) -> pd.DataFrame:
    """Return a row for each judge and item that people rated: `judge`, `document`, `system`, `people`, `ours`, and
    `filled`, in which a missing score is the mean of the judge's others."""
    items = dataset.items
    rows = [(item.document, item.system, item.people.get(human)) for item in items]
    rated = pd.DataFrame(rows, columns=["document", "system", "people"]).astype({"people": float})
    frames = []
    for judge, values in scores.items():
        ours = pd.Series(values, dtype=float)
        frame = rated.assign(judge=pd.Series([judge] * len(items), dtype=object), ours=ours)
        frames.append(frame.assign(filled=ours.fillna(ours.mean())))
    return pd.concat(frames).dropna(subset="people")


def judged_frame(comparison: RatedSet, columns: Iterable[Column]) -> pd.DataFrame:
    """Return the scores of every judge, and those of the baseline, beside people's figures."""
    dataset, scores = comparison.dataset, {column[0].method: [item.score for item in column] for column in columns}
    return score_frame(dataset, comparison.human, {**scores, BIGRAMS: bigram_shares(dataset)})


def bigram_shares(dataset: Dataset) -> list[float]:
    """Return the share of each summary's word bigrams that occur in its document."""
    bigrams = {text: {*pairwise(_WORD.findall(text.lower()))} for text in {item.source for item in dataset.items}}
    shares: list[float] = []
    for item in dataset.items:
        words = [_WORD.findall(part.lower()) for part in item.sentences or (item.summary,)]
        pairs = [pair in bigrams[item.source] for sentence in words for pair in pairwise(sentence)]
        shares.append(fmean(pairs) if pairs else 0.0)
    return shares


def correlations(rows: pd.DataFrame, *, with_intervals: bool = False) -> dict[str, Cells]:
    """Return the correlation over all summaries with a score and, if they are by several known systems, that of the
    systems' means; intervals take a while."""
    rows = rows.dropna(subset="ours")
    documents = rows["document"].tolist() if with_intervals else []
    by_per = {"summaries": measures.correlate(rows["ours"], rows["people"], documents)}
    if rows["system"].nunique() > 1 and "" not in set(rows["system"]):
        by_per["systems"] = measures.between_systems(rows["ours"], rows["people"], rows["system"], documents)
    return by_per


def system_tau(rows: pd.DataFrame) -> float | None:
    """Return tau-b of the systems' means over all summaries."""
    means = rows.groupby("system")[["filled", "people"]].mean().dropna()
    return measures.tau_b(means["filled"], means["people"])


def comparison_frames(comparison: RatedSet, items: Iterable[AgreeItem]) -> Iterator[NamedFrame]:
    """Yield the tables of one comparison that there is data for; the last ones describe that data."""
    dataset, columns = comparison.dataset, columns_of(items)
    tables = _score_rows(comparison, columns)
    tables |= {"sentences": [*_sentences(columns)], "raters": [*_raters(dataset, columns)]}
    tables["counts"] = [*_counts(comparison, columns)]
    for name, rows in tables.items():
        if rows or name == "agreement":
            yield name, frame_of(rows, declared("tables")["agree"][name]["columns"])
    if dataset.troubles:
        yield "unreadable", frame_of({"place": place, "message": message} for place, message in dataset.troubles)


def _score_rows(comparison: RatedSet, columns: Sequence[Column]) -> dict[str, list[Cells]]:
    """Return the rows of the tables of scores beside people's figures: over all summaries; and within documents and by
    system, if the first judge scored several."""
    _, dataset, _, human = comparison
    best, rated = dataset.fields[human], sum(human in item.people for item in dataset.items)
    rows: dict[str, list[Cells]] = {name: [] for name in ("agreement", "documents", "systems")}
    several_documents = several_systems = None
    for judge, with_people in judged_frame(comparison, columns).groupby("judge", sort=False):
        of_judge, by_per = with_people.dropna(subset="ours"), correlations(with_people, with_intervals=True)
        ours, figures, documents = (of_judge[name] for name in ("ours", "people", "document"))
        if several_documents is None:
            several_documents, several_systems = bool(documents.duplicated().any()), "systems" in by_per
        head, pairs = {"judge": judge, "of": rated, "summaries": len(of_judge)}, by_per["summaries"]
        tau = measures.tau_b(with_people["filled"].dropna(), with_people["people"])
        labels = [value >= best for value in figures] if best else []
        area = float(roc_auc_score(labels, ours)) if len(set(labels)) == 2 else None
        rows["agreement"].append({**head, **pairs, "tau, all": tau, "AUC": area})
        if several_documents and len(of_judge):
            rows["documents"].append({"judge": judge, **measures.within_documents(ours, figures, documents)})
        if several_systems:
            systems = by_per.get("systems") or measures.between_systems(ours, figures, of_judge["system"], documents)
            row = {"judge": judge, "systems": systems["n"], **systems, "tau, all": system_tau(with_people)}
            rows["systems"].append(row)
    return rows


def _sentences(columns: Iterable[Column]) -> Iterator[Cells]:
    """Yield how each judge's verdicts on sentences agree with people's, if it has any."""
    for column in columns:
        verdicts = [
            (verdict, label, item.document)
            for item in column
            for verdict, label in zip(item.sentences or repeat(None), item.rated.labels, strict=False)
            if label is not None
        ]
        sentences = pd.DataFrame(verdicts, columns=["ours", "people", "document"], dtype=object)
        decided = sentences.dropna(subset="ours")
        if decided.empty:
            continue
        ours, labels = decided["ours"].astype(bool).tolist(), decided["people"].astype(bool).tolist()
        wrong = [not label for label in sentences["people"]]
        head = {"judge": column[0].method, "judged": len(decided), "of": len(sentences), "wrong": sum(wrong)}
        found = measures.precision_and_recall([verdict is False for verdict in sentences["ours"]], wrong)[1]
        kinds = measures.compare_verdicts(ours, labels, decided["document"])
        agreement = measures.beyond_chance(list(zip(labels, ours, strict=True)))
        yield {**head, **kinds, "found of all": found, "kappa": measures.cohens_kappa(labels, ours), **agreement}


def _raters(dataset: Dataset, columns: Iterable[Column]) -> Iterator[Cells]:
    """Yield how two judges agree, and people."""
    for first, second in combinations([column for column in columns if not column[0].setting], 2):
        pairs = [(of_first.score, of_second.score) for of_first, of_second in zip(first, second, strict=True)]
        scores = pd.DataFrame(pairs, columns=["first", "second"], dtype=float).dropna()
        verdicts = [
            pair
            for of_first, of_second in zip(first, second, strict=True)
            for pair in zip(of_first.sentences, of_second.sentences, strict=False)
        ]
        sides = pd.DataFrame(verdicts, columns=["first", "second"], dtype=object).dropna()
        head = {"one": first[0].method, "other": second[0].method, "items": len(scores)}
        figures = {"kappa": measures.cohens_kappa(*(sides[side].tolist() for side in sides))}
        figures["tau-b"] = measures.tau_b(scores["first"], scores["second"])
        yield {**head, **measures.beyond_chance(scores.to_numpy().tolist(), "interval"), **figures}
    if votes := [row for item in dataset.items for row in item.votes]:
        yield {"one": _PEOPLE, "other": "each other", "items": len(votes), **measures.beyond_chance(votes, "interval")}


def _counts(comparison: RatedSet, columns: Iterable[Column]) -> Iterator[Cells]:
    """Yield what the figures of people and of each judge are based on."""
    items = comparison.dataset.items
    yield {"by": _PEOPLE, "items": len(items), "figures": sum(comparison.human in item.people for item in items)}
    for column in columns:
        counts = Counter(spaced(item.outcome) if item.status == "done" else item.status for item in column)
        judged, unjudged = (sum(item.verdicts[side] for item in column) for side in (0, 1))
        head = {"by": column[0].method, "items": len(column), "figures": counts["scored"]}
        statuses = {status: counts[status] for status in _STATUSES}
        yield {**head, **statuses, "items unjudged": share(unjudged, unjudged + judged)}


def overview_frames(compared: Iterable[tuple[RatedSet, Iterable[AgreeItem]]]) -> Iterator[NamedFrame]:
    """Yield the correlations of several sets with people's figures, per summary and per system: first with a row for
    each method, which is a judge under a setting or a baseline, and a column for each set; then as figures."""
    rows: list[dict[str, Any]] = []
    names: dict[str, None] = {}
    for comparison, items in compared:
        frame = score_frame(comparison.dataset, comparison.human, scores_by_method(comparison, columns_of(items)))
        for (method, setting), of_method in frame.groupby("judge", sort=False):
            names |= dict.fromkeys(dict(setting))
            for per, row in correlations(of_method).items():
                head = {"method": method, "metric": comparison.metric, **dict(setting), "per": per}
                rows.append({**head, "set": comparison.set, **{name: row[name] for name in _FIGURES}})
    rows.sort(key=lambda row: (row["metric"], row["per"]))
    heads = ("method", "metric", *names, "per")
    lines: dict[tuple[object, ...], dict[str, Any]] = {}
    for row in rows:
        tau, p = row["tau-b"], row["p"]
        stars = next((stars for limit, stars in _STARS if p is not None and p < limit), "")
        head = {name: row.get(name) for name in heads}
        lines.setdefault(tuple(head.values()), head)[row["set"]] = None if tau is None else f"{tau:.3f}{stars}"
    yield "overview", frame_of(lines.values())
    yield "overview_figures", frame_of(rows, (*heads, "set", *_FIGURES))


def scores_by_method(comparison: RatedSet, columns: Iterable[Column]) -> dict[tuple[str, Setting], list[float | None]]:
    """Return the baseline's scores, each judge's, and those of the same answers scored as QuestEval does."""
    scores: dict[tuple[str, Setting], list[float | None]] = {(BIGRAMS, ()): [*bigram_shares(comparison.dataset)]}
    for column in columns:
        judge, setting, asked = column[0].judge, column[0].setting, column[0].asked
        alike = (f"{QUESTEVAL} ({judge})", asked)
        # All readings of the same answers give this the same scores.
        if comparison.metric in _ANSWERS and alike not in scores:
            decided = (judged_entries(item.evaluation, _ANSWERS[item.metric]) for item in column)
            scores[alike] = [
                mean([rouge1(answer["found"], answer["expected"]) for answer in of_item]) for of_item in decided
            ]
        scores[judge, setting] = [item.score for item in column]
    return scores
