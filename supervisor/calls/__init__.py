"""Asking the extensions: tool calls, guard verdicts, slash commands, panels, and the catalogue of what they offer.

What is said to one process is in `supervisor.extension.channel`.
"""
