import asyncio

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

import redraft
from redraft.integrations.opentelemetry import SpanObserver

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))


async def main():
    async with redraft.Session(observer=SpanObserver(provider.get_tracer("redraft"))) as session:
        await session.summarize("document.txt", words=40)


asyncio.run(main())
