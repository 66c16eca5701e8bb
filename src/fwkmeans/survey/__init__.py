"""The experiment of the survey as one command."""
