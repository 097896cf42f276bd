"""Requests to the extensions: tool calls, verdicts, slash commands, panels, and what all of them offer together.

How a request reaches one worker is in `supervisor.extension.connection.pending_requests`.
"""
