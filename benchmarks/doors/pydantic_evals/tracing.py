from pathlib import Path

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from pydantic_ai import Agent
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import LLMJudge

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))
trace.set_tracer_provider(provider)
Agent.instrument_all()
judge = LLMJudge("Every statement is supported by the input", model="openai-chat:gpt-4.1", include_input=True)
dataset = Dataset(name="book", cases=[Case(inputs=Path("document.txt").read_text())], evaluators=[judge])
dataset.evaluate_sync(lambda text: Path("summary.txt").read_text(), progress=False)
