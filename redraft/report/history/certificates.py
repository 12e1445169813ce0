"""What stands behind a score: who judged and by which prompts, how often and how much of it, and how far that judge has
been found to agree with people.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from redraft.builtin.facade import IDENTITY
from redraft.domain import Evaluation, content_id
from redraft.evaluators.metric_info import SELF_CHECK, known, self_checks
from redraft.settings import EXTRACTIVE, FIGURES, JudgeConfig
from redraft.store.judgments import Agreement, JudgeSetup
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.sanitizer import one_line

# What of how it judges makes a difference to a metric. Of one that is not known everything may.
_TERMS: Mapping[str, tuple[str, ...]] = {
    "coverage": ("questions", "stretch_tokens", "top_k", "evidence", "second_look", "embeddings", "repeat"),
    "consistency": ("similarity", "threshold", "claims", "top_k", "evidence", "second_look", "embeddings", "repeat"),
    "keyfact_recall": ("perspective", "validator", "embeddings", "repeat"),
    "faithfulness": ("evidence", "embeddings", "repeat"),
    "booookscore": ("batch", "repeat"),
}
_NEVER = {"metrics", "judges", "models", "base_url", "pack", "keyfacts", "reference"}
_UNASKED = (*FIGURES, "spread")
_LETTERS = 8
_LONGEST = 60
UNCHECKED = "not checked against people"


@dataclass(frozen=True, slots=True)
class Certificate:
    """What stands behind one score."""

    metric: str
    version: int
    judges: tuple[str, ...]
    """As they were named."""
    prompts: str
    """The set of prompts, and what stands for their texts."""
    unjudged_share: float | None
    spread: Mapping[str, Any] | None = None
    """How several judgings scatter, where there were several."""
    agreements: tuple[Agreement, ...] = ()
    self_check: bool = False
    """Whether the built-in model has judged what it has written itself: a figure that says nothing of quality."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What the built-in judge sees and what not, where it judges alone."""

    @property
    def agreement(self) -> Agreement | None:
        """The figure that is named where there is room for one: on the most summaries."""
        per_summary = [one for one in self.agreements if one.level == "summaries"]
        return max(per_summary or self.agreements, key=lambda one: one.n, default=None)

    def to_json(self) -> dict[str, object]:
        """The certificate as programs read it."""
        return {
            "judges": list(self.judges),
            "metric": self.metric,
            "version": self.version,
            "prompts": self.prompts or None,
            "spread": dict(self.spread) if self.spread else None,
            "unjudged_share": self.unjudged_share,
            "agreements": [one.to_json() for one in self.agreements],
            "agrees": in_words(self.agreement),
            "self_check": self.self_check,
            **self.words,
        }

    def line(self, *, brief: bool = False) -> str:
        """All of it in one line; `brief` without what one judging alone has: hash of the prompts, spread, shares."""
        who = " and ".join(one_line(judge, _LONGEST) for judge in self.judges)
        if self.words:
            who = f"{who} (no language model), which {self.words['sees']}; it does not see {self.words['misses']}"
        prompts = self.prompts.rpartition(" ")[0] if brief else self.prompts
        parts = [who, f"prompts {prompts}"] if prompts else [who]
        if self.self_check:
            parts.append(f"a {SELF_CHECK}, since it wrote the summary too")
        if self.spread and not brief:
            parts.append(f"{self.spread['n']} judgings, sd {self.spread['sd']:.2f}")
        if self.unjudged_share is not None and not brief:
            parts.append(f"{self.unjudged_share:.0%} without a verdict")
        parts.append(in_words(self.agreement))
        return "; ".join(parts)


def in_words(one: Agreement | None) -> str:
    """How far a judge agrees with people, for people."""
    if one is None:
        return UNCHECKED
    between = (
        f" ({round(one.low, 2) + 0.0:.2f} to {round(one.high, 2) + 0.0:.2f})"
        if one.low is not None and one.high is not None
        else ""
    )
    measure = "" if one.measure == "tau-b" else f" in {one.measure}"
    on = f"{one_line(one.dataset, _LONGEST)}, {one.n:,} {one.level}"
    return f"agrees with people {one.value:.2f}{between}{measure} on {on}"


