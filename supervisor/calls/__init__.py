"""Requests to the extensions: tool calls, verdicts, slash commands, panels, and what all of them offer together.

How a request reaches one worker, and an answer that comes too late, is in `supervisor.extension.connection`.
"""
