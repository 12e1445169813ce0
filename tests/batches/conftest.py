"""What workers do is the same on a file and on a server."""

from tests.store.conftest import place as place
