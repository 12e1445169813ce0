"""Decisions before the first call: the document's chunks, the plan, the prompts, and the run's record."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from secrets import token_hex
from typing import Any

from redraft.domain import GIVEN, OTHER, Document, Span, content_id
from redraft.errors import DocumentError, PromptError, RunCommand, RunError, Set, UsageError
from redraft.evaluators.base import Evaluator
from redraft.evaluators.catalog import check_goals, evaluators
from redraft.graphs.plan import choose_strategy, fitting_words
from redraft.graphs.policy import reviewed
from redraft.graphs.prepared import PreparedDocument, tokenizer_of
from redraft.graphs.strategies import planning_of, strategy_named, version_with
from redraft.llm.addresses import is_here, name_of, window_of_family
from redraft.llm.base import Model
from redraft.llm.chat import ChatModel
from redraft.llm.nli import SERVES
from redraft.order import Compare, ExperimentPart, Order
from redraft.prompts.book import PROMPTS, PromptBook, prompt_choice
from redraft.prompts.coherence import PREFER_SUMMARY
from redraft.prompts.contract import Prompt
from redraft.prompts.factual import FACT_PROMPTS, RULE_ON_FINDINGS
from redraft.prompts.qa import JUDGING
from redraft.prompts.revision import CHOOSE_DRAFT, CRITICIZE, DECIDE, EDIT, REVISE
from redraft.report.history.results import document_read
from redraft.runs.model_settings import NO_ITEM, WINDOW, judge_settings_of, named_in, settings_by_name
from redraft.runs.models import ModelRole, Windows, assign_models, resolve, with_addresses
from redraft.runs.order import caller_findings
from redraft.settings import (
    ANSWER,
    ASSUMED_WINDOW,
    EXTRACTIVE,
    GIVEN_STRATEGY,
    REFERENCES,
    DraftConfig,
    Limits,
    ModelSettings,
    is_entailment,
    reads_prompts,
)
from redraft.store.calls import PromptRecord
from redraft.store.documents import ChapterRun
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text import languages
from redraft.text.chunks import beginning
from redraft.text.document_form import body_of
from redraft.text.tokens import Tokenizer, tokenizer_named
from redraft.text.vectors import load_encoder
from redraft.text.words import count_words, has_words

LONGEST_SUMMARY = 60_000
"""The most characters of a given summary that is longer than its document: about 10,000 words."""
# What is so much longer, and has most of the words of the other, which has at least so many, is no summary of it.
_SWAPPED, _SHARED, _TELLING = 4, 0.85, 20
# A given summary may be shorter than the smallest sensible limit.
_MIN_LIMIT = 50
DRAFTED = frozenset({"summarize", "evaluate", "refine", "ask"})
"""The kinds of runs with a draft, which can be judged."""
ANSWER_WORDS = 120
"""The default word limit of an answer."""


def prepare_run(
    document: Document | PreparedDocument, order: Order, find: Windows, objects: Mapping[str, Model] = NO_ITEM
) -> tuple[PreparedDocument, Order]:
    """Decide all of a run before its first call: return the prepared document, with notes on what is assumed, and the
    complete order, with the address and window of every model. Nothing is stored and no model is called. `find` looks
    up windows, and `objects` are models that were passed as objects. A strategy that makes no draft where one is
    wanted, drafts that cannot be refined, and an unknown model raise `UsageError`. The order of a document that is
    prepared is complete."""
    if isinstance(document, PreparedDocument):
        return document, order
    settings = order.settings
    if order.kind == "ask":
        fixed = {"strategy": ANSWER, "by_chapter": False, "until": None, "words": settings.words or ANSWER_WORDS}
        settings = settings.model_copy(update=fixed)
    elif order.given is not None or order.kind not in DRAFTED:
        settings = settings.model_copy(update={"strategy": GIVEN_STRATEGY, "by_chapter": False})
    elif settings.strategy in (GIVEN_STRATEGY, ANSWER):
        raise UsageError(
            f"the strategy `{settings.strategy}` makes no draft, and none was given",
            hint="use auto, hierarchical, incremental or direct; or evaluate or refine an existing summary",
        )
    refinement = order.refinement
    if refinement and refinement.review and settings.by_chapter:
        without_review = ("leave out ", Set("review"), "; a chapter's summary can be refined with it afterwards")
        raise UsageError("a review is of one summary, and there is one per chapter", fix=without_review)
    if refinement and settings.until is not None:
        of_all = ("leave out ", Set("until"), ", or draft without refining")
        raise UsageError("refining uses the whole document, but the draft would read only its beginning", fix=of_all)
    order = with_addresses(order.model_copy(update={"settings": settings}), objects)
    order, notes = with_windows(order, find, objects)
    prepared = prepare(document, order.settings, objects.get(order.settings.model), order.given)
    return replace(prepared, notes=tuple(notes)), order.model_copy(update={"settings": prepared.settings})


def identify(prepared: PreparedDocument, prompts: Mapping[str, PromptRecord], order: Order) -> str:
    """Return the identity of a run, by which it is found again: its document, its settings, its prompts, and what it
    asks beyond its draft."""
    requests: list[object] = []
    if order.judging is not None:
        requests = [order.kind, order.judging.asks(), order.refinement.asks() if order.refinement else None]
        requests.append(content_id(order.given) if order.given is not None else None)
        requests += [content_id(order.other)] if isinstance(order, Compare) and order.other is not None else []
        requests += [[asdict(finding) for finding in order.findings]] if order.findings else []
    hashes = {name: prompt.hash for name, prompt in prompts.items()}
    key = languages.language_key(prepared.document)
    return prepared.settings.identity(key, prepared.tokenizer.name, hashes, requests)


def prepare(
    document: Document, settings: DraftConfig, model: Model | None = None, given: str | None = None
) -> PreparedDocument:
    """Decide how a document is read: in which language, how much of it, by which strategy, and into how many words.
    `given` is an existing summary, and `model` a writer that was passed as an object."""
    document = languages.with_language(document, settings.source_language)
    settings = settings.model_copy(update={"source_language": languages.languages_of(document)})
    settings = resolve(settings) if model is None else settings.model_copy(update={"model": model.identity})
    window = window_of_family(name_of(settings.model)) or settings.context_tokens
    chosen = {"context_tokens": settings.context_tokens if WINDOW in settings.model_fields_set else window}
    settings = settings.model_copy(update={"prompts": prompt_choice(settings.prompts), **chosen})
    if settings.by_chapter and settings.until is not None:
        of_all = ("leave out ", Set("until"), ", or read some of them with ", Set("chapters"))
        raise UsageError("chapters are read whole", fix=of_all)
    tokenizer, warning = tokenizer_of(settings) if model is None else (Tokenizer(), "")
    warnings = [*document.notes, *([warning] if warning else [])]
    if settings.language and settings.model == EXTRACTIVE and settings.strategy != GIVEN_STRATEGY:
        warnings.append(f"the built-in model cannot write in {settings.language}: it only copies sentences")

    if not has_words(document.text):
        raise DocumentError("the document has no words", place=document.source)
    check_length(given or "", document)
    drafts = settings.strategy not in (GIVEN_STRATEGY, ANSWER)
    update: dict[str, Any] = {} if drafts else {"chunking": "fixed"}
    with languages.language_context(document):
        end = length = len(document.text)
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
        span = Span(0, end)
        if drafts and not settings.by_chapter:
            span, omission = body_of(document, end) if settings.chunking == "natural" else (span, "")
            strategy, why = choose_strategy(document, span, settings, tokenizer, book)
            settings = settings.model_copy(update={"strategy": strategy, "chosen": why or settings.chosen})
            warnings += [warning for warning in (omission, why) if warning]
    return PreparedDocument(document, settings, tokenizer, book, tuple(warnings), span, planning_of(settings))


def check_length(summary: str, document: Document) -> None:
    """Refuse a very long summary that is longer than its document, before days are spent on judging it, and one that
    is evidently the document of the other."""
    length, limit = len(summary), max(LONGEST_SUMMARY, len(document.text))
    words = set(document.text.casefold().split()) if length > _SWAPPED * len(document.text) else set[str]()
    if len(words) >= _TELLING and len(words & set(summary.casefold().split())) >= _SHARED * len(words):
        raise UsageError(
            f"the summary is {length / len(document.text):.0f} times as long as the document, and has its words",
            hint="name the document before the summary: they seem to be swapped",
        )
    if length > limit:
        raise UsageError(
            f"the summary has {length:,} characters, and its document {len(document.text):,}",
            hint=f"name the document before the summary; a summary may have {limit:,} characters here",
        )


_NLI = "only says whether one text follows from another"
_NLI_JUDGES = ("name it as one of the ", Set("judges"), f", for {SERVES[0]} or {SERVES[1]}")
_ABLE_JUDGE = ("name a judge that can, such as ", Set("judges", "openai:gpt-5-mini"))


def check_judging(order: Order, prepared: PreparedDocument, store: Store, own: Sequence[Evaluator] = ()) -> None:
    """Refuse a model that only judges as one that writes, a metric that there is not or that cannot do its work, a goal
    without a score, and another's pack. `own` are the metrics passed as objects."""
    judging, refinement, document, settings = order.judging, order.refinement, prepared.document, prepared.settings
    order = order.model_copy(update={"settings": settings})
    check_length((isinstance(order, Compare) and order.other) or "", document)
    if is_entailment(settings.model) and (settings.strategy != GIVEN_STRATEGY or refinement):
        raise UsageError(f"{settings.model} cannot write: it {_NLI}", fix=_NLI_JUDGES)
    if judging is None:
        return
    encoder = load_encoder(judging.embeddings) if judging.embeddings else None
    metrics = evaluators(judging, encoder, own) if order.kind in DRAFTED else ()
    check_goals(refinement.goals if refinement else (), metrics)
    judges = judge_settings_of(order)
    _check_entailment(order, prepared, metrics, judges, store)
    language = languages.other_language_in(document)
    if order.kind in REFERENCES.values() and judges[0].model == EXTRACTIVE and languages.is_foreign(language):
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
                fix=_ABLE_JUDGE,
            )
        for judge in judges:
            book = prepared.book if judge.prompts == settings.prompts else PromptBook(judge.prompts)
            evaluator.check(book, prepared.tokenizer, judge.window)
    lists = (RunCommand("pack list"), " lists them")
    if judging.pack and store.packs.get(judging.pack).document != document.id:
        raise UsageError(f"pack {judging.pack} is about another document", fix=lists)
    if judging.keyfacts and store.keyfacts.get(judging.keyfacts).document != document.id:
        raise UsageError(f"the key facts {judging.keyfacts} are about another document", fix=lists)


