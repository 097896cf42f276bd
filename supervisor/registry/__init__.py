"""What an extension registered (tools, commands, subscriptions), and whether arguments fit a tool's schema.

Merging the registrations of all extensions is in `supervisor.calls.catalogue`.
"""
