"""The verdict on a run in one sentence: which goals were met, by which scores."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from redraft.report.dossier.contents import Score
from redraft.settings import FIGURES
from redraft.text.sanitizer import one_line
from redraft.text.words import rounded, spaced

_LONGEST = 160
_CLAUSE = re.compile(r"[;:,.] ")
_STATES = {
    "waiting": "Waiting for your review.",
    "running": "Running.",
    "failed": "Failed.",
    "stopped": "Stopped at a limit.",
    "interrupted": "Interrupted.",
    "killed": "Crashed.",
}


class VerdictPart(NamedTuple):
    """One clause of a verdict, with a sign so that colour is not the only cue."""

    kind: str
    """met, missed, unsure or note."""
    sign: str
    says: str


def verdict(status: str, scores: Sequence[Score]) -> tuple[VerdictPart, ...]:
    """Return the status unless the run is done, then every goal, or every score if there are no goals."""
    judged = [one for one in scores if one.metric not in FIGURES]
    parts = list(_parts(judged)) or ([VerdictPart("note", "", "not judged")] if status == "done" else [])
    parts[:1] = [one._replace(says=one.says[:1].upper() + one.says[1:]) for one in parts[:1]]
    known = [VerdictPart("note", "", _STATES[status])] if status in _STATES else []
    return (*known, *parts)


def _clauses(reason: str) -> str:
    """Return as many of the first clauses of a reason as there is room for."""
    said = one_line(reason).rstrip(".")
    ends = [found.start() for found in _CLAUSE.finditer(said, 0, _LONGEST)]
    return said if len(said) <= _LONGEST else said[: ends[-1]] if ends else one_line(said, _LONGEST)


def _parts(judged: Sequence[Score]) -> Iterator[VerdictPart]:
    with_goal = [one for one in judged if one.goal is not None]
    for one in with_goal or judged:
        name = spaced(one.metric)
        why = _clauses(one.reason) if one.score is None else ""
        if one.goal is None:
            said = rounded(one.score) if one.score is not None else f"not scored{f' ({why})' if why else ''}"
            yield VerdictPart("note", "", f"{name} {said}")
        elif one.score is None:
            goal = f"goal {rounded(one.goal)}{f'; {why}' if why else ''}"
            yield VerdictPart("unsure", "?", f"{name} not scored ({goal})")
        else:
            state, sign = ("unsure", "?") if one.met is None else ("met", "✓") if one.met else ("missed", "✗")
            said = "undecided" if state == "unsure" else state
            yield VerdictPart(state, sign, f"{name} {said} ({rounded(one.score)} of {rounded(one.goal)})")
