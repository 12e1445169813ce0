"""The groups `redraft experiment` and `redraft data`, which measures and converts the files of public data sets. What
each experiment takes is in its order (`lab/experiments/orders.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options
from redraft.cli.options import F, field_type, preset_option, usual_preset
from redraft.cli.output_files import check_output, hand_over, write_text
from redraft.cli.sections import Command
from redraft.cli.terminal import DONE, SHORT, say, say_reading
from redraft.errors import UsageError
from redraft.fields import option_of
from redraft.lab.commands import delivery
from redraft.lab.commands.delivery import lab_command, lab_group
from redraft.lab.declared import require_lab
from redraft.lab.experiments.orders import ORDERS, Asked, NamedModel
from redraft.order import JUDGES_ADDRESS
from redraft.settings import EXTRACTIVE, JudgeConfig, ModelSettings
from redraft.text.words import count

if TYPE_CHECKING:
    from redraft.lab.experiments.sources import Corpus

_option = partial(options.typed_option, section="summary")
Option = Callable[[Any], Any]
Given = Mapping[str, Any]
_ANY_MODEL = "extractive, openai:NAME, PROVIDER:NAME, or the NAME of a [models.NAME] in redraft.toml"


def models_that(does: str, *, required: bool = False) -> Option:
    """The option that names the models of an experiment."""
    return options.option(
        "--model",
        "-m",
        "models",
        section="model",
        multiple=True,
        required=required,
        metavar="NAME",
        found="model",
        help=f"Model that {does}: {_ANY_MODEL}; may be repeated.",
    )


def judges_that(does: str, *, required: bool = False) -> Option:
    """The options that name the models that judge, and say where they are."""
    judges = options.of_field(JudgeConfig, "judges", required=required, help=f"Model that {does}")
    return options.grouped(judges, options.settings(JUDGES_ADDRESS))


def order_options(*kinds: str) -> Callable[[F], F]:
    """The options of the orders of some experiments, each once, under the names of their fields."""
    fields = {name: ORDERS[kind] for kind in reversed(kinds) for name in ORDERS[kind].model_fields}
    choices: list[Callable[[F], F]] = []
    for name, order in fields.items():
        if (declared := option_of(order, name)) is None:
            continue
        # A list that is written as a text in itself is no option to be repeated.
        is_text = declared.metavar in ("START:STOP:STEP", "N,N...") or order.model_fields[name].default == {}
        text = {"multiple": False, "type": field_type(order, name)} if is_text else {}
        choices.append(options.of_field(order, name, **text))
    return options.grouped(*choices)


judges = judges_that(
    "judges, each separately; the first also asks the questions and finds the key facts.  [default: the first --model]"
)
summaries = _option(
    "--summaries",
    multiple=True,
    metavar="DIR|FILE",
    help="Existing summaries: DIR/SYSTEM/DOCUMENT.txt, or JSONL with document, system and summary.",
)
corpus_options = options.grouped(
    options.typed_option(
        "--by-source",
        section="source",
        is_flag=True,
        help="Show each SOURCE in the tables as a dataset of its own, named after its file.",
    ),
    options.typed_option(
        "--min-tokens",
        section="source",
        type=int,
        default=0,
        metavar="N",
        help="Leave out documents with fewer tokens.",
    ),
    _option(
        "--reference",
        metavar="FILE|DIR|dataset",
        help="An existing summary of SOURCE. It is the baseline, it sets the length if --words does not, and a judge"
        " that asks questions sees it. For several documents: DIR/DOCUMENT.txt, JSONL with document and summary, or"
        " dataset for those in SOURCE.",
    ),
)


def read_corpus(values: Given, sources: Sequence[str]) -> Corpus:
    """Return the documents at the sources, with their datasets and references if the command has options for them.
    Notes on them are printed."""
    from redraft.graphs.prepared import tokenizer_of
    from redraft.lab.experiments.sources import Corpus, corpus
    from redraft.runs.models import resolve

    if not sources:
        return Corpus()
    if "by_source" not in values:
        return corpus(sources)
    tokenizer, _ = tokenizer_of(resolve(_named(values, values["models"][0]).settings))
    names = {"by_source": values["by_source"], "least": values["min_tokens"], "count": tokenizer.count}
    documents = corpus(sources, values["reference"], **names)
    for note in documents.notes if not values["quiet"] else ():
        say(f"note: {note}")
    return documents


def asked_of(values: Given, corpus: Corpus) -> Asked:
    """Return what the options ask for. Without a judge, the first model judges. With annotations of coherence, only a
    judge that is named in the command does; without them, by default the built-in one."""
    from redraft.cli import parse_options

    writers = tuple(_named(values, model) for model in dict.fromkeys(values.get("models", ())))
    named = parse_options.typed(values, ("judges",)) if values.get("annotations") else values
    names = tuple(dict.fromkeys(named.get("judges", ()))) or tuple(writer.name for writer in writers[:1])
    names = names or ((EXTRACTIVE,) if values.get("annotations") == () else ())
    judging = partial(parse_options.judging, {**values, "judges": names})
    judges, documents = tuple(_judge(values, name) for name in names), tuple(corpus.documents)
    return Asked(values, writers, judges, judging, corpus.sets, corpus.references, documents)


def _judge(values: Given, name: str) -> NamedModel:
    """Return a judge: at its own address, and sampled as its table has it, or else as the prompts do; where nobody
    writes, as the command says."""
    from redraft.cli.settings_file import named_tables

    address = values["judge_base_url"] or values.get("base_url")
    key = values.get("key_env") if address == values.get("base_url") else None
    changes = {"base_url": address, "key_env": key}
    # What the command says of sampling is said of those who write.
    changes |= {"temperature": None, "top_p": None} if "models" in values else {}
    changes |= {"strategy": "given", "words": None, "language": None, "until": None, "max_tokens": None}
    judge = _named({**values, **changes}, name)
    if (settings := named_tables(ModelSettings).get(name)) is None:
        return judge
    sampling = {"temperature": settings.temperature, "top_p": settings.top_p}
    return replace(judge, settings=judge.settings.model_copy(update=sampling))


def _named(values: Given, model: str) -> NamedModel:
    from redraft.cli import parse_options

    return NamedModel(model, parse_options.settings({**values, "model": model}))


def _experiment(
    module: str,
    *choices: Option,
    sources: Option = options.sources,
    preset: Option = preset_option,
    closing: Option = delivery.writer_options,
) -> Command:
    """Create the command of the experiment in a module."""
    name = module.replace("_", "-")

    @options.grouped(sources, *choices, preset, closing)
    def run(sources: tuple[str, ...] = (), **values: Any) -> int:
        require_lab(f"redraft experiment {name}")
        corpus = read_corpus(values, sources)
        request = asked_of(values, corpus)
        if not (request.writers or request.judges):
            # Nobody is asked, and so there is no need of a database.
            values["db"] = ":memory:"
        elif not sources:
            say_reading(values["summaries"], quiet=values["quiet"])
        experiment = import_module(f"redraft.lab.experiments.{module}").EXPERIMENT
        return delivery.carry_out(experiment.asked(request), corpus.documents, values)

    return lab_command(name)(run)


_JUDGING = (options.questions, options.keyfact_options, options.verdict_options)
_ALONE = options.grouped(options.dry_run, delivery.run_options)
grid = _experiment(
    "grid",
    models_that("summarizes"),
    order_options("grid"),
    options.writing_options,
    options.settings("until"),
    summaries,
    options.settings("metrics"),
    options.rubric,
    judges,
    *_JUDGING,
)
longsumeval = _experiment(
    "longsumeval",
    models_that("summarizes"),
    judges,
    summaries,
    order_options("longsumeval"),
    options.settings("strategy", "words", "chunk_tokens"),
    *_JUDGING,
    preset=usual_preset("longsumeval"),
)
_KEYFACT_CHUNKS = "Tokens of a chunk for key facts; N+ also completes the last sentence (4000+).  [default: 4096]"
hamlet = _experiment(
    "hamlet",
    models_that("summarizes", required=True),
    judges_that(
        "finds the key facts and judges; may be repeated: further ones judge the same summaries, for comparison.",
        required=True,
    ),
    options.settings("validator", "perspective"),
    options.settings("keyfact_chunks", rare=False, help=_KEYFACT_CHUNKS),
    options.settings("keyfact_overlap"),
    order_options("hamlet"),
    options.settings("strategy", "words", "chunk_tokens"),
)
context, qa, thesis = (
    _experiment(
        module,
        models_that(does, required=True),
        judges_that(f"{judging}.  [default: the first --model]"),
        corpus_options,
        order_options(*(("qa", "context") if module == "thesis" else (module,))),
        options.settings("chunk_tokens"),
    )
    for module, does, judging in (
        ("context", "summarizes", "splits summaries into facts and compares these"),
        ("qa", "answers", "asks the questions and judges the answers"),
        ("thesis", "summarizes and answers", "compares facts, asks the questions and judges the answers"),
    )
)
chunk_size = _experiment(
    "chunk_size",
    judges_that(f"judges: {_ANY_MODEL}.", required=True),
    order_options("chunk-size"),
    delivery.window_option("what the largest size needs"),
    options.settings("temperature", "prompts", "replies"),
    closing=_ALONE,
)
booookscore = _experiment(
    "booookscore",
    _option(
        "--annotations",
        multiple=True,
        metavar="FILE",
        help="JSON file of annotations: which sentences are confusing, and how, or what people marked. May be repeated:"
        " the others are compared with the first.",
    ),
    _option(
        "--references",
        metavar="FILE",
        help="JSON file of reference summaries, a text or a list of texts by id, for ROUGE-L.",
    ),
    judges_that(
        f"judges sentences. With --annotations, only one named in the command judges: {_ANY_MODEL}.  [default:"
        " extractive, without --annotations]",
    ),
    options.of_field(JudgeConfig, "batch", default=10, help="Sentences per request; the paper uses 1."),
    delivery.window_option("what the longest summary needs"),
    options.settings("temperature", "prompts", "replies", "sample"),
    sources=_option(
        "--summaries",
        required=True,
        metavar="FILE",
        help="JSON file of summaries, their texts by id.",
    ),
    closing=_ALONE,
)


@lab_command("report")
@click.argument("results", nargs=-1, required=True, metavar="RESULTS...")
@options.typed_option(
    "--output", "-o", section="output", required=True, metavar="FILE", help="Write the page to this file; - is stdout."
)
@options.quiet
def report(results: tuple[str, ...], output: str | None, quiet: bool) -> int:
    """Write stored results as one page."""
    from redraft.lab.experiments.published import read_results, report_page

    check_output(output)
    result_sets = read_results(results)
    says = f"{len(result_sets)} set{'s' * (len(result_sets) != 1)} of results"
    hand_over(report_page(result_sets), "html", says, output, quiet=quiet)
    return 0


experiment = lab_group(*("experiment", grid, context, qa, thesis, longsumeval, hamlet, chunk_size, booookscore, report))


@lab_command("describe")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.option(
    "--sample",
    section="summary",
    type=click.IntRange(min=1),
    metavar="N",
    found="yes",
    help="Documents of each FILE, evenly spread.  [default: all]",
)
@options.max_source
@delivery.output
@options.as_json
@options.quiet
def describe(files: tuple[str, ...], sample: int | None, output: str | None, as_json: bool, quiet: bool) -> int:
    """Measure summaries against their documents, as in table 4.1 of the thesis."""
    require_lab("redraft data describe")
    from redraft.lab.experiments.sources import description, read_contents

    folder = delivery.folder(output)
    say_reading(*files, quiet=quiet)
    contents = [read_contents(file) for file in files]
    delivery.deliver(description(contents, sample), folder, as_json=as_json, quiet=quiet)
    return SHORT if any(file_contents.troubles or not file_contents.examples for file_contents in contents) else DONE


@lab_command("convert")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@_option(
    "--join-tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="Join short articles, and their summaries, until a document has N tokens.",
)
@options.max_source
@options.typed_option("--output", "-o", section="output", required=True, metavar="FILE", help="File to write.")
@options.quiet
def convert(files: tuple[str, ...], join_tokens: int | None, output: str | None, quiet: bool) -> int:
    """Write the documents of data sets into one file."""
    from redraft.lab.experiments.sources import VOCABULARY, as_line, join_examples, read_contents, read_examples
    from redraft.text.tokens import tokenizer_named

    check_output(output)
    say_reading(*files, quiet=quiet)
    data_contents = [read_contents(file) for file in files]
    of_files = zip(files, data_contents, strict=True)
    examples: Any = [example for file, contents in of_files for example in contents.examples or read_examples(file)]
    read, left_out = len(examples), sum(len(contents.troubles) for contents in data_contents)
    if join_tokens is not None:
        examples = list(join_examples(examples, join_tokens, tokenizer_named(VOCABULARY)))
    if not examples:
        raise UsageError(f"all {read:,} documents together have fewer than {join_tokens:,} tokens")
    write_text("".join(map(as_line, examples)), output)
    if not quiet:
        say(f"{count(len(examples), 'document')} written to {output or 'stdout'}, made of {read:,}")
        if left_out:
            say(f"left out: {left_out:,} that cannot be read; `redraft data describe` lists them")
    return SHORT if left_out else DONE


data = lab_group("data", describe, convert)
