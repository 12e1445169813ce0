"""The pytest plugin and its assertion, in test suites of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import redraft
from redraft.testing import SESSIONS

pytest_plugins = ["pytester"]

MINUTES = redraft.Document.from_text(
    "The board met at seven. Hester Vane was in the chair. It was cold, and nothing was agreed on.", "Minutes"
)
GOOD, BAD = "The board met at seven. Hester Vane was in the chair.", "The board met at eight. It was cold."
SUITE = f"""
import pytest, redraft

MINUTES = redraft.Document.from_text({MINUTES.text!r}, "Minutes")

@pytest.mark.redraft
def test_good():
    redraft.assert_summary(MINUTES, {GOOD!r}, consistency=0.9)

def test_fixture(redraft_session):
    result = redraft_session.evaluate(MINUTES, {GOOD!r}, metrics=["consistency"])
    assert result.scores["consistency"] == 1.0
"""
RECORDED = f"""
import pytest, redraft

MINUTES = redraft.Document.from_text({MINUTES.text!r}, "Minutes")
TONE = redraft.Rubric("tone", "Warm")

def verdict(request):
    return request.prompt.returns(faults=[], reason="", level=4)

@pytest.mark.redraft(model=redraft.testing.FunctionModel(verdict, "judge")RECORDING)
def test_tone():
    redraft.assert_summary(MINUTES, {GOOD!r}, metrics=[TONE], tone=0.7)
"""
INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Any:
    """Runs a test suite with the plugin, whether or not it is installed."""

    def run(code: str, *options: str, ini: str = INI) -> pytest.RunResult:
        pytester.makepyfile(test_suite=code)
        pytester.makeini(ini)
        plugin = ("-p", "no:redraft", "-p", "redraft.pytest_plugin", "-p", "no:langsmith_plugin")
        return pytester.runpytest_inprocess(*plugin, *options)

    return run


def test_assertion_shows_findings_and_places() -> None:
    with redraft.Session(":memory:") as session:
        result = redraft.assert_summary(MINUTES, GOOD, session=session, consistency=0.9)
    assert result.scores["consistency"] == 1.0
    with redraft.Session(":memory:") as session, pytest.raises(AssertionError) as caught:
        redraft.assert_summary(MINUTES, BAD, session=session, consistency=0.9)
    first, second, *findings = str(caught.value).splitlines()
    assert first == "consistency 0.50, not 0.90"
    assert second == "the summary of Minutes, judged by extractive"
    assert "1 sentence wrong" in findings
    assert "1. “The board met at eight.”" in findings
    assert "     - document says: seven" in findings
    assert any("(at 0% of the document)" in line for line in findings)


def test_missing_scores_and_metrics_are_named() -> None:
    def nothing(case: redraft.Case) -> None:
        return None

    with redraft.Session(":memory:") as session:
        with pytest.raises(
            AssertionError, match=r"(?s)^nothing has no score\n.*nothing not applicable: nothing returned None"
        ):
            redraft.assert_summary(MINUTES, GOOD, session=session, metrics=[nothing])
        with pytest.raises(AssertionError, match=r"(?s)^statistics has no score.*gives figures and no score"):
            redraft.assert_summary(MINUTES, GOOD, session=session, statistics=0)
    with redraft.Session(":memory:") as session:
        with pytest.raises(redraft.UsageError, match="coverage=90 is not a score from 0 to 1"):
            redraft.assert_summary(MINUTES, GOOD, session=session, coverage=90)
        with pytest.raises(redraft.UsageError, match=r"coverage='0\.9' is not a score from 0 to 1"):
            redraft.assert_summary(MINUTES, GOOD, session=session, coverage="0.9")  # type: ignore[arg-type]
        with pytest.raises(redraft.UsageError, match="there is no metric 'beauty'"):
            redraft.assert_summary(MINUTES, GOOD, session=session, beauty=0.9)


@pytest.mark.slow
def test_verdicts_are_kept_between_test_runs(suite: Any) -> None:
    first = suite(SUITE)
    second = suite(SUITE)

    first.assert_outcomes(passed=2)
    second.assert_outcomes(passed=2)
    first.stdout.re_match_lines([r"redraft: 2 tests, [1-9]\d* calls \([\d,]+ tokens, free\), .*"])
    second.stdout.re_match_lines([r"redraft: 2 tests, 0 calls \(0 tokens, free\), .*"])
    assert SESSIONS == []


@pytest.mark.slow
def test_a_failure_is_short(suite: Any) -> None:
    done = suite(SUITE.replace(repr(GOOD), repr(BAD)).split("def test_fixture")[0])

    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["E * AssertionError: consistency 0.50, not 0.90", "FAILED *consistency 0.50, not 0*"])
    assert "assertions.py" not in done.stdout.str()


def test_marker_takes_only_named_arguments(suite: Any) -> None:
    done = suite(
        SUITE.replace("pytest.mark.redraft", "pytest.mark.redraft('openai:gpt-5')").split("def test_fixture")[0]
    )

    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["E *the marker redraft is given 'openai:gpt-5' without a name"])


@pytest.mark.slow
def test_recordings_are_made_on_request_and_replayed(suite: Any, pytester: pytest.Pytester) -> None:
    code, ini = RECORDED.replace("RECORDING", ""), f"{INI}redraft_recordings = recordings\n"
    missing = suite(code, ini=ini)
    recorded = suite(code, "--redraft-record", ini=ini)
    replayed = suite(code.replace("faults=[]", "faults=1/0"), ini=ini)

    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(["*has no reply of judge to this request (tone*", "*pytest --redraft-record*"])
    recorded.assert_outcomes(passed=1)
    replayed.assert_outcomes(passed=1)
    replayed.stdout.fnmatch_lines(["redraft: 1 test, *, 1 from recordings"])
    assert (pytester.path / "recordings" / "test_suite.jsonl").exists()

    suite_ = suite(RECORDED.replace("RECORDING", ', recording="judge.jsonl"'), "--redraft-record")
    suite_.assert_outcomes(passed=1)
    suite(SUITE, "--redraft-record").stdout.fnmatch_lines(["*there is no recording to add replies to*"])
    assert (pytester.path / "judge.jsonl").exists()


@pytest.mark.slow
def test_the_model_is_an_option(suite: Any) -> None:
    done = suite(SUITE, "--redraft-model", "nobody:x")
    assert done.ret == 1
    done.stdout.fnmatch_lines(["*there is no model 'nobody:x'*"])


@pytest.mark.slow
def test_suite_without_the_plugin_pays_nothing(suite: Any) -> None:
    done = suite("def test_other():\n    pass\n")
    done.assert_outcomes(passed=1)
    assert "redraft:" not in done.stdout.str()

    code = "import sys, redraft.pytest_plugin; print(*sorted(one for one in sys.modules if 'redraft' in one))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.split() == ["redraft", "redraft.lazy", "redraft.pytest_plugin"]


def test_the_plugin_is_an_entry_point() -> None:
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8")
    assert '[project.entry-points.pytest11]\nredraft = "redraft.pytest_plugin"\n' in text
