"""Requests to the extensions: tool calls, verdicts, slash commands, panels, and the catalogue of what they offer.

How a request reaches one worker is in `supervisor.extension.pending_requests`.
"""
