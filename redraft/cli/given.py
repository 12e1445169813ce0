"""From options to settings: what commands were given, checked, with the names that the library has for it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from redraft.cli.terminal import say
from redraft.errors import UsageError
from redraft.fields import checked, parameters_of
from redraft.settings import DEFAULT_GOALS, USUAL_METRICS, DraftConfig, JudgeConfig, Limits, RefineConfig
from redraft.sources import STDIN

if TYPE_CHECKING:
    from pydantic import BaseModel

    from redraft.domain import Document, Finding
    from redraft.llm.prices import PriceTable
    from redraft.readers.parts import Choice
    from redraft.settings import ModelSettings
    from redraft.store.store import Store
    from redraft.text.vectors import Encoder

M = TypeVar("M", bound="BaseModel")
Given = Mapping[str, Any]

METRICS_OF_A_PRESET = "redraft.metrics_of_a_preset"
"""Where a command's context has the metrics of the preset that it was given."""
JUDGING, REFINEMENT = parameters_of(JudgeConfig), parameters_of(RefineConfig)
"""By option of judging and refining the field that it sets."""
_PLACES = ("base_url", "key_env")
_DRAWING = ("context_tokens", "temperature", "top_p", "prompts", "replies", "reasoning_tokens")


def store_to_read(db: str | None) -> Store:
    """The database of a command about what is in it. One that is typed and not there was mistyped, and is not made."""
    from redraft.store.store import Store

    here = click.get_current_context().get_parameter_source("db") is ParameterSource.COMMANDLINE
    return Store(db, must_exist=here, to_read=True)


def typed(given: Given, names: Collection[str] = (*JUDGING, *REFINEMENT)) -> dict[str, Any]:
    """Those of the options of judging and refining that stand on the command line itself."""
    context = click.get_current_context()
    here = ParameterSource.COMMANDLINE
    return {name: given[name] for name in names if name in given and context.get_parameter_source(name) is here}


def settings(given: Given) -> DraftConfig:
    """What decides on the summary. The model may be one that the settings file has under that name."""
    from redraft.cli.settings_file import model_tables

    if given.get("source_language"):
        part(given)  # says better than a pattern what is wrong with it
    values = {name: value for name, value in given.items() if name in DraftConfig.model_fields and value is not None}
    table = model_tables().get(values.get("model", ""))
    if table is not None:
        here = typed(given, _PLACES)
        # An address and its key go together: neither is what a run has for other models.
        own = {**dict.fromkeys(_PLACES), **{name: getattr(table, name) for name in table.model_fields_set}}
        own |= {"key_env": None} if "base_url" in here else {}
        values |= {name: value for name, value in own.items() if name not in here and not _is_said(name)}
    return _checked(DraftConfig, values)


def _is_said(name: str) -> bool:
    """Whether the user has said otherwise what a table of the settings file says of a model, in a wider sense."""
    source = click.get_current_context().get_parameter_source(name)
    return name in _DRAWING and source in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


def models_named(given: Given) -> dict[str, ModelSettings]:
    """What the settings file has under the names of those who judge and decide. The writer's prompts are not theirs."""
    from redraft.cli.settings_file import model_tables

    names = {*given.get("judge", ()), given.get("validator"), given.get("decider")}
    prompts = given.get("prompts")
    return {
        name: table.model_copy(update={"prompts": table.prompts or prompts})
        for name, table in model_tables().items()
        if name in names
    }


def limits(given: Given, before: Limits | None = None) -> Limits:
    """The limits that were given, over those that a run had before, over the defaults."""
    named = {name: given[name] for name in Limits.model_fields if given[name] is not None}
    return _checked(Limits, {**(before or Limits()).model_dump(), **named})


def prices(given: Given) -> PriceTable:
    """Return the built-in prices of models, and over them those of --prices."""
    from redraft.llm.prices import price_table

    return price_table(given["prices"])


