from pathlib import Path

from deepeval.metrics import SummarizationMetric
from deepeval.test_case import LLMTestCase
from openai import AuthenticationError

case = LLMTestCase(input=Path("document.txt").read_text(), actual_output=Path("summary.txt").read_text())
try:
    SummarizationMetric(model="no-such-key").measure(case)
except AuthenticationError as error:
    print(error.code, error.message)
