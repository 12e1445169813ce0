"""Calls of one worker that others of its batch make, so that one long book is not the work of one of them."""
