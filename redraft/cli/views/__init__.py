"""Views: what the commands print, and the progress they show."""
