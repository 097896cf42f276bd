"""`zot rpc`: another program drives the agent by lines on stdin and stdout.

`server` is the process: stdin, stdout, signals, one prompt after another. `requests` answers the client, also while a
prompt runs. Everything runs on the one loop.
"""