def encoder(name: str | None) -> Encoder | None:
    """Load the model that --embeddings names, if it names one."""
    if not name:
        return None
    from redraft.text.vectors import load_encoder  # brings NumPy

    return load_encoder(name)


def judging(given: Given, refinement: RefineConfig | None = None) -> JudgeConfig:
    """How drafts are judged: by the metrics given, else by those of the goals, else by the usual ones."""
    from redraft.evaluators.catalog import metrics as known
    from redraft.evaluators.similarity import similarity

    named = {**_named(given, JUDGING), "models": models_named(given)}
    metrics = tuple(dict.fromkeys([*named.get("metrics", ()), *(refinement.goals if refinement else ())]))
    made = _checked(JudgeConfig, {**named, "metrics": metrics or USUAL_METRICS}, JUDGING)
    with _said_of("--metric"):
        known(made.metrics)
    if made.embeddings is None:
        # What cannot be had without a model of embeddings is refused before anything is spent.
        similarity(made.similarity, None)
    return made


def refined(given: Given, what: str) -> tuple[JudgeConfig | None, RefineConfig | None]:
    """How drafts are judged and refined with `--refine`; without it, options about that are refused."""
    if not given["refine"]:
        if stray := typed(given):
            name, are = next(iter(stray)).replace("_", "-"), "are" if what.endswith("ies") else "is"
            raise UsageError(f"--{name} only applies when {what} {are} judged and refined", hint="add --refine")
        return None, None
    wanted = refinement(given)
    return judging(given, wanted), wanted


def judging_no_draft(given: Given) -> JudgeConfig:
    """Who judges, and how, where no draft is judged by metrics."""
    return judging(given).model_copy(update={"metrics": ()})


def check_query(given: Given, judging: JudgeConfig) -> None:
    """Refuse a query on the command line that no metric would look at."""
    from redraft.evaluators.catalog import BUILT_IN, metrics

    if typed(given, ("query",)) and not any(one.heeds_query for one in metrics(judging.metrics)):
        heeding = (f"--metric {name}" for name, one in BUILT_IN.items() if one.heeds_query)
        raise UsageError(f"--query is not used by {' and '.join(judging.metrics)}", hint=f"add {', or '.join(heeding)}")


def draft(
    sources: Sequence[str], summary: str, findings: str | None = None, *, review: bool = False, quiet: bool
) -> str:
    """The text of the summary, which may be empty. Standard input can be read for one thing only."""
    named = {"SOURCE": STDIN if STDIN in sources else None, "SUMMARY": summary, "--findings": findings}
    if len(read := [name for name, one in named.items() if one == STDIN]) > 1:
        both = "both" if len(read) == 2 else "all"
        raise UsageError(f"{' and '.join(read)} cannot {both} be stdin", hint="give one of them as a file")
    _check_review(read, review=review)
    return text(summary, quiet=quiet)


def findings(source: str | None, *, review: bool = False) -> tuple[Finding, ...]:
    """What is to be mended first, from a file; nothing where there is none."""
    from redraft.runs.inputs import read_findings

    _check_review(["--findings"] if source == STDIN else [], review=review)
    return read_findings(source) if source else ()


def _check_review(read: Sequence[str], *, review: bool) -> None:
    if review and read:
        raise UsageError(f"--review reads your answers from stdin, and so does {read[0]}", hint="give them as files")


def text(source: str, *, quiet: bool) -> str:
    """A text that is no document, once it was said what is not in it any more."""
    from redraft.readers.documents import read_text

    found = read_text(source)
    _tell(source, found.notes, quiet=quiet)
    return found.text


def part(given: Given) -> Choice:
    """Which part of a document is to be read, and in which language it is."""
    from redraft.readers.parts import choice

    ranges = (given["chapters"] or "", given["pages"] or "")
    return choice(*ranges, given["skip"], given["source_language"] or "", partial=given["partial"])


