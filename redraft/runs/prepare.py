"""Decisions before the first call: the document's chunks, the plan, the prompts, and the run's record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from redraft.builtin.facade import reads
from redraft.domain import GIVEN, OTHER, Chunk, Document, Finding, Span, content_id
from redraft.errors import Advice, DocumentError, PromptError, RunCommand, RunError, Set, UsageError
from redraft.evaluators.base import Evaluator
from redraft.evaluators.catalog import check_goals, evaluators
from redraft.graphs.plan import Plan, choose_strategy, fitting_words
from redraft.graphs.review import reviewed
from redraft.graphs.strategies import draft_plan, strategy_named, version_with
from redraft.llm.addresses import name_of
from redraft.llm.base import Model
from redraft.llm.nli import SERVES
from redraft.llm.servers import window_of_family
from redraft.order import (
    Ask,
    BuildKeyfacts,
    BuildQuestions,
    Compare,
    Evaluate,
    ExperimentPart,
    Order,
    Refine,
    Summarize,
)
from redraft.prompts.book import PROMPTS, PromptBook, prompt_choice
from redraft.prompts.coherence import PREFER_SUMMARY
from redraft.prompts.contract import Prompt
from redraft.prompts.factual import FACT_PROMPTS, RULE_ON_FINDINGS
from redraft.prompts.qa import JUDGING
from redraft.prompts.revision import CHOOSE_DRAFT, CRITICIZE, DECIDE, EDIT, REVISE
from redraft.readers.parts import NamedPart, split_document
from redraft.report.history.results import document_read
from redraft.runs.inputs import caller_findings
from redraft.runs.model_names import NO_ITEM, judge_settings_of, named_in, settings_by_name
from redraft.runs.models import resolve, tokenizer_of
from redraft.runs.roster import Windows, settings_with_windows
from redraft.settings import (
    ANSWER,
    EXTRACTIVE,
    GIVEN_STRATEGY,
    DraftConfig,
    JudgeConfig,
    Limits,
    RefineConfig,
    is_entailment,
    reads_prompts,
)
from redraft.store.calls import PromptRecord
from redraft.store.documents import ChapterRun
from redraft.store.runs import Run, new_run_id
from redraft.store.store import Store
from redraft.text.chunks import beginning, chunk
from redraft.text.document_form import DocumentBody, body_of
from redraft.text.languages import language_context, language_key, languages_of, other_language_in, with_language
from redraft.text.tokens import EstimatingTokenizer, Tokenizer, tokenizer_named
from redraft.text.vectors import Encoder, load_encoder
from redraft.text.words import count_words, has_words

LONGEST_SUMMARY = 60_000
"""The most characters of a given summary that is longer than its document: about 10,000 words."""
# What is so much longer, and has most of the words of the other, which has at least so many, is no summary of it.
_SWAPPED, _SHARED, _TELLING = 4, 0.85, 20
# A given summary may be shorter than the smallest sensible limit.
_MIN_LIMIT = 50
ANSWER_WORDS = 120
"""The default word limit of an answer."""


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document and all decisions before the first call."""

    document: Document
    language_key: str
    """The id of its text, with its language where the text alone does not show it."""
    settings: DraftConfig
    chunks: Sequence[Chunk]
    """The chunks of the draft; with chapters, the chapters."""
    tokenizer: Tokenizer
    book: PromptBook
    plan: Plan
    warnings: tuple[str, ...] = ()
    chapters: tuple[NamedPart, ...] = ()
    """The chapters, if each is drafted by itself."""

    @property
    def document_tokens(self) -> int:
        """Return the tokens of the whole document, however much of it is summarized."""
        read = Span(self.chunks[0].span.start, self.chunks[-1].span.end)
        is_whole = read == Span(0, len(self.document.text))
        return self.plan.document_tokens if is_whole else self.tokenizer.count(self.document.text)


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What a run does, and the summary if one is given."""

    order: Order = field(default_factory=Summarize)
    given: str | None = None
    parent: str | None = None
    other: str | None = None
    """The second summary of a comparison."""
    own: tuple[Evaluator, ...] = ()
    """Metrics passed as objects; the judging settings contain their names."""
    experiment: str | None = None
    """The experiment that the run belongs to."""
    prompts: tuple[Prompt[Any, Any], ...] = ()
    """The prompts of an experiment's own requests."""
    findings: tuple[Finding, ...] = ()
    """Findings to fix in the given summary, whatever the metrics find."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Callbacks, tags and metadata for LangChain."""

    def __post_init__(self) -> None:
        for number, finding in enumerate(self.findings, 1):
            if not isinstance(finding, Finding):
                raise UsageError(
                    f"finding {number} is {finding!r:.80}, which is not a redraft.Finding",
                    hint="pass findings such as those of `result.findings`",
                )

    @property
    def judging(self) -> JudgeConfig | None:
        """Return the judging settings, if drafts are judged."""
        return self.order.judging

    @property
    def refinement(self) -> RefineConfig | None:
        """Return the refinement settings, if the draft is refined."""
        return self.order.refinement

    def with_settings(self, settings: DraftConfig) -> RunSpec:
        """Return what a run with these settings does."""
        return replace(self, order=self.order.model_copy(update={"settings": settings}))

    def evaluators(self, encoder: Encoder | None = None) -> tuple[Evaluator, ...]:
        """Return the metrics, if drafts are judged."""
        drafted = isinstance(self.order, Evaluate | Refine | Ask)
        return evaluators(self.order.judging, encoder, self.own) if drafted and self.order.judging else ()

    def asks(self) -> list[object]:
        """Return what it asks beyond its draft, as part of the identity of a run; empty if nothing is judged."""
        if self.judging is None:
            return []
        return [
            self.order.kind,
            self.judging.asks(),
            self.refinement.asks() if self.refinement else None,
            content_id(self.given) if self.given is not None else None,
            *([content_id(self.other)] if self.other is not None else []),
            *([[asdict(finding) for finding in self.findings]] if self.findings else []),
        ]

    def settled(self, settings: DraftConfig) -> DraftConfig:
        """Return the settings, with strategy `given` where no draft is made; raises where no strategy can draft."""
        if isinstance(self.order, Ask):
            fixed = {"strategy": ANSWER, "by_chapter": False, "until": None}
            return settings.model_copy(update={**fixed, "words": settings.words or ANSWER_WORDS})
        if self.given is not None or not isinstance(self.order, Summarize | Evaluate | Refine):
            return settings.model_copy(update={"strategy": GIVEN_STRATEGY, "by_chapter": False})
        if settings.strategy in (GIVEN_STRATEGY, ANSWER):
            raise UsageError(
                f"the strategy `{settings.strategy}` makes no draft, and none was given",
                hint="use auto, hierarchical, incremental or direct; or evaluate or refine an existing summary",
            )
        return settings


