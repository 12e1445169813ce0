"""Views of plans and checks before a run: calls, tokens, costs and models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import click

from redraft.cli.terminal import DONE, indented, say, wrapped
from redraft.cli.views.render import aligned, cost_line, count, echo_json, in_words, usage
from redraft.domain import Document, record_json
from redraft.lab.doctor.checkup import Check, CheckUp, Examined
from redraft.lab.doctor.expectations import controls
from redraft.llm.addresses import DEFAULT_BASE_URL
from redraft.llm.budget import PriceTable
from redraft.llm.servers import LocalServer
from redraft.report.outputs.formats import Template
from redraft.runs.dry_run import CostEstimate, spending_of
from redraft.runs.model_names import under_name
from redraft.runs.plans import run_plan
from redraft.runs.prepare import PreparedDocument, RunSpec
from redraft.runs.roster import CheckResult, ModelCheckResult, RosterEntry
from redraft.settings import EXTRACTIVE, DraftConfig, JudgeConfig, Limits, reads_prompts, writes
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
        yield "price unknown (set it with --prices FILE, or price in its own settings)"
    else:
        asked, answered = (dollars(one, exact=True) for one in (entry.price.prompt, entry.price.completion))
        yield f"{asked} in, {answered} out, for a million tokens"
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
    there = [one for one in found if one.models is not None]
    for one in there:
        names = list(one.models or ())
        more = f", and {len(names) - _SHOWN_MODELS} more" if len(names) > _SHOWN_MODELS else ""
        yield from wrapped(
            f"{', '.join(names[:_SHOWN_MODELS]) or 'no model yet'}{more}",
            f"  {one.port.url} ({one.port.kind}): ",
            "    ",
        )
        if names:
            yield f"    redraft summarize FILE -m openai:{names[0]} --base-url {one.port.url}"
    if silent := [f"{one.port.kind} ({one.port.number})" for one in found if one.models is None]:
        yield from wrapped(f"no answer: {', '.join(silent)}", "  ", "  ")


def check_lines(checked: ModelCheckResult) -> Iterator[str]:
    """Yield what works and what does not."""
    entry = checked.entry
    yield f"{entry.role}: {_named(entry)}" if entry.role else _named(entry)
    yield from indented(_about(entry, replies=False))
    if checked.built_in:
        yield "always works"
        return
    yield f"  {'in words' if writes(entry.settings.model) else 'as a judge'}: {_answered(checked.words)}"
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


_TIDIED = ("hierarchical", "incremental")


def show_plan(
    document: Document, settings: DraftConfig, order: RunSpec, prices: PriceTable, limits: Limits, *, as_json: bool
) -> int:
    """Print to stdout what a command would do."""
    spending = spending_of(document, settings, order, prices.for_jobs() if limits.provider_batch else prices)
    if as_json:
        echo_json(run_plan(spending).model_dump(mode="json"))
        return DONE
    for note in spending.warnings:
        say(f"note: {note}")
    rows = [*_what(spending), *_how_much(spending, limits)]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:<{width}} {value}")
    click.echo("\nRetries are not included.")
    cost, most = spending.cost_usd, spending.max_cost_usd
    if limits.max_cost is not None and cost is not None and most is not None and most > limits.max_cost:
        more = "is" if cost > limits.max_cost else "may be, with reasoning,"
        say(f"note: this {more} more than --max-cost {limits.max_cost:g}; the run may stop there")
    return DONE


def _sum(costs: Iterable[float | None]) -> float | None:
    known = list(costs)
    return None if None in known else sum(one or 0.0 for one in known)


def show_form_plan(template: Template, each: Sequence[CostEstimate], *, as_json: bool) -> int:
    """Print the estimated cost of filling the form to stdout."""
    cost, most = _sum(one.cost_usd for one in each), _sum(one.max_cost_usd for one in each)
    calls, tokens = sum(one.calls for one in each), sum(one.prompt_tokens for one in each)
    written = sum(one.completion_tokens for one in each)
    sections = list(zip(template.drafted, each, strict=True))
    if as_json:
        named = [
            {"title": section.title, "query": section.query} | run_plan(one).model_dump(mode="json")
            for section, one in sections
        ]
        totals = {"calls": calls, "prompt_tokens": tokens, "completion_tokens": written}
        costs = {"cost_usd": cost, "max_cost_usd": most}
        echo_json({"template": template.name, "sections": named, **totals, **costs})
        return DONE
    first = each[0].prepared.plan
    title = one_line(each[0].prepared.document.title, _TITLE)
    click.echo(f"{title}: {first.document_words:,} words, {count(first.chunks, 'chunk')}, read for each section")
    for section, one in sections:
        click.echo(
            f"{one_line(section.title, _TITLE)}: at most {section.words} words,"
            f" about {count(one.calls, 'call')},"
            f" {one.prompt_tokens:,} tokens in, {one.completion_tokens:,} out"
        )
    click.echo(f"about {count(calls, 'call')}, {tokens:,} tokens in, {written:,} out")
    click.echo(f"cost: {cost_line(cost, most)}")
    click.echo("\nRetries are not included.")
    return DONE


def _what(spending: CostEstimate) -> list[tuple[str, str]]:
    prepared, order = spending.prepared, spending.order
    it, settings = prepared.plan, prepared.settings
    first = "the first " if settings.until is not None else ""
    rows = [
        ("document", f"{prepared.document.title}: {first}{it.document_words:,} words, {it.document_tokens:,} tokens"),
        ("model", f"{settings.model}, window {settings.context_tokens:,} tokens, tokens by {prepared.tokenizer.name}"),
    ]
    if spending.chapters:
        rows += [
            ("strategy", f"{settings.strategy} for each chapter, merged into at most {it.words} words"),
            *_chapters(spending),
            *_levels(prepared),
        ]
    elif it.calls:
        rows += [
            ("strategy", f"{it.strategy}, {_length(it.words, settings)}"),
            ("chunks", f"{it.chunks} of at most {settings.chunk_budget:,} tokens"),
            *_levels(prepared),
        ]
    for number, one in enumerate(spending.others, 2):
        rows.append(
            (f"draft {number}", f"{one.prepared.plan.strategy}, at most {count(one.prepared.plan.calls, 'call')}")
        )
    if order.judging and order.judging.judges:
        rows.append(("judges", ", ".join(_roomy(one, order.judging, settings) for one in order.judging.judges)))
    if order.judging and order.judging.validator:
        rows.append(("validator", _roomy(order.judging.validator, order.judging, settings)))
    if order.judging and order.refinement and order.refinement.decider:
        rows.append(("decider", _roomy(order.refinement.decider, order.judging, settings)))
    if order.refinement:
        goals = ", ".join(f"{metric} {least:g}" for metric, least in order.refinement.goals.items())
        rows.append(("goals", f"{goals}; at most {count(order.refinement.rounds, 'revision')}"))
    return rows + [
        (one.name, f"about {count(one.calls, 'call')}, {one.prompt_tokens:,} in, {one.completion_tokens:,} out")
        for one in spending.stages
    ]


def _chapters(spending: CostEstimate) -> Iterator[tuple[str, str]]:
    """Yield each chapter's estimate."""
    named = zip(spending.prepared.chapters, spending.chapters, strict=True)
    for number, (stretch, one) in enumerate(named, 1):
        it = one.prepared.plan
        what = f"at most {it.words} words of {it.document_words:,}, {count(one.calls, 'call')}"
        yield f"part {number}", f"{what}: {one_line(stretch.title, _TITLE)}"


