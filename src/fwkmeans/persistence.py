"""Models in files that are safe to open."""
