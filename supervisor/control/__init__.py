"""The control socket of a running host: who may connect, requests and their answers, and its client.

The commands that use the client are in `cli.hosts`, `cli.top` and `cli.ext.live`.
"""
