"""Turns the options of a command line into checked settings of the library."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from redraft.cli.sections import FOUND, options_of
from redraft.cli.terminal import say
from redraft.errors import DocumentError, Set, UsageError
from redraft.fields import parameters_of, validated
from redraft.order import OrderParts
from redraft.settings import DEFAULT_GOALS, EXTRACTIVE, USUAL_METRICS, DraftConfig, JudgeConfig, Limits, RefineConfig
from redraft.sources import STDIN
from redraft.text.words import has_words

if TYPE_CHECKING:
    from pydantic import BaseModel

    from redraft.domain import Document, Finding
    from redraft.llm.budget import PriceTable
    from redraft.readers.parts import Selection
    from redraft.runs.own_places import OwnPlaces
    from redraft.settings import ModelSettings
    from redraft.store.runs import Run
    from redraft.store.store import Store
    from redraft.text.vectors import Encoder

M = TypeVar("M", bound="BaseModel")
Values = Mapping[str, Any]

METRICS_OF_A_PRESET = "redraft.metrics_of_a_preset"
"""The key of the context's `meta` with the metrics of the given preset."""
JUDGING, REFINEMENT = parameters_of(JudgeConfig), parameters_of(RefineConfig)
"""The settings field of each judging and refining option."""
_PLACES = ("base_url", "key_env")
_DRAWING = ("context_tokens", "temperature", "top_p", "prompts", "replies", "reasoning_tokens")


def store_to_read(db: str | None) -> Store:
    """Open the database of a command that only reads. One named on the command line must exist."""
    from redraft.store.store import Store

    is_typed = click.get_current_context().get_parameter_source("db") is ParameterSource.COMMANDLINE
    return Store(db, must_exist=is_typed, to_read=True)


def typed(values: Values, names: Collection[str] = ("rubric", *JUDGING, *REFINEMENT)) -> dict[str, Any]:
    """Return those of the named options that were given on the command line itself."""
    context = click.get_current_context()
    command_line = ParameterSource.COMMANDLINE
    return {
        name: values[name] for name in names if name in values and context.get_parameter_source(name) is command_line
    }


def settings(typed_values: Values) -> DraftConfig:
    """Return the drafting settings. `--model` may name a model of the settings file."""
    from redraft.cli.settings_file import model_tables

    values = {
        name: value for name, value in typed_values.items() if name in DraftConfig.model_fields and value is not None
    }
    table = model_tables().get(values.get("model", ""))
    if table is not None:
        typed_places = typed(typed_values, _PLACES)
        # An address and its key belong together: neither may come from another model.
        fields = {**dict.fromkeys(_PLACES), **{name: getattr(table, name) for name in table.model_fields_set}}
        fields |= {"key_env": None} if "base_url" in typed_places else {}
        values |= {name: value for name, value in fields.items() if name not in typed_places and not _is_said(name)}
    context = click.get_current_context(silent=True)
    values |= {"found": context.meta[FOUND]} if context and context.meta.get(FOUND) else {}
    return OrderParts().edited({name: _readable(value) for name, value in values.items()}).settings


def _is_said(name: str) -> bool:
    """Return whether the command line or the environment sets a field of a model's table, such as its temperature."""
    source = click.get_current_context().get_parameter_source(name)
    return name in _DRAWING and source in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


def own_places(values: Values) -> OwnPlaces:
    """Return the servers, keys and files that the options, the environment and the user's configuration name now."""
    from redraft.cli.settings_file import model_tables
    from redraft.prompts.book import prompt_choice
    from redraft.runs.own_places import OwnPlaces

    places = OwnPlaces()
    for table in model_tables().values():
        places.add_model(table)
    address, judges_address, key_env = (values.get(name) for name in ("base_url", "judge_base_url", "key_env"))
    if judges_address:
        places.add_address(judges_address)
    if address or key_env:
        places.add_address(address, key_env)
    names = (*values.get("judge", ()), *(values.get(name) for name in ("model", "validator", "embeddings")))
    prompts = values.get("prompts")
    places.names |= {name for name in names if name} | ({prompt_choice(prompts)} if prompts else set())
    return places


def named_models(values: Values) -> dict[str, ModelSettings]:
    """Return the settings file's models of judges, validator and decider. They do not inherit the prompts of the
    writer's table."""
    from redraft.cli.settings_file import model_tables

    names = {*values.get("judge", ()), values.get("validator"), values.get("confirm"), values.get("decider")}
    prompts = values.get("prompts")
    return {
        name: table.model_copy(update={"prompts": table.prompts or prompts})
        for name, table in model_tables().items()
        if name in names
    }


def limits(values: Values, before: Limits | None = None) -> Limits:
    """Return the given limits; the rest are those of the earlier run, if any, else the defaults."""
    chosen = {name: values[name] for name in Limits.model_fields if values[name] is not None}
    return OrderParts(limits=before or Limits()).edited(chosen).limits


