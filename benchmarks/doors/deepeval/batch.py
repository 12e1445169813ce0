from pathlib import Path

from deepeval import evaluate
from deepeval.metrics import SummarizationMetric
from deepeval.test_case import LLMTestCase

text, summary = Path("document.txt").read_text(), Path("summary.txt").read_text()
cases = [LLMTestCase(input=text, actual_output=summary) for _ in range(2)]
result = evaluate(cases, [SummarizationMetric(model="gpt-4.1")])
print([one.success for one in result.test_results])
