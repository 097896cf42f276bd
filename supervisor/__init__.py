"""Starts extensions as processes, talks to them, measures, restarts and stops them. Knows no models and no prompts.

Start to read with `supervisor.py`, which owns the extensions, and `host.py`, the program without an agent.
"""
