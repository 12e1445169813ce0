"""Views of the outcome of a run, and of the comparison of two summaries: winners, votes and reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import hints
from redraft.cli.output_files import OutputTarget, citation_reader
from redraft.cli.terminal import DONE, SHORT, echo_json, json_text, prose, say, wrapped
from redraft.cli.views import figures, history, render
from redraft.domain import Document, Pack, record_json
from redraft.evaluators.metric_info import OFFLINE_CHECK
from redraft.evaluators.reference.pack_file import keyfacts_json, pack_json
from redraft.prompts.coherence import ASPECTS
from redraft.report.history.results import Result, built, built_keyfacts, document_read
from redraft.report.history.summaries import SummaryComparison, compared
from redraft.report.outputs.formats import WITH_NOTES, Format, written
from redraft.report.outputs.paper import Paper, paper_of
from redraft.settings import EXTRACTIVE
from redraft.sources import write
from redraft.store.store import Store
from redraft.text.places import place_of
from redraft.text.sanitizer import one_line

if TYPE_CHECKING:
    from redraft.runs.forms import FilledForm, FilledSection
    from redraft.text.vectors import Encoder


_STORED = "it is stored with the run: see `redraft runs` and `redraft show`"
_NOT_STORED = "repeat the command with another file"


def run_json(store: Store, result: Result) -> dict[str, object]:
    """Return a run as JSON: its result, and its answer, its comparison of two summaries, or what it built."""
    content = result.model_dump(mode="json")
    if result.run.kind == "ask" and result.draft:
        # Imports NumPy, which would slow down commands that only read.
        from redraft.report.history.citations import read_answer

        content["answer"] = record_json(read_answer(store, result.run.id))
    elif result.run.kind == "compare" and result.status == "done":
        content["comparison"] = record_json(compared(store, result))
    elif result.run.kind == "pack" and result.status == "done":
        content["pack"] = pack_json(document_read(store, result.run), built(store, result), None)
    elif result.run.kind == "keyfacts" and result.status == "done":
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

    content = run_json(store, result) | dict(more or {})
    drafted = [result.summary, *(chapter.result.summary for chapter in result.chapters if chapter.result)]
    if target.printed == "json" or any(text is not None for text in drafted):
        hint = _NOT_STORED if result.unstored else _STORED
        deliver(
            lambda notes: paper_of(result, citation_reader(store, encoder) if notes else None), content, target, hint
        )


def deliver(paper: Callable[[bool], Paper], content: object, target: OutputTarget, hint: str) -> None:
    """Write and print a paper, built with or without notes as the format needs, or `content` as JSON."""

    def made(form: Format) -> str | bytes:
        return json_text(content) + "\n" if form == "json" else written(paper(form in WITH_NOTES), form)

    if target.output:
        write(Path(target.output).expanduser(), made(target.form), hint)
    if target.printed == "json":
        echo_json(content)
    elif target.printed:
        said = made(target.printed)
        assert isinstance(said, str), "a file of a word processor is not printed"
        click.echo(prose(said), nl=False)


_LONGEST, _TITLE = 400, 60


def finish(
    store: Store,
    result: Result,
    *,
    target: OutputTarget | None = None,
    as_json: bool,
    quiet: bool,
    show_all: bool = False,
    pruned: bool = False,
) -> int:
    """Print the result of a run by its kind; return the exit code."""
    if result.unstored:
        say(result.unstored)
    if result.run.kind == "evaluate":
        _judgment(store, result, as_json=as_json, quiet=quiet, show_all=show_all)
    elif result.run.kind == "compare":
        _preference(store, result, as_json=as_json, quiet=quiet)
    elif result.run.kind == "ask":
        _answer(store, result, target or OutputTarget(None, "text", as_json), quiet=quiet, show_all=show_all)
    elif result.run.kind == "pack":
        return _questions(store, result, as_json=as_json, quiet=quiet)
    elif result.run.kind == "keyfacts":
        return _keyfacts(store, result, as_json=as_json, quiet=quiet, pruned=pruned)
    else:
        _summary(store, result, target or OutputTarget(None, "text", as_json), quiet=quiet)
    return DONE if result.complete else SHORT


def _summary(store: Store, result: Result, target: OutputTarget, *, quiet: bool) -> None:
    hand_over(store, result, target)
    if not quiet:
        render.print_outcome(result, target.output)
        for line in render.chapter_lines(result):
            say(line)


def _answer(store: Store, result: Result, target: OutputTarget, *, quiet: bool, show_all: bool) -> None:
    from redraft.report.history.citations import read_answer

    answer = read_answer(store, result.run.id)
    text = prose(answer.text) + "\n"
    if target.output:
        said = json_text(run_json(store, result)) + "\n" if target.form == "json" else text
        write(Path(target.output).expanduser(), said, _NOT_STORED if result.unstored else _STORED)
    if target.printed == "json":
        echo_json(run_json(store, result))
    elif target.printed:
        click.echo(text, nl=False)
    if quiet:
        return
    if evaluation := answer.consistency:
        document = document_read(store, result.run)
        rest = "see --all" if result.unstored else hints.run_command("trace", result.run.id, "--all")
        shown = None if show_all else figures.SHOWN
        say("")
        for line in figures.evaluation(evaluation, document, shown=shown, rest=rest):
            say(line)
    render.print_outcome(result, target.output)
    for line in (*answer.notes, *_by_itself(result)):
        say(line)


def _by_itself(result: Result) -> Iterator[str]:
    """Yield a note if the built-in model answered, or if the answer was judged by its own model or not at all."""
    judging = result.run.judging
    if result.settings.model == EXTRACTIVE:
        yield "The answer consists of the sentences that share the most words with the question."
    elif judging is None:
        yield "The answer was not judged: name a --judge."
    elif not judging.judges or set(judging.judges) == {result.settings.model}:
        yield "The model judged its own answer: name another with --judge."


def _judgment(store: Store, result: Result, *, as_json: bool, quiet: bool, show_all: bool) -> None:
    if as_json:
        echo_json(result.model_dump(mode="json"))
    else:
        document = document_read(store, result.run)
        shown = None if show_all else figures.SHOWN
        trace = "" if result.unstored else f", or {hints.run_command('trace', result.run.id, '--all')}"
        rest = f"see --all{trace}"
        for number, (name, evaluation) in enumerate(result.evaluations.items()):
            click.echo("\n" * bool(number), nl=False)
            checked = name in result.offline_checked
            for line in figures.evaluation(evaluation, document, offline_checked=checked, shown=shown, rest=rest):
                click.echo(line)
        for line in ("", *render.certificate_lines(result.certificates)) if result.certificates else ():
            click.echo(line)
    if not quiet:
        render.print_outcome(result, None, scores=False)


def _preference(store: Store, result: Result, *, as_json: bool, quiet: bool) -> None:
    lines = () if as_json else comparison_lines(compared(store, result))
    render.show(run_json(store, result), lines, as_json=as_json)
    if not quiet:
        render.print_outcome(result, None, scores=False)


def _questions(store: Store, result: Result, *, as_json: bool, quiet: bool) -> int:
    pack, document = built(store, result), document_read(store, result.run)
    render.show(pack_json(document, pack, None), pack_lines(pack, document), as_json=as_json)
    if not quiet:
        said = f"pack {pack.id}: {render.count(len(pack.questions), 'question')}, {render.origin(pack)}"
        render.print_outcome(result, None, said=said)
    return SHORT if pack.missing or result.unstored else DONE


def _keyfacts(store: Store, result: Result, *, as_json: bool, quiet: bool, pruned: bool) -> int:
    keyfacts, document = built_keyfacts(store, result), document_read(store, result.run)
    lines = history.keyfacts_lines(keyfacts, document, pruned=pruned)
    render.show(keyfacts_json(document, keyfacts), lines, as_json=as_json)
    if not quiet:
        said = f"key facts {keyfacts.id}: {history.measure(keyfacts)}, {history.fact_models(keyfacts)}"
        render.print_outcome(result, None, said=said)
    return SHORT if keyfacts.missing or result.unstored else DONE


def pack_lines(pack: Pack, document: Document) -> list[str]:
    """Return the questions of a pack, most important first."""
    lines: list[str] = []
    for question in pack.questions:
        span = question.evidence.span
        place = f", {place_of(document, span)}" if span else ""
        lines += wrapped(one_line(question.text), f"{question.id:>4}  ")
        lines += wrapped(f"{one_line(question.answer)} (weight {question.weight}{place})", f"{'':>6}-> ")
    for trouble in pack.missing:
        lines += wrapped(one_line(trouble, _LONGEST), "missing: ")
    return lines


def close_form(form: FilledForm, output: str | None) -> None:
    """Print each section's outcome and the total usage to stderr."""
    say("")
    if output:
        say(f"written to {output}")
    for section in form.sections:
        say(f"{one_line(section.section.title, _TITLE)}: {_section_line(section)}")
    sections, title = render.count(len(form.sections), "section"), one_line(form.document.title, _TITLE)
    say(f"{sections} of {title} · {render.usage(form.usage)}")


