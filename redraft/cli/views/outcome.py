"""The outcome of a run, and of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import terminal
from redraft.cli.delivery import Target
from redraft.cli.terminal import json_text, prose, say, wrapped
from redraft.cli.views import findings, history, render
from redraft.cli.views.render import aligned, count
from redraft.domain import Document, Pack
from redraft.evaluators.reference.pack_file import keyfacts_json, pack_json
from redraft.prompts.coherence import ASPECTS
from redraft.report.history.results import Result, SummaryComparison, built, built_keyfacts, compared, document_read
from redraft.report.outputs.formats import WITH_NOTES, Format, written
from redraft.report.outputs.paper import Paper, paper_of
from redraft.settings import EXTRACTIVE
from redraft.sources import write
from redraft.store.store import Store
from redraft.text.cleaning import one_line
from redraft.text.places import place_of

if TYPE_CHECKING:
    from redraft.report.history.citations import Citations
    from redraft.text.vectors import Encoder


_STORED = "it is stored with the run: see `redraft runs` and `redraft show`"


def hand_over(
    store: Store,
    result: Result,
    target: Target,
    *,
    encoder: Encoder | None = None,
    more: Mapping[str, object] | None = None,
) -> None:
    """Write and print what came of a run, if there is a summary; `more` is what the JSON has besides."""

    content = result.to_json() | dict(more or {})
    drafted = [result.summary, *(one.result.summary for one in result.chapters if one.result)]
    if target.printed == "json" or any(text is not None for text in drafted):
        deliver(lambda notes: paper_of(result, citing(store, encoder) if notes else None), content, target, _STORED)


def deliver(paper: Callable[[bool], Paper], content: object, target: Target, hint: str) -> None:
    """Write and print a paper, which is asked for with notes or without; or its content for programs."""

    def made(form: Format) -> str | bytes:
        return json_text(content) + "\n" if form == "json" else written(paper(form in WITH_NOTES), form)

    if target.output:
        write(Path(target.output).expanduser(), made(target.form), hint)
    if target.printed == "json":
        render.echo_json(content)
    elif target.printed:
        said = made(target.printed)
        assert isinstance(said, str), "a file of a word processor is not printed"
        click.echo(prose(said), nl=False)


def citing(store: Store, encoder: Encoder | None = None) -> Callable[[str], Citations]:
    """What finds the citations of the run that it is called with."""

    def citations(run: str) -> Citations:
        from redraft.report.history.citations import citations_of

        return citations_of(store, run, encoder=encoder)

    return citations


WINNERS = {"a": "A", "b": "B", "tie": "tie", "unsure": "cannot tell"}
_NONE = "-"
_REASON = 300
_JUDGE = 50
_SHOWN = 6


def outcome(winner: str | None) -> str:
    """The result in few letters, for lists."""
    return "" if winner is None else "tie" if winner == "tie" else f"{WINNERS[winner]} preferred"


def comparison_lines(comparison: SummaryComparison) -> Iterator[str]:
    """A comparison in lines, for people."""
    aspects = comparison.aspects
    parts = (
        aligned([(name, WINNERS.get(aspects[name]["winner"], _NONE), _votes(aspects[name])) for name in ASPECTS]),
        aligned(_figures(comparison)),
        list(_notes(comparison)),
        [] if comparison.same else list(wrapped(comparison.certificate.line(), "judged by: ", "  ")),
        list(_judgings(comparison.judgings)),
    )
    for number, lines in enumerate(part for part in parts if part):
        yield from ["", *lines] if number else lines


def _votes(votes: Mapping[str, Any]) -> str:
    """How the judgings voted, and which of their ties are only half a tie, or none."""
    number = votes["a"] + votes["b"] + votes["tie"]
    if not number:
        return ""
    parts = [f"A {votes['a']}, B {votes['b']}, tie {votes['tie']}"]
    leaning = [f"{votes[f'leaning_{side}']} leaning to {side.upper()}" for side in "ab" if votes[f"leaning_{side}"]]
    within = [*leaning, *([f"{votes['order_decides']} by the order"] if votes["order_decides"] else [])]
    parts += [f"of the ties {' and '.join(within)}"] if within else []
    return f"({count(number, 'judging')}: {'; '.join(parts)})"


def _figures(comparison: SummaryComparison) -> list[tuple[str, ...]]:
    """What there is to count, side by side."""
    both = [candidate.to_json() for candidate in (comparison.first, comparison.second)]
    rows = [("", "A", "B"), *((unit, *(f"{one[unit]:,}" for one in both)) for unit in ("words", "sentences"))]
    measured: list[Any] = [one["statistics"] for one in both]
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
    """What should be known before the verdict is believed."""
    preference = comparison.preference
    if comparison.same:
        yield "A and B are the same text: nobody was asked"
        return
    if preference.outcome == "failed":
        yield from wrapped(f"no verdict: {one_line(preference.reason, _REASON)}", "", "  ")
        return
    decided = {aspect: comparison.aspects[aspect]["order_decides"] for aspect in ASPECTS}
    if biased := [f"{aspect} in {number:,}" for aspect, number in decided.items() if number]:
        yield from wrapped(
            f"warning: of {count(preference.judged, 'judging')} the order decides {', '.join(biased)}. A judge that"
            " names the first, or the second, whichever it is, prefers a place and no summary; it counts as a tie.",
            "",
            "  ",
        )
    if preference.unjudged:
        trouble = one_line(str(preference.details.get("trouble", "")), _REASON)
        yield from wrapped(f"{count(preference.unjudged, 'judging')} without a verdict: {trouble}", "", "  ")
    if not comparison.document_read:
        some = any(judging["document_read"] for judging in comparison.judgings)
        who = "not every judge has read the document" if some else "no judge has read the document"
        yield from wrapped(f"{who}: it does not fit beside the summaries (--context-tokens)", "", "  ")


def _judgings(judgings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What the judges said in each order; they speak of the first and the second."""
    judgings = [judging for judging in judgings if judging["a_first"] or judging["b_first"]]
    for judging in judgings[:_SHOWN]:
        judge = one_line(judging["judge"], _JUDGE)
        for key, which in (("a_first", "A is the first"), ("b_first", "B is the first")):
            said = judging[key]
            named = ", ".join(f"{aspect} {WINNERS[said[aspect]]}" for aspect in ASPECTS) if said else "no verdict"
            yield from wrapped(named, f"{judge}, {which}: ", "  ")
            if said and (reason := one_line(said["reason"], _REASON)):
                yield from wrapped(reason, "  ", "  ")
    if (more := len(judgings) - _SHOWN) > 0:
        yield f"... and {count(more, 'judging')} more (--json has them all)"


