"""The contestants of a comparison, and what is read from each of their runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from statistics import fmean
from typing import Any

import numpy as np

from redraft.domain import Document, Evaluation, Totals
from redraft.errors import UsageError
from redraft.evaluators.figures import draws, interval
from redraft.report.dossier.build import items, positions, scores, sentence_numbers
from redraft.report.dossier.comparison.contents import ComparedSentence, Setting
from redraft.report.dossier.contents import JudgedItem, MetricScore, Places, Positions, Range
from redraft.report.history.certificates import judge_setup_of
from redraft.report.history.lineage import Lineage, read_lineage
from redraft.report.history.results import Result, document_read, read_result
from redraft.report.history.texts import GIVEN_SAID
from redraft.settings import FIGURES, GIVEN_STRATEGY
from redraft.store.judgments import JudgeSetup
from redraft.store.runs import Run
from redraft.store.store import Store, check_store
from redraft.text.places import percent_of
from redraft.text.sanitizer import clean, one_line, scrubbed, scrubbed_all
from redraft.text.vectors import Encoder
from redraft.text.words import count_words

MIN_VALUES = 5
"""With fewer values there is no interval: it would hardly exceed the range of the values."""
_DIGITS = 6


def interval_of_mean(values: Sequence[float]) -> Range | None:
    """Return the range of 95% of resampled means, regardless of the order of the values; None for fewer than 5."""
    if len(values) < MIN_VALUES:
        return None
    found = interval(draws(len(values)) @ np.sort(np.asarray(values, dtype=np.float64)) / len(values))
    return Range(low=round(found.low, _DIGITS), high=round(found.high, _DIGITS)) if found else None


# The details of an evaluation that identify the questions or key facts it used.
_YARDSTICKS = ("pack", "keyfacts")


@dataclass(frozen=True, slots=True)
class Side:
    """A run as read for a comparison."""

    result: Result
    document: Document
    document_words: int
    named: str
    """The name that the user gave it; empty without one."""
    sentences: tuple[ComparedSentence, ...]
    positions: Positions | None
    items: tuple[JudgedItem, ...]
    scores: tuple[MetricScore, ...]

    @property
    def run(self) -> Run:
        """The stored run."""
        return self.result.run

    @property
    def used(self) -> Totals:
        """The usage totals."""
        return self.result.usage

    @property
    def scored(self) -> Mapping[str, float]:
        """The scores by metric, for metrics that have one."""
        return {score.metric: score.score for score in self.scores if score.score is not None}

    def standing(self, metric: str) -> JudgeSetup:
        """Return the judge setup of a metric."""
        return judge_setup_of(self.run, metric, self.result.evaluations[metric].version)

    def yardstick(self, metric: str) -> str:
        """Return the id of the questions or key facts that a metric used; empty if it uses none."""
        details = self.result.evaluations[metric].details
        return next((str(details[name]) for name in _YARDSTICKS if details.get(name)), "")


def read_side(store: Store, key: str, named: str, encoder: Encoder | None) -> Side:
    """Return a run with its summary. Raises a `RunError` if it has none."""
    check_store(store)
    run = store.runs.get(key)
    run.drafted()
    result = read_result(store, run.id)
    document = document_read(store, run)
    lineage = read_lineage(store, run.id, encoder=encoder)
    return Side(
        result=result,
        document=document,
        document_words=count_words(document.text),
        named=one_line(named),
        sentences=tuple(_sentences(lineage, result)),
        positions=positions(lineage) if any(sentence.places for sentence in lineage.sentences) else None,
        items=tuple(items(store, result, Places(document))),
        scores=tuple(_scores(result)),
    )


def _sentences(lineage: Lineage, result: Result) -> Iterator[ComparedSentence]:
    numbers, wrong = sentence_numbers(lineage), dict[int, list[str]]()
    for evaluation in result.evaluations.values():
        for finding in evaluation.findings:
            if number := numbers.get(one_line(finding.sentence)) if finding.sentence else None:
                wrong.setdefault(number, []).append(f"{finding.metric}: {finding.kind}")
    for sentence in lineage.sentences:
        best = max(sentence.places, key=lambda origin: origin.weight, default=None)
        yield ComparedSentence(
            number=sentence.number,
            text=clean(lineage.text[sentence.span.start : sentence.span.end]).strip(),
            percent=percent_of(lineage.document, best.span.start) if best else None,
            wrong=tuple(dict.fromkeys(map(one_line, wrong.get(sentence.number, ())))),
        )


def _scores(result: Result) -> Iterator[MetricScore]:
    for score in scores(result):
        if score.metric in FIGURES:
            continue
        values = item_values(result.evaluations[score.metric])
        yield MetricScore.of(score, interval=interval_of_mean(values) if values else None)


def item_values(evaluation: Evaluation) -> Sequence[float]:
    """Return the item values that the score is the mean of, each as large as its weight; empty if it is not the mean of
    any."""
    if evaluation.score is None:
        return ()
    for listed in evaluation.details.values():
        values = _values(listed)
        if len(values) == evaluation.judged and values and isclose(fmean(values), evaluation.score, abs_tol=1e-9):
            return values
    return ()


def _values(listed: object) -> list[float]:
    if not isinstance(listed, list | tuple):
        return []
    known = [(one.get("value"), one.get("weight", 1)) for one in listed if isinstance(one, Mapping)]
    return weighed([(float(value), weight) for value, weight in known if isinstance(value, int | float)])


def weighed(values: Sequence[tuple[float, int]]) -> list[float]:
    """Return values whose mean is the weighted mean of these, which have a weight each."""
    total = sum(weight for _, weight in values)
    return [value * weight * len(values) / total for value, weight in values]


def missing_parts(side: Side) -> Iterator[str]:
    """Yield what is missing from a summary."""
    for gap in side.result.gaps:
        which = f"{side.result.unit.capitalize()} {gap.chunk + 1} of {side.result.chunks}"
        yield f"{which} of the document was left out: {scrubbed(gap.reason)}"
    if side.result.status != "done":
        yield f"The run is {side.result.status}."


# These do not affect what is asked of the model, or only draw another sample of it.
_NO_MATTER = {"model", "strategy", "key_env", "price", "replies", "sample"}
_LONGEST, _SHORT = 60, 40
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunGroup:
    """A contestant with its runs in order."""

    letter: str
    label: str
    sides: tuple[Side, ...]

    def on(self, document: str) -> tuple[Side, ...]:
        """Return its runs on a document."""
        return tuple(side for side in self.sides if side.run.document == document)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its runs."""
        if len(self.sides) == 1:
            return (self.letter,)
        return tuple(f"{self.letter}{number}" for number in range(1, len(self.sides) + 1))

    @property
    def named(self) -> tuple[tuple[str, Side], ...]:
        """Its runs with their names."""
        return tuple(zip(self.names, self.sides, strict=True))


