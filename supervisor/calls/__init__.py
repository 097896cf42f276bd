"""Requests to the extensions: tool calls, verdicts, slash commands and panels; and the tools and commands of them all.

The way of a request to one worker, and late answers, are in `supervisor.extension.connection`.
"""
