"""Reads the logs of extensions: their last lines, lines added later, and when each was written.

The logs are written by `supervisor.extension.log`; the command that shows them is `cli.ext.live.logs`.
"""
