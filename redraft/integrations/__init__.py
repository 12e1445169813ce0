"""Connections to other tools: MCP, OpenTelemetry, Inspect AI, deepeval and ragas."""