def prices(values: Values) -> PriceTable:
    """Return the built-in prices of models, overridden by those of the setting `prices`."""
    from redraft.llm.budget import price_table

    return price_table(values["prices"])


def encoder(name: str | None) -> Encoder | None:
    """Load the embedding model of the setting `embeddings`, if given."""
    if not name:
        return None
    from redraft.text.vectors import load_encoder  # imports NumPy

    return load_encoder(name)


def judging(values: Values, refinement: RefineConfig | None = None) -> JudgeConfig:
    """Return the judging settings: with the given metrics and those of the goals, else the usual ones."""
    from redraft.cli.settings_file import rubric_tables, rubrics_given
    from redraft.evaluators.catalog import evaluators
    from redraft.evaluators.similarity import similarity

    fields = {**_named(values, JUDGING), "models": named_models(values)}
    stated = rubrics_given(values.get("rubric", ()))
    if missing := [name for name in stated if refinement and name not in refinement.goals]:
        raise UsageError(f"{missing[0]} is not a goal", field="rubrics", hint=f"add --goal {missing[0]}=0.75")
    metrics = tuple(dict.fromkeys([*fields.get("metrics", ()), *stated, *(refinement.goals if refinement else ())]))
    fields["rubrics"] = {
        name: rubric_settings for name, rubric_settings in {**rubric_tables(), **stated}.items() if name in metrics
    }
    judging = validated(JudgeConfig, {**fields, "metrics": metrics or USUAL_METRICS})
    evaluators(judging)
    if judging.embeddings is None:
        # Refuse a similarity that needs an embedding model before anything is spent.
        similarity(judging.similarity, None)
    return judging


def refined(values: Values, what: str) -> tuple[JudgeConfig | None, RefineConfig | None]:
    """Return the settings of `--refine`; without it, return None and refuse judging and refining options."""
    if not values["refine"]:
        if stray := typed(values):
            options = {option.name: option for option in options_of(click.get_current_context().command)}
            option, are = options[next(iter(stray))].typed_name, "are" if what.endswith("ies") else "is"
            raise UsageError(f"{option} only applies when {what} {are} judged and refined", hint="add --refine")
        return None, None
    refine_config = refinement(values)
    return judging(values, refine_config), refine_config


def judging_without_draft(values: Values) -> JudgeConfig:
    """Return the judging settings of a command that judges no draft by metrics."""
    return judging(values).model_copy(update={"metrics": ()})


def check_query(values: Values, judging: JudgeConfig, writer: str = "") -> None:
    """Raise if the command line has a query that none of the metrics uses, nor the `writer`."""
    from redraft.evaluators.catalog import BUILT_IN, evaluators

    if typed(values, ("query",)) and not any(evaluator.heeds_query for evaluator in evaluators(judging)):
        heeding = (f"--metric {name}" for name, evaluator in BUILT_IN.items() if evaluator.heeds_query)
        hint = f"{'name another --model, or ' if writer else ''}add {', or '.join(heeding)}"
        raise UsageError(f"--query is not used by {writer or ' and '.join(judging.metrics)}", hint=hint)


def read_summary(
    sources: Sequence[str], summary: str, findings: str | None = None, *, review: bool = False, quiet: bool
) -> str:
    """Return the text of the summary. Raises if it has no words, or if standard input is named more than once."""
    inputs = {"SOURCE": STDIN if STDIN in sources else None, "SUMMARY": summary, "--findings": findings}
    if len(read := [name for name, place in inputs.items() if place == STDIN]) > 1:
        both = "both" if len(read) == 2 else "all"
        raise UsageError(f"{' and '.join(read)} cannot {both} be stdin", hint="give one of them as a file")
    _check_review(read, review=review)
    if not has_words(text := read_text(summary, quiet=quiet)):
        name = "stdin" if summary == STDIN else summary
        raise UsageError("the summary has no words", place=name, hint="give a summary that contains text")
    return text


def findings_to_fix(
    source: str | None, texts: Sequence[str] = (), writer: str = "", *, review: bool = False
) -> tuple[Finding, ...]:
    """Return the findings to fix first: those of a file, and what the user has `asked` the `writer` for in words."""
    from redraft.builtin.facade import NOT_UNDERSTOOD
    from redraft.graphs.review import requests
    from redraft.runs.inputs import read_findings

    if texts and writer == EXTRACTIVE:
        raise UsageError(NOT_UNDERSTOOD, hint="choose a model with -m: see `redraft models`")
    if not all(text.strip() for text in texts):
        raise UsageError("--request is empty", hint="say what to change")
    _check_review(["--findings"] if source == STDIN else [], review=review)
    return (*(read_findings(source) if source else ()), *requests(texts))


def _check_review(read: Sequence[str], *, review: bool) -> None:
    if review and read:
        raise UsageError(f"--review reads your answers from stdin, and so does {read[0]}", hint="give them as files")


