"""Runs the bash tool's commands as children of the loop: the end of the output for the model, all of it in a log."""
