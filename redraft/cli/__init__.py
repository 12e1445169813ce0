"""The command line: parses, calls, prints; nothing else."""