def _section_line(one: FilledSection) -> str:
    run = f", run {one.run}" if one.run else ""
    if one.result is not None and one.result.draft is not None:
        scores = "".join(f", {metric} {render.score(value)}" for metric, value in one.result.scores.items())
        scores += f" ({OFFLINE_CHECK})" if scores and one.result.offline_checked else ""
        words = f"{one.result.draft.words} of at most {one.section.words} words{scores}{run}"
        if one.result.complete:
            return words
        return f"{words}, incomplete: see {hints.run_command('show', one.result.run.id)}"
    if one.silent:
        return f"the document says nothing about it{run}"
    return f"failed{run}: {one.failure.message}" if one.failure else "not drafted"


_NONE = "-"
_REASON = 300
_JUDGE = 50
_SHOWN = 6


def comparison_lines(comparison: SummaryComparison) -> Iterator[str]:
    """Yield a comparison's view for people."""
    parts = (
        render.aligned([_row(aspect, comparison.aspects[aspect]) for aspect in ASPECTS]),
        render.aligned(_figures(comparison)),
        list(_notes(comparison)),
        [] if comparison.same else list(wrapped(comparison.certificate.line(), "judged by: ", "  ")),
        list(_judgings(comparison.judgings)),
    )
    for number, lines in enumerate(part for part in parts if part):
        yield from ["", *lines] if number else lines


