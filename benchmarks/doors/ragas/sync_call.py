from pathlib import Path

from openai import AsyncOpenAI
from ragas.llms import llm_factory
from ragas.metrics.collections import SummaryScore

metric = SummaryScore(llm=llm_factory("gpt-4.1", client=AsyncOpenAI()))
given = {"reference_contexts": [Path("document.txt").read_text()], "response": Path("summary.txt").read_text()}
print(metric.score(**given).value)
