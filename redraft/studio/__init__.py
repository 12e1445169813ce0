"""The studio: web pages and an HTTP API for a store, to view, start, stop and review runs (extra `studio`)."""
