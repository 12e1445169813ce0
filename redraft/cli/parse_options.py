"""Turns the options of a command line into checked settings of the library."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from redraft.cli.options import CHOSEN, NameOrNewest
from redraft.cli.sections import FOUND, Command, names_a_run
from redraft.cli.settings_file import named_tables, rubrics_given
from redraft.cli.terminal import say
from redraft.document import Document, is_content_id
from redraft.errors import DocumentError, RunError, Set, UsageError
from redraft.fields import option_of
from redraft.order import JUDGES_ADDRESS, OrderParts
from redraft.settings import (
    DEFAULT_GOALS,
    EXTRACTIVE,
    USUAL_METRICS,
    DraftConfig,
    JudgeConfig,
    Limits,
    ModelSettings,
    RefineConfig,
    RubricSettings,
)
from redraft.sources import STDIN
from redraft.text.words import has_words

if TYPE_CHECKING:
    from redraft.domain import Finding
    from redraft.llm.budget import PriceTable
    from redraft.readers.parts import Selection
    from redraft.store.runs import Run
    from redraft.store.store import Store
    from redraft.text.vectors import Encoder

Values = Mapping[str, Any]
_DRAFTING = frozenset(DraftConfig.model_fields)
JUDGING = frozenset(
    JUDGES_ADDRESS if name == "base_url" else name
    for name in JudgeConfig.model_fields
    if option_of(JudgeConfig, name) is not None
)
REFINING = frozenset(RefineConfig.model_fields)
"""The settings of the parts of an order, as far as they have options, whose values are under the same names."""
_PLACES = ("base_url", "key_env")
_DRAWING = ("context_tokens", "temperature", "top_p", "prompts", "replies", "reasoning_tokens")


def store_to_read(db: str | None) -> Store:
    """Open the database of a command that only reads. One named on the command line must exist."""
    from redraft.store.store import Store

    return Store(db, must_exist=_source("db") is ParameterSource.COMMANDLINE, to_read=True)


def _source(name: str) -> ParameterSource | None:
    """Return where the value of an option comes from."""
    return click.get_current_context().get_parameter_source(name)


def typed(values: Values, names: Collection[str] = ("rubric", *JUDGING, *REFINING)) -> dict[str, Any]:
    """Return those of the named options that were given on the command line itself."""
    return {
        name: value for name, value in values.items() if name in names and _source(name) is ParameterSource.COMMANDLINE
    }


def _settings_in(values: Values, names: Collection[str]) -> dict[str, Any]:
    """Return the named settings that have a value."""
    return {name: _readable(value) for name, value in values.items() if name in names and value not in (None, ())}


def _readable(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return tuple(_readable(entry) for entry in value) if isinstance(value, tuple) else value


def settings(values: Values) -> DraftConfig:
    """Return the drafting settings. `--model` may name a model of the settings file."""
    chosen = _settings_in(values, _DRAFTING)
    if table := named_tables(ModelSettings).get(chosen.get("model", "")):
        own_words = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
        overridden = {*typed(values, _PLACES), *(name for name in _DRAWING if _source(name) in own_words)}
        # An address and its key belong together: neither may come from another model.
        fields = {**dict.fromkeys(_PLACES), **{name: getattr(table, name) for name in table.model_fields_set}}
        fields |= {"key_env": None} if "base_url" in overridden else {}
        chosen |= {name: value for name, value in fields.items() if name not in overridden}
    context = click.get_current_context(silent=True)
    chosen |= {"found": context.meta[FOUND]} if context and context.meta.get(FOUND) else {}
    return OrderParts().edited(chosen).settings


def named_models(values: Values) -> dict[str, ModelSettings]:
    """Return the settings file's models of judges, validator and decider. They do not inherit the prompts of the
    writer's table."""
    names = {*values.get("judges", ()), values.get("validator"), values.get("confirm"), values.get("decider")}
    prompts = values.get("prompts")
    return {
        name: table.model_copy(update={"prompts": table.prompts or prompts})
        for name, table in named_tables(ModelSettings).items()
        if name in names
    }