@dataclass(frozen=True, slots=True)
class _Reading:
    """How a document is read: what follows from the settings and its length."""

    document: Document
    """The document with its language."""
    language_key: str
    """The id of its text, with its language where the text alone does not show it."""
    settings: DraftConfig
    tokenizer: Tokenizer
    book: PromptBook
    warnings: tuple[str, ...]
    span: Span
    """The part of the document that is read."""


def prepare(
    document: Document, settings: DraftConfig, model: Model | None = None, given: str | None = None
) -> PreparedDocument:
    """Measure, chunk and plan; nothing is stored and no model is called. `given` is an existing summary."""
    read = _read(document, settings, model, given)
    document, settings, tokenizer = read.document, read.settings, read.tokenizer
    chapters = list[NamedPart]()
    with language_context(document):
        if settings.by_chapter:
            chapters, meter = split_document(document), tokenizer.measure(document.text)
            chunks = [Chunk(at, part.span, meter.tokens(*part.span)) for at, part in enumerate(chapters)]
        else:
            natural, (start, end) = settings.chunking == "natural", read.span
            chunks = chunk(document, tokenizer, settings.chunk_budget, end, start=start, natural=natural)
        plan = draft_plan(document, chunks, settings, tokenizer, read.book)
    notes = (*document.notes, *read.warnings)
    return PreparedDocument(
        document, read.language_key, settings, chunks, tokenizer, read.book, plan, notes, tuple(chapters)
    )