def read_text(source: str, *, quiet: bool) -> str:
    """Return a text that is not a document, after printing notes on what was left out of it."""
    from redraft.readers.documents import read_text

    if os.path.isdir(source):
        raise DocumentError("it is a directory", place=source, hint="give a file, or use - for stdin")
    clean_text = read_text(source)
    _tell(source, clean_text.notes, quiet=quiet)
    return clean_text.text


def document_part(values: Values) -> Selection:
    """Return which part of the document to read, and its language."""
    from redraft.readers.parts import read_selection

    ranges = (values["chapters"] or "", values["pages"] or "")
    return read_selection(*ranges, values["skip"], values["source_language"] or "", partial=values["partial"])


def document_at(sources: Sequence[str], values: Values) -> Document:
    """Return the document at a path, or several read as one, or the part that is asked for; or a stored one by its
    id."""
    from redraft.document import is_content_id
    from redraft.readers.documents import load_all

    is_part = any(values.get(name) for name in ("chapters", "pages", "skip", "source_language", "partial"))
    if not is_part and len(sources) == 1 and is_content_id(sources[0]):
        with store_to_read(values["db"]) as store:
            if store.documents.has(sources[0]):
                return store.documents.get(sources[0])
    return load_all(sources, selection=document_part(values) if is_part else None)


def read_document(sources: Sequence[str], *, quiet: bool) -> Document:
    """Return a document, or several read as one, after printing notes on what was left out."""
    from redraft.readers.documents import load_all

    document = load_all(sources)
    _tell(document.source, document.notes, quiet=quiet)
    return document


def _tell(source: str, notes: Collection[str], *, quiet: bool) -> None:
    for note in () if quiet else notes:
        say(f"note: {source}: {note}")


def refinement(typed_values: Values, run: Run | None = None) -> RefineConfig:
    """Return the refinement settings: the given ones, then those of an earlier run, then the defaults."""
    from redraft.cli.settings_file import rubric_tables, rubrics_given
    from redraft.evaluators.catalog import check_goals, metrics, names, with_rubrics

    earlier = run.refinement.model_dump() if run and run.refinement else {}
    stated = {**rubric_tables(), **rubrics_given(typed_values.get("rubric", ()))}
    evaluators = with_rubrics(run.judging if run else JudgeConfig(rubrics=stated), ())
    goals = {**earlier.get("goals", {}), **_goals(typed_values.get("goal", ()))} or _usual_goals()
    values = {**earlier, **_named(typed_values, REFINEMENT), "goals": goals}
    if typed(typed_values, ("words",)) and not typed(typed_values, ("free_length",)):
        # A limit that is typed holds for revisions too, whatever the preset.
        values["free_length"] = False
    refinement = validated(RefineConfig, values)
    if refinement.decider and refinement.policy != "agent" and typed(typed_values, ("decider",)):
        fix = ("add ", Set("policy", "agent"))
        raise UsageError(f"the policy {refinement.policy} has no use for it", field="decider", fix=fix)
    if refinement.feedback and refinement.policy != "paper" and typed(typed_values, ("feedback",)):
        fix = ("add ", Set("policy", "paper"))
        raise UsageError(f"the policy {refinement.policy} has no use for it", field="feedback", fix=fix)
    check_goals(refinement.goals, metrics(names(evaluators), evaluators))
    return refinement


def _usual_goals() -> dict[str, float]:
    """Return the default goals. Raises if a preset chose other metrics, because it has no goals for them."""
    context = click.get_current_context()
    without_goal = [metric for metric in context.meta.get(METRICS_OF_A_PRESET, ()) if metric not in DEFAULT_GOALS]
    if without_goal and context.get_parameter_source("metric") in (None, ParameterSource.DEFAULT_MAP):
        raise UsageError(
            f"the preset judges by {' and '.join(without_goal)}, and has no goals for them",
            hint=f"add {' '.join(f'-g {name}=VALUE' for name in without_goal)}, with scores from 0 to 1",
        )
    return dict(DEFAULT_GOALS)


def _goals(words: Collection[str]) -> dict[str, float]:
    goals: dict[str, float] = {}
    for word in words:
        metric, _, value = word.partition("=")
        try:
            goals[metric.strip()] = float(value)
        except ValueError:
            problem = f"{word!r} is not a goal"
            raise UsageError(problem, field="goals", hint="write METRIC=VALUE, such as coverage=0.8") from None
        if (goal := goals[metric.strip()]) > 1:
            # 85 is a percentage, and 1.5 is none.
            example = f"did you mean {metric.strip()}={goal / 100:g}?" if 10 <= goal <= 100 else "such as coverage=0.8"
            raise UsageError("must be at most 1", field=f"goals.{metric.strip()}", hint=example)
    if len(goals) < len(words):
        raise UsageError("a metric has two goals", field="goals", hint="give one for each metric")
    return goals


def _named(values: Values, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the options that have a value, by the names of their settings fields."""
    return {field: _readable(values[name]) for name, field in fields.items() if values.get(name) not in (None, ())}


def _readable(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return tuple(_readable(entry) for entry in value) if isinstance(value, tuple) else value
