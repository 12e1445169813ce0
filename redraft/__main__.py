"""`python -m redraft` is the `redraft` command."""

from redraft.cli.main import main

if __name__ == "__main__":
    main()
