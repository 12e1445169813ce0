"""Certificates of scores: who judged with which prompts, how often and what share, and how well that judge agrees with
people."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Any

from pydantic import Field

from redraft.builtin.facade import IDENTITY
from redraft.domain import Evaluation, computed, content_id
from redraft.evaluators.metric_info import OFFLINE_CHECK, WITHOUT_JUDGE, metric_info, offline_checks
from redraft.settings import EXTRACTIVE, FIGURES, JudgeConfig
from redraft.store.judgments import Agreement, JudgeSetup
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.sanitizer import one_line

# The judging settings that affect a metric. For an unknown metric, any of them may.
_ALWAYS = ("repeat", "confirm")
_TERMS: Mapping[str, tuple[str, ...]] = {
    "coverage": ("questions", "stretch_tokens", "top_k", "formula", "evidence", "second_look", "embeddings", *_ALWAYS),
    "consistency": ("similarity", "threshold", "claims", "top_k", "evidence", "second_look", "embeddings", *_ALWAYS),
    "keyfact_recall": ("perspective", "validator", "keyfact_chunks", "keyfact_overlap", "embeddings", *_ALWAYS),
    "faithfulness": ("evidence", "verify_against", "embeddings", *_ALWAYS),
    "booookscore": ("batch", *_ALWAYS),
}
_NEVER = {"metrics", "judges", "models", "base_url", "pack", "keyfacts", "reference"}
_WITHOUT = (*FIGURES, "spread")
_LETTERS = 8
_LONGEST = 60
UNCHECKED = "not checked against people"


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a score is based on: judges, prompts, repetitions, and agreement with people."""

    metric: str
    version: int
    judges: tuple[str, ...]
    """The judges' names as configured."""
    prompts: str | None
    """The name of the prompt set, and a hash of its texts; None if no prompts are used."""
    unjudged_share: float | None
    spread: Mapping[str, Any] | None = None
    """The spread over repeated judgings; None if there was only one."""
    agreements: tuple[Agreement, ...] = ()
    offline_check: bool = False
    """Whether only the built-in model judged, which compares words."""
    sees: Annotated[str, Field(exclude_if=lambda text: not text)] = ""
    """What the built-in judge sees, if it is the only judge."""
    misses: Annotated[str, Field(exclude_if=lambda text: not text)] = ""
    """What it cannot tell."""

    @property
    def agreement(self) -> Agreement | None:
        """The agreement to show where there is room for one: on the most summaries, or else on the most items."""
        per_summary = [agreement for agreement in self.agreements if agreement.level == "summaries"]
        return max(per_summary or self.agreements, key=lambda agreement: agreement.n, default=None)

    @computed
    def agrees(self) -> str:
        """How well the judge agrees with people, in words."""
        return in_words(self.agreement)

    def line(self, *, brief: bool = False) -> str:
        """Return the certificate in one line; `brief` omits the prompt hash, the spread and the unjudged share."""
        who = " and ".join(one_line(judge, _LONGEST) for judge in self.judges)
        if self.sees:
            who = f"{who}, an {OFFLINE_CHECK} that {self.sees}; it cannot tell {self.misses}"
        elif self.offline_check:
            who = f"{who}, an {OFFLINE_CHECK}"
        prompts = self.prompts and (self.prompts.rpartition(" ")[0] if brief else self.prompts)
        parts = [who, f"prompts {prompts}"] if prompts else [who]
        if self.spread and not brief:
            parts.append(f"{self.spread['n']} judgings, sd {self.spread['sd']:.2f}")
        if self.unjudged_share and not brief:
            parts.append(f"{self.unjudged_share:.0%} without a verdict")
        parts.append(in_words(self.agreement))
        return "; ".join(parts)


def in_words(agreement: Agreement | None) -> str:
    """Return in words how well a judge agrees with people."""
    if agreement is None:
        return UNCHECKED
    low, high = agreement.low, agreement.high
    interval = ""
    if low is not None and high is not None:
        interval = f" ({round(low, 2) + 0.0:.2f} to {round(high, 2) + 0.0:.2f})"
    measure = "" if agreement.measure == "tau-b" else f" in {agreement.measure}"
    dataset = f"{one_line(agreement.dataset, _LONGEST)}, {agreement.n:,} {agreement.level}"
    return f"agrees with people {agreement.value:.2f}{interval}{measure} on {dataset}"


