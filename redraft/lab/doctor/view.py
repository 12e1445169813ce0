"""The results of the doctor as Markdown."""

from __future__ import annotations

from redraft.cli.views.markdown import show_record
from redraft.domain import record_json
from redraft.lab.doctor.checkup import DoctorReport, JudgeCheckup
from redraft.lab.doctor.controls import controls
from redraft.report.markdown.layout import joined, line, section, table
from redraft.report.markdown.result import usage
from redraft.text.words import count

_LONGEST = 100


def show(report: DoctorReport, *, as_json: bool) -> None:
    """Print the results of all judges to stdout."""
    show_record(record_json(report), "\n".join(map(_markdown, report.judges)), as_json=as_json)


def _markdown(judge: JudgeCheckup) -> str:
    counts = [f"{count(judge.passed, 'control')} passed", f"{judge.failed} failed", f"{judge.cannot_tell} cannot tell"]
    counts += [f"{judge.not_made} not made"] if judge.not_made else []
    metrics = tuple(dict.fromkeys(check.metric for check in judge.controls))
    verdicts = {(check.control, check.metric): check.verdict for check in judge.controls}
    listed = [[control, *(verdicts.get((control, metric), "") for metric in metrics)] for control in controls()]
    rows = [row for row in listed if any(row[1:])]
    blocks = [
        f"# {line(judge.judge)}, on English texts: {', '.join(counts)}",
        usage(judge.usage),
        table([["control", *metrics], *rows]),
    ]
    for verdict, title in (("fail", "Failed"), ("cannot tell", "Cannot tell")):
        lines = [
            f"- {check.metric}, {check.control}: expected: {line(check.should)}; got: {line(check.said, _LONGEST)}"
            + (f" ({', '.join(check.runs[:2])})" if check.runs else "")
            for check in judge.controls
            if check.verdict == verdict
        ]
        blocks.append(section(title, lines))
    return joined(blocks)
