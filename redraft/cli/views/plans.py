"""Views of plans and checks before a run: calls, tokens, costs and models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from redraft.cli.terminal import DONE, echo_json, indented, say, wrapped
from redraft.cli.views.render import count
from redraft.domain import record_json
from redraft.llm.addresses import DEFAULT_BASE_URL
from redraft.llm.servers import LocalServer
from redraft.report.outputs.formats import Template
from redraft.report.tables import Table
from redraft.runs.plans import PlannedModel, RunPlan, total_cost
from redraft.runs.roster import CheckResult, ModelCheckResult, RosterEntry
from redraft.settings import EXTRACTIVE, DraftConfig, Limits, reads_prompts
from redraft.text.sanitizer import one_line
from redraft.text.words import dollars

_SHOWN_MODELS, _SAID, _TITLE = 12, 120, 60


def roster_lines(entries: Sequence[RosterEntry]) -> Iterator[str]:
    """Yield each model with its role and known capabilities."""
    for entry in entries:
        yield f"{entry.role or 'no role'}: {_named(entry)}"
        yield from indented(_about(entry))


def _named(entry: RosterEntry) -> str:
    it = entry.settings
    named = it.model if entry.name == it.model else f"{entry.name} ({it.model})"
    return f"{named}{f' at {it.base_url}' if it.base_url else ''}"


def _about(entry: RosterEntry, *, replies: bool = True) -> Iterator[str]:
    it = entry.settings
    if not reads_prompts(it.model):
        english = ", judges English only" if it.model == EXTRACTIVE else ""
        yield f"{'built in, ' if it.model == EXTRACTIVE else ''}no language model, so no key, window or price{english}"
        return
    yield _window(entry)
    if entry.price is None:
        yield "price unknown (set it with --set prices=FILE, or price in its own settings)"
    else:
        asked, answered = (dollars(one, exact=True) for one in (entry.price.prompt, entry.price.completion))
        yield f"{asked} in, {answered} out, per million tokens"
    own = {"temperature": it.temperature, "top_p": it.top_p, "at most tokens": it.max_tokens, "key in": it.key_env}
    if said := [f"{name} {value}" for name, value in own.items() if value is not None]:
        yield ", ".join(said)
    if replies:
        yield _replies(entry)
    if entry.trouble:
        yield from wrapped(entry.trouble, "", "  ")


def _window(entry: RosterEntry) -> str:
    tokens = f"window {entry.window or 0:,} tokens"
    if entry.window_is == "assumed":
        option = ", or --context-tokens" if entry.role == "writer" else ""
        return f"{tokens}, assumed (set context_tokens in its own settings{option})"
    return tokens


def _replies(entry: RosterEntry) -> str:
    known = [f"structured replies by {entry.capabilities.mode}"] if entry.capabilities.mode else []
    thought = entry.settings.reasoning_tokens or entry.capabilities.reasoning_tokens
    known += [f"up to {thought:,} reasoning tokens"] if thought else []
    return ", ".join(known) if known else f"not checked yet ({_checking(entry)})"


def _checking(entry: RosterEntry) -> str:
    """Return the command that checks a model, by its table's name or by its own name and address."""
    it = entry.settings
    address = (
        f" --base-url {it.base_url}" if entry.name == it.model and it.base_url not in (None, DEFAULT_BASE_URL) else ""
    )
    return f"redraft models --check {entry.name}{address}"


def nearby_lines(found: Sequence[LocalServer]) -> Iterator[str]:
    """Yield the servers found at the usual ports, with commands that use them."""
    yield "on this machine:"
    there = [server for server in found if server.models is not None]
    for local_server in there:
        names = list(local_server.models or ())
        more = f", and {len(names) - _SHOWN_MODELS} more" if len(names) > _SHOWN_MODELS else ""
        yield from wrapped(
            f"{', '.join(names[:_SHOWN_MODELS]) or 'no model yet'}{more}",
            f"  {local_server.port.url} ({local_server.port.kind}): ",
            "    ",
        )
        if names:
            yield f"    redraft summarize FILE -m openai:{names[0]} --base-url {local_server.port.url}"
    if silent := [f"{server.port.kind} ({server.port.number})" for server in found if server.models is None]:
        yield from wrapped(f"no answer: {', '.join(silent)}", "  ", "  ")


