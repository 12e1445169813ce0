from pathlib import Path

from deepeval.metrics import GEval
from deepeval.test_case import LLMTestCase, SingleTurnParams

plain = GEval(
    name="plain_tone",
    criteria="Written for a reader without legal training",
    evaluation_params=[SingleTurnParams.ACTUAL_OUTPUT],
    model="gpt-4.1",
)
print(plain.measure(LLMTestCase(input="document", actual_output=Path("summary.txt").read_text())))
