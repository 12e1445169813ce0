"""What the commands print, and the progress they show."""
