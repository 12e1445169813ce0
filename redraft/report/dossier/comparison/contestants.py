"""Who is compared: single runs of one document, or runs of several documents that have all in common that matters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redraft.errors import UsageError
from redraft.report.dossier.comparison.contents import Setting
from redraft.report.dossier.comparison.sides import Side
from redraft.settings import GIVEN_STRATEGY
from redraft.text.sanitizer import one_line, scrubbed, scrubbed_all

# These make no difference to what is asked, or only draw another of the same.
_NO_MATTER = {"model", "strategy", "key_env", "price", "replies", "sample"}
_LONGEST = 60
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunGroup:
    """A contestant with its runs, in their order."""

    letter: str
    label: str
    sides: tuple[Side, ...]

    def on(self, document: str) -> tuple[Side, ...]:
        """Its runs on a document."""
        return tuple(side for side in self.sides if side.run.document == document)

    @property
    def names(self) -> tuple[str, ...]:
        """What its runs are called."""
        if len(self.sides) == 1:
            return (self.letter,)
        return tuple(f"{self.letter}{number}" for number in range(1, len(self.sides) + 1))

    @property
    def named(self) -> tuple[tuple[str, Side], ...]:
        """Its runs with what they are called."""
        return tuple(zip(self.names, self.sides, strict=True))


def letters(number: int) -> str:
    """A, B, ..., Z, AA, AB, ..."""
    found = ""
    while number >= 0:
        number, at = divmod(number, 26)
        found, number = chr(ord("A") + at) + found, number - 1
    return found


def grouped(sides: Sequence[Side]) -> tuple[RunGroup, ...]:
    """The contestants, in the order in which their first runs were named."""
    alone = len({side.run.document for side in sides}) == 1
    telling = _telling(sides)
    found: dict[Key, list[Side]] = defaultdict(list)
    for side in sides:
        # Of one document every run stands for itself.
        found[(side.run.id,) if alone else _key(side, telling)].append(side)
    labels = [_label(members[0], telling) for members in found.values()]
    groups = [
        RunGroup(letters(at), label if labels.count(label) == 1 else f"{label} ({members[0].run.id})", tuple(members))
        for at, (label, members) in enumerate(zip(labels, found.values(), strict=True))
    ]
    if len(groups) == 1:
        raise UsageError(
            f"all of these runs belong to one system: {groups[0].label}",
            hint="add runs with another model, strategy or setting, or name the systems: NAME=RUN",
        )
    return tuple(groups)


def settings_of(side: Side) -> Mapping[str, Any]:
    """Everything that a summary was made by, but for what makes no difference to it."""
    run = side.run
    refinement = run.refinement.model_dump(mode="json") if run.refinement else {}
    refined = {"refined": refinement.get("policy", "no")} | {
        name: refinement[name] for name in ("rounds", "goals") if name in refinement
    }
    if run.settings.strategy == GIVEN_STRATEGY and not refinement:
        # Whoever wrote it, it was none of the models that are named in the run.
        return {"strategy": GIVEN_STRATEGY} | refined
    settings = run.settings.model_dump(mode="json", exclude=_NO_MATTER)
    found = {"model": run.settings.model, "strategy": run.settings.strategy} | settings | refined
    return {name: scrubbed_all(value) if not isinstance(value, int | float) else value for name, value in found.items()}


def differing(groups: Sequence[RunGroup]) -> Iterator[Setting]:
    """What the contestants do not have in common."""
    every = [[_about(side) for side in group.sides] for group in groups]
    for name in dict.fromkeys(name for of_one in every for about in of_one for name in about):
        values = tuple(tuple({repr(one.get(name)): one.get(name) for one in of_one}.values()) for of_one in every)
        if len(set(map(repr, values))) > 1:
            yield Setting(name=name, values=values)


def _about(side: Side) -> Mapping[str, Any]:
    """Its settings, and what else of its making may make a difference."""
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
    """The settings beside model and strategy that tell runs of the same document apart: not what follows from these,
    nor what only goes by the document, as the number of words does."""
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
    parts = ["your summary" if settings["strategy"] == GIVEN_STRATEGY else str(settings["strategy"])]
    if "model" in settings:
        parts.insert(0, str(settings["model"]))
    parts += [_said(name, settings[name]) for name in telling if name in settings]
    return ", ".join(one_line(part, _LONGEST) for part in parts)


def _said(name: str, value: object) -> str:
    if name == "words" and value is not None:
        return f"{value} words"
    if name == "refined":
        return "not refined" if value == "no" else f"refined {value}"
    if isinstance(value, dict):
        value = ", ".join(f"{one.replace('_', ' ')} {least}" for one, least in value.items())
    return f"{name.replace('_', ' ')} {'none' if value is None else value}"
