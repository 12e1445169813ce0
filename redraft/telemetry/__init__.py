"""What happens, told to those who watch machines: metrics for Prometheus and spans for OpenTelemetry.

Ids, numbers and the names of models and stages are told, and never a text, a title, a file's name or a key.
"""
