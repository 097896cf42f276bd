"""The control socket of a running host: who may connect, requests and their answers, and the client of it.

The commands that use it are in `cli.hosts`, `cli.top` and `cli.ext.live`.
"""