def check_lines(checked: ModelCheckResult) -> Iterator[str]:
    """Yield what works and what does not."""
    entry = checked.entry
    yield f"{entry.role}: {_named(entry)}" if entry.role else _named(entry)
    yield from indented(_about(entry, replies=False))
    if checked.built_in:
        yield "always works"
        return
    yield f"  {'in words' if reads_prompts(entry.settings.model) else 'as a judge'}: {_answered(checked.words)}"
    for form, answer in checked.forms.items():
        yield f"  in a form, by {form}: {_answered(answer)}"
    if checked.thinks:
        yield f"  it reasons first: {checked.thinks:,} tokens"
    if checked.works:
        yield "it works"
    elif checked.words.trouble:
        yield "it does not answer"
    else:
        yield "it can write but not judge: no form of structured reply works (--prompts simple may help)"


def _answered(one: CheckResult) -> str:
    if one.trouble:
        return f"failed: {one_line(one.trouble, 3 * _SAID)}"
    return f"works, {one.seconds:.1f} s ({one_line(one.said, _SAID)})"


def print_plan(plan: RunPlan, limits: Limits) -> None:
    """Print what a command would do to stdout, and notes on it to stderr."""
    for note in plan.warnings:
        say(f"note: {note}")
    rows = [*_what(plan), *_how_much(plan, limits)]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:<{width}} {value}")
    if plan.calls:
        click.echo("\nRetries are not included.")
    cost, most = plan.cost_usd, plan.max_cost_usd
    if limits.max_cost is not None and cost is not None and most is not None and most > limits.max_cost:
        more = "is" if cost > limits.max_cost else "with reasoning may be"
        say(f"note: the cost {more} more than --max-cost {limits.max_cost:g}; the run may stop there")


def show_plan(plan: Table, *, as_json: bool) -> int:
    """Print the estimated cost of many runs."""
    if as_json:
        echo_json(record_json(plan))
    else:
        click.echo(plan.to_markdown(), nl=False)
    return DONE


def show_form_plan(template: Template, each: Sequence[RunPlan], *, as_json: bool) -> int:
    """Print the estimated cost of filling the form to stdout."""
    cost, most = (total_cost(plan.cost_usd for plan in each), total_cost(plan.max_cost_usd for plan in each))
    calls, tokens = sum(plan.calls for plan in each), sum(plan.prompt_tokens for plan in each)
    written = sum(plan.completion_tokens for plan in each)
    sections = list(zip(template.drafted, each, strict=True))
    if as_json:
        named = [
            {"title": section.title, "query": section.query} | plan.model_dump(mode="json")
            for section, plan in sections
        ]
        totals = {"calls": calls, "prompt_tokens": tokens, "completion_tokens": written}
        costs = {"cost_usd": cost, "max_cost_usd": most}
        echo_json({"template": template.name, "sections": named, **totals, **costs})
        return DONE
    source = each[0].source
    title = one_line(source.title, _TITLE)
    click.echo(f"{title}: {source.words:,} words, {count(source.chunks, 'chunk')}, read for each section")
    for section, one in sections:
        click.echo(
            f"{one_line(section.title, _TITLE)}: at most {section.words} words,"
            f" about {count(one.calls, 'call')},"
            f" {one.prompt_tokens:,} tokens in, {one.completion_tokens:,} out"
        )
    click.echo(f"about {count(calls, 'call')}, {tokens:,} tokens in, {written:,} out")
    click.echo(f"cost: {_cost(cost, most)}")
    click.echo("\nRetries are not included.")
    return DONE