def _check_entailment(
    order: Order, prepared: PreparedDocument, metrics: Sequence[Evaluator], judges: Sequence[DraftConfig], store: Store
) -> None:
    """Refuse what judges that write no text do not serve."""
    judging = order.judging
    for role, name in named_in(order):
        named_model = settings_by_name(name, order).model
        if role != "judge" and is_entailment(named_model):
            raise UsageError(f"{named_model} can only be a judge: it {_NLI}", fix=_NLI_JUDGES)
    model = next((judge.model for judge in judges if is_entailment(judge.model)), None)
    if model is None or judging is None:
        return
    names = [evaluator.name for evaluator in metrics if evaluator.prompts]
    if not names:
        raise UsageError(f"{model} cannot be used here: it {_NLI}", fix=_NLI_JUDGES)
    if unserved := [name for name in names if name not in SERVES]:
        raise UsageError(
            f"the judge {model} does not support {' and '.join(unserved)}: it {_NLI}",
            hint=f"it supports {', '.join(SERVES[:-1])} and {SERVES[-1]}; name another judge for the rest",
        )
    has_facts = judging.keyfacts or store.keyfacts.imported(prepared.document.id)
    if SERVES[-1] in names and is_entailment(judges[0].model) and not has_facts:
        raise UsageError(
            f"the judge {model} finds no key facts: it {_NLI}",
            fix=("import some with ", RunCommand("pack import"), ", or name a judge that finds them before it"),
        )


