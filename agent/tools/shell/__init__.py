"""Runs commands of the bash tool: the model gets the end of the output, a log file has all of it."""