def certificates(store: Store, run: Run, evaluations: Mapping[str, Evaluation]) -> dict[str, Certificate]:
    """Return the certificates of a draft's scores by metric; figures that no judge gives have none."""
    return {
        name: certificate(store, run, evaluation)
        for name, evaluation in evaluations.items()
        if name not in _WITHOUT and WITHOUT_JUDGE not in evaluation.details
    }


def certificate(store: Store, run: Run, evaluation: Evaluation) -> Certificate:
    """Return the certificate of one score."""
    setup = judge_setup_of(run, evaluation.metric, evaluation.version)
    spread, share = evaluation.details.get("spread"), evaluation.judged_share
    words = packaged_words() if judges_of(run) == (EXTRACTIVE,) else {}
    return Certificate(
        evaluation.metric,
        evaluation.version,
        judges_of(run),
        f"{one_line(str(run.settings.prompts), _LONGEST)} {setup.prompts}" if setup.prompts else None,
        None if share is None else 1 - share,
        spread if isinstance(spread, dict) and spread.get("n", 0) > 1 else None,
        (*store.agreements.of(setup), *(agreement for agreement in packaged() if agreement.standing == setup)),
        evaluation.metric in offline_checked(run),
        **words.get(evaluation.metric, {}),
    )


def offline_checked(run: Run) -> frozenset[str]:
    """Return the metrics that only the built-in model judges by in a run."""
    return offline_checks(run.settings, run.judging, run.refinement)


def judges_of(run: Run) -> tuple[str, ...]:
    """Return the names of a run's judges as configured, or the writer's if there are none."""
    return tuple(run.judging.judges if run.judging else ()) or (run.settings.model,)


def judge_setup_of(run: Run, metric: str, version: int) -> JudgeSetup:
    """Return the judge setup of a run and metric, which an agreement figure must match to apply."""
    judging = run.judging or JudgeConfig()
    names = judges_of(run)
    prompts = "" if names == (EXTRACTIVE,) else content_id("\n".join(_prompts(run, metric)))[:_LETTERS]
    # The settings that differ from the defaults and affect the metric.
    terms = judging.model_dump(mode="json", exclude=_NEVER, exclude_defaults=True)
    terms = {name: value for name, value in terms.items() if name in _TERMS.get(metric, terms)}
    judge = " + ".join(_identity(name, run, judging) for name in names)
    return JudgeSetup(judge, metric, version, prompts, json.dumps(terms, sort_keys=True) if terms else "")


def _identity(name: str, run: Run, judging: JudgeConfig) -> str:
    """Return an identity of a judge that is stable between reads of a run: the model's name and address."""
    settings = judging.models.get(name)
    model = settings.model if settings else name
    if model == EXTRACTIVE:
        return IDENTITY
    writer = run.settings.base_url if name == run.settings.model else None
    address = settings.base_url if settings else judging.base_url or writer
    return f"{model}@{address}" if address else model


def _prompts(run: Run, metric: str) -> Sequence[str]:
    """Return the metric's prompts with their hashes; for an unknown metric, all prompts of the run."""
    info = metric_info(metric)
    names = set(run.prompt_hashes) if info is None else set(info.prompts)
    # A name followed by brackets is a prompt of the user's own set.
    return sorted(f"{name} {digest}" for name, digest in run.prompt_hashes.items() if name.partition(" (")[0] in names)


@cache
def _content() -> Mapping[str, Any]:
    return tomllib.loads((files("redraft") / "report" / "history" / "records.toml").read_text("utf-8"))


@cache
def packaged() -> tuple[Agreement, ...]:
    """Return the agreement figures of the built-in judge, which ship with the package."""
    agreements = []
    for figure in _content().get("figures", ()):
        setup = JudgeSetup(figure["judge"], figure["metric"], figure["version"], "", figure.get("terms", ""))
        values = {name: figure[name] for name in ("dataset", "human", "level", "measure", "n", "value")}
        interval = {name: figure.get(name) for name in ("low", "high")}
        agreements.append(Agreement(setup, **values, **interval, measured=str(figure["measured"])))
    return tuple(agreements)


def packaged_words() -> Mapping[str, Mapping[str, str]]:
    """Return by metric what the built-in judge sees and misses."""
    words: Mapping[str, Mapping[str, str]] = _content().get("words", {})
    return words