def _row(aspect: str, votes: Mapping[str, Any]) -> tuple[str, str, str]:
    return aspect, render.WINNERS.get(votes["winner"], _NONE), _votes(votes)


def _votes(votes: Mapping[str, Any]) -> str:
    """Return the votes, with the ties that lean to one side or follow the order."""
    number = votes["a"] + votes["b"] + votes["tie"]
    if not number:
        return ""
    parts = [f"A {votes['a']}, B {votes['b']}, tie {votes['tie']}"]
    leaning = [f"{votes[f'leaning_{side}']} leaning to {side.upper()}" for side in "ab" if votes[f"leaning_{side}"]]
    within = [*leaning, *([f"{votes['order_decides']} by the order"] if votes["order_decides"] else [])]
    parts += [f"of the ties {' and '.join(within)}"] if within else []
    return f"({render.count(number, 'judging')}: {'; '.join(parts)})"


def _figures(comparison: SummaryComparison) -> list[tuple[str, ...]]:
    """Return the rows of a table of both summaries' statistics."""
    both = (comparison.a, comparison.b)
    rows = [("", "A", "B"), ("words", *(f"{compared_summary.words:,}" for compared_summary in both))]
    rows.append(("sentences", *(f"{compared_summary.sentences:,}" for compared_summary in both)))
    measured = [compared_summary.statistics for compared_summary in both]
    if all(measured):
        rows += [
            ("compression", *(f"{one['compression']['tokens']:,.1f}" for one in measured)),
            ("new trigrams", *(_share(one["novel_ngrams"]["3"]) for one in measured)),
            ("repeated trigrams", *(_share(one["repeated_ngrams"]["3"]) for one in measured)),
        ]
    return rows


def _share(share: float | None) -> str:
    return _NONE if share is None else f"{share:.1%}"


def _notes(comparison: SummaryComparison) -> Iterator[str]:
    """Yield the reservations about a verdict."""
    preference = comparison.preference
    if comparison.same:
        yield "A and B are the same text; no model was asked"
        return
    if preference.outcome == "failed":
        yield from wrapped(f"no verdict: {one_line(preference.reason, _REASON)}", "", "  ")
        return
    decided = {aspect: comparison.aspects[aspect]["order_decides"] for aspect in ASPECTS}
    if biased := [f"{aspect} in {number:,}" for aspect, number in decided.items() if number]:
        yield from wrapped(
            f"warning: in {render.count(preference.judged, 'judging')} the order decides {', '.join(biased)}. A judge"
            " that always names the first, or the second, has no preference; it counts as a tie.",
            "",
            "  ",
        )
    if preference.unjudged:
        trouble = one_line(str(preference.details.get("trouble", "")), _REASON)
        yield from wrapped(f"{render.count(preference.unjudged, 'judging')} without a verdict: {trouble}", "", "  ")
    if not comparison.document_read:
        some = any(judging["document_read"] for judging in comparison.judgings)
        who = "not every judge has read the document" if some else "no judge has read the document"
        yield from wrapped(f"{who}: with the summaries it does not fit the window (--context-tokens)", "", "  ")


def _judgings(judgings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the judges' answers in each order; they refer to the first and the second summary."""
    judgings = [judging for judging in judgings if judging["a_first"] or judging["b_first"]]
    for judging in judgings[:_SHOWN]:
        judge = one_line(judging["judge"], _JUDGE)
        for key, which in (("a_first", "A is the first"), ("b_first", "B is the first")):
            said = judging[key]
            won = [f"{aspect} {render.WINNERS[said[aspect]]}" for aspect in ASPECTS] if said else ["no verdict"]
            yield from wrapped(", ".join(won), f"{judge}, {which}: ", "  ")
            if said and (reason := one_line(said["reason"], _REASON)):
                yield from wrapped(reason, "  ", "  ")
    if (more := len(judgings) - _SHOWN) > 0:
        yield f"... and {render.count(more, 'judging')} more (--json has them all)"
