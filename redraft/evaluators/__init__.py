"""How good a summary is: measures of what it covers and of what it gets right."""