def certificates(store: Store, run: Run, evaluations: Mapping[str, Evaluation]) -> dict[str, Certificate]:
    """By metric what stands behind the scores of a draft; what nobody was asked for needs nothing behind it."""
    return {name: certificate(store, run, one) for name, one in evaluations.items() if name not in _UNASKED}


def certificate(store: Store, run: Run, evaluation: Evaluation) -> Certificate:
    """What stands behind one score."""
    standing = standing_of(run, evaluation.metric, evaluation.version)
    spread, judged = evaluation.details.get("spread"), evaluation.judged_share
    alone = judges_of(run) == (EXTRACTIVE,)
    return Certificate(
        evaluation.metric,
        evaluation.version,
        judges_of(run),
        f"{one_line(str(run.settings.prompts), _LONGEST)} {standing.prompts}" if standing.prompts else "",
        None if judged is None else 1 - judged,
        spread if isinstance(spread, dict) and spread.get("n", 0) > 1 else None,
        (*store.agreements.of(standing), *(one for one in packaged() if one.standing == standing)),
        evaluation.metric in self_checked(run),
        packaged_words().get(evaluation.metric, {}) if alone else {},
    )


def self_checked(run: Run) -> frozenset[str]:
    """The metrics by which the built-in model judges what it has written itself in a run."""
    return self_checks(run.settings, run.judging, run.refinement)


def judges_of(run: Run) -> tuple[str, ...]:
    """Who judges in a run, as they were named: without anybody the writer."""
    return tuple(run.judging.judges if run.judging else ()) or (run.settings.model,)


def standing_of(run: Run, metric: str, version: int) -> JudgeSetup:
    """For whom and what a figure about a run's judging holds."""
    judging = run.judging or JudgeConfig()
    names = judges_of(run)
    prompts = "" if names == (EXTRACTIVE,) else content_id("\n".join(_hashes(run, metric)))[:_LETTERS]
    return JudgeSetup(
        " + ".join(_identity(name, run, judging) for name in names), metric, version, prompts, _terms(judging, metric)
    )


def _identity(name: str, run: Run, judging: JudgeConfig) -> str:
    """Who that is, wherever the run is read again: a model by its name and its address."""
    own = judging.models.get(name)
    model = own.model if own else name
    if model == EXTRACTIVE:
        return IDENTITY
    writer = run.settings.base_url if name == run.settings.model else None
    address = own.base_url if own else judging.base_url or writer
    return f"{model}@{address}" if address else model


def _hashes(run: Run, metric: str) -> Sequence[str]:
    """The prompts of a metric as they were, each with its hash; of one that is not known all that there are."""
    one = known(metric)
    asked = set(run.prompt_hashes) if one is None else set(one.prompts)
    # What stands behind a name in brackets is somebody's own set.
    return sorted(f"{name} {digest}" for name, digest in run.prompt_hashes.items() if name.partition(" (")[0] in asked)


def _terms(judging: JudgeConfig, metric: str) -> str:
    """How is judged otherwise than usual, as far as it makes a difference."""
    said = judging.model_dump(mode="json", exclude=_NEVER, exclude_defaults=True)
    chosen = {name: value for name, value in said.items() if name in _TERMS.get(metric, tuple(said))}
    return json.dumps(chosen, sort_keys=True) if chosen else ""


@cache
def _content() -> Mapping[str, Any]:
    return tomllib.loads((files("redraft") / "lab" / "agreement" / "records.toml").read_text("utf-8"))


@cache
def packaged() -> tuple[Agreement, ...]:
    """The figures of the built-in judge, which come with the package."""
    return tuple(_agreement(one) for one in _content().get("figures", ()))


def packaged_words() -> Mapping[str, Mapping[str, str]]:
    """By metric what the built-in judge sees and what not."""
    words: Mapping[str, Mapping[str, str]] = _content().get("words", {})
    return words


def _agreement(one: Mapping[str, Any]) -> Agreement:
    standing = JudgeSetup(one["judge"], one["metric"], one["version"], "", one.get("terms", ""))
    named = ("dataset", "human", "level", "measure", "n", "value")
    figures = {name: one[name] for name in named}
    return Agreement(standing, **figures, low=one.get("low"), high=one.get("high"), measured=str(one["measured"]))