def judged_by_writer(order: Order) -> list[str]:
    """Return a note if a language model judges what it writes itself."""
    settings = order.settings
    is_written = settings.strategy != GIVEN_STRATEGY or order.refinement is not None
    if order.judging is None or not is_written or not reads_prompts(settings.model):
        return []
    places = {(judge.model, judge.base_url) for judge in judge_settings_of(order)}
    if places != {(settings.model, settings.base_url)}:
        return []
    return [f"{settings.model} judges what it has written itself: scores by another judge mean more"]


def record(
    prepared: PreparedDocument, order: Order, store: Store, own: Sequence[Evaluator] = (), notes: Sequence[str] = ()
) -> Run:
    """Store the document, its chunks and the new run, with the draft that is given, and notes on what is assumed. `own`
    are the metrics passed as objects."""
    document, settings = prepared.document, prepared.settings
    prompts = prompts_used(prepared.book, settings, order, own)
    findings = caller_findings(order.findings, document, order.given or "")
    run = Run(
        # Short enough to type, long enough to be unique.
        id=token_hex(4),
        identity=identify(prepared, prompts, order),
        document=document.id,
        order=order.model_copy(update={"settings": settings}),
        prompt_hashes={name: prompt.hash for name, prompt in prompts.items()},
        tokenizer=prepared.tokenizer.name,
        version=version_with(settings.strategy),
        experiment=order.experiment or (order.kind if isinstance(order, ExperimentPart) else None),
        parent=order.parent,
        notes=tuple(notes),
        source_notes=document.notes,
    )
    with store.transaction():
        store.documents.add(document)
        store.prompts.put(*prompts.values(), keep=True)
        store.runs.add(run)
        if order.given is not None:
            draft = store.runs.keep_draft(run.id, order.given, count_words(order.given), GIVEN)
            if findings:
                store.judgments.keep(draft, reviewed(None, findings))
        if isinstance(order, Compare) and order.other is not None:
            store.runs.keep_draft(run.id, order.other, count_words(order.other), OTHER, is_result=False)
        if prepared.chapters:
            parts = zip(prepared.chapters, prepared.chunks, strict=True)
            store.chapters.put(*(ChapterRun(stretch.title, chunk) for stretch, chunk in parts), run=run.id)
        else:
            store.excerpts.put(*prepared.chunks, run=run.id)
    return store.runs.get(run.id)


