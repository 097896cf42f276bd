"""Runs prompts: turns, the model, tools, sessions and cassettes, on top of the supervisor.

`cli` has the command line; `supervisor` keeps the extensions.
"""
