"""The values of judging settings that are more than a number or a name."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from redraft.fields import Settings

MOST_QUESTIONS = 1000
_RANGE = re.compile(r"\s*([0-9]{1,4})\s*[-–]\s*([0-9]{1,4})\s*")


def _questions(given: object) -> object:
    """Parse a range such as 9-15."""
    found = _RANGE.fullmatch(given) if isinstance(given, str) else None
    return (int(found[1]), int(found[2])) if found else given


def _counted(given: int | tuple[int, int]) -> int | tuple[int, int]:
    ends = (given, given) if isinstance(given, int) else given
    if not 1 <= ends[0] <= ends[1] <= MOST_QUESTIONS:
        raise ValueError(f"a number from 1 to {MOST_QUESTIONS}, or a range of such numbers as in 9-15")
    return given


Questions = Annotated[int | tuple[int, int], BeforeValidator(_questions), AfterValidator(_counted)]
"""The number of questions: a maximum, or a range per stretch."""

_KEYFACT_CHUNKS = re.compile(r"(?:25[6-9]|2[6-9]\d|[3-9]\d\d|[1-9]\d{3,6})\+?")


def _chunks_of(given: object) -> object:
    if not _KEYFACT_CHUNKS.fullmatch(str(given)):
        raise ValueError("a number of tokens, 256 or more, such as 4096, or 4000+ for 4000 and the sentence begun")
    return str(given)


KeyfactChunks = Annotated[str, BeforeValidator(_chunks_of)]
"""The tokens of a chunk for key facts: at most N, or with a plus sign N and the rest of the sentence begun."""

_LevelTexts = Annotated[tuple[Annotated[str, Field(max_length=300)], ...], Field(min_length=2, max_length=10)]


class RubricSettings(BaseModel):
    """A metric that is stated in a sentence: a table `[rubrics.NAME]` of `redraft.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    requirement: str = Field(min_length=1, max_length=2_000)
    levels: Annotated[int, Field(ge=2, le=10)] | _LevelTexts = 5
    """The number of levels, or what each of them means, from the worst to the best."""
    aim: Literal["truth", "content", "form"] = "form"


class Calibration(Settings):
    """How a judge's probabilities become those that hold: the log odds times a slope, plus an intercept."""

    slope: float = Field(gt=0)
    intercept: float
    covariance: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """How well the fit knows them: the variance of the slope, their covariance, and the variance of the intercept."""
