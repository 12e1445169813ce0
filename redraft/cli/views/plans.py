"""Plans of runs and checks of models before a run: calls, tokens, costs and windows, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redraft.cli.terminal import DONE, say
from redraft.cli.views.markdown import show, show_record
from redraft.domain import record_json
from redraft.llm.addresses import DEFAULT_BASE_URL
from redraft.llm.servers import LocalServer
from redraft.report.markdown.layout import item, joined, line, section, table
from redraft.report.outputs.formats import Template
from redraft.report.tables import Table
from redraft.runs.plans import PlannedModel, RunPlan, total_cost
from redraft.runs.roster import CheckResult, ModelCheckResult, RosterEntry
from redraft.settings import EXTRACTIVE, DraftConfig, Limits, reads_prompts
from redraft.text.sanitizer import one_line
from redraft.text.words import count, dollars, duration

_SHOWN_MODELS, _REPLY, _TITLE = 12, 120, 60


def roster_markdown(entries: Sequence[RosterEntry], servers: Sequence[LocalServer] = ()) -> str:
    """Return each model with its role and known capabilities, and the servers found at the usual ports of this machine,
    with commands that use them."""
    lines = [
        part
        for entry in entries
        for part in item(f"{entry.role or 'no role'}: {_model(entry)}", (f"- {about}" for about in _about(entry)))
    ]
    return joined(["\n".join(lines), section("On this machine", _servers(servers))])


def _model(entry: RosterEntry) -> str:
    """Return a model's name, its model if that is another, and its address."""
    settings = entry.settings
    model = settings.model if entry.name == settings.model else f"{entry.name} ({settings.model})"
    return f"{model}{f' at {settings.base_url}' if settings.base_url else ''}"


def _about(entry: RosterEntry, *, replies: bool = True) -> Iterator[str]:
    """Yield a model's window, price and settings, and with `replies` how it takes structured replies."""
    settings = entry.settings
    if not reads_prompts(settings.model):
        built_in = settings.model == EXTRACTIVE
        english = ", judges English only" if built_in else ""
        yield f"{'built in, ' * built_in}no language model, so no key, window or price{english}"
        return
    window = f"window {entry.window or 0:,} tokens"
    if entry.window_is == "assumed":
        option = ", or --context-tokens" if entry.role == "writer" else ""
        window = f"{window}, assumed (set context_tokens in its own settings{option})"
    yield window
    if entry.price is None:
        yield "price unknown (set it with --set prices=FILE, or price in its own settings)"
    else:
        prompt, completion = (dollars(cost, exact=True) for cost in (entry.price.prompt, entry.price.completion))
        yield f"{prompt} in, {completion} out, per million tokens"
    values = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "at most tokens": settings.max_tokens,
        "key in": settings.key_env,
    }
    if values := {name: value for name, value in values.items() if value is not None}:
        yield ", ".join(f"{name} {value}" for name, value in values.items())
    if replies:
        yield _replies(entry)
    if entry.trouble:
        yield line(entry.trouble)


def _replies(entry: RosterEntry) -> str:
    """Return how a model takes structured replies and how much it reasons, or the command that checks it."""
    capabilities, settings = entry.capabilities, entry.settings
    parts = [f"structured replies by {capabilities.mode}"] if capabilities.mode else []
    reasoning = settings.reasoning_tokens or capabilities.reasoning_tokens
    parts += [f"up to {reasoning:,} reasoning tokens"] if reasoning else []
    elsewhere = entry.name == settings.model and settings.base_url not in (None, DEFAULT_BASE_URL)
    address = f" --base-url {settings.base_url}" if elsewhere else ""
    return ", ".join(parts) or f"not checked yet (redraft models --check {entry.name}{address})"


