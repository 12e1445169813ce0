from dataclasses import dataclass
from pathlib import Path

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator


@dataclass
class Short(Evaluator):
    def evaluate(self, ctx):
        return len(ctx.output.split()) <= 100


dataset = Dataset(name="book", cases=[Case(inputs="document")], evaluators=[Short()])
print(dataset.evaluate_sync(lambda text: Path("summary.txt").read_text(), progress=False).averages())
