"""The studio: pages on a store and their HTTP API, to look at runs, to start, stop and review them (extra `studio`)."""
