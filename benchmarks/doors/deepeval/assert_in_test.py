from pathlib import Path

from deepeval import assert_test
from deepeval.metrics import SummarizationMetric
from deepeval.test_case import LLMTestCase


def test_summary():
    case = LLMTestCase(input=Path("document.txt").read_text(), actual_output=Path("summary.txt").read_text())
    assert_test(case, [SummarizationMetric(threshold=0.9, model="gpt-4.1")])