def limits(values: Values, before: Limits | None = None) -> Limits:
    """Return the given limits; the rest are those of the earlier run, if any, else the defaults."""
    return OrderParts(limits=before or Limits()).edited(_settings_in(values, Limits.model_fields)).limits


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
    from redraft.evaluators.catalog import evaluators
    from redraft.evaluators.consistency import similarity

    chosen, stated = _settings_in(values, JUDGING), rubrics_given(values.get("rubric", ()))
    if missing := [name for name in stated if refinement and name not in refinement.goals]:
        raise UsageError(f"{missing[0]} is not a goal", field="rubrics", hint=f"add --goal {missing[0]}=0.75")
    metrics = tuple(dict.fromkeys([*chosen.get("metrics", ()), *stated, *(refinement.goals if refinement else ())]))
    chosen |= {
        "metrics": metrics or USUAL_METRICS,
        "models": named_models(values),
        "rubrics": {
            name: rubric for name, rubric in {**named_tables(RubricSettings), **stated}.items() if name in metrics
        },
    }
    judging = OrderParts().edited(chosen).judging
    evaluators(judging)
    if judging.embeddings is None:
        # Refuse a similarity that needs an embedding model before anything is spent.
        similarity(judging.similarity, None)
    return judging


def refined(values: Values, what: str) -> tuple[JudgeConfig | None, RefineConfig | None]:
    """Return the settings of `--refine`; without it, return None and refuse judging and refining options."""
    if not values["refine"]:
        if stray := typed(values):
            command = click.get_current_context().command
            assert isinstance(command, Command)
            option = next(option.typed_name for option in command.options if option.name in stray)
            are = "are" if what.endswith("ies") else "is"
            raise UsageError(f"{option} only applies when {what} {are} judged and refined", hint="add --refine")
        return None, None
    refine_config = refinement(values)
    return judging(values, refine_config), refine_config


def judging_without_draft(values: Values) -> JudgeConfig:
    """Return the judging settings of a command that judges no draft by metrics."""
    return judging(values).model_copy(update={"metrics": ()})


def check_query(values: Values, judging: JudgeConfig, writer: str = "") -> None:
    """Raise if the command line has a query that none of the metrics uses, nor the `writer`."""
    from redraft.evaluators.catalog import built_in, evaluators
    from redraft.evaluators.metric_info import METRICS

    if typed(values, ("query",)) and not any(evaluator.heeds_query for evaluator in evaluators(judging)):
        heeding = (f"--metric {name}" for name in METRICS if built_in(name).heeds_query)
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
    if not has_words(text := summary_at(summary, quiet=quiet)):
        name = "stdin" if summary == STDIN else summary
        raise UsageError("the summary has no words", place=name, hint="give a summary that contains text")
    return text


def findings_to_fix(
    source: str | None, texts: Sequence[str] = (), writer: str = "", *, review: bool = False
) -> tuple[Finding, ...]:
    """Return the findings to fix first: those of a file, and what the user has `asked` the `writer` for in words."""
    from redraft.builtin.facade import NOT_UNDERSTOOD
    from redraft.graphs.policy import requests
    from redraft.runs.order import read_findings

    if texts and writer == EXTRACTIVE:
        raise UsageError(NOT_UNDERSTOOD, hint="choose a model with -m: see `redraft models`")
    if not all(text.strip() for text in texts):
        raise UsageError("--request is empty", hint="say what to change")
    _check_review(["--findings"] if source == STDIN else [], review=review)
    return (*(read_findings(source) if source else ()), *requests(texts))


def _check_review(read: Sequence[str], *, review: bool) -> None:
    if review and read:
        raise UsageError(f"--review reads your answers from stdin, and so does {read[0]}", hint="give them as files")


