"""The command line: parses arguments, calls the library and prints results."""
