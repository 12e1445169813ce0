"""What is known of the metrics by name is what they are."""

from __future__ import annotations

import subprocess
import sys

import pytest

from redraft.evaluators.catalog import BUILT_IN
from redraft.evaluators.metric_info import OWN


@pytest.mark.parametrize("name", OWN)
def test_a_metric_is_as_it_is_listed(name: str) -> None:
    metric = BUILT_IN[name]

    assert (metric.name, metric.aim) == (name, OWN[name].aim)
    assert tuple(prompt.name for prompt in metric.prompts) == OWN[name].prompts


def test_what_is_known_by_name_needs_no_judge() -> None:
    program = (
        "import sys\n"
        "from redraft.evaluators.metric_info import aim_of\n"
        "assert aim_of('coverage') == 'content'\n"
        "assert not {'numpy', 'redraft.evaluators.coverage', 'redraft.agents.judge'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