def _roomy(name: str, judging: JudgeConfig, settings: DraftConfig) -> str:
    """Return a judging or deciding model with its context window."""
    it = under_name(name, settings, judging)
    window = f", window {it.context_tokens:,} tokens" if reads_prompts(it.model) else ""
    return f"{in_words(name, judging)}{window}"


def _how_much(spending: CostEstimate, limits: Limits) -> list[tuple[str, str]]:
    reasoning = spending.reasoning_tokens
    tokens = f"about {spending.prompt_tokens:,} in, {spending.completion_tokens:,} out"
    how = "in the provider's batch jobs" if limits.provider_batch else f"up to {limits.concurrency} at once"
    return [
        ("calls", f"about {spending.calls:,}, {how}"),
        ("tokens", f"{tokens}, and at most {reasoning:,} to reason" if reasoning else tokens),
        ("cost", cost_line(spending.cost_usd, spending.max_cost_usd)),
    ]


def _length(words: int, settings: DraftConfig) -> str:
    """Return the limit of a summary in words, or its target with the limit in tokens."""
    cap = settings.cap(words)
    return f"about {words} words, at most {cap:,} tokens" if cap else f"at most {words} words"


def _levels(prepared: PreparedDocument) -> list[tuple[str, str]]:
    plan = prepared.plan
    # The calls that remain once the pieces exist.
    asked = plan.levels[1:] if prepared.chapters else plan.levels
    after = plan.calls - plan.compressions - sum(level.pieces for level in asked)
    tidying = [("tidying", f"at most {count(after, 'call')}")] if after > 0 and plan.strategy in _TIDIED else []
    if plan.compressions:
        return [("compressing", f"at most {count(plan.compressions, 'call')}"), *tidying]
    if plan.strategy != "hierarchical":
        return tidying
    return [
        (
            f"level {number}",
            f"{count(level.pieces, 'merge' if number else 'summary')} of {_length(level.words, prepared.settings)}",
        )
        for number, level in enumerate(plan.levels)
        if level in asked
    ] + tidying


_HEARD = 100


def show(examined: Examined, *, as_json: bool) -> None:
    """Print the results of all judges to stdout."""
    if as_json:
        echo_json(record_json(examined))
    else:
        click.echo("\n\n".join("\n".join(_lines(one)) for one in examined.judges))


def _lines(judge: CheckUp) -> Iterator[str]:
    counts = [f"{count(judge.passed, 'control')} passed", f"{judge.failed} failed", f"{judge.cannot_tell} cannot tell"]
    counts += [f"{judge.not_made} not made"] if judge.not_made else []
    yield f"{one_line(judge.judge)}, on English texts: {', '.join(counts)} · {usage(judge.usage)}"
    yield ""
    metrics = tuple(dict.fromkeys(one.metric for one in judge.controls))
    found = {(one.control, one.metric): one.verdict for one in judge.controls}
    there = [name for name in controls() if any((name, metric) in found for metric in metrics)]
    rows = [(control, *(found.get((control, metric), "") for metric in metrics)) for control in there]
    yield from aligned([("", *metrics), *rows])
    for verdict, title in (("fail", "failed"), ("cannot tell", "cannot tell")):
        some = [one for one in judge.controls if one.verdict == verdict]
        if some:
            yield ""
            yield f"{title}:"
            told = [(f"  {one.metric}", one.control, f"should: {one.should}", _said(one)) for one in some]
            yield from aligned(told)


def _said(check: Check) -> str:
    """Return a judge's statement, with the runs that show more of it."""
    runs = f" ({', '.join(check.runs[:2])})" if check.runs else ""
    return f"said: {one_line(check.said, _HEARD)}{runs}"
