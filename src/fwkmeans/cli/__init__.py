"""The command line: ``fwkmeans``."""