def identify(document: Document, settings: DraftConfig, order: RunSpec, model: Model | None = None) -> str:
    """Return the identity of a run with these settings, by which it is found again. `model` is a writer passed as an
    object."""
    read = _read(document, settings, model, order.given)
    prompts = prompts_used(read.book, read.settings, order.order, order.own, order.prompts)
    hashes = {name: prompt_record.hash for name, prompt_record in prompts.items()}
    return read.settings.identity(read.language_key, read.tokenizer.name, hashes, order.asks())


def _read(document: Document, settings: DraftConfig, model: Model | None, given: str | None) -> _Reading:
    """Decide how a document is read: in which language, how much of it, by which strategy, and into how many words."""
    document = with_language(document, settings.source_language)
    known_as, settings = language_key(document), settings.model_copy(update={"source_language": languages_of(document)})
    settings, tokenizer, warnings = _completed(settings, model)
    if not has_words(document.text):
        raise DocumentError("the document has no words", place=document.source)
    check_length(given or "", document)
    drafts = settings.strategy not in (GIVEN_STRATEGY, ANSWER)
    update: dict[str, Any] = {} if drafts else {"chunking": "fixed"}
    with language_context(document):
        end, length = len(document.text), len(document.text)
        if settings.until is not None and settings.strategy != GIVEN_STRATEGY:
            end = beginning(document.text, tokenizer, settings.until)
            if end == length:
                warnings.append(f"the document has no more than {settings.until:,} tokens, so all of it is read")
        if end == length:
            update["until"] = None
        words = count_words(document.text[:end])
        summary_words = max(_MIN_LIMIT, count_words(given or ""))
        update["words"] = fitting_words(settings.words, words) if drafts else settings.words or summary_words
        settings, book = settings.model_copy(update=update), PromptBook(settings.prompts)
        if not drafts or settings.by_chapter:
            return _Reading(document, known_as, settings, tokenizer, book, tuple(warnings), Span(0, end))
        body = body_of(document, end) if settings.chunking == "natural" else DocumentBody(Span(0, end))
        strategy, why = choose_strategy(document, body.span, settings, tokenizer, book)
    settings = settings.model_copy(update={"strategy": strategy, "chosen": why or settings.chosen})
    warnings += [warning for warning in (body.note, why) if warning]
    return _Reading(document, known_as, settings, tokenizer, book, tuple(warnings), body.span)


def check_length(summary: str, document: Document) -> None:
    """Refuse a very long summary that is longer than its document, before days are spent on judging it, and one that
    is evidently the document of the other."""
    length, limit = len(summary), max(LONGEST_SUMMARY, len(document.text))
    if length > _SWAPPED * len(document.text) and _has_words_of(document.text, summary):
        raise UsageError(
            f"the summary is {length / len(document.text):.0f} times as long as the document, and has its words",
            hint="name the document before the summary: they seem to be swapped",
        )
    if length > limit:
        raise UsageError(
            f"the summary has {length:,} characters, and its document {len(document.text):,}",
            hint=f"name the document before the summary; a summary may have {limit:,} characters here",
        )


def _has_words_of(text: str, longer: str) -> bool:
    """Return whether a longer text has most of the words of a text."""
    words = set(text.casefold().split())
    return len(words) >= _TELLING and len(words & set(longer.casefold().split())) >= _SHARED * len(words)


