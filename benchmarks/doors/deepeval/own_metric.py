from pathlib import Path

from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase


class Short(BaseMetric):
    threshold = 1.0

    def measure(self, test_case, *args, **kwargs):
        self.score = float(len(test_case.actual_output.split()) <= 100)
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, test_case, *args, **kwargs):
        return self.measure(test_case)

    def is_successful(self):
        return self.success

    @property
    def __name__(self):
        return "Short"


print(Short().measure(LLMTestCase(input="document", actual_output=Path("summary.txt").read_text())))
