"""The outcome of a run: written to its file, printed, and followed on stderr by its cost and the next step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from redraft.cli import hints
from redraft.cli.output_files import OutputTarget
from redraft.cli.terminal import DONE, SHORT, echo_json, json_text, prose, say, say_markdown, show_record
from redraft.domain import UNANSWERED, record_json
from redraft.errors import stored_advice
from redraft.evaluators.metric_info import OFFLINE_CHECK
from redraft.evaluators.reference.exchange import keyfacts_json, pack_json
from redraft.report.history.results import Result, built, built_keyfacts, document_read
from redraft.report.history.summaries import compared
from redraft.report.markdown.evaluation import judge_items, judgment_markdown
from redraft.report.markdown.records import (
    comparison_markdown,
    keyfacts_markdown,
    pack_markdown,
    yardstick_line,
)
from redraft.report.markdown.trace import (
    OTHERWISE,
    chapters_markdown,
    cost_line,
    outcome_line,
    usage,
    warning_lines,
    with_model,
)
from redraft.report.outputs.formats import WITH_NOTES, WRITERS, Format, paper_of
from redraft.runs.model_settings import named_in, settings_by_name
from redraft.settings import EXTRACTIVE, GIVEN_STRATEGY, DraftConfig, reads_prompts
from redraft.sources import write
from redraft.store.store import Store
from redraft.text.sanitizer import one_line
from redraft.text.sentences import is_heading
from redraft.text.words import count, score, spaced

if TYPE_CHECKING:
    from redraft.report.history.citations import CitationForm
    from redraft.runs.experiment_runner import FilledForm
    from redraft.text.vectors import Encoder


_STORED = "it is stored with the run: see `redraft runs` and `redraft show`"
_NOT_STORED = "repeat the command with another file"
_TITLE = 60


def run_json(store: Store, result: Result) -> dict[str, object]:
    """Return a run as JSON: its result, and its answer, its comparison of two summaries, or what it built."""
    content, kind, done = result.model_dump(mode="json"), result.run.kind, result.run.status == "done"
    if kind == "ask" and result.draft:
        # Imports NumPy, which would slow down commands that only read.
        from redraft.report.history.citations import read_answer

        content["answer"] = record_json(read_answer(store, result.run.id))
    elif kind == "compare" and done:
        content["comparison"] = record_json(compared(store, result))
    elif kind == "pack" and done:
        content["pack"] = pack_json(document_read(store, result.run), built(store, result), None)
    elif kind == "keyfacts" and done:
        content["keyfacts"] = keyfacts_json(document_read(store, result.run), built_keyfacts(store, result))
    return content


def hand_over(
    store: Store,
    result: Result,
    target: OutputTarget,
    *,
    encoder: Encoder | None = None,
    more: Mapping[str, object] | None = None,
) -> None:
    """Write and print the result of a run, if there is a summary; `more` is added to the JSON."""
    drafted = [result.summary, *(chapter.result.summary for chapter in result.chapters if chapter.result)]
    if target.printed == "json" or any(text is not None for text in drafted):

        def text_in(form: Format) -> str | bytes:
            if form not in WITH_NOTES:
                return WRITERS[form](paper_of(result, None))
            from redraft.report.history.citations import citations_of

            return WRITERS[form](paper_of(result, partial(citations_of, store, encoder=encoder)))

        content = run_json(store, result) | dict(more or {})
        deliver(text_in, content, target, _NOT_STORED if result.unstored else _STORED)


def deliver(text_in: Callable[[Format], str | bytes], content: object, target: OutputTarget, hint: str) -> None:
    """Write and print what has a text in each format but JSON, and `content` as JSON. `hint` says what to do if a file
    cannot be written."""
    if target.output:
        is_json = target.form == "json"
        text = json_text(content) + "\n" if is_json else text_in(target.form)
        write(Path(target.output).expanduser(), text, hint)
    if target.printed == "json":
        echo_json(content)
    elif target.printed:
        text = text_in(target.printed)
        assert isinstance(text, str), "a file of a word processor is not printed"
        click.echo(prose(text), nl=False)


def finish(
    store: Store, result: Result, target: OutputTarget, *, quiet: bool, show_all: bool = False, pruned: bool = False
) -> int:
    """Print the result of a run by its kind, and its outcome; return the exit code."""
    if result.unstored:
        say(result.unstored)
    kind, outcome, complete, as_json = result.run.kind, "", result.complete, target.as_json
    match kind:
        case "evaluate":
            trace = hints.run_command("trace", result.run.id, "--all")
            judgment = judgment_markdown(
                result.evaluations,
                document_read(store, result.run),
                offline_checked=result.offline_checked,
                show_all=show_all,
                rest="see --all" if result.unstored else f"see --all, or {trace}",
            )
            judges = "".join(f"{who}\n" for who in judge_items(result.judged_by))
            judgment += f"\n{judges}" if judges else ""
            show_record(result.model_dump(mode="json"), judgment, as_json=as_json)
        case "compare":
            markdown = "" if as_json else comparison_markdown(compared(store, result))
            show_record(run_json(store, result), markdown, as_json=as_json)
        case "pack":
            pack, document = built(store, result), document_read(store, result.run)
            show_record(pack_json(document, pack, None), pack_markdown(pack, document), as_json=as_json)
            outcome = yardstick_line(pack)
            complete = not (pack.missing or result.unstored)
        case "keyfacts":
            facts, document = built_keyfacts(store, result), document_read(store, result.run)
            markdown = keyfacts_markdown(facts, document, pruned=pruned)
            show_record(keyfacts_json(document, facts), markdown, as_json=as_json)
            outcome = yardstick_line(facts)
            complete = not (facts.missing or result.unstored)
        case "ask":
            _answer(store, result, target, quiet=quiet, show_all=show_all)
        case _:
            hand_over(store, result, target)
    if not quiet and kind != "ask":
        print_outcome(result, target.output, scores=kind not in ("evaluate", "compare"), outcome=outcome)
        if result.chapters:
            say_markdown(chapters_markdown(result))
    return DONE if complete else SHORT


def print_outcome(result: Result, output: str | None, *, scores: bool = True, outcome: str = "") -> None:
    """Print to stderr the outcome, the cost, what is missing and the next step; `outcome` is that of a run without a
    summary."""
    say("")
    first = outcome or (outcome_line(result, output) if scores else "")
    for line in (*filter(None, [first]), cost_line(result), *warning_lines(result, scores=scores)):
        say(line)
    run, step = result.run, way_on(result)
    if not step and run.status == "done" and not result.unstored:
        details = f"Details: {hints.run_command('trace', run.id)}" if run.kind not in OTHERWISE else ""
        offline = result.offline_checked & result.goals.keys()
        is_unsure = bool(result.unjudged) or any(goal["met"] is None for goal in result.goals.values())
        if is_unsure or any(not result.goals[metric]["met"] for metric in offline):
            suggestion = "a language model" if result.judges == [EXTRACTIVE] else "another model"
            step = f"Repeat the command with {suggestion} as --judge. {details}".rstrip()
            if run.kind == "compare":
                other_way = hints.if_installed(", or evaluate each, and compare the runs: redraft compare-runs RUN RUN")
                step = f"{step[:-1]}{other_way or '.'}"
        elif run.judging and result.draft and details:
            step = details
        elif result.settings.model == EXTRACTIVE:
            is_answer = run.kind == "ask" and result.draft is not None and result.draft.node != UNANSWERED
            quotes = ": the sentences that share the most words with the question are quoted" * is_answer
            step = f"No language model was used{quotes}. See `redraft models`."
    if step:
        say(step)


def print_citations(
    store: Store, run: str, form: CitationForm, encoder: Encoder | None, draft: str | None = None
) -> None:
    """Print a summary with the places that its sentences come from."""
    from redraft.report.history.citations import citations_of

    citations = citations_of(store, run, encoder=encoder, draft=draft)
    if form == "json":
        echo_json(record_json(citations))
        return
    text = citations.text(form)
    click.echo(prose(text) if form == "footnotes" else text)
    without = sum(not (sentence.cites or is_heading(sentence.text)) for sentence in citations.sentences)
    if without:
        say(f"no place in the document for {count(without, 'sentence')}: {hints.run_command('lineage', run)}")


def way_on(result: Result) -> str:
    """Return how to go on with a run that is not done, or that may gain by another try; empty if there is nothing."""
    run, error = result.run, result.run.error or {}
    if result.unstored or result.status == "running":
        return ""
    if run.status != "done":
        step = hints.SHELL.render(stored_advice(error)) if run.status == "stopped" else ""
        return hints.resume_step(run, error, step or "Resume")
    return hints.resume_step(run, label="Try again") if result.may_gain else ""


def roles(result: Result) -> Iterator[str]:
    """Yield the models of a run with their roles, servers and context windows."""
    run, judging = result.run, result.run.judging
    judging_models = named_in(run.order)
    writes = run.settings.strategy != GIVEN_STRATEGY or run.refinement is not None or not judging_models
    models: list[tuple[str, str, DraftConfig]] = [("writer", run.settings.model, run.settings)] if writes else []
    models += [(role, name, settings_by_name(name, run.order)) for role, name in judging_models]
    for role, name, settings in models:
        if reads_prompts(settings.model):
            address = f" at {settings.base_url}" if settings.base_url else ""
            model = with_model(name, judging) if judging else name
            yield f"{role}: {model}{address}, window {settings.context_tokens:,} tokens"


def _answer(store: Store, result: Result, target: OutputTarget, *, quiet: bool, show_all: bool) -> None:
    from redraft.report.history.citations import read_answer

    answer = read_answer(store, result.run.id)
    hint = _NOT_STORED if result.unstored else _STORED
    deliver(lambda _: f"{answer.text}\n", run_json(store, result), target, hint)
    if quiet:
        return
    if evaluation := answer.consistency:
        say("")
        rest = "see --all" if result.unstored else hints.run_command("trace", result.run.id, "--all")
        document = document_read(store, result.run)
        say_markdown(judgment_markdown({"consistency": evaluation}, document, show_all=show_all, rest=rest))
    print_outcome(result, target.output)
    judging = result.run.judging
    for note in answer.notes:
        say(note)
    if judging is None and result.settings.model != EXTRACTIVE:
        say("The answer was not judged: name a --judge.")
    elif judging and set(result.judges) == {result.settings.model}:
        say("The model judged its own answer: name another with --judge.")


def close_form(form: FilledForm, output: str | None) -> None:
    """Print each section's outcome and the total usage to stderr."""
    say("")
    if output:
        say(f"written to {output}")
    for section in form.sections:
        run, result = f", run {section.run}" if section.run else "", section.result
        if result is not None and result.draft is not None:
            scores = "".join(f", {spaced(metric)} {score(value)}" for metric, value in result.scores.items())
            scores += f" ({OFFLINE_CHECK})" if scores and result.offline_checked else ""
            see = "" if result.complete else f", incomplete: see {hints.run_command('show', result.run.id)}"
            state = f"{result.draft.words} of at most {section.section.words} words{scores}{run}{see}"
        elif section.silent:
            state = f"the document says nothing about it{run}"
        else:
            state = f"failed{run}: {section.failure.message}" if section.failure else "not drafted"
        say(f"{one_line(section.section.title, _TITLE)}: {state}")
    sections, title = count(len(form.sections), "section"), one_line(form.document.title, _TITLE)
    say(f"{sections} of {title} · {usage(form.usage)}")
