"""The results of the doctor in the terminal."""

from __future__ import annotations

from collections.abc import Iterator

import click

from redraft.cli.terminal import echo_json
from redraft.cli.views.render import aligned, count, usage
from redraft.domain import record_json
from redraft.lab.doctor.checkup import ControlCheck, DoctorReport, JudgeCheckup
from redraft.lab.doctor.expectations import controls
from redraft.text.sanitizer import one_line

_HEARD = 100


def show(examined: DoctorReport, *, as_json: bool) -> None:
    """Print the results of all judges to stdout."""
    if as_json:
        echo_json(record_json(examined))
    else:
        click.echo("\n\n".join("\n".join(_lines(checkup)) for checkup in examined.judges))


def _lines(judge: JudgeCheckup) -> Iterator[str]:
    counts = [f"{count(judge.passed, 'control')} passed", f"{judge.failed} failed", f"{judge.cannot_tell} cannot tell"]
    counts += [f"{judge.not_made} not made"] if judge.not_made else []
    yield f"{one_line(judge.judge)}, on English texts: {', '.join(counts)} · {usage(judge.usage)}"
    yield ""
    metrics = tuple(dict.fromkeys(check.metric for check in judge.controls))
    found = {(check.control, check.metric): check.verdict for check in judge.controls}
    there = [name for name in controls() if any((name, metric) in found for metric in metrics)]
    rows = [(control, *(found.get((control, metric), "") for metric in metrics)) for control in there]
    yield from aligned([("", *metrics), *rows])
    for verdict, title in (("fail", "failed"), ("cannot tell", "cannot tell")):
        checks = [check for check in judge.controls if check.verdict == verdict]
        if checks:
            yield ""
            yield f"{title}:"
            told = [(f"  {check.metric}", check.control, f"expected: {check.should}", _said(check)) for check in checks]
            yield from aligned(told)


def _said(check: ControlCheck) -> str:
    """Return a judge's statement, with the runs that show more of it."""
    runs = f" ({', '.join(check.runs[:2])})" if check.runs else ""
    return f"got: {one_line(check.said, _HEARD)}{runs}"
