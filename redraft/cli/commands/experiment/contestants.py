"""Options that experiments with contestants share, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from redraft.cli import delivery
from redraft.cli.options import F, dry_run, grouped, option, setup_options, typed_option
from redraft.cli.presets import preset_option
from redraft.cli.sections import Section
from redraft.errors import UsageError

if TYPE_CHECKING:
    from redraft.domain import Document
    from redraft.lab.experiments.experiment import Experiment, ExperimentOutcome
    from redraft.lab.experiments.plan import NamedModel
    from redraft.settings import JudgeConfig

GO_ON = """\
The exit code is 3 when something is missing: items failed, or the budget is
used up. Repeat the command, with a higher limit, to go on.
"""
"""The end of the help of an experiment."""
_DIFFERENT = ("strategy", "chunk_tokens", "words")
"""What a grid's contestants differ in besides their models."""


sources = click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
run_options = grouped(preset_option, setup_options, dry_run, delivery.run_options)
"""The options of a run of an experiment whose models write."""
D = TypeVar("D")
O = TypeVar("O", bound="ExperimentOutcome")  # noqa: E741


def carry_out(
    experiment: Experiment[D, O],
    sources: Sequence[str],
    given: Mapping[str, Any],
    design: Callable[[Mapping[str, Any], Sequence[Document]], D],
) -> int:
    """Run an experiment of some design on the documents of its sources; returns the exit code."""
    from redraft.lab.experiments.sources import documents_of

    documents = documents_of(sources)
    return delivery.carry_out(experiment, documents, design(given, documents), given)


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
        help=f"Model that {does}: extractive, openai:NAME, PROVIDER:NAME, or the NAME of a [models.NAME] in"
        " redraft.toml; may be repeated.",
    )


def count(
    name: str, section: Section, text: str, default: int | None = None, *, at: str = "", least: int = 1, **more: Any
) -> Callable[[F], F]:
    """An option of a number for one command at a time; `at` is what it is given as, where it is not its name."""
    names = (name, at) if at else (name,)
    kind = click.IntRange(least, more.pop("most", None))
    return typed_option(*names, section=section, type=kind, default=default, metavar="N", help=text, **more)


judges = option(
    "--judge",
    section="judging",
    multiple=True,
    metavar="NAME",
    help="Model that judges, each by itself; the first also asks the questions and finds the key facts.  [default: the"
    " first --model]",
)
strategies = option(
    "--strategy",
    section="summary",
    multiple=True,
    metavar="NAME",
    default=("hierarchical",),
    help="How summaries are drafted: hierarchical, incremental, direct; may be repeated.",
)
chunks = option(
    "--chunk-tokens",
    section="summary",
    multiple=True,
    type=click.IntRange(min=16),
    metavar="N",
    default=(2048,),
    help="Most tokens of a chunk; may be repeated.",
)
words = option(
    "--words",
    "-w",
    section="summary",
    multiple=True,
    type=click.IntRange(min=10),
    metavar="N",
    help="Limit of a summary; may be repeated.  [default: one that fits]",
)
summaries = typed_option(
    "--summaries",
    section="summary",
    multiple=True,
    metavar="DIR|FILE",
    help="Summaries that are there: DIR/SYSTEM/DOCUMENT.txt, or JSONL with document, system and summary.",
)


def alike(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, without that in which contestants differ."""
    return {name: value for name, value in given.items() if name not in _DIFFERENT}


def writers(given: Mapping[str, Any]) -> tuple[NamedModel, ...]:
    """The models, each by its name, which may be that of a table of the settings file."""
    return tuple(_named(given, model) for model in dict.fromkeys(given["models"]))


def judge(given: Mapping[str, Any], name: str) -> NamedModel:
    """A judge: at its own place, and with replies that are drawn as its table has it, or else as the prompts do."""
    from redraft.cli.settings_file import model_tables

    address = given["judge_base_url"] or given["base_url"]
    key = given["key_env"] if address == given["base_url"] else None
    changes = {"base_url": address, "key_env": key, "temperature": None, "top_p": None}
    changes |= {"strategy": "given", "words": None, "language": None, "until": None}
    seat = _named({**given, **changes}, name)
    if (own := model_tables().get(name)) is None:
        return seat
    # What the command says of drawing is said of those who write.
    drawing = {"temperature": own.temperature, "top_p": own.top_p}
    return replace(seat, settings=seat.settings.model_copy(update=drawing))


def _named(given: Mapping[str, Any], model: str) -> NamedModel:
    from redraft.cli import given as asked
    from redraft.lab.experiments.plan import NamedModel

    return NamedModel(model, asked.settings({**given, "model": model}))


def only_judge(given: Mapping[str, Any], otherwise: Sequence[NamedModel] = ()) -> NamedModel:
    """The one judge that is named; without any the first of others, under its own name."""
    named = given["judge"] or [one.name for one in otherwise[:1]]
    if len(named) != 1:
        raise UsageError("--judge: one model judges, so that all are judged alike")
    return judge(given, named[0])


def reading_of(given: Mapping[str, Any], judges: Sequence[str]) -> dict[str, Any]:
    """Who judges what is there already, and how, as a design has it."""
    from redraft.cli import given as asked

    same = {name: given[name] for name in ("context_tokens", "temperature", "prompts", "replies")}
    own = asked.models_named({**given, "judge": judges})
    return {"judges": tuple(judges), "base_url": given["judge_base_url"], "own": own, **same}


def judging_of(given: Mapping[str, Any], judges: tuple[str, ...]) -> JudgeConfig:
    """How summaries are judged, by all the judges that are named."""
    from redraft.cli import given as asked

    return asked.judging({**given, "judge": judges})
