"""`redraft agree`: compare judges with people; without a subcommand it takes a file of annotations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options, parse_options
from redraft.cli.preset_option import preset_option
from redraft.cli.sections import LISTED
from redraft.cli.terminal import say_reading
from redraft.errors import UsageError
from redraft.lab.commands import delivery
from redraft.lab.commands.agree_sheets import judges, read, sheet
from redraft.lab.commands.delivery import lab_command, lab_group
from redraft.lab.declared import declared, require_lab

if TYPE_CHECKING:
    from redraft.lab.agreement.people import Dataset


_option = partial(options.typed_option, section="summary")
_shared = options.grouped(
    _option(
        "--items",
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of items, of documents drawn at random (always the same).  [default: all]",
    ),
    options.typed_option(
        "--sweep",
        section="judging",
        multiple=True,
        metavar="NAME=VALUES",
        help="Compare several values of similarity, threshold, questions, claims, top-k, ..., such as"
        " threshold=0.2:0.7:0.1; may be repeated.",
    ),
    options.judging_options,
    preset_option,
    options.model_options,
    delivery.run_options,
    options.dry_run,
)


@lab_command("with")
@click.argument("file")
@_option(
    "--format",
    "format_",
    metavar="NAME",
    default="jsonl",
    listing=lambda: ", ".join(name for name in declared("formats") if name != "metrics"),
    help=f"Format of FILE: {LISTED}.",
)
@_option(
    "--documents",
    metavar="PATH",
    help="The documents, if not in FILE or next to it: a file of texts by id, or a folder.",
)
@_option("--human", metavar="FIELD", help="Which of the annotations to use.  [default: what the metric measures]")
@options.typed_option(
    "--metric",
    "metrics",
    section="judging",
    metavar="NAME",
    help="Metric to compare with people.  [default: consistency, or the --rubric]",
)
@_shared
def with_(file: str, format_: str, documents: str | None, items: int | None, **values: Any) -> int:
    """Compare judges with people's annotations in a file."""
    say_reading(file, quiet=values["quiet"])
    require_lab("redraft agree")
    from redraft.cli.settings_file import rubrics_given
    from redraft.lab.agreement.formats import find_format
    from redraft.lab.agreement.people import human_field, sample_items

    dataset = sample_items(find_format(format_).read(file, documents), items)
    stated = rubrics_given(values["rubric"])
    metric: str = values["metrics"] or (next(iter(stated)) if len(stated) == 1 else "consistency")
    if stated and metric not in stated:
        hint = f"say which one is compared with people: --metric {next(iter(stated))}"
        raise UsageError(f"--rubric is not used by --metric {metric}", hint=hint)
    return _compare({dataset.name: dataset}, (metric,), human_field(dataset, metric, values["human"]), values)


def _compare(sets: Mapping[str, Dataset], metrics: tuple[str, ...], human: str, values: Mapping[str, Any]) -> int:
    from redraft.lab.agreement.agree import AgreeDesign, parse_sweep

    settings, judging = parse_options.settings(values), parse_options.judging({**values, "metrics": metrics[:1]})
    judges, sweep = judging.judges or (settings.model,), parse_sweep(values["sweep"])
    return delivery.carry_out(AgreeDesign(sets, metrics, judges, human, settings, judging, sweep), (), values)


@lab_command("table")
@click.argument("files", nargs=-1, required=True, metavar="FORMAT=FILE...")
@options.typed_option(
    "--metric",
    "metrics",
    section="judging",
    metavar="NAME",
    multiple=True,
    default=("consistency", "coverage"),
    help="Metric to compare with people, where they were asked about it; may be repeated.",
)
@_shared
def table_(files: tuple[str, ...], metrics: tuple[str, ...], **values: Any) -> int:
    """Compare judges with people's annotations from several files, in one table."""
    require_lab("redraft agree table")
    from redraft.lab.agreement.formats import find_format
    from redraft.lab.agreement.people import sample_items

    parts = [word.partition("=")[::2] for word in files]
    if wrong := [name for name, file in parts if not file]:
        raise UsageError(f"{wrong[0]!r} has no format", hint="write FORMAT=FILE, such as qags=mturk_cnndm.jsonl")
    say_reading(*(file for _, file in parts), quiet=values["quiet"])
    formats, sets = [name for name, _ in parts], {}
    for name, file in parts:
        title = name if formats.count(name) == 1 else f"{name} {Path(file).stem}"
        sets[title] = sample_items(find_format(name).read(file), values["items"])
    return _compare(sets, metrics, "", values)


@lab_group("agree", usual="with")
def agree() -> None:
    """Measure how far judges agree with people."""


for subcommand in (with_, table_, sheet, read, judges):
    agree.add_command(subcommand)
