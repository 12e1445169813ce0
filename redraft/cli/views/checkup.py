"""How a judge's examination looks: what failed, in full, and below it every control by every metric."""

from __future__ import annotations

from collections.abc import Iterator

import click

from redraft.cli.views.render import aligned, count, echo_json, usage
from redraft.lab.doctor.checkup import Check, CheckUp, Examined
from redraft.lab.doctor.controls import controls
from redraft.text.cleaning import one_line

_SAID = 100


def show(examined: Examined, *, as_json: bool) -> None:
    """Print what came of all judges to stdout."""
    if as_json:
        echo_json(examined.to_json())
    else:
        click.echo("\n\n".join("\n".join(_lines(one)) for one in examined.judges))


def _lines(judge: CheckUp) -> Iterator[str]:
    counts = [f"{count(judge.count('pass'), 'control')} passed", f"{judge.count('fail')} failed"]
    counts += [f"{judge.count('cannot tell')} cannot tell"]
    counts += [f"{missing} not made"] if (missing := judge.count("not made")) else []
    yield f"{one_line(judge.judge)}, on English texts: {', '.join(counts)} · {usage(judge.usage)}"
    yield ""
    metrics = tuple(dict.fromkeys(one.metric for one in judge.checks))
    found = {(one.control, one.metric): one for one in judge.checks}
    there = [one.name for one in controls() if any((one.name, metric) in found for metric in metrics)]
    rows = [(control, *(_cell(found.get((control, metric))) for metric in metrics)) for control in there]
    yield from aligned([("", *metrics), *rows])
    for verdict, title in (("fail", "failed"), ("cannot tell", "cannot tell")):
        some = [one for one in judge.checks if one.heard.verdict == verdict]
        if some:
            yield ""
            yield f"{title}:"
            told = [(f"  {one.metric}", one.control, f"should: {one.should}", _said(one)) for one in some]
            yield from aligned(told)


def _cell(check: Check | None) -> str:
    return "" if check is None else check.heard.verdict


def _said(check: Check) -> str:
    """What was said, and where to see more of it."""
    runs = f" ({', '.join(check.runs[:2])})" if check.runs else ""
    return f"said: {one_line(check.heard.said, _SAID)}{runs}"
