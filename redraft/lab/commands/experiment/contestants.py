"""Options that experiments with several systems share, and the settings made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from redraft.cli.options import F, grouped, of_field, option, typed_option
from redraft.errors import UsageError
from redraft.fields import Section
from redraft.settings import DraftConfig, JudgeConfig

if TYPE_CHECKING:
    from redraft.lab.experiments.plan import NamedModel
    from redraft.lab.experiments.sources import Corpus

_DIFFERENT = ("strategy", "chunk_tokens", "words")
"""What a grid's contestants differ in besides their models."""


def models_that(does: str, *, required: bool = False) -> Callable[[F], F]:
    """The option that names the models of an experiment."""
    return option(
        "--model",
        "-m",
        "models",
        section="model",
        multiple=True,
        required=required,
        metavar="NAME",
        found="model",
        help=f"Model that {does}: extractive, openai:NAME, PROVIDER:NAME, or the NAME of a [models.NAME] in"
        " redraft.toml; may be repeated.",
    )


def count(
    name: str, section: Section, text: str, default: int | None = None, *, at: str = "", least: int = 1, **more: Any
) -> Callable[[F], F]:
    """A number option of one command; `at` is the name of its argument, if that differs."""
    names = (name, at) if at else (name,)
    kind = click.IntRange(least, more.pop("most", None))
    return typed_option(*names, section=section, type=kind, default=default, metavar="N", help=text, **more)


judges = of_field(
    JudgeConfig,
    "judges",
    help="Model that judges, each separately; the first also asks the questions and finds the key facts.  [default: the"
    " first --model]",
)


def strategies_of(
    usual: str,
    text: str = "How summaries are drafted: hierarchical, incremental, direct; may be repeated.",
    *,
    environment: bool = False,
) -> Callable[[F], F]:
    """The option for the strategies that are compared."""
    make = option if environment else typed_option
    return make(
        "--strategy", section="summary", multiple=True, metavar="NAME", default=(usual,), found="strategy", help=text
    )


steps = typed_option(
    "--until",
    "steps",
    section="summary",
    metavar="START:STOP:STEP",
    help="How many tokens to read at each step: START:STOP:STEP, or N,N...  [default: 10000:128000:10000, or"
    " less for a shorter document]",
)
sets = grouped(
    typed_option(
        "--by-source",
        section="source",
        is_flag=True,
        help="Show each SOURCE in the tables as a dataset of its own, named after its file.",
    ),
    count("--min-tokens", "source", "Leave out documents with fewer tokens.", 0, least=0),
)
chunks = of_field(
    DraftConfig, "chunk_tokens", multiple=True, default=(2048,), help="Maximum tokens per chunk; may be repeated."
)
words = of_field(
    DraftConfig, "words", multiple=True, help="Maximum words in a summary; may be repeated.  [default: one that fits]"
)
summaries = typed_option(
    "--summaries",
    section="summary",
    multiple=True,
    metavar="DIR|FILE",
    help="Existing summaries: DIR/SYSTEM/DOCUMENT.txt, or JSONL with document, system and summary.",
)


reference = typed_option(
    "--reference",
    section="summary",
    metavar="FILE|DIR|dataset",
    help="An existing summary of SOURCE. It is the baseline, it sets the length if --words does not, and a judge that"
    " asks questions sees it. For several documents: DIR/DOCUMENT.txt, JSONL with document and summary, or dataset for"
    " those in SOURCE.",
)


def corpus(given: Mapping[str, Any], sources: Sequence[str]) -> Corpus:
    """The documents at the sources, with their datasets and references if the command has options for them. Notes on
    them are printed."""
    from redraft.cli.terminal import say
    from redraft.lab.experiments import sources as lab
    from redraft.runs.models import resolve, tokenizer_of

    if "by_source" not in given:
        return lab.corpus(sources)
    tokenizer, _ = tokenizer_of(resolve(writers(given)[0].settings))
    found = lab.corpus(
        sources, given["reference"], by_source=given["by_source"], least=given["min_tokens"], count=tokenizer.count
    )
    for note in found.notes if not given["quiet"] else ():
        say(f"note: {note}")
    return found


def alike(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, without that in which contestants differ."""
    return {name: value for name, value in given.items() if name not in _DIFFERENT}


def once(values: Iterable[str]) -> tuple[Any, ...]:
    """The values of a repeatable option, each once."""
    return tuple(dict.fromkeys(values))


def stepwise(given: Mapping[str, Any], corpus: Corpus) -> dict[str, Any]:
    """The common fields of designs in which models read more and more of a document."""
    from redraft.lab.experiments.reading import parse_steps

    models = writers(given)
    return {
        "models": models,
        "judge": only_judge(given, models),
        "strategies": once(given["strategy"]),
        "steps": parse_steps(given["steps"]) if given["steps"] else None,
        **{name: given[name] for name in ("words", "embeddings")},
        "references": corpus.references,
        "sets": corpus.sets,
    }


def writers(given: Mapping[str, Any]) -> tuple[NamedModel, ...]:
    """The models, each by its name, which may be that of a table of the settings file."""
    return tuple(_named(given, model) for model in dict.fromkeys(given["models"]))


def judge(given: Mapping[str, Any], name: str) -> NamedModel:
    """A judge: at its own place, and with replies that are drawn as its table has it, or else as the prompts do."""
    from redraft.cli.settings_file import model_tables

    address = given["judge_base_url"] or given["base_url"]
    key = given["key_env"] if address == given["base_url"] else None
    changes = {"base_url": address, "key_env": key, "temperature": None, "top_p": None}
    changes |= {"strategy": "given", "words": None, "language": None, "until": None, "max_tokens": None}
    seat = _named({**given, **changes}, name)
    if (settings := model_tables().get(name)) is None:
        return seat
    # What the command says of drawing is said of those who write.
    drawing = {"temperature": settings.temperature, "top_p": settings.top_p}
    return replace(seat, settings=seat.settings.model_copy(update=drawing))


def _named(given: Mapping[str, Any], model: str) -> NamedModel:
    from redraft.cli import parse_options
    from redraft.lab.experiments.plan import NamedModel

    # Contestants that differ in their strategies get each its own later.
    own = {name: value for name, value in given.items() if name != "strategy" or isinstance(value, str)}
    return NamedModel(model, parse_options.settings({**own, "model": model}))


def only_judge(given: Mapping[str, Any], otherwise: Sequence[NamedModel] = ()) -> NamedModel:
    """The one judge that is named; without any the first of others, under its own name."""
    named = given["judge"] or [model.name for model in otherwise[:1]]
    if len(named) != 1:
        raise UsageError("--judge: only one model can judge, so that all are judged alike")
    return judge(given, named[0])


def reading_of(given: Mapping[str, Any], judges: Sequence[str]) -> dict[str, Any]:
    """Who judges what is there already, and how, as a design has it."""
    from redraft.cli import parse_options

    same = {name: given[name] for name in ("context_tokens", "temperature", "prompts", "replies")}
    own = parse_options.named_models({**given, "judge": judges})
    return {"judges": tuple(judges), "base_url": given["judge_base_url"], "own": own, **same}


def judging_of(given: Mapping[str, Any], judges: tuple[str, ...]) -> JudgeConfig:
    """How summaries are judged, by all the judges that are named."""
    from redraft.cli import parse_options

    return parse_options.judging({**given, "judge": judges})