def letters(number: int) -> str:
    """Return the letters for an index from 0: A, B, ..., Z, AA, AB, ..."""
    found = ""
    while number >= 0:
        number, at = divmod(number, 26)
        found, number = chr(ord("A") + at) + found, number - 1
    return found


def group_runs(sides: Sequence[Side]) -> tuple[RunGroup, ...]:
    """Return the contestants in the order of their first runs. Raises a `UsageError` if there is only one."""
    alone = len({side.run.document for side in sides}) == 1
    telling = _telling(sides)
    found: dict[Key, list[Side]] = defaultdict(list)
    for side in sides:
        # With a single document, every run is a contestant of its own.
        found[(side.run.id,) if alone else _key(side, telling)].append(side)
    labels = _apart([members[0] for members in found.values()], telling)
    groups = [
        RunGroup(letters(at), label, tuple(members))
        for at, (label, members) in enumerate(zip(labels, found.values(), strict=True))
    ]
    if len(groups) == 1:
        raise UsageError(
            f"all of these runs belong to one system: {groups[0].label}",
            hint="add runs with another model, strategy or setting, or name the systems: NAME=RUN",
        )
    return tuple(groups)


def settings_of(side: Side) -> Mapping[str, Any]:
    """Return the settings that a summary was made with, except for those that do not affect it."""
    run = side.run
    refinement = run.refinement.model_dump(mode="json") if run.refinement else {}
    refined = {"refined": refinement.get("policy", "no")} | {
        name: refinement[name] for name in ("rounds", "goals") if name in refinement
    }
    if run.settings.strategy == GIVEN_STRATEGY and not refinement:
        # The models named in the run did not write this summary.
        return {"strategy": GIVEN_STRATEGY} | refined
    settings = run.settings.model_dump(mode="json", exclude=_NO_MATTER)
    found = {"model": run.settings.model, "strategy": run.settings.strategy} | settings | refined
    return {name: scrubbed_all(value) if not isinstance(value, int | float) else value for name, value in found.items()}