def _completed(settings: DraftConfig, model: Model | None) -> tuple[DraftConfig, Tokenizer, list[str]]:
    """Return the settings with the model's address and window, its tokenizer, and warnings."""
    settings = resolve(settings) if model is None else settings.model_copy(update={"model": model.identity})
    update: dict[str, Any] = {"prompts": prompt_choice(settings.prompts)}
    if "context_tokens" not in settings.model_fields_set:
        update["context_tokens"] = window_of_family(name_of(settings.model)) or settings.context_tokens
    settings = settings.model_copy(update=update)
    if settings.by_chapter and settings.until is not None:
        raise UsageError(
            "chapters are read whole", fix=("leave out ", Set("until"), ", or read some of them with ", Set("chapters"))
        )
    tokenizer, warning = tokenizer_of(settings) if model is None else (EstimatingTokenizer(), "")
    warnings = [warning] if warning else []
    if settings.language and settings.model == EXTRACTIVE and settings.strategy != GIVEN_STRATEGY:
        warnings.append(f"the built-in model cannot write in {settings.language}: it only copies sentences")
    return settings, tokenizer, warnings


def check_judging(order: RunSpec, prepared: PreparedDocument, store: Store) -> None:
    """Refuse a metric that there is not or that cannot do its work, a goal without a score, and another's pack."""
    judging, document = order.judging, prepared.document
    check_length(order.other or "", document)
    check_writer(prepared.settings, order.refinement)
    if order.refinement and order.refinement.review and prepared.settings.by_chapter:
        raise UsageError(
            "a review is of one summary, and there is one per chapter",
            fix=("leave out ", Set("review"), "; a chapter's summary can be refined with it afterwards"),
        )
    if order.refinement and prepared.settings.until is not None:
        raise UsageError(
            "refining uses the whole document, but the draft would read only its beginning",
            fix=("leave out ", Set("until"), ", or draft without refining"),
        )
    if judging is None:
        return
    encoder = load_encoder(judging.embeddings) if judging.embeddings else None
    metrics = order.evaluators(encoder)
    check_goals(order.refinement.goals if order.refinement else (), metrics)
    judges = judge_settings_of(prepared.settings, judging)
    has_facts = bool(judging.keyfacts or store.keyfacts.imported(document.id))
    check_judges(prepared.settings, judging, order.refinement, metrics, has_facts)
    language = other_language_in(document)
    if (
        isinstance(order.order, BuildKeyfacts | BuildQuestions)
        and judges[0].model == EXTRACTIVE
        and not reads(language)
    ):
        raise UsageError(
            f"the built-in model finds questions and key facts in English only, and this is in another language"
            f" ({language})",
            fix=("name a judge that can read it, such as ", Set("judges", "openai:gpt-5-mini")),
        )
    for evaluator in metrics:
        has_own = any(prompt.name not in PROMPTS for prompt in evaluator.prompts)
        if has_own and EXTRACTIVE in {judge.model for judge in judges}:
            raise UsageError(
                f"the metric {evaluator.name} has a prompt of its own, which the built-in model cannot answer",
                fix=("name a judge that can, such as ", Set("judges", "openai:gpt-5-mini")),
            )
        for judge in judges:
            window = judge.context_tokens if reads_prompts(judge.model) else None
            its_own = judge.prompts != prepared.settings.prompts
            evaluator.check(PromptBook(judge.prompts) if its_own else prepared.book, prepared.tokenizer, window)
    if judging.pack and store.packs.get(judging.pack).document != document.id:
        raise UsageError(f"pack {judging.pack} is about another document", fix=(RunCommand("pack list"), " lists them"))
    if judging.keyfacts and store.keyfacts.get(judging.keyfacts).document != document.id:
        raise UsageError(
            f"the key facts {judging.keyfacts} are about another document", fix=(RunCommand("pack list"), " lists them")
        )


