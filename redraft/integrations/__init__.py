"""Connections to other tools: an MCP server, OpenTelemetry and Prometheus, and adapters for Inspect AI, deepeval and ragas."""
