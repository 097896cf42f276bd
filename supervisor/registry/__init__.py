"""The registrations of one worker (tools, commands, subscriptions), and the check of arguments against a tool's schema.

The loop does this check if it is plainly cheap, else a process that runs `checker_main`.

`supervisor.calls.merged_registrations` merges the registrations of all extensions.
"""
