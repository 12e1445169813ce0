"""What a package can add to redraft."""
