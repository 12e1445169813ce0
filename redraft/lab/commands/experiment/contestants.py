"""What commands of experiments share: their options, and the models and judges that were named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from redraft.cli.options import F, FieldType, grouped, of_field, option, typed_option
from redraft.fields import ModelSettings, Settings, option_of
from redraft.lab.experiments.orders import Asked, NamedModel, option_fields
from redraft.settings import JudgeConfig

if TYPE_CHECKING:
    from redraft.lab.experiments.sources import Corpus

Given = Mapping[str, Any]


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


def order_options(*orders: type[Settings], without: Sequence[str] = ()) -> Callable[[F], F]:
    """The options of orders, each once, under the names of their fields."""
    fields = {name: order for order in reversed(orders) for name in option_fields(order) if name not in without}
    options: list[Callable[[F], F]] = []
    for name, order in fields.items():
        declared = option_of(order, name)
        assert declared is not None
        # A list that is written as a text in itself is no option to be repeated.
        is_text = declared.metavar in ("START:STOP:STEP", "N,N...") or order.model_fields[name].default == {}
        text = {"multiple": False, "type": FieldType(order, name)} if is_text else {}
        options.append(of_field(order, name, **text))
    return grouped(*options)


judges = of_field(
    JudgeConfig,
    "judges",
    help="Model that judges, each separately; the first also asks the questions and finds the key facts.  [default: the"
    " first --model]",
)
summaries = typed_option(
    "--summaries",
    section="summary",
    multiple=True,
    metavar="DIR|FILE",
    help="Existing summaries: DIR/SYSTEM/DOCUMENT.txt, or JSONL with document, system and summary.",
)
corpus_options = grouped(
    typed_option(
        "--by-source",
        section="source",
        is_flag=True,
        help="Show each SOURCE in the tables as a dataset of its own, named after its file.",
    ),
    typed_option(
        "--min-tokens",
        section="source",
        type=int,
        default=0,
        metavar="N",
        help="Leave out documents with fewer tokens.",
    ),
    typed_option(
        "--reference",
        section="summary",
        metavar="FILE|DIR|dataset",
        help="An existing summary of SOURCE. It is the baseline, it sets the length if --words does not, and a judge"
        " that asks questions sees it. For several documents: DIR/DOCUMENT.txt, JSONL with document and summary, or"
        " dataset for those in SOURCE.",
    ),
)


def read_corpus(values: Given, sources: Sequence[str]) -> Corpus:
    """Return the documents at the sources, with their datasets and references if the command has options for them.
    Notes on them are printed."""
    from redraft.cli.terminal import say
    from redraft.graphs.prepared import tokenizer_of
    from redraft.lab.experiments.sources import corpus
    from redraft.runs.models import resolve

    if "by_source" not in values:
        return corpus(sources)
    tokenizer, _ = tokenizer_of(resolve(_named(values, values["models"][0]).settings))
    names = {"by_source": values["by_source"], "least": values["min_tokens"], "count": tokenizer.count}
    documents = corpus(sources, values["reference"], **names)
    for note in documents.notes if not values["quiet"] else ():
        say(f"note: {note}")
    return documents


def asked_of(values: Given, corpus: Corpus | None = None) -> Asked:
    """Return what the options ask for. Without a judge, the first model judges."""
    from redraft.cli import parse_options

    writers = tuple(_named(values, model) for model in dict.fromkeys(values.get("models", ())))
    names = tuple(dict.fromkeys(values["judges"])) or tuple(writer.name for writer in writers[:1])
    return Asked(
        values,
        writers,
        tuple(_judge(values, name) for name in names),
        partial(parse_options.judging, {**values, "judges": names}),
        sets=corpus.sets if corpus else {},
        references=corpus.references if corpus else {},
        documents=tuple(corpus.documents) if corpus else (),
        own=parse_options.named_models({**values, "judges": names}),
        judge_address=values["judge_base_url"],
    )


def _judge(values: Given, name: str) -> NamedModel:
    """Return a judge: at its own address, and sampled as its table has it, or else as the prompts do."""
    from redraft.cli.settings_file import named_tables

    address = values["judge_base_url"] or values.get("base_url")
    key = values.get("key_env") if address == values.get("base_url") else None
    changes = {"base_url": address, "key_env": key, "temperature": None, "top_p": None}
    changes |= {"strategy": "given", "words": None, "language": None, "until": None, "max_tokens": None}
    judge = _named({**values, **changes}, name)
    if (settings := named_tables(ModelSettings).get(name)) is None:
        return judge
    # What the command says of sampling is said of those who write.
    sampling = {"temperature": settings.temperature, "top_p": settings.top_p}
    return replace(judge, settings=judge.settings.model_copy(update=sampling))


def _named(values: Given, model: str) -> NamedModel:
    from redraft.cli import parse_options

    return NamedModel(model, parse_options.settings({**values, "model": model}))
