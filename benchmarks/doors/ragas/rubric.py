from pathlib import Path

from openai import AsyncOpenAI
from ragas.llms import llm_factory
from ragas.metrics import DiscreteMetric

plain = DiscreteMetric(
    name="plain_tone",
    prompt="Is this written for a reader without legal training? {response}",
    allowed_values=["yes", "no"],
)
llm = llm_factory("gpt-4.1", client=AsyncOpenAI())
print(plain.score(llm=llm, response=Path("summary.txt").read_text()).value)
