"""Who judged a score, in one line, and what must be the same for scores of two runs to be comparable."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

from redraft.builtin.facade import IDENTITY
from redraft.domain import Evaluation, content_id
from redraft.evaluators.metric_info import OFFLINE_CHECK, WITHOUT_JUDGE, metric_info, offline_checks
from redraft.llm.addresses import shown_name
from redraft.settings import EXTRACTIVE, FIGURES, DraftConfig, JudgeConfig
from redraft.store.runs import Run
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
_CONTENT = (
    f"an {OFFLINE_CHECK} that looks for the document's key sentences in the summary; it cannot tell whether a reworded"
    " sentence says the same, or what a reader needs"
)
_TRUTH = (
    f"an {OFFLINE_CHECK} that compares names, numbers, dates, opposites and word pairs with the document; it cannot"
    " tell whether a reworded statement is true"
)
_OFFLINE = {"coverage": _CONTENT, "keyfact_recall": _CONTENT, "consistency": _TRUTH, "faithfulness": _TRUTH}
_LONGEST = 60


def judges_of(run: Run) -> tuple[str, ...]:
    """Return the names of a run's judges as configured, or the writer's if there are none."""
    return tuple(run.judging.judges if run.judging else ()) or (run.settings.model,)


def offline_checked(run: Run) -> frozenset[str]:
    """Return the metrics that only the built-in model judges by in a run."""
    return offline_checks(run.settings, run.judging, run.refinement)


def shown_names(settings: DraftConfig, judging: JudgeConfig | None) -> dict[str, str]:
    """Return the names of a run's models for people, by their names without and with the address."""
    models = [(settings.model, settings.model, settings.base_url)]
    for judge in judging.judges if judging else ():
        model_settings = judging.models.get(judge) if judging else None
        address = (model_settings and model_settings.base_url) or (judging and judging.base_url) or settings.base_url
        models.append((judge, model_settings.model if model_settings else judge, address))
    names: dict[str, str] = {}
    for name, model, address in models:
        display = shown_name(model, address)
        names.setdefault(model, display)
        if display != model:
            names.setdefault(f"{model}@{address}", display)
        names.setdefault(name, display)
    return names


def judged_by(
    run: Run, evaluations: Mapping[str, Evaluation], display_names: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Return by metric which models judged, by their `display_names` if there are any, and with which prompts; figures
    that no judge gives are left out."""
    names = judges_of(run)
    who = " and ".join(one_line(display_names.get(name, name), _LONGEST) for name in names)
    prompts = f"{who}; prompts {one_line(str(run.settings.prompts), _LONGEST)}"
    return {
        metric: f"{who}, {_OFFLINE.get(metric, f'an {OFFLINE_CHECK}')}" if names == (EXTRACTIVE,) else prompts
        for metric, evaluation in evaluations.items()
        if metric not in (*FIGURES, "spread") and WITHOUT_JUDGE not in evaluation.details
    }


def judging_terms(run: Run, metric: str, version: int) -> dict[str, str]:
    """Return what scores by a metric depend on besides the summary, by the sentence to say of runs that differ in it:
    the judges with their addresses, the version, the prompts and the settings that matter to the metric."""
    judging, names, info = run.judging or JudgeConfig(), judges_of(run), metric_info(metric)
    prompts = sorted(
        f"{name} {digest}"
        for name, digest in run.prompt_hashes.items()
        # A name followed by brackets is a prompt of the user's own set.
        if info is None or name.partition(" (")[0] in info.prompts
    )
    # The settings that differ from the defaults and affect the metric.
    terms = judging.model_dump(mode="json", exclude=_NEVER, exclude_defaults=True)
    terms = {name: value for name, value in terms.items() if name in _TERMS.get(metric, terms)}
    return {
        "the judges differ": " + ".join(_identity(name, run, judging) for name in names),
        "the versions of the metric differ": str(version),
        "the prompts differ": "" if names == (EXTRACTIVE,) else content_id("\n".join(prompts))[:8],
        "the ways of judging differ": json.dumps(terms, sort_keys=True) if terms else "",
    }


def _identity(name: str, run: Run, judging: JudgeConfig) -> str:
    """Return an identity of a judge that is stable between reads of a run: the model's name and address."""
    settings = judging.models.get(name)
    model = settings.model if settings else name
    if model == EXTRACTIVE:
        return IDENTITY
    writer = run.settings.base_url if name == run.settings.model else None
    address = settings.base_url if settings else judging.base_url or writer
    return f"{model}@{address}" if address else model
