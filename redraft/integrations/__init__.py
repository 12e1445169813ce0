"""Connections to other tools: MCP, OpenTelemetry, Prometheus, Inspect AI, deepeval and ragas."""
