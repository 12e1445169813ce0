"""Settings of judging that are tried one beside the other: which of them are asked about anew, and which only read
otherwise what is known.

How alike two answers are, and how alike they have to be, is worked out from the answers that a judge has given: for
that nobody is asked again. Whoever sweeps over these judges by the first look alone, as the paper does; a second look
would depend on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import product
from typing import Any

from redraft.domain import Evaluation
from redraft.errors import UsageError
from redraft.evaluators.consensus import UNJUDGED, mean
from redraft.evaluators.consistency import Consistency
from redraft.evaluators.metric_info import LEAST_SHARE
from redraft.evaluators.similarity import similarity
from redraft.settings import JudgeConfig
from redraft.text.embeddings import Encoder

SIMILARITY, THRESHOLD = "similarity", "threshold"
READ = (SIMILARITY, THRESHOLD)
"""What is only read otherwise."""
ASKED = ("questions", "claims", "top_k", "stretch_tokens", "second_look", "batch", "repeat", "perspective")
"""What a judge is asked otherwise, though nothing twice."""
_BY_JUDGE = "judge"
_MOST = 200

Setting = tuple[tuple[str, str], ...]
"""Names and values, as they were written."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """The values of each setting, in the order in which they were given."""

    values: Mapping[str, tuple[str, ...]]

    @property
    def asked(self) -> list[Setting]:
        """All combinations of what is asked otherwise; one that is empty where nothing is."""
        return self._combined(ASKED)

    @property
    def read(self) -> list[Setting]:
        """All combinations of what is read otherwise; one that is empty where nothing is."""
        return self._combined(READ)

    @property
    def reads(self) -> bool:
        """Whether answers are read otherwise than they were judged."""
        return any(name in self.values for name in READ)

    def _combined(self, among: Sequence[str]) -> list[Setting]:
        names = [name for name in self.values if name in among]
        return [tuple(zip(names, one, strict=True)) for one in product(*(self.values[name] for name in names))]

    def judging(self, base: JudgeConfig, asked: Setting) -> JudgeConfig:
        """How is judged for all the readings of one combination: where one of these is the judge's own, it is asked."""
        changes: dict[str, Any] = dict(asked)
        if self.reads:
            own = _BY_JUDGE in self.values.get(SIMILARITY, (base.similarity,))
            changes |= {SIMILARITY: _BY_JUDGE if own else base.similarity, "second_look": False}
        try:
            return JudgeConfig.model_validate(base.model_dump() | changes)
        except ValueError as error:
            said = ", ".join(f"{name}={value}" for name, value in asked)
            raise UsageError(f"--sweep: {said} cannot be", hint=str(error).splitlines()[-2].strip()) from error

    def check(self, metric: str, base: JudgeConfig) -> None:
        """Refuse what makes no difference, and what is settled otherwise."""
        if not self.reads:
            return
        if metric != Consistency.name:
            raise UsageError(f"--sweep: neither similarity nor threshold makes a difference to {metric}")
        if base.repeat > 1 or "repeat" in self.values or "second_look" in self.values:
            raise UsageError("--sweep: similarity and threshold are swept over the first answers of one judging")
        for name in self.values.get(SIMILARITY, ()):
            if name not in ("exact", "rouge1", "cosine", _BY_JUDGE):
                raise UsageError(f"--sweep: there is no similarity {name!r}; there are exact, rouge1, cosine and judge")
        for value in self.values.get(THRESHOLD, ()):
            if not 0 <= float(value) < 1:
                raise UsageError(f"--sweep: a threshold of {value} is not from 0 to less than 1")


NO_SWEEP = Sweep({})


def sweep_of(words: Iterable[str]) -> Sweep:
    """The sweep that is written so: `similarity=exact,rouge1`, `threshold=0.2:0.7:0.1` from, to and in steps of."""
    values: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, _, listed = word.partition("=")
        name = name.strip().replace("-", "_")
        if name not in (*READ, *ASKED):
            raise UsageError(f"--sweep: {name!r} cannot be swept", hint=f"there are {', '.join((*READ, *ASKED))}")
        if name in values:
            raise UsageError(f"--sweep: {name} stands twice", hint="give all its values at once, with commas")
        found = [value for part in listed.split(",") for value in _values(word, part.strip()) if value]
        if not found:
            raise UsageError(f"--sweep: {word!r} has no values", hint="write NAME=VALUE,VALUE or NAME=FROM:TO:STEP")
        values[name] = tuple(dict.fromkeys(found))
    sweep = Sweep(values)
    if len(sweep.asked) * len(sweep.read) > _MOST:
        raise UsageError(f"--sweep: that is more than {_MOST} combinations", hint="leave some values out")
    return sweep


def _values(word: str, part: str) -> Iterable[str]:
    if ":" not in part:
        return [part]
    try:
        first, last, step = map(Decimal, part.split(":"))
    except (ValueError, InvalidOperation):
        raise UsageError(f"--sweep: {word!r} is no range", hint="write FROM:TO:STEP, as in 0.2:0.7:0.1") from None
    if not (first <= last and step > 0 and (last - first) / step < _MOST):
        raise UsageError(f"--sweep: {word!r} has no end", hint="write FROM:TO:STEP, as in 0.2:0.7:0.1")
    return [str(first + n * step) for n in range(int((last - first) / step) + 1)]


def read_otherwise(
    evaluation: Evaluation, reading: Setting, base: JudgeConfig, encoder: Encoder | None
) -> float | None:
    """What the same answers come to by another similarity, or another threshold (LongSumEval, algorithm 1)."""
    if not reading or not isinstance(claims := evaluation.details.get("claims"), list):
        return evaluation.score
    # What it may be was checked when the sweep was.
    read = base.model_copy(update=dict(reading))
    name, threshold, alike = read.similarity, float(read.threshold), similarity(read.similarity, encoder)
    points: list[float] = []
    for claim in claims:
        if claim["verdict"] == UNJUDGED["verdict"]:
            continue
        answer = claim["expected"]
        like = claim["likeness"] if name == _BY_JUDGE else alike(claim["found"], answer)
        points.append(like if like > threshold else 0.0)
    items = evaluation.judged + evaluation.unjudged
    return mean(points) if len(points) >= LEAST_SHARE * items else None