def _servers(servers: Sequence[LocalServer]) -> Iterator[str]:
    for server in servers:
        if server.models is not None:
            names = list(server.models)
            more = f", and {len(names) - _SHOWN_MODELS} more" if len(names) > _SHOWN_MODELS else ""
            models = f"{line(', '.join(names[:_SHOWN_MODELS])) or 'no model yet'}{more}"
            use = [f"`redraft summarize FILE -m openai:{name} --base-url {server.port.url}`" for name in names[:1]]
            yield from item(f"{server.port.url} ({server.port.kind}): {models}", use)
    if silent := [f"{server.port.kind} ({server.port.number})" for server in servers if server.models is None]:
        yield f"- no answer: {', '.join(silent)}"


def check_markdown(checks: Sequence[ModelCheckResult]) -> str:
    """Return what works and what does not, for each model that was checked."""
    lines: list[str] = []
    for check in checks:
        role = f"{check.entry.role}: " if check.entry.role else ""
        about = (*_about(check.entry, replies=False), *_checked(check))
        lines += item(f"{role}{_model(check.entry)}", (f"- {part}" for part in about))
    return joined(["\n".join(lines)])


def _checked(check: ModelCheckResult) -> Iterator[str]:
    if check.built_in:
        yield "always works"
        return
    yield f"{'in words' if reads_prompts(check.entry.settings.model) else 'as a judge'}: {_answer(check.words)}"
    for form, answer in check.forms.items():
        yield f"in a form, by {form}: {_answer(answer)}"
    if check.thinks:
        yield f"it reasons first: {check.thinks:,} tokens"
    if check.works:
        yield "it works"
    elif check.words.trouble:
        yield "it does not answer"
    else:
        yield "it can write but not judge: no form of structured reply works (--prompts simple may help)"


def _answer(result: CheckResult) -> str:
    if result.trouble:
        return f"failed: {one_line(result.trouble, 3 * _REPLY)}"
    return f"works, {duration(result.seconds)} ({one_line(result.said, _REPLY)})"


def print_plan(plan: RunPlan, limits: Limits) -> None:
    """Print what a command would do to stdout, and notes on it to stderr."""
    for note in plan.warnings:
        say(f"note: {note}")
    rows = [["plan", "estimate"], *([name, line(text)] for name, text in (*_work(plan), *_totals(plan, limits)))]
    show(joined([table(rows), "Retries are not included." * bool(plan.calls)]))
    cost, maximum = plan.cost_usd, plan.max_cost_usd
    if limits.max_cost is not None and cost is not None and maximum is not None and maximum > limits.max_cost:
        more = "is" if cost > limits.max_cost else "with reasoning may be"
        say(f"note: the cost {more} more than --max-cost {limits.max_cost:g}; the run may stop there")


def show_plan(plan: Table, *, as_json: bool) -> int:
    """Print the estimated cost of many runs."""
    show_record(record_json(plan), plan.to_markdown(), as_json=as_json)
    return DONE


def show_form_plan(template: Template, plans: Sequence[RunPlan], *, as_json: bool) -> int:
    """Print the estimated cost of filling the form to stdout."""
    sections = list(zip(template.drafted, plans, strict=True))
    names = ("calls", "prompt_tokens", "completion_tokens")
    totals = {name: sum(getattr(plan, name) for plan in plans) for name in names}
    costs = {name: total_cost(getattr(plan, name) for plan in plans) for name in ("cost_usd", "max_cost_usd")}
    rows = [["section", "words", "calls", "tokens in", "out"]]
    for part, plan in sections:
        numbers = (f"{getattr(plan, name):,}" for name in names)
        rows.append([line(part.title, _TITLE), f"at most {part.words}", *numbers])
    rows.append(["all", "", *(f"{number:,}" for number in totals.values())])
    source = plans[0].source
    blocks = [
        f"{line(source.title, _TITLE)}: {source.words:,} words, {count(source.chunks, 'chunk')}, read for each section",
        table(rows, right=True),
        f"cost: {_cost(*costs.values())}",
        "Retries are not included.",
    ]
    parts = [{"title": part.title, "query": part.query} | plan.model_dump(mode="json") for part, plan in sections]
    content = {"template": template.name, "sections": parts, **totals, **costs}
    show_record(content, joined(blocks), as_json=as_json)
    return DONE


