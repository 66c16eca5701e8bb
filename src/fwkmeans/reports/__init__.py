"""Reports that people can open without Python."""
