"""`redraft trust`: permit a settings file to set addresses, keys, folders and the like."""

from __future__ import annotations

from pathlib import Path

from redraft.cli.sections import command
from redraft.cli.settings_file import FILE_NAME, content_of
from redraft.cli.terminal import say
from redraft.errors import UsageError


@command()
def trust() -> int:
    """Trust the redraft.toml of this directory to set addresses, keys and files, as long as it does not change.

    A command asks for this once before it uses addresses, keys, folders or prices from such a file. Options,
    environment variables and a file named in REDRAFT_CONFIG need no trust.
    """
    from redraft.cli import trust as trusting

    path = Path(FILE_NAME)
    if not path.exists():
        raise UsageError("there is no such file in this directory", place=FILE_NAME)
    places = trusting.places_in(content_of(path))
    trusting.trust(path.resolve(), places)
    for key, value in places.items():
        say(f"{key} = {value}")
    say("trusted" if places else "nothing in it needs your trust")
    return 0