def _work(plan: RunPlan) -> Iterator[tuple[str, str]]:
    """Yield what is read and drafted, who judges, and the calls of each stage."""
    source, settings, refinement = plan.source, plan.settings, plan.order.refinement
    first = "the first " if settings.until is not None else ""
    yield "document", f"{source.title}: {first}{source.words:,} words, {source.tokens:,} tokens"
    yield "model", f"{plan.model}, window {settings.context_tokens:,} tokens, tokens by {plan.tokenizer}"
    if plan.chapters:
        yield "strategy", f"{settings.strategy} for each chapter, merged into at most {plan.words} words"
        for number, part in enumerate(plan.chapters, 1):
            title = one_line(part.source.title.removeprefix(f"{source.title}: "), _TITLE)
            words = f"at most {part.words} words of {part.source.words:,}"
            yield f"part {number}", f"{words}, {count(part.calls, 'call')}: {title}"
    elif plan.draft_calls:
        yield "strategy", f"{plan.strategy}, {_length(plan.words, settings)}"
        yield "chunks", f"{plan.chunks} of at most {settings.chunk_budget:,} tokens"
    if plan.chapters or plan.draft_calls:
        yield from _steps(plan)
    for role, label in (("judge", "judges"), ("validator", "validator"), ("decider", "decider")):
        if models := [_with_window(model) for model in plan.models if model.role == role]:
            yield label, ", ".join(models)
    if refinement:
        goals = ", ".join(f"{metric} {goal:g}" for metric, goal in refinement.goals.items())
        yield "goals", f"{goals}; at most {count(refinement.rounds, 'revision')}"
    for stage in plan.stages:
        calls = f"about {count(stage.calls, 'call')}"
        yield stage.name, f"{calls}, {stage.prompt_tokens:,} in, {stage.completion_tokens:,} out"


def _steps(plan: RunPlan) -> Iterator[tuple[str, str]]:
    """Yield the levels of merging, or the compressions, and the tidying at the end."""
    if plan.compressions:
        yield "compressing", f"at most {count(plan.compressions, 'call')}"
    elif plan.strategy == "hierarchical":
        for number, level in enumerate(plan.levels):
            if number or not plan.chapters:
                pieces = count(level.pieces, "merge" if number else "summary")
                yield f"level {number}", f"{pieces} of {_length(level.words, plan.settings)}"
    if plan.tidying:
        yield "tidying", f"at most {count(plan.tidying, 'call')}"


def _with_window(model: PlannedModel) -> str:
    """Return a judging or deciding model with its context window."""
    name = model.name if model.name == model.model else f"{model.name} ({model.model})"
    return f"{name}, window {model.context_tokens:,} tokens" if model.context_tokens else name


def _totals(plan: RunPlan, limits: Limits) -> Iterator[tuple[str, str]]:
    if not plan.calls:
        yield "calls", f"none{', since A and B are the same text' * (plan.order.kind == 'compare')}"
        return
    reasoning = f", and at most {plan.reasoning_tokens:,} for reasoning" if plan.reasoning_tokens else ""
    yield "calls", f"about {plan.calls:,}, up to {limits.concurrency} at once"
    yield "tokens", f"about {plan.prompt_tokens:,} in, {plan.completion_tokens:,} out{reasoning}"
    yield "cost", _cost(plan.cost_usd, plan.max_cost_usd)


def _cost(cost: float | None, maximum: float | None) -> str:
    """Return an estimated cost without reasoning, and the most that it can be with it."""
    if cost is None or maximum is None:
        return "unknown (set the model's price with --set prices)"
    if not maximum:
        return "none"
    estimate, limit = dollars(cost, about=True), dollars(maximum)
    return estimate + (f" without reasoning, at most {limit} with it" if maximum > cost and limit != estimate else "")


def _length(words: int, settings: DraftConfig) -> str:
    """Return the limit of a summary in words, or its target with the limit in tokens."""
    cap = settings.token_cap(words)
    return f"about {words} words, at most {cap:,} tokens" if cap else f"at most {words} words"
