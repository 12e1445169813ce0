"""Replies as models of many families write them, and what is made of them."""
