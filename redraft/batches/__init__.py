"""Batches: many documents with the same settings, processed by workers."""