def restore(store: Store, run: Run, own: Sequence[Evaluator] = ()) -> PreparedDocument:
    """Restore the preparation of a stored run; raises if its chunks or prompts have changed."""
    document, settings = document_read(store, run), run.settings
    tokenizer, book = tokenizer_named(run.tokenizer), PromptBook(settings.prompts)
    hashes = {name: prompt.hash for name, prompt in prompts_used(book, settings, run.order, own).items()}
    if changed := sorted({name for name, _ in hashes.items() ^ run.prompt_hashes.items()}):
        # They are files of the user's, or redraft's own.
        first = f"it can be resumed with the code that began it (redraft {run.version})"
        first = f"restore the files in {book.choice}" if set(changed) <= set(book.overridden) else first
        accepted = [turn.number for turn in store.rounds.of(run.id) if turn.accepted]
        fork = RunCommand("fork", run.id, ("--round", str(accepted[-1]))) if accepted else "the same command again"
        raise PromptError(
            f"the prompts of run {run.id} have changed since it began: {', '.join(changed)}",
            fix=(first, "; to go on with today's prompts, use ", fork),
        )
    chunks = store.chunks(run)
    if not chunks:
        raise RunError(f"the chunks of run {run.id} are gone from the database", hint="start a new run")
    warning = f"the vocabulary {run.tokenizer} is gone; tokens are estimated, and merges may be grouped differently"
    warnings = () if tokenizer.name == run.tokenizer else (warning,)
    span = Span(chunks[0].span.start, chunks[-1].span.end)
    reading = (document, settings, tokenizer, book, warnings, span, planning_of(settings))
    prepared = PreparedDocument(*reading, chunks)
    prepared.plan  # noqa: B018
    return prepared


