"""Many documents under one order: workers, what they lease, and what comes of it."""
