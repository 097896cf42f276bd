"""`zot events`: what happens to the extensions of all running hosts.

The past and what comes are put together in `supervisor.fleet`.
"""