def prompts_used(
    book: PromptBook, settings: DraftConfig, order: Order, own: Sequence[Evaluator]
) -> dict[str, PromptRecord]:
    """Return the prompts of a run by name. Those of judges and deciders that do not use the writer's have the name of
    the model with them."""
    judging = order.judging
    drafted = settings.strategy != GIVEN_STRATEGY
    prompts: list[Prompt[Any, Any]] = [*strategy_named(settings.draft_strategy).prompts] if drafted else []
    if isinstance(order, ExperimentPart):
        prompts = [*order.prompts]
    elif isinstance(order, Compare):
        prompts = [PREFER_SUMMARY]
    elif judging is not None:
        # Every run that judges stores the first of these; its identity depends on them.
        prompts += JUDGING
        prompts += FACT_PROMPTS if order.kind == "keyfacts" else ()
        metrics = evaluators(judging, None, own) if order.kind in DRAFTED else ()
        prompts += [prompt for evaluator in metrics for prompt in evaluator.prompts]
        if (refinement := order.refinement) is not None:
            prompts.append(REVISE)
            prompts += [CRITICIZE] if refinement.feedback_name == "generic" else []
            prompts += [EDIT, CHOOSE_DRAFT, RULE_ON_FINDINGS] if refinement.policy != "paper" else []
            prompts += [DECIDE] if refinement.policy == "agent" else []
    models = judging.models if judging is not None else {}
    books = {"": book} | {
        name: PromptBook(model.prompts)
        for name, model in models.items()
        if model.prompts not in (None, settings.prompts)
    }
    return {
        f"{prompt.name} ({model})" if model else prompt.name: PromptRecord(
            prompts_of_model.hash(prompt), prompt.name, prompts_of_model.template(prompt)
        )
        for model, prompts_of_model in books.items()
        for prompt in prompts
    }


def with_windows(order: Order, find: Windows, objects: Mapping[str, Model] = NO_ITEM) -> tuple[Order, list[str]]:
    """Return the order with every model's window, and notes on assumptions. A window in the settings is the writer's,
    and that of an object about which nothing is known. Another model's unknown window is assumed to equal the
    writer's."""
    settings, judging = order.settings, order.judging
    resolved = settings if settings.model in objects else resolve(settings)
    writer, *judges = assign_models(order.model_copy(update={"settings": resolved, "limits": Limits()}), None, objects)
    has_key = bool(os.environ.get("OPENAI_API_KEY", "").strip())
    notes = [
        f"{role.settings.model} at {role.address} gets no key: OPENAI_API_KEY is for another server"
        " (key_env in its own settings names its key)"
        for role in (writer, *judges)
        if role.wants_openai_key and not role.usual_key and has_key and not is_here(role.address)
    ]

    def window(role: ModelRole, otherwise: int, owner: str) -> int:
        tokens = find(role)
        may_have_window = role.model is None or isinstance(role.model, ChatModel)
        if tokens is None and may_have_window and reads_prompts(role.settings.model):
            table = "" if role is writer else " in its own table [models.NAME]"
            unknown = f"the window of {role.settings.model} is unknown: {otherwise:,} tokens{owner} are assumed"
            notes.append(f"{unknown}; if it has another one, set it{table}")
        return tokens or otherwise

    chosen = settings.context_tokens if WINDOW in settings.model_fields_set else None
    writer_window = chosen or window(writer, ASSUMED_WINDOW, "")
    models = dict(judging.models) if judging is not None else {}
    for role in judges:
        model = models.get(role.name)
        if not reads_prompts(role.settings.model) or (model is not None and model.context_tokens):
            continue
        is_at_writers = role.opened_as[:2] == writer.opened_as[:2]
        tokens = writer_window if is_at_writers else window(role, writer_window, ", as many as the writer's,")
        if model is not None or tokens != writer_window:
            values = {name: getattr(role.settings, name) for name in ModelSettings.model_fields if name != "prompts"}
            models[role.name] = (model or ModelSettings(**values)).model_copy(update={WINDOW: tokens})
    parts: dict[str, Any] = {"settings": settings.model_copy(update={WINDOW: writer_window})}
    parts |= {"judging": judging.model_copy(update={"models": models})} if judging is not None else {}
    return order.model_copy(update=parts), list(dict.fromkeys(notes))