def differing(groups: Sequence[RunGroup]) -> Iterator[Setting]:
    """Yield the settings in which the contestants differ."""
    every = [[_about(side) for side in group.sides] for group in groups]
    for name in dict.fromkeys(name for of_one in every for about in of_one for name in about):
        values = tuple(tuple({repr(one.get(name)): one.get(name) for one in of_one}.values()) for of_one in every)
        if len(set(map(repr, values))) > 1:
            yield Setting(name=name, values=values)


def _about(side: Side) -> Mapping[str, Any]:
    """Return the settings of a run, and everything else that may affect its summary and scores."""
    run = side.run
    prompts = {f"prompt {one_line(name)}": digest for name, digest in run.prompt_hashes.items()}
    return {
        **settings_of(side),
        "sample": run.settings.sample,
        "judges": [scrubbed(judge) for judge in side.result.judges] if run.judging else [],
        "tokenizer": run.tokenizer,
        "version": run.version,
        **prompts,
    }


def _telling(sides: Sequence[Side]) -> tuple[str, ...]:
    """Return the settings besides model and strategy that tell runs of the same document apart. Settings that follow
    from others are left out, and so are those that depend only on the document, such as the number of words."""
    telling: tuple[str, ...] = ()
    for name in dict.fromkeys(name for side in sides for name in settings_of(side)):
        values: dict[Key, set[str]] = defaultdict(set)
        for side in sides:
            values[(side.run.document, *_key(side, telling))].add(repr(settings_of(side).get(name)))
        if any(len(found) > 1 for found in values.values()) and name not in ("model", "strategy"):
            telling += (name,)
    return telling


def _key(side: Side, telling: Iterable[str]) -> Key:
    if side.named:
        return ("named", side.named)
    settings = settings_of(side)
    return tuple(repr(settings.get(name)) for name in ("model", "strategy", *telling))


def _label(side: Side, telling: Iterable[str]) -> str:
    if side.named:
        return one_line(side.named, _LONGEST)
    settings = settings_of(side)
    parts = [GIVEN_SAID if settings["strategy"] == GIVEN_STRATEGY else str(settings["strategy"])]
    if "model" in settings:
        parts.insert(0, str(settings["model"]))
    parts += [_said(name, settings[name]) for name in telling if name in settings]
    return ", ".join(one_line(part, _LONGEST) for part in parts)


def _apart(sides: Sequence[Side], telling: Iterable[str]) -> list[str]:
    """Return a label for each run. Equal ones differ in how the summary begins, or else in the run's id."""
    plain = [_label(side, telling) for side in sides]
    begins = [one_line(side.sentences[0].text, _SHORT) if side.sentences else "" for side in sides]
    labels = []
    for side, label, begin in zip(sides, plain, begins, strict=True):
        if plain.count(label) > 1:
            label = f"{label}: “{begin}”" if begin and begins.count(begin) == 1 else f"{label} ({side.run.id})"
        labels.append(label)
    return labels


def _said(name: str, value: object) -> str:
    if name == "words" and value is not None:
        return f"{value} words"
    if name == "refined":
        return "not refined" if value == "no" else f"refined {value}"
    if isinstance(value, dict):
        value = ", ".join(f"{one.replace('_', ' ')} {least}" for one, least in value.items())
    return f"{name.replace('_', ' ')} {'none' if value is None else value}"
