from pathlib import Path

from openai import AsyncOpenAI
from ragas.cache import DiskCacheBackend
from ragas.llms import llm_factory
from ragas.metrics.collections import SummaryScore

given = {"reference_contexts": [Path("document.txt").read_text()], "response": Path("summary.txt").read_text()}
for _ in range(2):
    llm = llm_factory("gpt-4.1", client=AsyncOpenAI(), cache=DiskCacheBackend())
    print(SummaryScore(llm=llm).score(**given).value)