def record(prepared: PreparedDocument, order: RunSpec, limits: Limits, store: Store, notes: Sequence[str] = ()) -> Run:
    """Store the document, its chunks and the new run, with the draft that is given, and notes on what is assumed."""
    document, settings, tokenizer = prepared.document, prepared.settings, prepared.tokenizer.name
    questions = order.asks()
    prompts = prompts_used(prepared.book, settings, order.order, order.own, order.prompts)
    hashes = {name: prompt_record.hash for name, prompt_record in prompts.items()}
    findings = caller_findings(order.findings, document, order.given or "")
    run = Run(
        id=new_run_id(),
        identity=settings.identity(prepared.language_key, tokenizer, hashes, questions),
        document=document.id,
        order=order.order.model_copy(update={"settings": settings, "limits": limits}),
        prompt_hashes=hashes,
        tokenizer=tokenizer,
        version=version_with(settings.strategy),
        experiment=order.experiment or (order.order.kind if isinstance(order.order, ExperimentPart) else None),
        parent=order.parent,
        notes=tuple(notes),
    )
    with store.transaction():
        store.documents.add(document)
        store.prompts.keep(prompts.values())
        store.runs.add(run)
        if order.given is not None:
            draft = store.runs.keep_draft(run.id, order.given, count_words(order.given), GIVEN)
            if findings:
                store.judgments.keep(draft, reviewed(None, findings))
        if order.other is not None:
            store.runs.add_draft(run.id, order.other, count_words(order.other), OTHER, 0)
        if prepared.chapters:
            named = zip(prepared.chapters, prepared.chunks, strict=True)
            store.chapters.put(*(ChapterRun(stretch.title, chunk) for stretch, chunk in named), run=run.id)
        else:
            cut = (settings.until, settings.chunking)
            store.documents.add_chunks(document.id, tokenizer, settings.chunk_budget, prepared.chunks, *cut)
    return store.runs.get(run.id)


def restore(store: Store, run: Run, own: Sequence[Evaluator] = ()) -> PreparedDocument:
    """Restore the preparation of a stored run; raises if its chunks or prompts have changed."""
    document = document_read(store, run)
    tokenizer = tokenizer_named(run.tokenizer)
    book = PromptBook(run.settings.prompts)
    hashes = {
        name: prompt_record.hash for name, prompt_record in prompts_used(book, run.settings, run.order, own).items()
    }
    if changed := sorted(name for name, _ in hashes.items() ^ run.prompt_hashes.items()):
        raise PromptError(
            f"the prompts of run {run.id} have changed since it began: {', '.join(dict.fromkeys(changed))}",
            fix=_with_other_prompts(store, run, book, changed),
        )
    chunks = store.chunks(run)
    if not chunks:
        raise RunError(f"the chunks of run {run.id} are gone from the database", hint="start a new run")
    plan = draft_plan(document, chunks, run.settings, tokenizer, book)
    warning = f"the vocabulary {run.tokenizer} is gone; tokens are estimated, and merges may be grouped differently"
    warnings = () if tokenizer.name == run.tokenizer else (warning,)
    return PreparedDocument(document, language_key(document), run.settings, chunks, tokenizer, book, plan, warnings)


def _with_other_prompts(store: Store, run: Run, book: PromptBook, changed: Sequence[str]) -> Advice:
    """Return what helps where prompts of a run are not what they were: files of the user's, or redraft's own."""
    accepted = [turn.number for turn in store.judgments.rounds(run.id) if turn.accepted]
    fork = RunCommand("fork", run.id, ("--round", str(accepted[-1]))) if accepted else "the same command again"
    if set(changed) <= set(book.overridden):
        first = f"restore the files in {book.choice}"
    else:
        first = f"it can be resumed with the code that began it (redraft {run.version})"
    return first, "; to go on with today's prompts, use ", fork


