from pathlib import Path

import pandas as pd
from deepeval import evaluate
from deepeval.metrics import SummarizationMetric
from deepeval.test_case import LLMTestCase

case = LLMTestCase(input=Path("document.txt").read_text(), actual_output=Path("summary.txt").read_text())
result = evaluate([case], [SummarizationMetric(model="gpt-4.1")])
rows = [one.model_dump() | {"case": test.name} for test in result.test_results for one in test.metrics_data]
print(pd.DataFrame(rows)[["case", "name", "score"]])
