"""The registrations of one worker (tools, commands, subscriptions), and the check of arguments against a tool's schema.

`supervisor.calls.merged_registrations` merges the registrations of all extensions.
"""