def prompts_used(
    book: PromptBook,
    settings: DraftConfig,
    order: Order,
    own: Sequence[Evaluator],
    of_part: Sequence[Prompt[Any, Any]] = (),
) -> dict[str, PromptRecord]:
    """Return the prompts of a run by name, or those `of_part` for a part of an experiment."""
    judging = order.judging
    drafted = settings.strategy != GIVEN_STRATEGY
    prompts: list[Prompt[Any, Any]] = [*strategy_named(settings.draft_strategy).prompts] if drafted else []
    if isinstance(order, ExperimentPart):
        prompts = [*of_part]
    elif isinstance(order, Compare):
        prompts = [PREFER_SUMMARY]
    elif judging is not None:
        # Every run that judges stores the first of these; its identity depends on them.
        prompts += JUDGING
        prompts += FACT_PROMPTS if isinstance(order, BuildKeyfacts) else ()
        prompts += [prompt for evaluator in RunSpec(order, own=tuple(own)).evaluators() for prompt in evaluator.prompts]
        prompts += _of_refining(order.refinement) if order.refinement else ()
    own_books = _own_books(settings, judging)
    return {
        name: PromptRecord(prompts_of_owner.hash(prompt), prompt.name, prompts_of_owner.template(prompt))
        for owner, prompts_of_owner in {"": book, **own_books}.items()
        for prompt in prompts
        for name in [f"{prompt.name} ({owner})" if owner else prompt.name]
    }


def _of_refining(refinement: RefineConfig) -> Iterator[Prompt[Any, Any]]:
    yield REVISE
    yield from (CRITICIZE,) if refinement.feedback_name == "generic" else ()
    if refinement.policy != "paper":
        yield from (EDIT, CHOOSE_DRAFT, RULE_ON_FINDINGS)
    yield from (DECIDE,) if refinement.policy == "agent" else ()


def _own_books(settings: DraftConfig, judging: JudgeConfig | None) -> dict[str, PromptBook]:
    """Return the prompts of judges and deciders that do not use the writer's, by name."""
    models = judging.models if judging is not None else {}
    return {
        name: PromptBook(model_settings.prompts)
        for name, model_settings in models.items()
        if model_settings.prompts not in (None, settings.prompts)
    }


_WHAT = "only says whether one text follows from another"
_AS_JUDGE = ("name it as one of the ", Set("judges"), f", for {SERVES[0]} or {SERVES[1]}")


def check_writer(settings: DraftConfig, refinement: RefineConfig | None) -> None:
    """Refuse a model that only judges as one that writes."""
    model = settings.model
    if is_entailment(model) and (settings.strategy != GIVEN_STRATEGY or refinement):
        raise UsageError(f"{model} cannot write: it {_WHAT}", fix=_AS_JUDGE)


def check_judges(
    settings: DraftConfig,
    judging: JudgeConfig,
    refinement: RefineConfig | None,
    metrics: Sequence[Evaluator],
    has_facts: bool,
) -> None:
    """Refuse what the judges that write no text do not serve. `has_facts` says whether there are key facts."""
    judges = judge_settings_of(settings, judging)
    for role, name in named_in(judging, refinement):
        model_name = settings_by_name(name, settings, judging).model
        if role != "judge" and is_entailment(model_name):
            raise UsageError(f"{model_name} can only be a judge: it {_WHAT}", fix=_AS_JUDGE)
    model = next((judge.model for judge in judges if is_entailment(judge.model)), None)
    if model is None:
        return
    names = [evaluator.name for evaluator in metrics if evaluator.prompts]
    if not names:
        raise UsageError(f"{model} cannot be used here: it {_WHAT}", fix=_AS_JUDGE)
    if strange := [name for name in names if name not in SERVES]:
        raise UsageError(
            f"the judge {model} does not support {' and '.join(strange)}: it {_WHAT}",
            hint=f"it supports {', '.join(SERVES[:-1])} and {SERVES[-1]}; name another judge for the rest",
        )
    if SERVES[-1] in names and is_entailment(judges[0].model) and not has_facts:
        raise UsageError(
            f"the judge {model} finds no key facts: it {_WHAT}",
            fix=("import some with ", RunCommand("pack import"), ", or name a judge that finds them before it"),
        )


def with_windows(
    settings: DraftConfig, order: RunSpec, find: Windows, objects: Mapping[str, Model] = NO_ITEM
) -> tuple[DraftConfig, RunSpec, list[str]]:
    """Return the settings and the order with every model's window, and notes on assumptions."""
    settings, judging, notes = settings_with_windows(settings, order.judging, order.refinement, find, objects)
    return settings, replace(order, order=order.order.model_copy(update={"judging": judging})), notes
