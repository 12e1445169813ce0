from pathlib import Path

from deepeval import evaluate
from deepeval.evaluate import CacheConfig
from deepeval.metrics import SummarizationMetric
from deepeval.test_case import LLMTestCase

case = LLMTestCase(input=Path("document.txt").read_text(), actual_output=Path("summary.txt").read_text())
for _ in range(2):
    evaluate([case], [SummarizationMetric(model="gpt-4.1")], cache_config=CacheConfig(use_cache=True))
