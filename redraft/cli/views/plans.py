"""Plans of runs and checks of models before a run: calls, tokens, costs and windows, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from redraft.cli.terminal import DONE, say, show_markdown, show_record
from redraft.domain import record_json
from redraft.llm.addresses import DEFAULT_BASE_URL, LocalServer
from redraft.report.markdown.evaluation import item, joined, section, table
from redraft.report.outputs.formats import Template
from redraft.report.tables import Table, line
from redraft.runs.dry_run import RunPlan, total_cost
from redraft.runs.model_check import CheckResult, ModelCheckResult, RosterEntry
from redraft.settings import EXTRACTIVE, Limits, reads_prompts
from redraft.text.sanitizer import one_line
from redraft.text.words import count, dollars, duration, spaced

_SHOWN_MODELS, _REPLY, _TITLE = 12, 120, 60
_NO_RETRIES = "Retries are not included."


def roster_markdown(entries: Sequence[RosterEntry], servers: Sequence[LocalServer] = ()) -> str:
    """Return each model with its role and known capabilities, and the servers found at the usual ports of this machine,
    with commands that use them."""
    lines = [part for entry in entries for part in _model_item(entry, entry.role or "no role", _about(entry))]
    nearby: list[str] = []
    for server in servers:
        if server.models is not None:
            names = list(server.models)
            more = f", and {len(names) - _SHOWN_MODELS} more" if len(names) > _SHOWN_MODELS else ""
            models = f"{line(', '.join(names[:_SHOWN_MODELS])) or 'no model yet'}{more}"
            use = [f"`redraft summarize FILE -m openai:{name} --base-url {server.url}`" for name in names[:1]]
            nearby += item(f"{server.url} ({server.kind}): {models}", use)
    if silent := [f"{server.kind} ({server.port})" for server in servers if server.models is None]:
        nearby.append(f"- no answer: {', '.join(silent)}")
    return joined(["\n".join(lines), section("On this machine", nearby)])


def check_markdown(check: ModelCheckResult) -> str:
    """Return what works and what does not, of a model that was checked."""
    about = (*_about(check, replies=False), *_checked(check))
    return joined(["\n".join(_model_item(check, check.role or "", about))])


def _model_item(entry: RosterEntry, role: str, about: Iterable[str]) -> Iterator[str]:
    """Yield a model's role, its name, its model if that is another, and its address, with lines below."""
    model = entry.model if entry.name == entry.model else f"{entry.name} ({entry.model})"
    address = f" at {entry.base_url}" if entry.base_url else ""
    return item(f"{role}{': ' * bool(role)}{model}{address}", (f"- {part}" for part in about))


def _about(entry: RosterEntry, *, replies: bool = True) -> Iterator[str]:
    """Yield a model's window, price and settings, and with `replies` how it takes structured replies and reasons, or
    the command that checks it."""
    if not reads_prompts(entry.model):
        what = "built in; judges English only" if entry.model == EXTRACTIVE else "runs on this machine"
        yield f"{what}; needs no key, costs nothing and reads texts of any length"
        return
    in_table = f"its table [models.{entry.name if entry.name != entry.model else 'NAME'}]"
    option = "--context-tokens, or in " if entry.role == "writer" else "context_tokens in "
    assumed = f", assumed (set it with {option}{in_table})" if entry.window == "assumed" else ""
    yield f"window {entry.context_tokens or 0:,} tokens{assumed}"
    if entry.price is None:
        yield f"price unknown (set it with --set prices=FILE, or in {in_table})"
    else:
        prompt, completion = (dollars(cost, exact=True) for cost in (entry.price.prompt, entry.price.completion))
        yield f"{prompt} in, {completion} out, per million tokens"
    values = {
        "temperature": entry.temperature,
        "top_p": entry.top_p,
        "at most tokens": entry.max_tokens,
        "key in": entry.key_env,
    }
    if parts := [f"{name} {value}" for name, value in values.items() if value is not None]:
        yield ", ".join(parts)
    if replies:
        parts = [f"structured replies by {entry.mode}"] if entry.mode else []
        parts += [f"up to {entry.reasoning_tokens:,} reasoning tokens"] if entry.reasoning_tokens else []
        elsewhere = entry.name == entry.model and entry.base_url not in (None, DEFAULT_BASE_URL)
        address = f" --base-url {entry.base_url}" if elsewhere else ""
        yield ", ".join(parts) or f"not checked yet (redraft models --check {entry.name}{address})"
    if entry.trouble:
        yield line(entry.trouble)


