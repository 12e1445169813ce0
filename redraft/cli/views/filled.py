"""How a form looks that was filled section by section, and what it would come to."""

from __future__ import annotations

from collections.abc import Sequence

import click

from redraft.cli import hints
from redraft.cli.terminal import say
from redraft.cli.views.render import count, echo_json, score, usage
from redraft.evaluators.metric_info import SELF_CHECK
from redraft.report.outputs.formats import Template
from redraft.runs.forecast import Spending
from redraft.runs.forms import FilledForm, FilledSection
from redraft.text.sanitizer import one_line

_TITLE = 60


def closing(form: FilledForm, output: str | None) -> None:
    """Say on stderr how each section stands, and what all of them took."""
    say("")
    if output:
        say(f"written to {output}")
    for one in form.filled:
        say(f"{one_line(one.section.title, _TITLE)}: {_standing(one)}")
    say(f"{count(len(form.filled), 'section')} of {one_line(form.document.title, _TITLE)} · {usage(form.usage)}")


def _standing(one: FilledSection) -> str:
    run = f", run {one.run}" if one.run else ""
    if one.result is not None and one.result.draft is not None:
        scores = "".join(f", {metric} {score(value)}" for metric, value in one.result.scores.items())
        scores += f" ({SELF_CHECK})" if scores and one.result.self_checked else ""
        words = f"{one.result.draft.words} of at most {one.section.words} words{scores}{run}"
        if one.result.complete:
            return words
        return f"{words}, not all that was asked for: {hints.about('show', one.result.run.id)}"
    if one.silent:
        return f"the document says nothing about it{run}"
    return f"failed{run}: {one.failure.message}" if one.failure else "not drafted"


def show_spendings(template: Template, each: Sequence[Spending], as_json: bool) -> None:
    """Print to stdout what filling the form would come to at most."""
    costs = [one.cost(with_reasoning=True) for one in each]
    cost = None if None in costs else sum(one or 0.0 for one in costs)
    calls, tokens = sum(one.calls for one in each), sum(one.prompt_tokens for one in each)
    written = sum(one.completion_tokens for one in each)
    sections = list(zip(template.drafted, each, strict=True))
    if as_json:
        named = [{"title": section.title, "query": section.query, **one.to_json()} for section, one in sections]
        totals = {"calls": calls, "prompt_tokens": tokens, "completion_tokens": written, "cost_usd": cost}
        echo_json({"template": template.name, "sections": named, **totals})
        return
    first = each[0].prepared.plan
    title = one_line(each[0].prepared.document.title, _TITLE)
    click.echo(f"{title}: {first.document_words:,} words, {count(first.chunks, 'chunk')}, read for each section")
    for section, one in sections:
        click.echo(
            f"{one_line(section.title, _TITLE)}: at most {section.words} words, {count(one.calls, 'call')},"
            f" {one.prompt_tokens:,} tokens in, {one.completion_tokens:,} out"
        )
    price = "cost unknown (give the model's price with --prices)" if cost is None else f"${cost:.4f}"
    click.echo(f"at most {count(calls, 'call')}, {tokens:,} tokens in, {written:,} out, {price}")
    click.echo("\nReplies that must be asked for again come on top.")
