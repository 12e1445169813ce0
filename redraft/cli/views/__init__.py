"""How things look: what the commands print, and what they show while they work."""