def _checked(check: ModelCheckResult) -> Iterator[str]:
    if check.model == EXTRACTIVE:
        yield "always works"
        return
    yield f"{'in words' if reads_prompts(check.model) else 'as a judge'}: {_answer(check.words)}"
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
    figures = [*_work(plan)]
    if plan.calls:
        reasoning = f", and at most {plan.reasoning_tokens:,} for reasoning" if plan.reasoning_tokens else ""
        figures.append(("calls", f"about {plan.calls:,}, up to {limits.concurrency} at once"))
        figures.append(("tokens", f"about {plan.prompt_tokens:,} in, {plan.completion_tokens:,} out{reasoning}"))
        figures.append(("cost", _cost(plan.cost_usd, plan.max_cost_usd)))
    else:
        figures.append(("calls", f"none{', since A and B are the same text' * (plan.order.kind == 'compare')}"))
    rows = [["plan", "estimate"], *([name, line(text)] for name, text in figures)]
    show_markdown(joined([table(rows), _NO_RETRIES * bool(plan.calls)]))
    cost, maximum = plan.cost_usd, plan.max_cost_usd
    if limits.max_cost is not None and cost is not None and maximum is not None and maximum > limits.max_cost:
        more = "is" if cost > limits.max_cost else "may be"
        say(f"note: the cost {more} more than --max-cost {limits.max_cost:g}; the run may stop there")


def show_plan(plan: Table, *, as_json: bool) -> int:
    """Print the estimated cost of many runs."""
    show_record(record_json(plan), plan.to_markdown(), as_json=as_json)
    return DONE


def show_form_plan(template: Template, plans: Sequence[RunPlan], *, as_json: bool) -> int:
    """Print the estimated cost of filling the form to stdout."""
    sections, source = list(zip(template.drafted, plans, strict=True)), plans[0].source
    names = ("calls", "prompt_tokens", "completion_tokens")
    totals = {name: sum(getattr(plan, name) for plan in plans) for name in names}
    costs = {name: total_cost(getattr(plan, name) for plan in plans) for name in ("cost_usd", "max_cost_usd")}
    rows = [["section", "words", "calls", "tokens in", "out"]]
    for part, plan in sections:
        numbers = (f"{getattr(plan, name):,}" for name in names)
        rows.append([line(part.title, _TITLE), f"at most {part.words}", *numbers])
    rows.append(["all", "", *(f"{number:,}" for number in totals.values())])
    read = f"{source.words:,} words, {count(source.chunks, 'chunk')}, read for each section"
    cost = f"cost: {_cost(*costs.values())}"
    blocks = [f"{line(source.title, _TITLE)}: {read}", table(rows, right=True), cost, _NO_RETRIES]
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
    elif plan.drafting.calls:
        cap = settings.token_cap(plan.words)
        length = f"about {plan.words} words, at most {cap:,} tokens" if cap else f"at most {plan.words} words"
        yield "strategy", f"{plan.strategy}, {length}"
        yield "chunks", f"{plan.chunks} of at most {settings.chunk_budget:,} tokens"
    for role, label in (("judge", "judges"), ("validator", "validator"), ("decider", "decider")):
        models = []
        for model in plan.models:
            name = model.name if model.name == model.model else f"{model.name} ({model.model})"
            window = f", window {model.context_tokens:,} tokens" if model.context_tokens else ""
            models += [f"{name}{window}"] if model.role == role else []
        if models:
            yield label, ", ".join(models)
    if refinement:
        goals = ", ".join(f"{spaced(metric)} {goal:g}" for metric, goal in refinement.goals.items())
        yield "goals", f"{goals}; at most {count(refinement.rounds, 'revision')}"
    for stage in (plan.drafting, *plan.stages):
        if stage.calls:
            tokens = f"{stage.prompt_tokens:,} in, {stage.completion_tokens:,} out"
            yield stage.name, f"about {count(stage.calls, 'call')}, {tokens}"


def _cost(cost: float | None, maximum: float | None) -> str:
    """Return an estimated cost, and the most that it can be: what a limit of cost has to allow."""
    if cost is None or maximum is None:
        return "unknown (set the model's price with --set prices)"
    if not maximum:
        return "none"
    estimate, limit = dollars(cost, about=True), dollars(maximum)
    return estimate + (f", at most {limit} (a lower --max-cost may stop the run)" if limit not in estimate else "")
