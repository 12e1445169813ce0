from pathlib import Path

from deepeval.metrics import SummarizationMetric
from deepeval.test_case import LLMTestCase

metric = SummarizationMetric(model="gpt-4.1")
case = LLMTestCase(input=Path("document.txt").read_text(), actual_output=Path("summary.txt").read_text())
print(metric.measure(case), metric.reason)
