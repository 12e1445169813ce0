from pathlib import Path

import pandas as pd
from openai import AsyncOpenAI
from ragas.llms import llm_factory
from ragas.metrics.collections import SummaryScore

metric = SummaryScore(llm=llm_factory("gpt-4.1", client=AsyncOpenAI()))
given = {"reference_contexts": [Path("document.txt").read_text()], "response": Path("summary.txt").read_text()}
result = metric.score(**given)
print(pd.DataFrame([{"name": metric.name, "score": result.value, "reason": result.reason}]))