_DONE, _SHORT = 0, 3
_LONGEST = 400


def finish(
    store: Store,
    result: Result,
    *,
    target: Target | None = None,
    as_json: bool,
    quiet: bool,
    show_all: bool = False,
    pruned: bool = False,
) -> int:
    """Print what the run was for; returns the exit code."""
    if result.run.kind == "evaluate":
        _judgment(store, result, as_json=as_json, quiet=quiet, show_all=show_all)
    elif result.run.kind == "compare":
        _preference(store, result, as_json=as_json, quiet=quiet)
    elif result.run.kind == "pack":
        return _questions(store, result, as_json=as_json, quiet=quiet)
    elif result.run.kind == "keyfacts":
        return _keyfacts(store, result, as_json=as_json, quiet=quiet, pruned=pruned)
    else:
        _summary(store, result, target or Target(None, "text", as_json), quiet=quiet)
    return _DONE if result.complete else _SHORT


def _summary(store: Store, result: Result, target: Target, *, quiet: bool) -> None:
    hand_over(store, result, target)
    if not quiet:
        render.closing(result, target.output)
        for line in render.chapter_lines(result):
            say(line)
        if result.settings.model == EXTRACTIVE:
            say("no language model has written this; for those that there are: redraft models")


def _judgment(store: Store, result: Result, *, as_json: bool, quiet: bool, show_all: bool) -> None:
    if as_json:
        render.echo_json(result.assessment())
    else:
        document = document_read(store, result.run)
        shown = None if show_all else findings.SHOWN
        rest = f"--all shows them, and so does {terminal.about('trace', result.run.id, '--all')}"
        for number, (name, one) in enumerate(result.evaluations.items()):
            click.echo("\n" * bool(number), nl=False)
            for line in findings.evaluation(one, document, result.certificates.get(name), shown=shown, rest=rest):
                click.echo(line)
    if not quiet:
        render.closing(result, None, scores=False)


def _preference(store: Store, result: Result, *, as_json: bool, quiet: bool) -> None:
    comparison = compared(store, result)
    render.show(comparison.to_json(), comparison_lines(comparison), as_json=as_json)
    if not quiet:
        render.closing(result, None, scores=False)


def _questions(store: Store, result: Result, *, as_json: bool, quiet: bool) -> int:
    pack, document = built(store, result), document_read(store, result.run)
    render.show(pack_json(document, pack, None), pack_lines(pack, document), as_json=as_json)
    if not quiet:
        render.closing(result, None)
        say(f"pack {pack.id}: {render.count(len(pack.questions), 'question')}, {render.origin(pack)}")
    return _SHORT if pack.missing else _DONE


def _keyfacts(store: Store, result: Result, *, as_json: bool, quiet: bool, pruned: bool) -> int:
    keyfacts, document = built_keyfacts(store, result), document_read(store, result.run)
    lines = history.keyfacts_lines(keyfacts, document, pruned=pruned)
    render.show(keyfacts_json(document, keyfacts), lines, as_json=as_json)
    if not quiet:
        render.closing(result, None)
        say(f"key facts {keyfacts.id}: {history.measure(keyfacts)}, {history.by_whom(keyfacts)}")
    return _SHORT if keyfacts.missing else _DONE


def pack_lines(pack: Pack, document: Document) -> list[str]:
    """The questions of a pack for people, the most important first."""
    lines: list[str] = []
    for question in pack.questions:
        span = question.evidence.span
        place = f"({place_of(document, span)})" if span else ""
        lines += findings.wrapped([one_line(question.text)], f"{question.id:>4}  ")
        lines += findings.wrapped([f"{one_line(question.answer)} {place}".strip()], f"{'':>6}-> ")
    for trouble in pack.missing:
        lines += findings.wrapped([one_line(trouble, _LONGEST)], "missing: ")
    return lines
