"""The commands, one file each. A command parses its arguments, calls the library, and passes the result to a view."""
