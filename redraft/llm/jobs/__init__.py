"""Requests that go out together as one job of the provider's batch API, for half the price and within a day."""