def _what(plan: RunPlan) -> list[tuple[str, str]]:
    source, settings, refinement = plan.source, plan.settings, plan.purpose.refinement
    first = "the first " if settings.until is not None else ""
    rows = [
        ("document", f"{source.title}: {first}{source.words:,} words, {source.tokens:,} tokens"),
        ("model", f"{plan.model}, window {settings.context_tokens:,} tokens, tokens by {plan.tokenizer}"),
    ]
    if plan.chapters:
        rows += [
            ("strategy", f"{settings.strategy} for each chapter, merged into at most {plan.words} words"),
            *_chapters(plan),
            *_levels(plan),
        ]
    elif plan.draft_calls:
        rows += [
            ("strategy", f"{plan.strategy}, {_length(plan.words, settings)}"),
            ("chunks", f"{plan.chunks} of at most {settings.chunk_budget:,} tokens"),
            *_levels(plan),
        ]
    for number, run_plan in enumerate(plan.others, 2):
        rows.append((f"draft {number}", f"{run_plan.strategy}, at most {count(run_plan.draft_calls, 'call')}"))
    for role, shown in (("judge", "judges"), ("validator", "validator"), ("decider", "decider")):
        if named := [_roomy(model) for model in plan.models if model.role == role]:
            rows.append((shown, ", ".join(named)))
    if refinement:
        goals = ", ".join(f"{metric} {least:g}" for metric, least in refinement.goals.items())
        rows.append(("goals", f"{goals}; at most {count(refinement.rounds, 'revision')}"))
    return rows + [
        (stage.name, f"about {count(stage.calls, 'call')}, {stage.prompt_tokens:,} in, {stage.completion_tokens:,} out")
        for stage in plan.stages
    ]


def _chapters(plan: RunPlan) -> Iterator[tuple[str, str]]:
    """Yield each chapter's estimate."""
    for number, run_plan in enumerate(plan.chapters, 1):
        what = f"at most {run_plan.words} words of {run_plan.source.words:,}, {count(run_plan.calls, 'call')}"
        yield (
            f"part {number}",
            f"{what}: {one_line(run_plan.source.title.removeprefix(f'{plan.source.title}: '), _TITLE)}",
        )


def _roomy(one: PlannedModel) -> str:
    """Return a judging or deciding model with its context window."""
    named = one.name if one.name == one.model else f"{one.name} ({one.model})"
    return f"{named}, window {one.context_tokens:,} tokens" if one.context_tokens else named


def _how_much(plan: RunPlan, limits: Limits) -> list[tuple[str, str]]:
    if not plan.calls:
        same = ", since A and B are the same text" if plan.purpose.kind == "compare" else ""
        return [("calls", f"none{same}")]
    tokens = f"about {plan.prompt_tokens:,} in, {plan.completion_tokens:,} out"
    reasoning = f", and at most {plan.reasoning_tokens:,} for reasoning" if plan.reasoning_tokens else ""
    return [
        ("calls", f"about {plan.calls:,}, up to {limits.concurrency} at once"),
        ("tokens", f"{tokens}{reasoning}"),
        ("cost", _cost(plan.cost_usd, plan.max_cost_usd)),
    ]


def _cost(cost: float | None, most: float | None) -> str:
    """Return an estimated cost without reasoning, and the most that it can be with it."""
    if cost is None or most is None:
        return "unknown (set the model's price with --set prices)"
    if not most:
        return "none"
    shown, limit = dollars(cost, about=True), dollars(most)
    return shown + (f" without reasoning, at most {limit} with it" if most > cost and limit != shown else "")


def _length(words: int, settings: DraftConfig) -> str:
    """Return the limit of a summary in words, or its target with the limit in tokens."""
    cap = settings.token_cap(words)
    return f"about {words} words, at most {cap:,} tokens" if cap else f"at most {words} words"


def _levels(plan: RunPlan) -> list[tuple[str, str]]:
    levels = plan.levels[1:] if plan.chapters else plan.levels
    tidying = [("tidying", f"at most {count(plan.tidying, 'call')}")] if plan.tidying else []
    if plan.compressions:
        return [("compressing", f"at most {count(plan.compressions, 'call')}"), *tidying]
    if plan.strategy != "hierarchical":
        return tidying
    return [
        (
            f"level {number}",
            f"{count(level.pieces, 'merge' if number else 'summary')} of {_length(level.words, plan.settings)}",
        )
        for number, level in enumerate(plan.levels)
        if level in levels
    ] + tidying
