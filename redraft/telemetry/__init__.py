"""Telemetry: metrics for Prometheus and spans for OpenTelemetry. Only ids, numbers, and names of models and stages are
exported: never texts, titles, file names or keys."""