def summary_at(source: str, *, quiet: bool) -> str:
    """Return the text of a summary: of a file or of stdin, or that of a stored run."""
    if source == STDIN or not names_a_run(source):
        return read_text(source, quiet=quiet)
    with store_to_read(click.get_current_context().params.get("db")) as store:
        try:
            stored_run = store.runs.get(NameOrNewest().convert(source, None, click.get_current_context()))
        except RunError as error:
            fix = ("check the path, or the run: ", *error.fix)
            raise DocumentError(f"no such file, and {error.message}", place=source, fix=fix) from error
        return store.runs.draft(stored_run.drafted()).text


def read_text(source: str, *, quiet: bool) -> str:
    """Return a text that is not a document, after printing notes on what was left out of it."""
    from redraft.readers.documents import read_text

    if os.path.isdir(source):
        raise DocumentError("it is a directory", place=source, hint="give a file, or use - for stdin")
    clean_text = read_text(source)
    for note in () if quiet else clean_text.notes:
        say(f"note: {source}: {note}")
    return clean_text.text


def document_part(values: Values) -> Selection:
    """Return which part of the document to read, and its language."""
    from redraft.readers.parts import read_selection

    ranges = (values["chapters"] or "", values["pages"] or "")
    return read_selection(*ranges, values["skip"], values["source_language"] or "", partial=values["partial"])


def document_at(sources: Sequence[str], values: Values) -> Document:
    """Return the document at a path, or several read as one, or the part that is asked for; or a stored one by its
    id or by that of a run on it."""
    from redraft.readers.documents import load_all

    is_part = any(values.get(name) for name in ("chapters", "pages", "skip", "source_language", "partial"))
    if not is_part and len(sources) == 1 and (is_content_id(sources[0]) or names_a_run(sources[0])):
        from redraft.runs.order import document_asked_about

        with store_to_read(values["db"]) as store:
            run_id = NameOrNewest().convert(sources[0], None, click.get_current_context())
            document = document_asked_about(store, run_id)
        if isinstance(document, Document):
            return document
    return load_all(sources, selection=document_part(values) if is_part else None)


def read_document(sources: Sequence[str], *, quiet: bool) -> Document:
    """Return a document, or several read as one, after printing notes on what was left out."""
    from redraft.readers.documents import load_all

    document = load_all(sources)
    for note in () if quiet else document.notes:
        say(f"note: {document.source}: {note}")
    return document


def refinement(values: Values, run: Run | None = None) -> RefineConfig:
    """Return the refinement settings: the given ones, then those of an earlier run, then the defaults."""
    from redraft.evaluators.catalog import check_goals, metrics, names, with_rubrics

    before = run.refinement if run else None
    chosen = _settings_in(values, REFINING)
    goals = {**(before.goals if before else {}), **_goals(chosen.get("goals", ()))}
    if not goals:
        preset = click.get_current_context().meta.get(CHOSEN)
        without_goal = [metric for metric in preset.judging.metrics if metric not in DEFAULT_GOALS] if preset else []
        if without_goal and _source("metrics") in (None, ParameterSource.DEFAULT_MAP):
            raise UsageError(
                f"the preset judges by {' and '.join(without_goal)}, and has no goals for them",
                hint=f"add {' '.join(f'-g {name}=VALUE' for name in without_goal)}, with scores from 0 to 1",
            )
    chosen["goals"] = goals or dict(DEFAULT_GOALS)
    if typed(values, ("words",)) and not typed(values, ("free_length",)):
        # A limit that is typed holds for revisions too, whatever the preset.
        chosen["free_length"] = False
    refinement = OrderParts(refinement=before).edited(chosen).refinement
    assert refinement is not None
    for name, policy in (("decider", "agent"), ("feedback", "paper")):
        if typed(values, (name,)) and refinement.policy != policy:
            problem = f"the policy {refinement.policy} has no use for it"
            raise UsageError(problem, field=name, fix=("add ", Set("policy", policy)))
    stated = {**named_tables(RubricSettings), **rubrics_given(values.get("rubric", ()))}
    evaluators = with_rubrics(run.judging if run else JudgeConfig(rubrics=stated), ())
    check_goals(refinement.goals, metrics(names(evaluators), evaluators))
    return refinement


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
