"""Keeps processes: spawns, talks, times out, accounts, restarts and stops them. Knows nothing of models or prompts.

Start with `supervisor.py`, which owns the extensions, and `host.py`, the program without an agent around it.
"""