def document_at(sources: Sequence[str], given: Given) -> str | Sequence[str] | Document:
    """The source as it was given, or several; or, where a part of it is asked for, that part of the document."""
    from redraft.readers.documents import check_sources, load_all

    check_sources(sources)
    if any(given.get(name) for name in ("chapters", "pages", "skip", "source_language", "partial")):
        return load_all(sources, wanted=part(given))
    return sources[0] if len(sources) == 1 else sources


def document(sources: Sequence[str], *, quiet: bool) -> Document:
    """A document, or several read as one, once it was said what is not in it any more."""
    from redraft.readers.documents import load_all

    found = load_all(sources)
    _tell(found.source, found.notes, quiet=quiet)
    return found


def _tell(source: str, notes: Collection[str], *, quiet: bool) -> None:
    for note in () if quiet else notes:
        say(f"note: {source}: {note}")


def refinement(given: Given, before: RefineConfig | None = None) -> RefineConfig:
    """What a draft is refined for: what was given, over what a run had before, over the defaults."""
    from redraft.evaluators.catalog import check_goals, metrics, names

    known = before.model_dump() if before else {}
    goals = {**known.get("goals", {}), **_goals(given.get("goal", ()))} or _usual_goals()
    made = _checked(RefineConfig, {**known, **_named(given, REFINEMENT), "goals": goals}, REFINEMENT)
    if made.decider and made.policy != "agent" and typed(given, ("decider",)):
        raise UsageError(f"--decider is not used by --policy {made.policy}", hint="add --policy agent")
    with _said_of("--goal"):
        check_goals(made.goals, metrics(names()))
    return made


def _usual_goals() -> dict[str, float]:
    """The goals where none is named. A preset that judges by other metrics says nothing of how good is good enough."""
    context = click.get_current_context()
    others = [one for one in context.meta.get(METRICS_OF_A_PRESET, ()) if one not in DEFAULT_GOALS]
    if others and context.get_parameter_source("metric") in (None, ParameterSource.DEFAULT_MAP):
        raise UsageError(
            f"the preset judges by {' and '.join(others)}, and has no goals for them",
            hint=f"add {' '.join(f'-g {one}=VALUE' for one in others)}, with scores from 0 to 1",
        )
    return dict(DEFAULT_GOALS)


def _goals(words: Collection[str]) -> dict[str, float]:
    goals: dict[str, float] = {}
    for word in words:
        metric, _, value = word.partition("=")
        try:
            goals[metric.strip()] = float(value)
        except ValueError:
            raise UsageError(
                f"--goal: {word!r} is not a goal", hint="write METRIC=VALUE, such as coverage=0.8"
            ) from None
        if 1 < goals[metric.strip()] <= 100:
            meant = f"{metric.strip()}={goals[metric.strip()] / 100:g}"
            raise UsageError(f"--goal: {word} is above 1, the best score", hint=f"did you mean {meant}?")
    if len(goals) < len(words):
        raise UsageError("--goal: a metric has two goals", hint="give one for each metric")
    return goals


def _named(given: Given, fields: Mapping[str, str]) -> dict[str, Any]:
    """The options that have a value, under the names of the fields that they set."""
    return {field: given[name] for name, field in fields.items() if given.get(name) not in (None, ())}


def _checked(model: type[M], values: Given, options: Mapping[str, str] | None = None) -> M:
    """The model of these values. What it refuses is a user's mistake; bytes that are no text become question marks."""
    names = {field: name for name, field in (options or {}).items()}
    readable = {name: _readable(value) for name, value in values.items()}
    return checked(model, readable, lambda field: f"--{names.get(field, field).replace('_', '-')}", " ")


@contextmanager
def _said_of(option: str) -> Iterator[None]:
    """What is refused within is what the option says."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{option}: {error.message}", hint=error.hint) from error


def _readable(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return tuple(_readable(one) for one in value) if isinstance(value, tuple) else value
