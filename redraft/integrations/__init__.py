"""Connections to other tools: an MCP server, and adapters for Inspect AI, deepeval and ragas."""
