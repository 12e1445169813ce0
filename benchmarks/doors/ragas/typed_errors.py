from pathlib import Path

from instructor.core import InstructorRetryException
from openai import AsyncOpenAI
from ragas.llms import llm_factory
from ragas.metrics.collections import SummaryScore

metric = SummaryScore(llm=llm_factory("no-such-key", client=AsyncOpenAI()))
given = {"reference_contexts": [Path("document.txt").read_text()], "response": Path("summary.txt").read_text()}
try:
    metric.score(**given)
except InstructorRetryException as error:
    if "invalid_api_key" not in str(error):
        raise
    print(error)
